"""Stores: the file systems that jobs keep their state, savepoints, sinks and sources on.

A :class:`~compat.state.stores.paths.Place` is a path on one of them: ``/data/jobs``, ``s3://bucket/jobs``.
:class:`~compat.state.stores.system.FileSystem` has only the calls that the execution needs. ``local`` is the file system of
this machine. Object stores use obstore, the Rust library that delta-rs uses, too, so that both read the same environment
variables. It is one wheel of 16 MB for S3, Google's and Azure's storage, imported in 6 ms of CPU (s3fs: 20 packages, 52 MB and
320 ms, for S3 alone). It has conditional puts, which ``pyarrow.fs`` lacks. HDFS uses hdfs-native, which delta-rs contains, too:
one wheel of 6 MB and no JVM, while ``pyarrow.fs`` needs a JVM and libhdfs.
"""

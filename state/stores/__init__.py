"""Stores: the file systems that jobs keep their state, savepoints, sinks and sources on.

A :class:`~compat.state.stores.paths.Place` is a path on one of them: ``/data/jobs``, ``s3://bucket/jobs``. What the execution
needs of a file system is :class:`~compat.state.stores.system.FileSystem`, and no more. The one of this machine is ``local``;
object stores are reached by obstore, the Rust library that delta-rs uses itself, so that both read the same variables of the
environment. It is one wheel of 16 MB for S3, Google's and Azure's, imported in 6 ms of CPU (s3fs: 20 packages, 52 MB and
320 ms, for S3 alone), and has conditional puts, which ``pyarrow.fs`` has not. HDFS is reached by hdfs-native, which
delta-rs has inside too: one wheel of 6 MB, and no JVM, where ``pyarrow.fs`` needs both that and libhdfs.
"""

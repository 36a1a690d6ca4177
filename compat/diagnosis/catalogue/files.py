"""Exceptions of snapshots: files that are gone or are none, and what another version of Flink wrote."""

from __future__ import annotations

import re

from compat.diagnosis.entry import Entry, Proof

_INSPECT = "compat inspect {savepoint}"

ENTRIES = (
    Entry(
        name="savepoint-not-found",
        title="Cannot find checkpoint or savepoint file/directory '…' on file system '…'",
        pattern=re.compile(r"Cannot find checkpoint or savepoint file/directory '(?P<savepoint>[^']*)'"),
        happened="There is no savepoint or checkpoint at the path that the job is started from.",
        rules=("CMP501",),
        now="Check the path and its scheme (file:, s3:, hdfs:): a path without one is on the cluster's default file system.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.io.FileNotFoundException: Cannot find checkpoint or savepoint file/directory "
        "'/savepoints/savepoint-1a2b3c' on "
        "file system 'file'.",
    ),
    Entry(
        name="metadata-not-found",
        title="Cannot find meta data file '_metadata' in directory '…'",
        pattern=re.compile(r"Cannot find meta data file '_metadata' in directory '(?P<savepoint>[^']*)'"),
        happened="The folder has no _metadata: the savepoint never completed, the folder is one above it, or the "
        "file was deleted.",
        rules=("CMP501",),
        now="Give the folder that has a _metadata, such as …/chk-42 of a checkpoint.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.io.FileNotFoundException: Cannot find meta data file '_metadata' in directory "
        "'/savepoints/savepoint-1a2b3c'. "
        "Please try to load the checkpoint/savepoint directly from the metadata file instead of the directory.",
    ),
    Entry(
        name="savepoint-path-invalid",
        title="Checkpoint/savepoint path '…' is not a valid file URI",
        pattern=re.compile(
            r"Checkpoint/savepoint path '(?P<savepoint>[^']*)' is not a valid file URI|"
            r"Cannot access file system for checkpoint/savepoint path '(?P<path>[^']*)'"
        ),
        happened="The path that the job is started from is not valid, or Flink has no file system for its scheme.",
        rules=("CMP501",),
        now="Write the path as a URI, and put the plugin of its file system into the cluster's plugins folder.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.io.IOException: Checkpoint/savepoint path 'savepoint 1' is not a valid file URI. Either the "
        "pointer path is "
        "invalid, or the checkpoint was created by a different state backend.",
    ),
    Entry(
        name="no-savepoint",
        title="Unexpected magic number",
        pattern=re.compile(r"Unexpected magic number\. This can have multiple reasons"),
        happened="The file is not the metadata of a savepoint, or is damaged.",
        rules=("CMP501",),
        now="Give the folder of the savepoint or its _metadata, not a file of its state.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.io.IOException: Unexpected magic number. This can have multiple reasons: (1) You are trying "
        "to load a Flink 1.0 "
        "savepoint, which is not supported by this version of Flink. (2) The file you were pointing to is not a "
        "savepoint at all. "
        "(3) The savepoint file has been corrupted.",
    ),
    Entry(
        name="metadata-of-newer-flink",
        title="Unrecognized checkpoint version number: …",
        pattern=re.compile(
            r"Unrecognized checkpoint version number: (?P<format>\d+)|Unknown KeyedStateHandle type: |"
            r"Unknown implementation of StreamStateHandle|Reading invalid (?:Keyed|Operator)StateHandle, type: "
        ),
        happened="The metadata is in a format that this version of Flink does not know: a newer one wrote it.",
        rules=("CMP604", "CMP501"),
        now="Start the job with the version of Flink that wrote it, or a newer one.",
        example="java.lang.IllegalArgumentException: Unrecognized checkpoint version number: 6",
    ),
    Entry(
        name="state-of-newer-flink",
        title="Unrecognized version for TypeSerializerSnapshot format: …",
        pattern=re.compile(
            r"Unrecognized version for TypeSerializerSnapshot format: |Unsupported read version for state meta info |"
            r"Cannot determine corresponding meta info snapshot version for |"
            r"Unrecognized internal timers snapshot writer version: |Unknown BackendStateType: |unrecognized read "
            r"version \d+"
        ),
        happened="The state is in a format that this version of Flink does not know: a newer one wrote it, or "
        "the file is damaged.",
        rules=("CMP604",),
        now="Start the job with the version of Flink that wrote it, or a newer one.",
        example="java.io.IOException: Unrecognized version for TypeSerializerSnapshot format: 3",
    ),
    Entry(
        name="serializer-reads-no-such-version",
        title="Incompatible version: found …, compatible versions are …",
        pattern=re.compile(
            r"Incompatible version: found (?P<old>\d+), compatible versions are (?P<new>\[[\d, ]*\]|\S+)"
        ),
        happened="A serializer finds version {old} of its snapshot and reads only {new}.",
        rules=("CMP604", "CMP420"),
        now="Start the job with the version of Flink, or of the library, that wrote it, or a newer one.",
        example="org.apache.flink.core.io.VersionMismatchException: Incompatible version: found 7, compatible "
        "versions are [6, 5, 4]",
    ),
    Entry(
        name="state-of-old-flink",
        title="Since 1.17 Flink doesn't support recovery from pre Flink 1.8 savepoints",
        pattern=re.compile(
            r"Since 1\.17 Flink doesn't support recovery from pre Flink 1\.8|Unsupported readVersion \[\d+\], "
            r"please migrate|"
            r"Since Flink 1\.17 not versioned|TypeSerializerConfigSnapshot (?:is no longer|and it's subclasses are "
            r"not) supported|"
            r"This savepoint / checkpoint version \(Flink 1\.1 / 1\.2\) is no longer supported|Serialization in v\d "
            r"is no longer|"
            r"Legacy state \(from Flink <= 1\.1"
        ),
        happened="The state is in a format that only versions of Flink before 1.17 read.",
        rules=("CMP604",),
        now="Restore it with Flink 1.16, take a savepoint there, and start the new version from that.",
        example="java.lang.UnsupportedOperationException: Since 1.17 Flink doesn't support recovery from pre Flink "
        "1.8 savepoints. "
        "Please migrate in two steps. First to Flink 1.16 and then upgrade to the desired Flink version.",
        versions="From 1.17 on.",
    ),
    Entry(
        name="checkpoint-of-high-availability",
        title="Could not retrieve checkpoint … from state handle under …",
        pattern=re.compile(
            r"Could not retrieve checkpoint (?P<checkpoint>\d+) from state handle under (?P<path>\S+?)\. "
        ),
        happened="The checkpoint {checkpoint}, which high availability has stored, cannot be read: its file is gone, "
        "or another version "
        "of Flink wrote it.",
        rules=("CMP501", "CMP604"),
        now="Start the job from a checkpoint that you name with flink run -s, under a new job id or with the old "
        "entries deleted.",
        command=_INSPECT,
        before=_INSPECT,
        example="org.apache.flink.util.FlinkException: Could not retrieve checkpoint 42 from state handle under "
        "/checkpointID-0000000000000000042. This indicates that the retrieved state handle is broken. Try cleaning "
        "the state handle "
        "store.",
    ),
    Entry(
        name="state-file-missing",
        title="java.io.FileNotFoundException … below 'Could not restore keyed state backend'",
        pattern=re.compile(
            r"(?:FileNotFoundException|NoSuchFileException): (?:File does not exist: |No such file or directory: )?"
            r"(?P<path>\S+)|NoSuchKey(?:Exception)?\b|Failed to download data for state handles|"
            r"Cannot deserialize a RelativeFileStateHandle without a context"
        ),
        happened="A file of the state is gone: it was deleted, or the savepoint was moved or copied without it.",
        rules=("CMP502",),
        now="It lists the files that are missing. Put them back, or take an earlier checkpoint or savepoint.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.io.FileNotFoundException: /checkpoints/shared/0a1b2c (No such file or directory)",
        proof=Proof.RESTORE,
    ),
    Entry(
        name="state-file-damaged",
        title="Unexpected key-group in restore",
        pattern=re.compile(
            r"Unexpected key-group in restore|Found state without corresponding meta info: |Unknown state id: |"
            r"Couldn't deserialize checkpoint properties|found trailing bytes in master state|"
            r"incorrect magic number in master styte byte sequence|invalid (?:checkpoint ID|number of master states): |"
            r"Expected only keyed state\. Received: "
        ),
        happened="The state's files do not match their headers: they are damaged, or mixed with those of another snapshot.",
        rules=("CMP501", "CMP502"),
        now="Take an earlier checkpoint or savepoint.",
        command=_INSPECT,
        before=_INSPECT,
        example="java.lang.IllegalStateException: Unexpected key-group in restore.",
    ),
    Entry(
        name="records-in-flight-unreadable",
        title="Unable to read channel state",
        pattern=re.compile(r"Unable to read channel state|Invalid (?:input|output) channel state : "),
        happened="The new program cannot read the in-flight records of an unaligned checkpoint.",
        rules=("CMP205",),
        now="Restore the old program, take a savepoint of it, and start the new program from that.",
        example="java.io.IOException: Unable to read channel state",
    ),
)
"""In the order in which they are tried."""

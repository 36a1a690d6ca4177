"""Exceptions of sources and sinks whose positions, splits or prepared transactions another connector or version wrote."""

from __future__ import annotations

import re

from compat.diagnosis.entry import Entry, Proof

_KEEP_CONNECTOR = (
    "Keep the connector and its version, or give the source or sink another uid: it then starts without the old "
    "positions."
)

ENTRIES = (
    Entry(
        name="splits-of-newer-connector",
        title="The bytes are serialized with version …, while this deserializer only supports version up to …",
        pattern=re.compile(
            r"The bytes are serialized with version (?P<old>\d+), while this deserializer only supports version up "
            r"to (?P<new>\d+)"
        ),
        happened="The positions of a source are in version {old} of their format, and the new program reads up to {new}.",
        rules=("CMP404", "CMP418"),
        now=_KEEP_CONNECTOR,
        example="java.io.IOException: The bytes are serialized with version 2, while this deserializer only "
        "supports version up to 0",
    ),
    Entry(
        name="positions-of-another-connector",
        title="Invalid magic number for PendingSplitsCheckpoint",
        pattern=re.compile(
            r"Invalid magic number for PendingSplitsCheckpoint|Unsupported source coordinator serde version |"
            r"Unexpected trailing bytes in enumerator checkpoint data|Failed to deserialize the splits|"
            r"Unrecognized version or corrupt state: |Corrupt data: Unexpected magic number |Version of serializer is "
        ),
        happened="The positions of a source, or the files of a sink, were written by another connector or another "
        "version of it.",
        rules=("CMP404", "CMP418"),
        now=_KEEP_CONNECTOR,
        example="java.io.IOException: Invalid magic number for PendingSplitsCheckpoint. Expected: DEADBEEF , found 12",
    ),
    Entry(
        name="global-committer-gone",
        title="GlobalCommitter is required to commit SinkV1 state",
        pattern=re.compile(
            r"GlobalCommitter is required to commit SinkV1 state|Tried to deserialize Sink V1 state without a|"
            r"Trying to recover state from a GlobalCommittable serializer"
        ),
        happened="A sink had prepared committables for its global committer, and the new program has no global committer.",
        rules=("CMP807", "CMP604"),
        now="Restore the old program, stop it with a savepoint, which publishes the committables, and start the new "
        "one from that.",
        example="java.lang.IllegalStateException: GlobalCommitter is required to commit SinkV1 state.",
    ),
    Entry(
        name="connector-reads-no-such-version",
        title="Unknown version: … (of a source or sink)",
        pattern=re.compile(r"IOException: (?:Unknown|Unrecognized|Invalid|Unsupported) version:? ?(?P<old>-?\d+)"),
        happened="A connector, or a serializer of the program, finds version {old} of its format and does not read it.",
        rules=("CMP404", "CMP418"),
        now=_KEEP_CONNECTOR,
        example="java.io.IOException: Unknown version: 1",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="elements-unreadable",
        title="Failed to deserialize value (of a source's or sink's state)",
        pattern=re.compile(
            r"FlinkRuntimeException: Failed to deserialize value|IllegalArgumentException: Illegal Capacity: -\d+"
        ),
        happened="The new program's connector cannot read the positions of a source, or what a sink prepared.",
        rules=("CMP404", "CMP418"),
        now=_KEEP_CONNECTOR,
        example="org.apache.flink.util.FlinkRuntimeException: Failed to deserialize value",
        proof=Proof.NOT_ELSEWHERE,
    ),
)
"""In the order in which they are tried."""

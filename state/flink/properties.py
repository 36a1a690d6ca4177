"""Recognising checkpoint properties without deserializing them.

Formats 4 and up end in a Java-serialized `CheckpointProperties`. Java deserialization can run code, and a
reader of its grammar would be a large thing to trust, so the bytes are only searched for names that Flink's
classes leave in them.
"""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.model import Properties

_JAVA_STREAM = bytes.fromhex("aced0005")

_SEARCHED = 1 << 16
"""Flink's own properties take under 1 KiB; a longer tail is not searched to its end."""

_PACKAGE = "org.apache.flink.runtime.checkpoint."
_CLASSES = ("SavepointType", "CheckpointType")
_TYPE_NAMES = (
    "Savepoint",
    "Terminate Savepoint",
    "Suspend Savepoint",
    "Checkpoint",
    "Full Checkpoint",
)
_FORMATS = ("CANONICAL", "NATIVE")


def recognise_properties(reader: ByteReader) -> Properties:
    """Skip the properties that end a `_metadata`, and say what was recognised on the way.

    Raises `DamagedSavepoint` if the bytes do not begin as a Java object stream does.
    """
    if reader.raw(4, "the checkpoint properties") != _JAVA_STREAM:
        reader.damaged("the checkpoint properties are no Java object stream", "aced0005 expected before them")
    tail = reader.raw(min(reader.remaining, _SEARCHED), "the checkpoint properties")
    reader.position = reader.end
    class_name = next((name for name in _CLASSES if _written(_PACKAGE + name) in tail), None)
    type_name = next((name for name in _TYPE_NAMES if _string(name) in tail), None)
    savepoint_format = next((name for name in _FORMATS if _string(name) in tail), None)
    is_savepoint = class_name == "SavepointType"
    return Properties(is_savepoint, class_name, type_name, savepoint_format if is_savepoint else None)


def _written(text: str) -> bytes:
    return len(text).to_bytes(2, "big") + text.encode("ascii")


def _string(text: str) -> bytes:
    return b"t" + _written(text)

"""Recognises checkpoint properties without deserializing them.

Formats 4 and up end in a Java-serialized `CheckpointProperties`. Java deserialization can run code, so the objects are only
read by the grammar of the format. They are read to their end, so that cut-off bytes are noticed.
"""

from __future__ import annotations

from compat.state.flink.binary import ByteReader
from compat.state.flink.java_objects import JavaEnum, JavaObject, JavaValue, read_java_object
from compat.state.flink.savepoint import Properties

_PACKAGE = "org.apache.flink.runtime.checkpoint."
_SAVEPOINT, _CHECKPOINT = "SavepointType", "CheckpointType"
_TYPE_NAMES = (
    "Savepoint",
    "Terminate Savepoint",
    "Suspend Savepoint",
    "Checkpoint",
    "Full Checkpoint",
)
_FORMATS = ("CANONICAL", "NATIVE")


def recognise_properties(reader: ByteReader) -> Properties:
    """Read the properties that end a `_metadata`, and say what was recognised in them.

    Raises `DamagedSavepoint` if the bytes are no Java object, `TruncatedSavepoint` if they end in the middle of one. Bytes
    after the object are ignored, as in Flink.
    """
    kind = _field(read_java_object(reader), "checkpointType")
    reader.position = reader.end
    class_name = kind.class_name.removeprefix(_PACKAGE) if isinstance(kind, JavaObject) else None
    if class_name not in (_SAVEPOINT, _CHECKPOINT):
        return Properties(None, None, None, None)
    name, form = _field(kind, "name"), _field(kind, "formatType")
    return Properties(
        is_savepoint=class_name == _SAVEPOINT,
        class_name=class_name,
        type_name=name if isinstance(name, str) and name in _TYPE_NAMES else None,
        savepoint_format=form.constant if isinstance(form, JavaEnum) and form.constant in _FORMATS else None,
    )


def _field(value: JavaValue, name: str) -> JavaValue:
    return value.fields.get(name) if isinstance(value, JavaObject) else None

"""Writes snapshots of the serializers that Flink's Java side has for the types and the states of PyFlink.

Keys of PyFlink are rows with one field, and a pickled one is a byte array. Process mode keeps lists and maps of byte arrays
(`PythonTypeUtils`, `BeamStateRequestHandler`), with the time of their last use if there is a time to live.
"""

from __future__ import annotations

import struct

from compat.state.flink.forms import Unconvertible
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import KIND
from compat.state.flink.snapshots import in_header
from compat.state.flink.writing import write_utf
from compat.state.types import (
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

_BASE = "org.apache.flink.api.common.typeutils.base."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
_TTL = "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot"
_WRAPPED = "org.apache.flink.streaming.api.utils.ByteArrayWrapper"
_COMPOSITE = struct.Struct(">ii")
_MAGIC, _NESTED_MAGIC = 911108, 1333245

_NAMES = {
    "STRING": "String",
    "BYTE": "Byte",
    "BOOLEAN": "Boolean",
    "SHORT": "Short",
    "INT": "Int",
    "LONG": "Long",
    "FLOAT": "Float",
    "DOUBLE": "Double",
    "CHAR": "Char",
    "BIG_INT": "BigInt",
    "BIG_DEC": "BigDec",
    "INSTANT": "Instant",
    "SQL_DATE": "SqlDate",
    "SQL_TIME": "SqlTime",
    "SQL_TIMESTAMP": "SqlTimestamp",
    "LOCAL_DATE": "LocalDate",
    "LOCAL_TIME": "LocalTime",
    "LOCAL_DATE_TIME": "LocalDateTime",
}
"""How Flink's serializers of single values are called, by the kinds of their types."""


def snapshot_of(type: TypeInformation) -> bytes:
    """The snapshot of the serializer of a type, as `writeVersionedSnapshot` gives it. Raises Unconvertible."""
    if isinstance(type, ExternalTypeInfo):
        return snapshot_of(type.type_info)
    if isinstance(type, RowTypeInfo):
        return _row(*type.field_types)
    if isinstance(type, TupleTypeInfo) and type.field_types:
        name = write_utf(f"org.apache.flink.api.java.tuple.Tuple{len(type.field_types)}")
        fields = map(snapshot_of, type.field_types)
        return _composite(_RUNTIME + "TupleSerializerSnapshot", *fields, outer=name, version=2)
    if isinstance(type, ListTypeInfo):
        return _composite(_BASE + "ListSerializerSnapshot", snapshot_of(type.element_type))
    if isinstance(type, MapTypeInfo):
        return _composite(_BASE + "MapSerializerSnapshot", snapshot_of(type.key_type), snapshot_of(type.value_type))
    if type.kind == "PICKLED_BYTE_ARRAY" or str(type) == "byte[]":
        return _BYTES
    if type.kind not in _NAMES:
        raise Unconvertible(f"the serializer that Flink has for {type} is not known here")
    return _simple(_BASE + _NAMES[type.kind])


def key_snapshot(type: TypeInformation) -> bytes:
    """The snapshot for the keys of a stream that PyFlink keys by a type: a row with one field. Raises Unconvertible."""
    return _row(type)


def state_form(kind: str, *, timed: bool) -> StateForm:
    """The header form of a process-mode state: ``kind`` is ``LIST``, or ``MAP``."""
    value = _composite(_TTL, _simple(_BASE + "Long"), _BYTES, version=2) if timed else _BYTES
    serializer = (
        _composite(_BASE + "MapSerializerSnapshot", _simple(_WRAPPED), value)
        if kind == "MAP"
        else _composite(_BASE + "ListSerializerSnapshot", value)
    )
    return StateForm(in_header(serializer), {KIND: kind})


def _row(*fields: TypeInformation) -> bytes:
    """`RowSerializerSnapshot`, whose outer version 4 says whether rows have kinds of change: PyFlink's have."""
    name = _RUNTIME + "RowSerializer$RowSerializerSnapshot"
    return _composite(name, *map(snapshot_of, fields), outer=b"\1", version=4)


def _simple(name: str) -> bytes:
    """`SimpleTypeSerializerSnapshot`."""
    return _versioned(f"{name}Serializer${name.rpartition('.')[2]}SerializerSnapshot", b"")


def _composite(name: str, *nested: bytes, outer: bytes = b"", version: int = 1) -> bytes:
    """`CompositeTypeSerializerSnapshot`: ``version`` and ``outer`` are those of the class, ``nested`` is within."""
    within = _COMPOSITE.pack(_NESTED_MAGIC, 1) + struct.pack(">i", len(nested)) + b"".join(nested)
    return _versioned(name, _COMPOSITE.pack(_MAGIC, version) + outer + within)


def _versioned(name: str, body: bytes) -> bytes:
    return write_utf(name) + struct.pack(">i", 3) + body


_BYTES = _simple(_BASE + "array.BytePrimitiveArray")

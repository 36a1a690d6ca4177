"""The layout of Flink's snapshot classes, by their full names."""

from __future__ import annotations

from collections.abc import Callable

from compat.state.flink.binary import ByteReader, Part
from compat.state.flink.logical_types import read_data_type

OuterField = tuple[str, Callable[[ByteReader, int], object]]
"""A name, and how to read it given the outer snapshot's version; None if that version has no such field."""

_BASE = "org.apache.flink.api.common.typeutils.base."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
_SCALA = "org.apache.flink.api.scala.typeutils."
_STATE = "org.apache.flink.runtime.state."
_STREAMING = "org.apache.flink.streaming.api."
_TABLE = "org.apache.flink.table.runtime."
_CEP = "org.apache.flink.cep.nfa."


def _inner(package: str, names: str) -> list[str]:
    """`Long` becomes `<package>LongSerializer$LongSerializerSnapshot`."""
    return [f"{package}{name}Serializer${name}SerializerSnapshot" for name in names.split()]


SIMPLE = frozenset(
    (
        *_inner(
            _BASE,
            "BigDec BigInt Bitmap Boolean BooleanValue Byte ByteValue Char CharValue Date Double DoubleValue "
            "Float FloatValue Instant Int IntValue LocalDate LocalDateTime LocalTime Long LongValue "
            "NullValue Short ShortValue SqlDate SqlTime SqlTimestamp String StringValue Variant Void",
        ),
        *_inner(
            _BASE + "array.",
            "BooleanPrimitiveArray BytePrimitiveArray CharPrimitiveArray DoublePrimitiveArray "
            "FloatPrimitiveArray IntPrimitiveArray LongPrimitiveArray ShortPrimitiveArray StringArray",
        ),
        *_inner(_STATE, "Java VoidNamespace"),
        *_inner(_STREAMING + "utils.", "ByteArrayWrapper"),
        *_inner(_TABLE + "typeutils.", "StringData"),
        *_inner("org.apache.flink.table.dataview.", "Null"),
        *_inner(_TABLE + "typeutils.serializers.python.", "BigDec Date String Time"),
        *_inner(_CEP + "sharedbuffer.", "EventId"),
        _RUNTIME + "Tuple0SerializerSnapshot",
        _SCALA + "NothingSerializerSnapshot",
        _SCALA + "UnitSerializerSnapshot",
        _CEP + "sharedbuffer.EventId$EventIdSerializer$EventIdSerializerSnapshot",
        _CEP + "DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot",
        *(
            f"{_STREAMING}windowing.windows.{name}Window$Serializer${name}WindowSerializerSnapshot"
            for name in ("Time", "Global")
        ),
        *(
            f"{_TABLE}operators.window.{name}Window$Serializer${name}WindowSerializerSnapshot"
            for name in ("Time", "Count", "Global")
        ),
        *_inner(
            "org.apache.flink.streaming.connectors.kafka.FlinkKafkaProducer$",
            "ContextState NextTransactionalIdHint TransactionState",
        ),
    )
)
"""`SimpleTypeSerializerSnapshot`: the class says it all."""

GENERIC = frozenset(_inner(_RUNTIME, "Value CopyableValue"))
"""`GenericTypeSerializerSnapshot`: the name of the serialized class."""


def _utf(reader: ByteReader, _: int) -> object:
    return reader.utf()


def _class_name(reader: ByteReader, _: int) -> object:
    begin = reader.position
    name = reader.utf()
    reader.note(Part.CLASS_NAME, begin)
    return name


def _integer(reader: ByteReader, _: int) -> object:
    return reader.integer()


def _boolean(reader: ByteReader, _: int) -> object:
    return reader.boolean()


def _row_kind(reader: ByteReader, outer_version: int) -> object:
    """Written from outer version 4 on; version 3 always had row kinds, older ones never."""
    return reader.boolean() if outer_version >= 4 else outer_version == 3


def _previous_timestamp(reader: ByteReader, outer_version: int) -> object:
    return reader.boolean() if outer_version >= 2 else None


def _null_transactions(reader: ByteReader, outer_version: int) -> object:
    return reader.boolean() if outer_version >= 4 else outer_version == 3


def _data_type(reader: ByteReader, _: int) -> object:
    return read_data_type(reader)


_NO_FIELDS: tuple[OuterField, ...] = ()

COMPOSITE: dict[str, tuple[OuterField, ...]] = {
    **dict.fromkeys(
        (
            _BASE + "ListSerializerSnapshot",
            _BASE + "MapSerializerSnapshot",
            _BASE + "SetSerializerSnapshot",
            _RUNTIME + "JavaEitherSerializerSnapshot",
            _SCALA + "ScalaEitherSerializerSnapshot",
            _SCALA + "ScalaOptionSerializerSnapshot",
            _SCALA + "ScalaTrySerializerSnapshot",
            _STATE + "ArrayListSerializerSnapshot",
            _STATE + "ttl.TtlStateFactory$TtlSerializerSnapshot",
            _STATE + "v2.ttl.TtlStateFactory$TtlSerializerSnapshot",
            _STREAMING + "datastream.CoGroupedStreams$UnionSerializerSnapshot",
            _STREAMING + "operators.TimerSerializerSnapshot",
            _STREAMING + "operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot",
            _CEP + "sharedbuffer.LockableTypeSerializerSnapshot",
            _CEP + "sharedbuffer.NodeId$NodeIdSerializer$NodeIdSerializerSnapshot",
            _CEP + "sharedbuffer.SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot",
            _CEP + "sharedbuffer.SharedBufferNodeSerializerSnapshotV2",
            *_inner("org.apache.flink.streaming.runtime.streamrecord.", "StreamElement"),
            *_inner(_TABLE + "typeutils.", "WindowKey RawValueData"),
        ),
        _NO_FIELDS,
    ),
    **dict.fromkeys(
        (
            _STREAMING + "functions.sink.TwoPhaseCommitSinkFunction$StateSerializerSnapshot",
            _STREAMING + "functions.sink.legacy.TwoPhaseCommitSinkFunction$StateSerializerSnapshot",
        ),
        (("null_transactions", _null_transactions),),
    ),
    _RUNTIME + "RowSerializer$RowSerializerSnapshot": (("row_kind", _row_kind),),
    _RUNTIME + "TupleSerializerSnapshot": (("tuple_class", _class_name),),
    _RUNTIME + "NullableSerializer$NullableSerializerSnapshot": (("null_padding", _integer),),
    _BASE + "GenericArraySerializerSnapshot": (("component_class", _class_name),),
    _SCALA + "ScalaCaseClassSerializerSnapshot": (("case_class", _class_name),),
    _SCALA + "Tuple2CaseClassSerializerSnapshot": (("case_class", _class_name),),
    _SCALA + "TraversableSerializerSnapshot": (("builder_code", _utf),),
    _CEP + "NFAStateSerializerSnapshot": (("previous_timestamp", _previous_timestamp),),
    _TABLE + "typeutils.ExternalSerializer$ExternalSerializerSnapshot": (
        ("data_type", _data_type),
        ("internal_input", _boolean),
    ),
    _TABLE + "typeutils.LinkedListSerializer$LinkedListSerializerSnapshot": (("null_mask", _boolean),),
}
"""`CompositeTypeSerializerSnapshot`: what the class adds before its nested snapshots."""

_OTHER_SERIALIZERS = {
    _RUNTIME + "JavaEitherSerializerSnapshot": _RUNTIME + "EitherSerializer",
    _SCALA + "ScalaEitherSerializerSnapshot": _SCALA + "EitherSerializer",
    _SCALA + "ScalaOptionSerializerSnapshot": _SCALA + "OptionSerializer",
    _SCALA + "ScalaTrySerializerSnapshot": _SCALA + "TrySerializer",
    _SCALA + "ScalaCaseClassSerializerSnapshot": _SCALA + "ScalaCaseClassSerializer",
    _SCALA + "ScalaEnumSerializerSnapshot": _SCALA + "EnumValueSerializer",
    _CEP + "sharedbuffer.LockableTypeSerializerSnapshot": _CEP + "sharedbuffer.Lockable$LockableTypeSerializer",
    _CEP + "sharedbuffer.SharedBufferNodeSerializerSnapshotV2": _CEP + "sharedbuffer.SharedBufferNodeSerializer",
}


def serializer_of(snapshot_class: str) -> str | None:
    """The serializer that Flink restores from a snapshot of this class; None if the class is not Flink's.

    Flink nests a snapshot class in its serializer or names it after it, with few exceptions.
    """
    if not snapshot_class.startswith("org.apache.flink."):
        return None
    if snapshot_class in _OTHER_SERIALIZERS:
        return _OTHER_SERIALIZERS[snapshot_class]
    outer, _, _ = snapshot_class.rpartition("$")
    if outer.endswith("Serializer"):
        return outer
    return snapshot_class.removesuffix("Snapshot") if snapshot_class.endswith("Snapshot") else None

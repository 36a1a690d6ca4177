"""Reads values of Flink's own serializers, by their snapshots.

A decoder comes from a snapshot alone: it needs no class of the program, and unpickles or deserializes nothing. Values that only
a class of the program can read (Kryo, the program's own serializer) have no decoder.

Values are those of :mod:`compat.state.types`: POJOs are rows with names, enums their constants' names, Avro records dicts,
windows rows. Days and times of ``java.sql`` are read as if the JVM's zone were UTC.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from msgspec import Struct

from compat.state.flink.avro_values import avro_reader
from compat.state.flink.binary import ByteReader
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.rows import make_row
from compat.state.time import Instant
from compat.state.types import (
    BasicArrayTypeInfo,
    DateTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

Read = Callable[[ByteReader], Any]
VARIABLE = -1

_BASE = "org.apache.flink.api.common.typeutils.base."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
_STATE = "org.apache.flink.runtime.state."
_STREAMING = "org.apache.flink.streaming."
_WINDOWS = (_STREAMING + "api.windowing.windows.", "org.apache.flink.table.runtime.operators.window.")


class Undecodable(Exception):
    """A serializer whose values cannot be read here; the message names it."""


class Decoder(Struct, frozen=True):
    """Reads values of one serializer. ``type`` is that of the values; None for one without a value (the void namespace).

    ``length`` is the length that Flink's serializer declares, ``VARIABLE`` or bytes: it decides the layout of composite keys.
    ``element``, ``key`` and ``value`` are the decoders of a collection's parts.
    """

    type: TypeInformation | None
    read: Read
    length: int = VARIABLE
    element: Decoder | None = None
    key: Decoder | None = None
    value: Decoder | None = None


def decoder_of(snapshot: SerializerSnapshot) -> Decoder:
    """The decoder of a snapshot's serializer. Raises Undecodable."""
    if snapshot.serializer in _SIMPLE:
        return _SIMPLE[snapshot.serializer]
    make = _MADE.get(snapshot.serializer or "")
    if make is None or (not snapshot.complete and not snapshot.details):
        raise Undecodable(f"values of {snapshot.serializer or snapshot.class_name}")
    return make(snapshot)


def _fixed(layout: str) -> Read:
    unpacker = struct.Struct(layout)
    size, unpack = unpacker.size, unpacker.unpack

    def read(reader: ByteReader) -> Any:
        return unpack(reader.raw(size, "a number"))[0]

    return read


_LEAST_INT, _LEAST_LONG = -(1 << 31), -(1 << 63)
_INTEGER, _LONG = _fixed(">i"), _fixed(">q")
_EPOCH = datetime(1970, 1, 1)


def _character(reader: ByteReader) -> str:
    return chr(reader.short())


def _big_integer(reader: ByteReader) -> int | None:
    """``BigIntSerializer``: a length and four, so that 0 to 3 stand for none, 0, 1 and 10."""
    length = reader.integer()
    if length < 4:
        return {1: 0, 2: 1, 3: 10}.get(length)
    return int.from_bytes(reader.raw(length - 4, "a whole number"), "big", signed=True)


def _big_decimal(reader: ByteReader) -> Decimal | None:
    unscaled = _big_integer(reader)
    if unscaled is None:
        return None
    sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
    return Decimal((sign, digits, -reader.integer()))


def _moment(millis: int, micros: int = 0) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis, microseconds=micros)


def _util_date(reader: ByteReader) -> datetime | None:
    millis = _LONG(reader)
    return None if millis == _LEAST_LONG else _moment(millis)


def _sql_date(reader: ByteReader) -> date | None:
    found = _util_date(reader)
    return None if found is None else found.date()


def _sql_time(reader: ByteReader) -> time | None:
    found = _util_date(reader)
    return None if found is None else found.time()


def _sql_timestamp(reader: ByteReader) -> datetime | None:
    millis, nanos = _LONG(reader), _INTEGER(reader)
    return None if millis == _LEAST_LONG else _moment(millis // 1000 * 1000, nanos // 1000)


def _local_date(reader: ByteReader) -> date | None:
    year, month, day = _INTEGER(reader), reader.byte(), reader.byte()
    return None if year == _LEAST_INT else date(year, month, day)


def _local_time(reader: ByteReader) -> time | None:
    hour, minute, second, nanos = reader.byte(), reader.byte(), reader.byte(), _INTEGER(reader)
    return None if hour == 0x80 else time(hour, minute, second, nanos // 1000)


def _local_date_time(reader: ByteReader) -> datetime | None:
    day, clock = _local_date(reader), _local_time(reader)
    return None if day is None or clock is None else datetime.combine(day, clock)


def _instant(reader: ByteReader) -> Instant | None:
    seconds, nanos = _LONG(reader), _INTEGER(reader)
    return None if seconds == _LEAST_LONG else Instant(seconds, nanos)


def _nothing(reader: ByteReader) -> None:
    reader.byte()


def _empty_tuple(reader: ByteReader) -> tuple[()]:
    reader.byte()
    return ()


def _array(element: Read, smallest: int) -> Read:
    def read(reader: ByteReader) -> list[Any]:
        return [element(reader) for _ in range(reader.count("elements", smallest))]

    return read


def _byte_array(reader: ByteReader) -> bytes:
    return reader.sized("a byte array")


def _window(*names: str) -> Decoder:
    """Windows of numbers: their serializers say that they have no length, whatever they write."""
    type = RowTypeInfo([Types.LONG()] * len(names), names)
    return Decoder(type, lambda reader: make_row(names, 0, [_LONG(reader) for _ in names]), 0)


def _global_window(reader: ByteReader) -> Any:
    reader.byte()
    return make_row((), 0, [])


_BYTES = Decoder(PrimitiveArrayTypeInfo(Types.BYTE()), _byte_array)

_NUMBERS: dict[str, tuple[TypeInformation, Read, int]] = {
    "Boolean": (Types.BOOLEAN(), ByteReader.boolean, 1),
    "Byte": (Types.BYTE(), _fixed(">b"), 1),
    "Short": (Types.SHORT(), _fixed(">h"), 2),
    "Int": (Types.INT(), _INTEGER, 4),
    "Long": (Types.LONG(), _LONG, 8),
    "Float": (Types.FLOAT(), _fixed(">f"), 4),
    "Double": (Types.DOUBLE(), _fixed(">d"), 8),
    "Char": (Types.CHAR(), _character, 2),
}

_SIMPLE: dict[str | None, Decoder] = {
    **{f"{_BASE}{name}Serializer": Decoder(type, read, size) for name, (type, read, size) in _NUMBERS.items()},
    **{
        f"{_BASE}array.{name}PrimitiveArraySerializer": Decoder(PrimitiveArrayTypeInfo(type), _array(read, size))
        for name, (type, read, size) in _NUMBERS.items()
    },
    _BASE + "array.BytePrimitiveArraySerializer": _BYTES,
    _BASE + "array.StringArraySerializer": Decoder(BasicArrayTypeInfo(Types.STRING()), _array(ByteReader.text, 1)),
    _BASE + "StringSerializer": Decoder(Types.STRING(), ByteReader.text),
    _BASE + "BigIntSerializer": Decoder(Types.BIG_INT(), _big_integer),
    _BASE + "BigDecSerializer": Decoder(Types.BIG_DEC(), _big_decimal),
    _BASE + "DateSerializer": Decoder(TimestampTypeInfo(), _util_date, 8),
    _BASE + "SqlDateSerializer": Decoder(DateTypeInfo(), _sql_date, 8),
    _BASE + "SqlTimeSerializer": Decoder(TimeTypeInfo(), _sql_time, 8),
    _BASE + "SqlTimestampSerializer": Decoder(TimestampTypeInfo(), _sql_timestamp, 12),
    _BASE + "LocalDateSerializer": Decoder(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), _local_date, 6),
    _BASE + "LocalTimeSerializer": Decoder(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), _local_time, 7),
    _BASE + "LocalDateTimeSerializer": Decoder(
        LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), _local_date_time, 13
    ),
    _BASE + "InstantSerializer": Decoder(Types.INSTANT(), _instant, 12),
    _BASE + "VoidSerializer": Decoder(None, _nothing, 1),
    _STATE + "VoidNamespaceSerializer": Decoder(None, _nothing, 0),
    _STREAMING + "api.utils.ByteArrayWrapperSerializer": _BYTES,
    _RUNTIME + "Tuple0Serializer": Decoder(TupleTypeInfo([]), _empty_tuple, 1),
    **dict.fromkeys((f"{package}TimeWindow$Serializer" for package in _WINDOWS), _window("start", "end")),
    **dict.fromkeys((f"{package}CountWindow$Serializer" for package in _WINDOWS), _window("id")),
    **dict.fromkeys(
        (f"{package}GlobalWindow$Serializer" for package in _WINDOWS), Decoder(RowTypeInfo([]), _global_window, 0)
    ),
}


def _detail(snapshot: SerializerSnapshot, name: str) -> Any:
    return dict(snapshot.details).get(name)


def _typed(decoder: Decoder) -> TypeInformation:
    if decoder.type is None:
        raise Undecodable("a collection of nothing")
    return decoder.type


def _list(snapshot: SerializerSnapshot) -> Decoder:
    (element,) = map(decoder_of, snapshot.nested)
    return Decoder(ListTypeInfo(_typed(element)), _array(element.read, 1), element=element)


def _set(snapshot: SerializerSnapshot) -> Decoder:
    """A set, as a list: each element behind whether it is null."""
    (element,) = map(decoder_of, snapshot.nested)
    read = element.read

    def nullable(reader: ByteReader) -> Any:
        return None if reader.boolean() else read(reader)

    return Decoder(ListTypeInfo(_typed(element)), _array(nullable, 1), element=element)


def _generic_array(snapshot: SerializerSnapshot) -> Decoder:
    (element,) = map(decoder_of, snapshot.nested)
    read = element.read

    def present(reader: ByteReader) -> Any:
        return read(reader) if reader.boolean() else None

    return Decoder(ObjectArrayTypeInfo(_typed(element)), _array(present, 1), element=element)


def _map(snapshot: SerializerSnapshot) -> Decoder:
    key, value = map(decoder_of, snapshot.nested)

    def read(reader: ByteReader) -> dict[Any, Any]:
        found = {}
        for _ in range(reader.count("entries", 1)):
            name = hashable(key.read(reader))
            found[name] = None if reader.boolean() else value.read(reader)
        return found

    return Decoder(MapTypeInfo(_typed(key), _typed(value)), read, key=key, value=value)


def hashable(key: Any) -> Any:
    """A value that can be the key of a dict: lists and dicts become tuples."""
    if isinstance(key, list):
        return tuple(map(hashable, key))
    if isinstance(key, dict):
        return tuple((hashable(name), hashable(value)) for name, value in key.items())
    return key


def _either(snapshot: SerializerSnapshot) -> Decoder:
    """One of two values: a row with names, of which one field is there (Java's `Either`, and Scala's)."""
    left, right = map(decoder_of, snapshot.nested)
    names = ("left", "right")

    def read(reader: ByteReader) -> Any:
        is_left = reader.boolean()
        return make_row(names, 0, [left.read(reader), None] if is_left else [None, right.read(reader)])

    return Decoder(RowTypeInfo([_typed(left), _typed(right)], names), read)


def _row(snapshot: SerializerSnapshot) -> Decoder:
    fields = [decoder_of(nested) for nested in snapshot.nested]
    type = RowTypeInfo([_typed(field) for field in fields])
    read = row_reader(type.field_names, [field.read for field in fields], kind=bool(_detail(snapshot, "row_kind")))
    return Decoder(type, read)


def row_reader(names: tuple[str, ...], fields: Sequence[Read], *, kind: bool) -> Read:
    """Reads rows as `RowSerializer` writes them: a mask, then the fields that are not null."""

    def read(reader: ByteReader) -> Any:
        row_kind, nulls = read_mask(reader, len(fields), kind=kind)
        return make_row(
            names, row_kind, [None if null else field(reader) for null, field in zip(nulls, fields, strict=True)]
        )

    return read


def read_mask(reader: ByteReader, fields: int, *, kind: bool) -> tuple[int, list[bool]]:
    """The mask of a row (`MaskUtils`): bits for the kind of change, where it has them, and one for each field that is null."""
    bits = 2 * kind + fields
    size = -(-bits // 8)
    mask = int.from_bytes(reader.raw(size, "the mask of a row"), "big") >> (8 * size - bits)
    row_kind = (mask >> bits - 1 & 1) | (mask >> bits - 2 & 1) << 1 if kind else 0
    return row_kind, [bool(mask >> fields - 1 - place & 1) for place in range(fields)]


def _tuple(snapshot: SerializerSnapshot) -> Decoder:
    fields = [decoder_of(nested) for nested in snapshot.nested]
    reads = [field.read for field in fields]
    lengths = [field.length for field in fields]
    length = sum(lengths) if all(each > 0 for each in lengths) else VARIABLE
    type = TupleTypeInfo([_typed(field) for field in fields])
    return Decoder(type, lambda reader: tuple([read(reader) for read in reads]), length)


def _nullable(snapshot: SerializerSnapshot) -> Decoder:
    (inner,) = map(decoder_of, snapshot.nested)
    padding = int(_detail(snapshot, "null_padding") or 0)

    def read(reader: ByteReader) -> Any:
        if not reader.boolean():
            return inner.read(reader)
        reader.raw(padding, "the place of a value")
        return None

    return Decoder(inner.type, read, padding + 1 if padding else VARIABLE)


_IS_NULL, _NAMED_SUBCLASS, _TAGGED_SUBCLASS = 1, 4, 8


def _pojo(snapshot: SerializerSnapshot) -> Decoder:
    """A POJO: flags, then its fields, each behind whether it is null; of a subclass, what that one's serializer writes."""
    names = snapshot.texts("fields")
    fields = [decoder_of(nested) for nested in snapshot.nested]
    reads = [field.read for field in fields]
    subclasses = snapshot.subclasses

    def of_subclass(reader: ByteReader, flags: int) -> Any:
        if flags & _NAMED_SUBCLASS:
            name = reader.utf()
            found = next((inner for other, inner in subclasses if other == name), None)
        else:
            tag = reader.byte()
            name = f"number {tag}"
            found = subclasses[tag][1] if tag < len(subclasses) else None
        if found is None:
            raise Undecodable(f"an object of the class {name}, which no serializer is recorded for")
        return decoder_of(found).read(reader)

    def read(reader: ByteReader) -> Any:
        flags = reader.byte()
        if flags & _IS_NULL:
            return None
        if flags & (_NAMED_SUBCLASS | _TAGGED_SUBCLASS):
            return of_subclass(reader, flags)
        return make_row(names, 0, [None if reader.boolean() else read_field(reader) for read_field in reads])

    return Decoder(RowTypeInfo([_typed(field) for field in fields], names), read)


def _enum(snapshot: SerializerSnapshot) -> Decoder:
    constants = snapshot.texts("constants")

    def read(reader: ByteReader) -> str:
        place = reader.integer()
        if not 0 <= place < len(constants):
            reader.damaged(f"constant {place} of an enum of {len(constants)}")
        return constants[place]

    return Decoder(Types.STRING(), read, 4)


def _avro(snapshot: SerializerSnapshot) -> Decoder:
    schema = str(_detail(snapshot, "schema"))
    try:
        return Decoder(GenericRecordAvroTypeInfo(schema), avro_reader(schema))
    except ValueError as error:
        raise Undecodable(f"Avro records of a schema that cannot be read ({error})") from None


def _inner(snapshot: SerializerSnapshot) -> Decoder:
    (inner,) = map(decoder_of, snapshot.nested)
    return inner


_MADE: dict[str, Callable[[SerializerSnapshot], Decoder]] = {
    _BASE + "ListSerializer": _list,
    _BASE + "SetSerializer": _set,
    _STATE + "ArrayListSerializer": _list,
    _BASE + "MapSerializer": _map,
    _BASE + "GenericArraySerializer": _generic_array,
    _BASE + "EnumSerializer": _enum,
    _RUNTIME + "EitherSerializer": _either,
    _RUNTIME + "RowSerializer": _row,
    _RUNTIME + "TupleSerializer": _tuple,
    _RUNTIME + "NullableSerializer": _nullable,
    _RUNTIME + "PojoSerializer": _pojo,
    "org.apache.flink.formats.avro.typeutils.AvroSerializer": _avro,
    _STATE + "ttl.TtlAwareSerializer": _inner,
}

TTL = frozenset(f"{_STATE}{package}ttl.TtlStateFactory$TtlSerializer" for package in ("", "v2."))


def ttl_inside(snapshot: SerializerSnapshot) -> SerializerSnapshot | None:
    """The serializer of the values inside one with a time to live; None if there is no time to live."""
    if snapshot.serializer == _STATE + "ttl.TtlAwareSerializer" and len(snapshot.nested) == 1:
        return ttl_inside(snapshot.nested[0])
    return snapshot.nested[1] if snapshot.serializer in TTL and len(snapshot.nested) == 2 else None

"""The functions that write and read the values of a type.

Numbers are big-endian and have Flink's width, text is UTF-8, an instant is its seconds and nanoseconds. Compound values are
their parts, each after its length in 4 bytes (:data:`ABSENT` for None). Avro records have Avro's binary form. Only values of
types that are declared as pickled, or unknown here, are pickled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from functools import partial
from typing import Any

from msgspec import Struct

from compat.state.rows import make_row
from compat.state.serializers.pickles import dump, load
from compat.state.time import Instant
from compat.state.types import (
    DateTypeInfo,
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

ABSENT = 0xFFFFFFFF
_LENGTH = struct.Struct(">I")
_WIDTHS = {"BYTE": ">b", "SHORT": ">h", "INT": ">i", "LONG": ">q", "FLOAT": ">f", "DOUBLE": ">d"}
_COUNTED = frozenset({"SQL_DATE", "SQL_TIME", "SQL_TIMESTAMP"})
_LOCAL: dict[str, TypeInformation] = {
    "LOCAL_DATE": DateTypeInfo(),
    "LOCAL_TIME": TimeTypeInfo(),
    "LOCAL_DATE_TIME": TimestampTypeInfo(),
}
_INSTANT = struct.Struct(">qi")


class Codec(Struct, frozen=True):
    """Writes a value of one type as bytes and reads it back; ``pickled`` if reading needs the program's classes."""

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    pickled: bool = False


def codec_of(type_info: TypeInformation | None) -> Codec:
    """The codec of a type; None is the pickled type."""
    if type_info is None:
        return PICKLE
    kind = type_info.kind
    if kind in _WIDTHS:
        return _number(kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind in _COUNTED:
        return _counted(type_info)
    if isinstance(type_info, LocalTimeTypeInfo):
        return _counted(_LOCAL[kind])
    if isinstance(type_info, GenericRecordAvroTypeInfo):
        return _avro(type_info)
    if isinstance(type_info, ExternalTypeInfo):
        return codec_of(type_info.type_info)
    if isinstance(type_info, RowTypeInfo):
        return _row(type_info)
    if isinstance(type_info, TupleTypeInfo):
        return _tuple(type_info)
    if isinstance(type_info, MapTypeInfo):
        return _map(type_info)
    if kind == "PRIMITIVE_ARRAY" and type_info.element_type.kind == "BYTE":  # type: ignore[attr-defined]
        return Codec(bytes, bytes)
    if isinstance(type_info, ListTypeInfo) or kind in ("BASIC_ARRAY", "OBJECT_ARRAY", "PRIMITIVE_ARRAY"):
        return _list(codec_of(type_info.element_type))  # type: ignore[attr-defined]
    return PICKLE


PICKLE = Codec(dump, load, pickled=True)


def not_of_type(value: Any, kind: str) -> TypeError:
    """The error for a value that does not convert to a number of the declared type."""
    return TypeError(
        f"{value!r} is no value of the declared type {kind}: declare the type that the program's values have."
    )


def _number(kind: str) -> Codec:
    layout = struct.Struct(_WIDTHS[kind])
    pack, unpack = layout.pack, layout.unpack
    convert: Callable[[Any], Any] = float if kind in ("FLOAT", "DOUBLE") else int

    def encode(value: Any) -> bytes:
        try:
            return pack(value)
        except (struct.error, OverflowError):
            return _converted(value)

    def _converted(value: Any) -> bytes:
        try:
            if convert is int and value != int(value):
                raise ValueError
            return pack(convert(value))
        except (struct.error, ValueError, TypeError, OverflowError):
            raise not_of_type(value, kind) from None

    return Codec(encode, lambda data: unpack(data)[0])


def _text(value: Any) -> bytes:
    try:
        return str.encode(value, "utf-8", "surrogatepass")
    except TypeError:
        raise TypeError(
            f"{value!r} is no value of the declared type STRING: declare the type that the values have."
        ) from None


_SIMPLE: dict[str, Codec] = {
    "STRING": Codec(_text, lambda data: data.decode("utf-8", "surrogatepass")),
    "CHAR": Codec(_text, lambda data: data.decode("utf-8", "surrogatepass")),
    "BOOLEAN": Codec(lambda value: b"\1" if value else b"\0", lambda data: data != b"\0"),
    "BIG_INT": Codec(lambda value: b"%d" % value, int),
    "BIG_DEC": Codec(lambda value: str(value).encode(), lambda data: Decimal(data.decode())),
    "INSTANT": Codec(
        lambda value: _INSTANT.pack(value.seconds, value.nanos), lambda data: Instant(*_INSTANT.unpack(data))
    ),
}


def _avro(type_info: GenericRecordAvroTypeInfo) -> Codec:
    from compat.state.serializers.avro import reader, writer

    return Codec(writer(type_info.schema), reader(type_info.schema, type_info.schema))


def _counted(type_info: TypeInformation) -> Codec:
    """A point in time, as the whole number that its type stores."""
    to_internal, from_internal = type_info.to_internal_type, type_info.from_internal_type
    return Codec(
        lambda value: to_internal(value).to_bytes(8, "big", signed=True),
        lambda data: from_internal(int.from_bytes(data, "big", signed=True)),
    )


def join(parts: Iterable[bytes | None]) -> bytes:
    """Parts, each after its length."""
    pack = _LENGTH.pack
    pieces: list[bytes] = []
    for part in parts:
        if part is None:
            pieces.append(pack(ABSENT))
        else:
            pieces.append(pack(len(part)))
            pieces.append(part)
    return b"".join(pieces)


def split(data: bytes) -> list[bytes | None]:
    """The parts that :func:`join` joined."""
    parts: list[bytes | None] = []
    position, end = 0, len(data)
    unpack = _LENGTH.unpack_from
    while position < end:
        (length,) = unpack(data, position)
        position += 4
        if length == ABSENT:
            parts.append(None)
            continue
        parts.append(data[position : position + length])
        position += length
    return parts


def _list(element: Codec) -> Codec:
    encode, decode = element.encode, element.decode
    return Codec(
        lambda values: join(None if value is None else encode(value) for value in values),
        lambda data: [None if part is None else decode(part) for part in split(data)],
        element.pickled,
    )


def _fields(types: Iterable[TypeInformation]) -> tuple[list[Codec], bool]:
    codecs = [codec_of(type_info) for type_info in types]
    return codecs, any(codec.pickled for codec in codecs)


def _framed(type_info: TypeInformation) -> tuple[Callable[[Any], bytes], Callable[[Any], bytes]]:
    """The writers of a field behind its length: a fast one, which fails on what needs a closer look, and one with that look."""
    encode = codec_of(type_info).encode
    pack, absent = _LENGTH.pack, _LENGTH.pack(ABSENT)

    def frame(value: Any) -> bytes:
        if value is None:
            return absent
        data = encode(value)
        return pack(len(data)) + data

    if type_info.kind not in _WIDTHS:
        return frame, frame
    layout = _WIDTHS[type_info.kind]
    return partial(struct.Struct(f">I{layout[1:]}").pack, struct.calcsize(layout)), frame


def _tuple(type_info: TupleTypeInfo) -> Codec:
    codecs, pickled = _fields(type_info.field_types)
    decoders = [codec.decode for codec in codecs]
    unpack = _LENGTH.unpack_from
    framed = [_framed(field) for field in type_info.field_types]
    fast, general = [each[0] for each in framed], [each[1] for each in framed]

    def encode(value: Any) -> bytes:
        try:
            return b"".join([frame(field) for frame, field in zip(fast, value, strict=True)])
        except (struct.error, OverflowError):
            return b"".join([frame(field) for frame, field in zip(general, value, strict=True)])

    def decode(data: bytes) -> Any:
        fields: list[Any] = []
        position = 0
        for decode_field in decoders:
            (length,) = unpack(data, position)
            position += 4
            if length == ABSENT:
                fields.append(None)
            else:
                fields.append(decode_field(data[position : position + length]))
                position += length
        return tuple(fields)

    return Codec(encode, decode, pickled)


def _row(type_info: RowTypeInfo) -> Codec:
    codecs, pickled = _fields(type_info.field_types)
    names = type_info.field_names

    def encode(value: Any) -> bytes:
        kind = 0
        if hasattr(value, "get_row_kind"):
            kind = value.get_row_kind().value
            value = value.get_fields_by_names(list(names))
        elif isinstance(value, dict):
            value = [value.get(name) for name in names]
        fields = [None if field is None else codec.encode(field) for codec, field in zip(codecs, value, strict=True)]
        return bytes((kind,)) + join(fields)

    def decode(data: bytes) -> Any:
        parts = zip(codecs, split(data[1:]), strict=True)
        return make_row(names, data[0], [None if part is None else codec.decode(part) for codec, part in parts])

    return Codec(encode, decode, pickled)


def _map(type_info: MapTypeInfo) -> Codec:
    key, value = codec_of(type_info.key_type), codec_of(type_info.value_type)

    def encode(entries: Any) -> bytes:
        parts: list[bytes | None] = []
        for name, each in entries.items():
            parts += [key.encode(name), None if each is None else value.encode(each)]
        return join(parts)

    def decode(data: bytes) -> Any:
        parts = split(data)
        return {
            key.decode(name or b""): None if each is None else value.decode(each)
            for name, each in zip(parts[::2], parts[1::2], strict=True)
        }

    return Codec(encode, decode, key.pickled or value.pickled)

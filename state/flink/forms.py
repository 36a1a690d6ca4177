"""The forms of values in bytes: their readers, their writers for single values, and their parts.

A form comes from the snapshot of one of Flink's serializers (here), or from a type declared by a program in PyFlink
(`python_forms`).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import partial
from typing import Any, NoReturn

from msgspec import Struct

from compat.state.flink.avro_values import Codec, avro_fields, avro_reader
from compat.state.flink.binary import ByteReader
from compat.state.flink.row_data import decimal_bytes, in_slot, number_in_slot, read_decimal, read_number
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.values import Read, Undecodable, decoder_of
from compat.state.flink.writing import write_text
from compat.state.time import Instant

Write = Callable[[Any], bytes]

Convert = Callable[[Sequence[bytes]], list[bytes]]
"""Converts values to NEW's form, in their order."""

Transcode = Callable[[ByteReader], bytes]
"""Reads one value in OLD's form and gives it in NEW's."""

_BASE = "org.apache.flink.api.common.typeutils.base."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
_SCALA = "org.apache.flink.api.scala.typeutils."
_EPOCH = datetime(1970, 1, 1)
_LONGEST_SHOWN = 120


class Unconvertible(Exception):
    """A type or a value that cannot be converted to another; the message gives it and the reason."""


class NeedsClass(Unconvertible):
    """A value that only a class of the program can read or write."""


class Layout(Enum):
    """The byte layout of values with parts."""

    LIST = "a count, and the elements"
    MARKED_LIST = "a count, and the elements, each behind whether it is there"
    MAP = "a count, and keys and values, these behind whether they are null"
    TUPLE = "the fields"
    ROW = "a mask of nulls, and the fields that are none"
    ROW_OF_CHANGES = "the same, behind the kind of change"
    ALONE = "the only field"
    ROW_DATA = "a row of SQL in its own bytes"
    POJO = "flags, and the fields, each behind whether it is null"

    @property
    def is_record(self) -> bool:
        """True if its parts are fields with names."""
        return self in (Layout.TUPLE, Layout.ROW, Layout.ROW_OF_CHANGES, Layout.ALONE, Layout.ROW_DATA, Layout.POJO)


class Form(Struct, frozen=True):
    """The form of values: ``same`` is equal for forms of which each reads the other, ``called`` is for messages.

    Single values have ``write``, values with ``parts`` have ``layout``; ``names`` are those of a record's fields. With
    ``takes_null`` the form itself writes or refuses null.
    """

    called: str
    same: object
    read: Read
    write: Write | None = None
    layout: Layout | None = None
    parts: tuple[Form, ...] = ()
    names: tuple[str, ...] = ()
    takes_null: bool = False


def alone(form: Form, name: str) -> Form:
    """The form of a record whose only field is a value of a form."""
    return Form(form.called, (form.same, name), form.read, None, Layout.ALONE, (form,), (name,))


def form_of(snapshot: SerializerSnapshot) -> Form:
    """The form in which a serializer of Flink's writes values. Raises Unconvertible if it cannot be read here."""
    if snapshot.serializer == ROW_DATA:
        return _row_data(snapshot)
    if snapshot.serializer in _COLLECTIONS:
        called = f"{_COLLECTIONS[snapshot.serializer]}<{', '.join(snapshot.texts('types'))}>"
        return Form(called, called, lambda reader: reader.sized("an array or a map"))
    if snapshot.serializer == AVRO:
        return _avro(snapshot)
    layout = _LAYOUTS.get(snapshot.serializer or "")
    try:
        read = decoder_of(snapshot).read
    except Undecodable as error:
        if layout not in _PASSING:
            raise NeedsClass(f"{error} cannot be read here") from None
        read = _PASSING[layout](tuple(form_of(part).read for part in snapshot.nested))
    same = (snapshot, snapshot.subclasses)
    if layout is Layout.ROW and dict(snapshot.details).get("row_kind"):
        layout = Layout.ROW_OF_CHANGES
    if layout is None:
        return Form(_short(snapshot), same, read, _writer(snapshot))
    parts = tuple(map(form_of, snapshot.nested))
    numbered = tuple(f"f{place}" for place in range(len(parts)))
    names = snapshot.texts("fields") if layout is Layout.POJO else numbered
    return Form(_short(snapshot), same, read, None, layout, parts, names if layout.is_record else ())


_COLLECTIONS = {
    "org.apache.flink.table.runtime.typeutils.ArrayDataSerializer": "ARRAY",
    "org.apache.flink.table.runtime.typeutils.MapDataSerializer": "MAP",
}
"""Arrays and maps of SQL: a length, and so many bytes (`BinaryArrayData`, `BinaryMapData`)."""
ROW_DATA = "org.apache.flink.table.runtime.typeutils.RowDataSerializer"


def _row_data(snapshot: SerializerSnapshot) -> Form:
    parts = tuple(_column(_ANY_NULLS.sub("", type)) for type in snapshot.texts("types"))
    names = snapshot.texts("fields") or tuple(f"f{place}" for place in range(len(parts)))
    called = f"ROW<{', '.join(part.called for part in parts)}>"
    return Form(called, called, lambda reader: reader.sized("a row"), None, Layout.ROW_DATA, parts, names)


AVRO = "org.apache.flink.formats.avro.typeutils.AvroSerializer"


def _avro(snapshot: SerializerSnapshot) -> Form:
    """The form of records of Avro: their fields behind one another, as a tuple has them."""
    schema = str(dict(snapshot.details).get("schema", ""))
    try:
        read, fields = avro_reader(schema), avro_fields(schema)
    except ValueError as error:
        raise NeedsClass(f"Avro records of a schema that cannot be read ({error})") from None
    parts = tuple(map(_of_avro, fields.values()))
    same = ("avro", tuple(fields), tuple(part.same for part in parts))
    return Form("Avro", same, read, None, Layout.TUPLE, parts, tuple(fields))


def _of_avro(codec: Codec) -> Form:
    def write(value: Any) -> bytes:
        try:
            return codec.write(value)
        except ValueError as error:
            raise Unconvertible(str(error)) from None

    kind = codec.same if isinstance(codec.same, str) else "Avro"
    return Form(kind, ("avro", codec.same), codec.read, write, takes_null=True)


def _column(type: str) -> Form:
    """The form of a field of a row of SQL, by its type."""
    if type in _WIDTHS:
        bits = _WIDTHS[type]
        write = whole(">q", -(1 << bits - 1), (1 << bits - 1) - 1)
        return Form(type, type, partial(read_number, bits), lambda value: number_in_slot(write(value), bits))
    if type.startswith(("VARCHAR", "STRING")):
        return Form(type, type, lambda reader: _rest(reader).decode(), lambda value: as_text(value).encode())
    if type in _FLOATING:
        packer = struct.Struct(_FLOATING[type])
        write = floating(_FLOATING[type])
        return Form(
            type, type, lambda reader: packer.unpack(_rest(reader)[: packer.size])[0], lambda v: in_slot(write(v))
        )
    if (found := _DECIMAL.fullmatch(type)) is not None:
        precision, scale = int(found["precision"]), int(found["scale"])
        return Form(type, type, partial(read_decimal, precision, scale), partial(_decimal, precision, scale))
    return Form(type, type, _rest)


def _decimal(precision: int, scale: int, value: Any) -> bytes:
    try:
        number = value if isinstance(value, Decimal) else Decimal(value if isinstance(value, str | int) else str(value))
    except InvalidOperation:
        return unfit(value, "a number")
    data = None if isinstance(value, bool) or not number.is_finite() else decimal_bytes(number, precision, scale)
    return unfit(value, f"a DECIMAL({precision}, {scale})") if data is None else data


def _rest(reader: ByteReader) -> bytes:
    return reader.raw(reader.remaining, "a field")


_FLOATING = {"FLOAT": "<f", "DOUBLE": "<d"}
_DECIMAL = re.compile(r"DECIMAL\((?P<precision>\d+), (?P<scale>\d+)\)")
_WIDTHS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_ANY_NULLS = re.compile(r" NOT NULL$| \*(ROW|PROC)TIME\*")
"""The facts about a type besides the format of its values."""

_LAYOUTS = {
    _BASE + "ListSerializer": Layout.LIST,
    "org.apache.flink.runtime.state.ArrayListSerializer": Layout.LIST,
    _BASE + "MapSerializer": Layout.MAP,
    _RUNTIME + "TupleSerializer": Layout.TUPLE,
    _SCALA + "ScalaCaseClassSerializer": Layout.TUPLE,
    _SCALA + "Tuple2CaseClassSerializer": Layout.TUPLE,
    _RUNTIME + "RowSerializer": Layout.ROW,
    _RUNTIME + "PojoSerializer": Layout.POJO,
}


def _pass_list(parts: tuple[Read, ...]) -> Read:
    (element,) = parts

    def read(reader: ByteReader) -> None:
        for _ in range(reader.count("elements", 1)):
            element(reader)

    return read


def pass_map(parts: tuple[Read, ...]) -> Read:
    """The function that reads past the keys and values of a map (`AbstractMapSerializer`)."""
    key, value = parts

    def read(reader: ByteReader) -> None:
        for _ in range(reader.count("entries", 1)):
            key(reader)
            if not reader.boolean():
                value(reader)

    return read


def _pass_tuple(parts: tuple[Read, ...]) -> Read:
    def read(reader: ByteReader) -> None:
        for part in parts:
            part(reader)

    return read


_PASSING = {Layout.LIST: _pass_list, Layout.MAP: pass_map, Layout.TUPLE: _pass_tuple}
"""What reads past values with parts that have no value here, such as rows of SQL."""


def _writer(snapshot: SerializerSnapshot) -> Write | None:
    if snapshot.serializer == _BASE + "EnumSerializer":
        return _constant(snapshot.texts("constants"))
    return _WRITE.get(snapshot.serializer or "")


def _short(snapshot: SerializerSnapshot) -> str:
    details = dict(snapshot.details)
    named = details.get("pojo_class") or details.get("enum_class")
    return str(named or (snapshot.serializer or snapshot.class_name).rpartition(".")[2].removesuffix("Serializer"))


# ---- single values ----


def unfit(value: Any, wanted: str) -> NoReturn:
    """Raise Unconvertible for a value that is not as wanted."""
    raise Unconvertible(f"{shown(value)} is not {wanted}")


def shown(value: Any) -> str:
    """The text of a value in messages, cut if it is long."""
    told = repr(value)
    return told if len(told) <= _LONGEST_SHOWN else f"{told[:_LONGEST_SHOWN]}…"


def whole(layout: str, least: int, most: int) -> Write:
    """A writer of whole numbers within bounds."""
    packer = struct.Struct(layout)

    def write(value: Any) -> bytes:
        number = whole_number(value)
        return packer.pack(number) if least <= number <= most else unfit(value, f"between {least} and {most}")

    return write


BYTE, SHORT, INT, LONG = (
    whole(layout, -(1 << bits - 1), (1 << bits - 1) - 1)
    for layout, bits in ((">b", 8), (">h", 16), (">i", 32), (">q", 64))
)


def whole_number(value: Any) -> int:
    """A value as a whole number, whatever its type. Raises Unconvertible for any other value."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            unfit(value, "a whole number")
    if value is None or isinstance(value, bool | datetime | Instant) or not isinstance(value, int | float):
        unfit(value, "a whole number")
    if value != value or value in (float("inf"), float("-inf")) or value != int(value):
        unfit(value, "a whole number")
    return int(value)


def floating(layout: str) -> Write:
    """A writer of floating numbers that are exact in this many bytes."""
    packer = struct.Struct(layout)

    def write(value: Any) -> bytes:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return unfit(value, "a number")
        try:
            data = packer.pack(float(value))
        except OverflowError:
            return unfit(value, "a number of that size")
        return data if packer.unpack(data)[0] == value or value != value else unfit(value, "exact there")

    return write


def boolean(value: Any) -> bytes:
    """True or false as a byte."""
    return struct.pack(">?", value) if isinstance(value, bool) else unfit(value, "true or false")


def as_text(value: Any) -> str:
    """A text, or a whole number as one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        unfit(value, "a text, or a whole number that becomes one")
    return str(value)


def millis(value: Any) -> int:
    """A point in time in milliseconds since 1970, or a whole number as such."""
    if isinstance(value, Instant):
        if value.nanos % 1_000_000:
            unfit(value, "in whole milliseconds")
        return value.seconds * 1000 + value.nanos // 1_000_000
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(milliseconds=1)
    return whole_number(value)


def long(value: Any) -> bytes:
    """A whole number of eight bytes; for a point in time, its milliseconds."""
    return LONG(millis(value))


def instant(value: Any) -> bytes:
    """Seconds and nanoseconds (`InstantSerializer`)."""
    if value is None:
        return struct.pack(">qi", -(1 << 63), 0)
    if isinstance(value, Instant):
        return struct.pack(">qi", value.seconds, value.nanos)
    found = millis(value)
    return struct.pack(">qi", found // 1000, found % 1000 * 1_000_000)


def _date(value: Any) -> bytes:
    return struct.pack(">q", -(1 << 63) if value is None else millis(value))


def _big_integer(value: Any) -> bytes:
    number = whole_number(value)
    short = {0: 1, 1: 2, 10: 3}.get(number)
    if short is not None:
        return struct.pack(">i", short)
    data = number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    return struct.pack(">i", len(data) + 4) + data


def _constant(constants: tuple[str, ...]) -> Write:
    places = {name: struct.pack(">i", place) for place, name in enumerate(constants)}

    def write(value: Any) -> bytes:
        found = places.get(value) if isinstance(value, str) else None
        return found if found is not None else unfit(value, f"a constant of {', '.join(constants)}")

    return write


_WRITE: dict[str, Write] = {
    f"{_BASE}{name}Serializer": write
    for name, write in {
        "Boolean": boolean,
        "Byte": BYTE,
        "Short": SHORT,
        "Int": INT,
        "Long": long,
        "BigInt": _big_integer,
        "Float": floating(">f"),
        "Double": floating(">d"),
        "String": lambda value: write_text(as_text(value)),
        "Date": _date,
        "Instant": instant,
    }.items()
}


def bytes_of(form: Form, reader: ByteReader) -> bytes:
    """The bytes of the next value of a form. Raises NeedsClass if only a class of the program can read it."""
    begin = reader.position
    try:
        form.read(reader)
    except Undecodable as error:
        raise NeedsClass(str(error)) from None
    return reader.data[begin : reader.position]

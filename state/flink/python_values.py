"""Values of PyFlink's programs: as its coders write them, and what Flink's own serializers leave of them.

In process mode Flink keeps byte arrays. PyFlink's coders wrote them by the types that the program declared (`coders.py`,
`coder_impl_fast.pyx`); a savepoint does not record these types. In thread mode Flink's serializers write the values
themselves, and objects of Python as pickles in byte arrays. This module unpickles nothing: callers that may unpickle pass in a
function.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from compat.state.flink.avro_values import avro_reader
from compat.state.flink.binary import ByteReader
from compat.state.flink.values import Read, Undecodable, row_reader
from compat.state.rows import Row, make_row
from compat.state.time import Instant
from compat.state.types import (
    ExternalTypeInfo,
    GenericRecordAvroTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

Unpickle = Callable[[bytes], Any]
_PICKLED = "PICKLED_BYTE_ARRAY"
_EPOCH = datetime(1970, 1, 1)
_ARRAYS = frozenset({"PRIMITIVE_ARRAY", "BASIC_ARRAY", "OBJECT_ARRAY", "LIST"})


def coder_of(type: TypeInformation, unpickle: Unpickle) -> Read:
    """The reader of a type's values as PyFlink's coder of that type writes them. Raises Undecodable."""
    if isinstance(type, ExternalTypeInfo):
        return coder_of(type.type_info, unpickle)
    if isinstance(type, RowTypeInfo):
        return row_reader(type.field_names, [coder_of(field, unpickle) for field in type.field_types], kind=True)
    if isinstance(type, TupleTypeInfo):
        fields = [coder_of(field, unpickle) for field in type.field_types]
        return lambda reader: tuple([field(reader) for field in fields])
    if isinstance(type, MapTypeInfo):
        return _map(coder_of(type.key_type, unpickle), coder_of(type.value_type, unpickle))
    if isinstance(type, GenericRecordAvroTypeInfo):
        return _avro(type.schema)
    if type.kind in _ARRAYS:
        return _array(type, unpickle)
    if type.kind == _PICKLED:
        return lambda reader: unpickle(reader.sized("a pickled object"))
    found = _LOCAL.get(type.kind) if isinstance(type, LocalTimeTypeInfo) else _SIMPLE.get(type.kind)
    if found is None:
        raise Undecodable(f"values of the type {type}")
    return found


def _avro(schema: str) -> Read:
    """Avro records. PyFlink ends an array with eight bytes and reads one, so that it cannot read what is behind it either."""
    if '"array"' in schema:
        raise Undecodable("Avro records with arrays, of which PyFlink does not read back what it writes,")
    return avro_reader(schema)


def _text(reader: ByteReader) -> str:
    data = reader.sized("a text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return reader.damaged("a text that is not UTF-8", "another type was declared when it was written")


def _decimal(reader: ByteReader) -> Decimal:
    text = _text(reader)
    try:
        return Decimal(text)
    except ArithmeticError:
        return reader.damaged(f"the decimal {text[:40]!r}", "another type was declared when it was written")


def _boolean(reader: ByteReader) -> bool:
    byte = reader.byte()
    if byte > 1:
        reader.damaged(f"the truth value {byte}", "another type was declared when it was written")
    return byte == 1


def _number(layout: str) -> Read:
    unpacker = struct.Struct(layout)
    return lambda reader: unpacker.unpack(reader.raw(unpacker.size, "a number"))[0]


def _in_calendar(reader: ByteReader, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (ValueError, OverflowError) as error:
        return reader.damaged("a day or time that is in no calendar", str(error))


def _date(reader: ByteReader) -> date:
    days = reader.integer()
    return _in_calendar(reader, lambda: (_EPOCH + timedelta(days=days)).date())  # type: ignore[no-any-return]


def _time(reader: ByteReader) -> time:
    millis = reader.integer()
    return _in_calendar(reader, lambda: (_EPOCH + timedelta(milliseconds=millis)).time())  # type: ignore[no-any-return]


def _timestamp(reader: ByteReader) -> datetime:
    millis = reader.long()
    return _in_calendar(reader, lambda: _EPOCH + timedelta(milliseconds=millis))  # type: ignore[no-any-return]


def _instant(reader: ByteReader) -> Instant | None:
    seconds, nanos = reader.long(), reader.integer()
    return None if seconds == -(1 << 63) else Instant(seconds, nanos)


def _local_date(reader: ByteReader) -> date:
    year, month, day = reader.integer(), reader.byte(), reader.byte()
    return _in_calendar(reader, lambda: date(year, month, day))  # type: ignore[no-any-return]


def _local_time(reader: ByteReader) -> time:
    hour, minute, second, nanos = reader.byte(), reader.byte(), reader.byte(), reader.integer()
    return _in_calendar(reader, lambda: time(hour, minute, second, nanos // 1000))  # type: ignore[no-any-return]


def _local_date_time(reader: ByteReader) -> datetime:
    day = _local_date(reader)
    return datetime.combine(day, _local_time(reader))


_LOCAL: dict[str, Read] = {
    "LOCAL_DATE": _local_date,
    "LOCAL_TIME": _local_time,
    "LOCAL_DATE_TIME": _local_date_time,
}
_SIMPLE: dict[str, Read] = {
    "STRING": _text,
    "CHAR": _text,
    "BOOLEAN": _boolean,
    "BYTE": _number(">b"),
    "SHORT": _number(">h"),
    "INT": ByteReader.integer,
    "LONG": ByteReader.long,
    "BIG_INT": ByteReader.long,
    "FLOAT": _number(">f"),
    "DOUBLE": _number(">d"),
    "BIG_DEC": _decimal,
    "SQL_DATE": _date,
    "SQL_TIME": _time,
    "SQL_TIMESTAMP": _timestamp,
    "INSTANT": _instant,
}


def _array(type: TypeInformation, unpickle: Unpickle) -> Read:
    """Lists and arrays: those of primitives without a mark for each element, bytes as such."""
    element: TypeInformation = type.element_type  # type: ignore[attr-defined]
    read = coder_of(element, unpickle)
    if type.kind == "PRIMITIVE_ARRAY":
        if element.kind == "BYTE":
            return lambda reader: reader.sized("bytes")
        return lambda reader: [read(reader) for _ in range(reader.count("elements", 1))]
    return lambda reader: [read(reader) if _boolean(reader) else None for _ in range(reader.count("elements", 1))]


def _map(key: Read, value: Read) -> Read:
    def read(reader: ByteReader) -> dict[Any, Any]:
        found = {}
        for _ in range(reader.count("entries", 1)):
            name = key(reader)
            found[name] = None if _boolean(reader) else value(reader)
        return found

    return read


def decoded(read: Read, data: bytes) -> Any:
    """The single value in some bytes. Raises a `SavepointError` for bytes that are not of the type."""
    reader = ByteReader(data, "a value")
    value = read(reader)
    if reader.remaining:
        reader.damaged(f"{reader.remaining} bytes behind a value", "another type was declared when it was written")
    return value


def decoded_all(read: Read, chunks: Iterable[bytes]) -> list[Any]:
    """The values of a list: PyFlink may have put several into one of Flink's elements."""
    values = []
    for chunk in chunks:
        reader = ByteReader(chunk, "a value")
        while reader.remaining:
            values.append(read(reader))
    return values


def as_declared(type: TypeInformation, unpickle: Unpickle) -> Callable[[Any], Any]:
    """The program's values, made of what Flink's serializers wrote (thread mode, keys): pickles as objects, rows with names.

    Thread mode pickles some values of compound types whole, such as the tuples in windows.
    """
    convert = _converter(type, unpickle)
    if _is_bytes(type):
        return convert
    return lambda value: unpickle(value) if isinstance(value, bytes) else convert(value)


def _is_bytes(type: TypeInformation) -> bool:
    return type.kind == "PRIMITIVE_ARRAY" and type.element_type.kind == "BYTE"  # type: ignore[attr-defined]


def _converter(type: TypeInformation, unpickle: Unpickle) -> Callable[[Any], Any]:
    if isinstance(type, ExternalTypeInfo):
        return as_declared(type.type_info, unpickle)
    if isinstance(type, RowTypeInfo):
        return _as_row(type.field_names, [as_declared(field, unpickle) for field in type.field_types])
    if isinstance(type, TupleTypeInfo):
        fields = [as_declared(field, unpickle) for field in type.field_types]
        return lambda value: (
            None if value is None else tuple(each(part) for each, part in zip(fields, value, strict=True))
        )
    if isinstance(type, MapTypeInfo):
        key, inner = as_declared(type.key_type, unpickle), as_declared(type.value_type, unpickle)
        return lambda value: {key(name): None if each is None else inner(each) for name, each in value.items()}
    if isinstance(type, ListTypeInfo) or type.kind in ("OBJECT_ARRAY", "BASIC_ARRAY"):
        element = as_declared(type.element_type, unpickle)  # type: ignore[attr-defined]
        return lambda value: [None if each is None else element(each) for each in value]
    return lambda value: value


def _as_row(names: tuple[str, ...], fields: Sequence[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, Row):
            return value
        parts = [None if part is None else field(part) for field, part in zip(fields, value, strict=True)]
        return make_row(names, value.get_row_kind().value, parts)

    return convert

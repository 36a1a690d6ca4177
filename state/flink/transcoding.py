"""Values of one serializer in the bytes of another one, by what the snapshots of both say.

What is the same in both stays byte for byte, whatever it is. Numbers, texts, enums and moments become one another where nothing
is lost: a number that does not fit is an error, never another number. Records (tuples, rows, POJOs) become one another field by
field. What has no rule here is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NoReturn

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.headers import VALUES, StateMeta
from compat.state.flink.snapshots import LAYOUT, SerializerSnapshot, read_versioned
from compat.state.flink.values import Undecodable, decoder_of, read_mask, ttl_inside
from compat.state.flink.writing import write_text
from compat.state.time import Instant

Transcode = Callable[[ByteReader], bytes]
"""Reads one value as OLD wrote it and gives it as NEW writes it."""

Constant = bool | int | float | str | None

_BASE = "org.apache.flink.api.common.typeutils.base."
_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
_LISTS = (_BASE + "ListSerializer", "org.apache.flink.runtime.state.ArrayListSerializer")
_MAP, _ENUM = _BASE + "MapSerializer", _BASE + "EnumSerializer"
_TUPLE, _ROW, _POJO = (_RUNTIME + name for name in ("TupleSerializer", "RowSerializer", "PojoSerializer"))
_DELIMITER = b","
_NO_SUBCLASS = 2
_EPOCH = datetime(1970, 1, 1)


class Unconvertible(Exception):
    """A type, or a value, that cannot be written as another one; the message says which and why."""


class Fields(Struct, frozen=True):
    """The fields of a record: by NEW's names those that they are of OLD, constants for what OLD has not, and OLD's that go."""

    sources: Mapping[str, str] = {}
    constants: Mapping[str, Constant] = {}
    dropped: frozenset[str] = frozenset()


class Conversion(Struct, frozen=True):
    """The values of a state as another serializer writes them: its snapshot as `writeVersionedSnapshot` gives it, and what
    becomes of the fields of records."""

    serializer: bytes
    fields: Fields = Fields()

    @property
    def written(self) -> bytes:
        """The snapshot as a header has it (`TypeSerializerSnapshotSerializationUtil`)."""
        return struct.pack(">i", LAYOUT) + self.serializer


def converter(conversion: Conversion, meta: StateMeta) -> Callable[[bytes], bytes]:
    """What writes the values of a keyed state anew. Raises Unconvertible."""
    old = meta.serializer(VALUES)
    if old is None:
        raise Unconvertible("a state without a serializer")
    new = read_versioned(ByteReader(conversion.serializer, "NEW's serializer"), 0)
    return of_state(meta.option("KEYED_STATE_TYPE") or "VALUE", old, new, conversion.fields)


def transcoder(old: SerializerSnapshot, new: SerializerSnapshot, fields: Fields = Fields()) -> Transcode:  # noqa: B008
    """What writes values of one serializer as another one does. Raises Unconvertible for types that no rule joins."""
    if old == new and old.subclasses == new.subclasses and fields == Fields():
        return _same(old)
    if old.serializer in _LISTS and new.serializer in _LISTS:
        return _list(transcoder(old.nested[0], new.nested[0], fields))
    if old.serializer == new.serializer == _MAP:
        return _map(transcoder(old.nested[0], new.nested[0]), transcoder(old.nested[1], new.nested[1], fields))
    if old.serializer in _RECORDS and new.serializer in _RECORDS:
        return _Record(old, new, fields).transcode
    return _leaf(old, new)


def of_state(kind: str, old: SerializerSnapshot, new: SerializerSnapshot, fields: Fields) -> Callable[[bytes], bytes]:
    """The same for the values of a keyed state as they stand in a savepoint; ``kind`` is Flink's, such as ``LIST``.

    Elements of lists have a comma between them, values of maps a mark before them, all of them the time of their last use
    where there is a time to live.
    """
    if kind == "MAP" and old.nested[0] != new.nested[0]:
        raise Unconvertible("the keys of a map have another type")
    inner = (old.nested[-1], new.nested[-1]) if kind in ("LIST", "MAP") else (old, new)
    lives = [ttl_inside(one) for one in inner]
    if (lives[0] is None) != (lives[1] is None):
        raise Unconvertible("a time to live came or went")
    plain = [one if live is None else live for one, live in zip(inner, lives, strict=True)]
    convert, timed = transcoder(plain[0], plain[1], fields), lives[0] is not None

    def one(reader: ByteReader) -> bytes:
        time = reader.raw(8, "a time") if timed else b""
        return time + convert(reader)

    def whole(data: bytes) -> bytes:
        reader = ByteReader(data, "a value")
        if kind == "MAP" and (mark := reader.raw(1, "a mark")) != b"\0":
            return mark
        written = [(b"\0" if kind == "MAP" else b"") + one(reader)]
        while reader.remaining:
            if kind != "LIST" or reader.raw(1, "a comma") != _DELIMITER:
                reader.damaged(
                    f"{reader.remaining} bytes left over", "another serializer wrote this than the header says"
                )
            written.append(one(reader))
        return _DELIMITER.join(written)

    return whole


def _same(snapshot: SerializerSnapshot) -> Transcode:
    """The bytes of a value as they are; its serializer is known to tell where it ends."""
    read = _decoding(snapshot)

    def copy(reader: ByteReader) -> bytes:
        begin = reader.position
        read(reader)
        return reader.data[begin : reader.position]

    return copy


def _decoding(snapshot: SerializerSnapshot) -> Callable[[ByteReader], Any]:
    try:
        return decoder_of(snapshot).read
    except Undecodable as error:
        raise Unconvertible(f"{error} cannot be read here") from None


def _list(element: Transcode) -> Transcode:
    def convert(reader: ByteReader) -> bytes:
        number = reader.count("elements", 1)
        return struct.pack(">i", number) + b"".join([element(reader) for _ in range(number)])

    return convert


def _map(key: Transcode, value: Transcode) -> Transcode:
    def convert(reader: ByteReader) -> bytes:
        number = reader.count("entries", 1)
        written = [struct.pack(">i", number)]
        for _ in range(number):
            written.append(key(reader))
            mark = reader.raw(1, "a mark")
            written += [mark, value(reader) if mark == b"\0" else b""]
        return b"".join(written)

    return convert


# ---- single values ----


def _leaf(old: SerializerSnapshot, new: SerializerSnapshot) -> Transcode:
    read, write = _decoding(old), _writer(new)
    from_text = old.serializer == _BASE + "StringSerializer"
    if old.serializer not in _READ or (from_text and not _takes_text(new)):
        raise Unconvertible(f"{_short(old)} does not become {_short(new)}")
    return lambda reader: write(read(reader))


def _writer(snapshot: SerializerSnapshot) -> Callable[[Any], bytes]:
    """What writes a single value, of whatever type it is, if it fits. Raises Unconvertible for what is no single value."""
    if snapshot.serializer == _ENUM:
        return _constant(snapshot.texts("constants"))
    found = _WRITE.get(snapshot.serializer or "")
    if found is None:
        raise Unconvertible(f"{_short(snapshot)} is not written here")
    return found


def _takes_text(snapshot: SerializerSnapshot) -> bool:
    return snapshot.serializer == _ENUM or snapshot.serializer in _WRITE


def _constant(constants: tuple[str, ...]) -> Callable[[Any], bytes]:
    places = {name: struct.pack(">i", place) for place, name in enumerate(constants)}

    def write(value: Any) -> bytes:
        found = places.get(value) if isinstance(value, str) else None
        return found if found is not None else _unfit(value, f"a constant of {', '.join(constants)}")

    return write


def _whole(layout: str, least: int, most: int) -> Callable[[Any], bytes]:
    packer = struct.Struct(layout)

    def write(value: Any) -> bytes:
        number = _whole_number(value)
        return packer.pack(number) if least <= number <= most else _unfit(value, f"between {least} and {most}")

    return write


def _whole_number(value: Any) -> int:
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            _unfit(value, "a whole number")
    if value is None or isinstance(value, bool | datetime | Instant) or value != int(value):
        _unfit(value, "a whole number")
    return int(value)


def _floating(layout: str) -> Callable[[Any], bytes]:
    packer = struct.Struct(layout)

    def write(value: Any) -> bytes:
        if isinstance(value, str | bool | datetime | Instant) or value is None:
            return _unfit(value, "a number")
        try:
            data = packer.pack(float(value))
        except OverflowError:
            return _unfit(value, "a number of that size")
        return data if packer.unpack(data)[0] == value or value != value else _unfit(value, "exact there")

    return write


def _boolean(value: Any) -> bytes:
    return struct.pack(">?", value) if isinstance(value, bool) else _unfit(value, "true or false")


def _text(value: Any) -> bytes:
    if isinstance(value, str):
        return write_text(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return _unfit(value, "a text, or a whole number that becomes one")
    return write_text(str(value))


def _big_integer(value: Any) -> bytes:
    number = _whole_number(value)
    short = {0: 1, 1: 2, 10: 3}.get(number)
    if short is not None:
        return struct.pack(">i", short)
    data = number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)
    return struct.pack(">i", len(data) + 4) + data


def _millis(value: Any) -> int:
    """A moment in milliseconds since 1970, or a whole number that is one."""
    if isinstance(value, Instant):
        if value.nanos % 1_000_000:
            _unfit(value, "in whole milliseconds")
        return value.seconds * 1000 + value.nanos // 1_000_000
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(milliseconds=1)
    return _whole_number(value)


def _date(value: Any) -> bytes:
    return struct.pack(">q", -(1 << 63) if value is None else _millis(value))


def _instant(value: Any) -> bytes:
    if value is None:
        return struct.pack(">qi", -(1 << 63), 0)
    millis = _millis(value)
    return struct.pack(">qi", millis // 1000, millis % 1000 * 1_000_000)


def _long(value: Any) -> bytes:
    return struct.pack(">q", _millis(value)) if isinstance(value, datetime | Instant) else _WHOLE_LONG(value)


_WHOLE_LONG = _whole(">q", -(1 << 63), (1 << 63) - 1)
_WRITE: dict[str, Callable[[Any], bytes]] = {
    f"{_BASE}{name}Serializer": write
    for name, write in {
        "Boolean": _boolean,
        "Byte": _whole(">b", -(1 << 7), (1 << 7) - 1),
        "Short": _whole(">h", -(1 << 15), (1 << 15) - 1),
        "Int": _whole(">i", -(1 << 31), (1 << 31) - 1),
        "Long": _long,
        "BigInt": _big_integer,
        "Float": _floating(">f"),
        "Double": _floating(">d"),
        "String": _text,
        "Date": _date,
        "Instant": _instant,
    }.items()
}
_READ = frozenset({*_WRITE, _ENUM, _BASE + "BigDecSerializer"})
"""The serializers of single values that are read as one another."""


def _unfit(value: Any, wanted: str) -> NoReturn:
    raise Unconvertible(f"{value!r} is not {wanted}")


# ---- records ----

_RECORDS = frozenset({_TUPLE, _ROW, _POJO})


class _Record:
    """Records of OLD, read field by field, as records of NEW."""

    def __init__(self, old: SerializerSnapshot, new: SerializerSnapshot, fields: Fields) -> None:
        self._old, self._new = old, new
        self._names = _names(old)
        before, after = dict(zip(self._names, old.nested, strict=True)), dict(zip(_names(new), new.nested, strict=True))
        self._require_known(fields, before, after)
        self._read = [_same(snapshot) for snapshot in old.nested]
        self._made = [self._maker(name, snapshot, before, fields) for name, snapshot in after.items()]
        used = {fields.sources.get(name, name) for name in after if name not in fields.constants}
        left = [name for name in before if name not in used and name not in fields.dropped]
        if left:
            raise Unconvertible(f"{_short(new)} has no field for {', '.join(left)}: name it, or drop it")

    def _require_known(
        self,
        fields: Fields,
        before: Mapping[str, SerializerSnapshot],
        after: Mapping[str, SerializerSnapshot],
    ) -> None:
        for name in (*fields.sources.values(), *fields.dropped):
            if name not in before:
                raise Unconvertible(f"{_short(self._old)} has no field {name}; it has {', '.join(before)}")
        for name in (*fields.sources, *fields.constants):
            if name not in after:
                raise Unconvertible(f"{_short(self._new)} has no field {name}; it has {', '.join(after)}")

    def _maker(
        self, name: str, snapshot: SerializerSnapshot, before: Mapping[str, SerializerSnapshot], fields: Fields
    ) -> Callable[[dict[str, bytes | None]], bytes | None]:
        """What gives a field of NEW from those of OLD, in their bytes; None for a null."""
        if name in fields.constants:
            constant = fields.constants[name]
            data = None if constant is None else _writer(snapshot)(constant)
            return lambda values: data
        source = fields.sources.get(name, name)
        if source not in before:
            raise Unconvertible(f"{_short(self._old)} has no field {name}: say which it was, or give a constant")
        convert = transcoder(before[source], snapshot)

        def make(values: dict[str, bytes | None]) -> bytes | None:
            value = values[source]
            try:
                return None if value is None else convert(ByteReader(value, "a value"))
            except Unconvertible as error:
                raise Unconvertible(f"field {source}: {error}") from None

        return make

    def transcode(self, reader: ByteReader) -> bytes:
        values = self._fields_of(reader)
        if values is None:
            return self._null()
        made = [make(values) for make in self._made]
        return self._written(made)

    def _fields_of(self, reader: ByteReader) -> dict[str, bytes | None] | None:
        """The fields of a record of OLD in their bytes, None for a null; None for a record that is null itself."""
        if self._old.serializer == _TUPLE:
            return {name: read(reader) for name, read in zip(self._names, self._read, strict=True)}
        if self._old.serializer == _ROW:
            nulls = _row_nulls(reader, len(self._read), kind=_has_kind(self._old))
        else:
            flags = reader.byte()
            if flags & 1:
                return None
            if flags != _NO_SUBCLASS:
                raise Unconvertible("an object of a subclass")
            nulls = None
        found: dict[str, bytes | None] = {}
        for place, (name, read) in enumerate(zip(self._names, self._read, strict=True)):
            null = reader.boolean() if nulls is None else nulls[place]
            found[name] = None if null else read(reader)
        return found

    def _null(self) -> bytes:
        if self._new.serializer != _POJO:
            raise Unconvertible(f"an object that is null does not become {_short(self._new)}")
        return b"\1"

    def _written(self, fields: list[bytes | None]) -> bytes:
        if self._new.serializer == _POJO:
            marked = (b"\1" if data is None else b"\0" + data for data in fields)
            return bytes([_NO_SUBCLASS]) + b"".join(marked)
        if self._new.serializer == _ROW:
            return _row_mask(fields, kind=_has_kind(self._new)) + b"".join(data for data in fields if data is not None)
        if None in fields:
            raise Unconvertible(f"a field that is null does not go into {_short(self._new)}")
        return b"".join(data for data in fields if data is not None)


def _names(snapshot: SerializerSnapshot) -> tuple[str, ...]:
    """The names of a record's fields: those of a POJO, ``f0`` and so on of a tuple or row."""
    if snapshot.serializer == _POJO:
        return snapshot.texts("fields")
    return tuple(f"f{place}" for place in range(len(snapshot.nested)))


def _has_kind(snapshot: SerializerSnapshot) -> bool:
    return bool(dict(snapshot.details).get("row_kind"))


def _row_nulls(reader: ByteReader, number: int, *, kind: bool) -> list[bool]:
    """Which fields of a row are null. Raises Unconvertible for one that is a change but an insertion."""
    row_kind, nulls = read_mask(reader, number, kind=kind)
    if row_kind:
        raise Unconvertible("a row that takes back or updates another one")
    return nulls


def _row_mask(fields: list[bytes | None], *, kind: bool) -> bytes:
    bits = 2 * kind + len(fields)
    size = -(-bits // 8)
    mask = 0
    for data in fields:
        mask = mask << 1 | (data is None)
    return (mask << (8 * size - bits)).to_bytes(size, "big")


def _short(snapshot: SerializerSnapshot) -> str:
    details = dict(snapshot.details)
    named = details.get("pojo_class") or details.get("enum_class")
    return str(named or (snapshot.serializer or snapshot.class_name).rpartition(".")[2].removesuffix("Serializer"))

"""Converts the rows of a state in the log to the items that conversions take, and back: of a key, or of a key in a map.

In an item each value follows its length, like the elements in a chunk of a list. Functions, and everything that merges values,
get the form that PyFlink's coders write.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle, groupby

from msgspec import Struct

from compat.state.delta.rows import Kind, Row
from compat.state.flink.forms import Unconvertible
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_rules import Declared
from compat.state.flink.python_states import Apply, Array, Item
from compat.state.flink.python_values import coder_of, decoded_all
from compat.state.flink.value_writing import as_stored, writer_of
from compat.state.model.states import StateKind
from compat.state.serializers import codec_of, key_codec_of
from compat.state.serializers.codecs import join, split
from compat.state.types import (
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)

_TIME = struct.Struct(">q")
_CHUNK = struct.Struct(">q")
_NONE, _SOME = b"\0", b"\1"

Bytes = Callable[[bytes], bytes]


class Stored(Struct, frozen=True):
    """The form of a state in the log: kind and type, whether it is broadcast, and whether values have times of last use."""

    declared: Declared
    broadcast: bool = False
    timed: bool = False

    @property
    def kind(self) -> str:
        """The kind of its rows."""
        if self.broadcast:
            return Kind.BROADCAST
        return {StateKind.LIST: Kind.LIST, StateKind.MAP: Kind.MAP}.get(self.declared.kind, Kind.VALUE)

    def items(self, rows: Sequence[Row], now: int) -> Iterator[Item]:
        """The items of one key's rows; values without a time count as last used ``now``."""
        of_map = self.declared.of_map()
        if of_map is not None:
            keys, encode = key_codec_of(of_map.key_type), codec_of(of_map.key_type).encode
            for row in rows:
                yield Item(join([encode(keys.decode(row.map_key))]), (Array(self._value(row), _time(row, now)),))
        elif rows:
            in_order = sorted(rows, key=lambda row: row.map_key)
            yield Item(None, tuple(Array(self._value(row), _time(row, now)) for row in in_order))

    def _value(self, row: Row) -> bytes:
        value = row.value
        assert value is not None
        if self.kind == Kind.LIST:
            return value
        if self.kind == Kind.MAP:
            value = None if value == _NONE else value[1:]
        return join([value])

    def rows(self, of: Row, items: Iterable[Item]) -> list[Row]:
        """The rows of items, with the key of a given row. Raises Unconvertible if two of them become one."""
        of = of._replace(kind=self.kind, map_key=b"", value=None, timestamp=None)
        if self.kind == Kind.LIST:
            return [row for item in items for row in self._chunks(of, item.arrays)]
        found = list(self._each(of, items))
        if len({row.map_key for row in found}) < len(found):
            raise Unconvertible("two keys in the map become one" if self.kind != Kind.VALUE else "it is several values")
        return found

    def _chunks(self, of: Row, arrays: Sequence[Array]) -> Iterator[Row]:
        together = groupby(arrays, lambda array: array.time if self.timed else b"")
        for number, (_, members) in enumerate(together):
            several = list(members)
            data = b"".join(array.data for array in several)
            yield of._replace(map_key=_CHUNK.pack(number), value=data, timestamp=self._timestamp(several[0]))

    def _each(self, of: Row, items: Iterable[Item]) -> Iterator[Row]:
        of_map = self.declared.of_map()
        for item in items:
            of = of if of_map is None else of._replace(map_key=_map_key(of_map, item.map_key or b""))
            for array in item.arrays:
                for value in split(array.data):
                    if of_map is not None or value is not None:
                        yield of._replace(value=self._held(value), timestamp=self._timestamp(array))

    def _held(self, value: bytes | None) -> bytes | None:
        if self.kind != Kind.MAP:
            return value
        return _NONE if value is None else _SOME + value

    def _timestamp(self, array: Array) -> int | None:
        return int(_TIME.unpack(array.time)[0]) if self.timed else None


def _map_key(of_map: MapTypeInfo, data: bytes) -> bytes:
    """A key in a map as rows have it."""
    (key,) = split(data)
    return key_codec_of(of_map.key_type).encode(codec_of(of_map.key_type).decode(key or b""))


def _time(row: Row, now: int) -> bytes:
    return _TIME.pack(now if row.timestamp is None else row.timestamp)


# ---- as PyFlink's coders write them ----


def of_coders(apply: Apply, old: Declared, new: Declared) -> Apply:
    """What gives items of the log for such, where ``apply`` is given and gives what PyFlink's coders write.

    Raises Unconvertible for types that these do not have.
    """
    before, after = Coders(old), Coders(new)

    def applied(items: Sequence[Item]) -> Sequence[Sequence[Item]]:
        made = apply(list(map(before.written, items)))
        return [list(map(after.read, one)) for one in made]

    return applied


class Coders:
    """Items of a state in the log as PyFlink's coders write them, and back. What is a pickle is not opened."""

    def __init__(self, declared: Declared) -> None:
        of_map = declared.of_map()
        self._value = _Coder(declared.parsed if of_map is None else of_map.value_type)
        self._key = None if of_map is None else _Coder(of_map.key_type)

    def written(self, item: Item) -> Item:
        """An item in the form of PyFlink's coders. Raises Unconvertible for values that they would change."""
        return self._each(item, _Coder.write)

    def read(self, item: Item) -> Item:
        """An item in the form of the log, from that of the coders."""
        return self._each(item, _Coder.read)

    def _each(self, item: Item, change: Callable[[_Coder, bytes], bytes]) -> Item:
        if self._key is None:
            return Item(None, tuple(Array(change(self._value, one.data), one.time) for one in item.arrays))
        coders = (self._key, self._value) if item.map_key is None else (self._value,)
        arrays = (Array(change(coder, array.data), array.time) for coder, array in zip(cycle(coders), item.arrays))
        return Item(None if item.map_key is None else change(self._key, item.map_key), tuple(arrays))


class _Coder:
    """Values of a type, each behind its length, as PyFlink's coder writes them behind one another."""

    def __init__(self, type: TypeInformation) -> None:
        opaque = _opaque(type)
        self._codec = codec_of(opaque)
        self._reader = coder_of(opaque, _never)
        self._writer, self._stored = writer_of(form_of_type(opaque)), as_stored(opaque, _never)

    def write(self, data: bytes) -> bytes:
        written = b"".join(self._one(part) for part in split(data))
        if self.read(written) != data:
            raise Unconvertible(
                "PyFlink does not keep it as it is: a time is finer than its milliseconds, or a number longer"
            )
        return written

    def _one(self, part: bytes | None) -> bytes:
        if part is None:
            raise Unconvertible("there is None in it, which PyFlink does not keep")
        return self._writer(self._stored(self._codec.decode(part)))

    def read(self, data: bytes) -> bytes:
        return join(map(self._codec.encode, decoded_all(self._reader, [data])))


def _never(value: object) -> bytes:
    raise AssertionError(f"{value!r} is no pickle")


_RAW = PrimitiveArrayTypeInfo(Types.BYTE())


def _opaque(type: TypeInformation) -> TypeInformation:
    """A type with bytes where objects are pickled."""
    if isinstance(type, ExternalTypeInfo):
        return _opaque(type.type_info)
    if isinstance(type, RowTypeInfo):
        return RowTypeInfo(list(map(_opaque, type.field_types)), list(type.field_names))
    if isinstance(type, TupleTypeInfo):
        return TupleTypeInfo(list(map(_opaque, type.field_types)))
    if isinstance(type, MapTypeInfo):
        return MapTypeInfo(_opaque(type.key_type), _opaque(type.value_type))
    if isinstance(type, ListTypeInfo):
        return ListTypeInfo(_opaque(type.element_type))
    return _RAW if type.kind == "PICKLED_BYTE_ARRAY" else type

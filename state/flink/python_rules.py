"""Conversions of process-mode state that follow from the types, without a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.forms import Transcode, Unconvertible
from compat.state.flink.python_forms import form_of_type
from compat.state.flink.python_states import Array, Item
from compat.state.flink.transcoding import Constant, Fields, transcoder
from compat.state.flink.value_writing import writer_of
from compat.state.model.states import StateKind
from compat.state.types import MapTypeInfo, TypeInformation
from compat.state.types.spelling import parse_type


class Declared(Struct, frozen=True):
    """The kind of a state as a program declares it, and the type in Flink's spelling: of a list that of its elements."""

    kind: StateKind
    type: str

    @property
    def parsed(self) -> TypeInformation:
        """The parsed type. Raises Unconvertible for a type of Java only."""
        found = parse_type(self.type)
        if found is None:
            raise Unconvertible(f"{self.type} is no type of PyFlink's")
        return found

    def of_map(self) -> MapTypeInfo | None:
        """The type of a map state; None for a state of another kind."""
        parsed = self.parsed
        return parsed if self.kind is StateKind.MAP and isinstance(parsed, MapTypeInfo) else None


ArrayChange = Callable[[bytes], tuple[bytes, int]]
"""Rewrites the values in a byte array, and counts them. Raises Unconvertible."""


class Coding(NamedTuple):
    """How values stand in byte arrays: what writes those of one type as such of another one, and a constant as a key in a map.

    Both raise Unconvertible.
    """

    array: Callable[[TypeInformation, TypeInformation, Fields], ArrayChange]
    map_key: Callable[[TypeInformation, Constant], bytes]


class ByRules:
    """What the types of both versions say. ``entry`` is the key in a map of what was a single value. Raises Unconvertible.

    Values are as PyFlink's coders write them, if there is no other ``coding``. It can be pickled.
    """

    def __init__(
        self, old: Declared, new: Declared, fields: Fields, entry: Constant = None, coding: Coding | None = None
    ) -> None:
        self._given = (old, new, fields, entry, coding)
        self._change = _change(old, new, fields, entry, coding or _OF_PYFLINK)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self._given

    def __call__(self, items: Sequence[Item]) -> list[list[Item]]:
        """The items, each changed."""
        return [[self._change(item)] for item in items]


def _change(old: Declared, new: Declared, fields: Fields, entry: Constant, coding: Coding) -> Callable[[Item], Item]:
    before, after = old.of_map(), new.of_map()
    if before is not None and after is not None:
        return _in_maps(before, after, fields, coding)
    if before is not None or (after is not None and entry is None):
        raise Unconvertible(
            "entries of a map become no single value, and a value no entry, unless `entry` is its key, or a function says how"
        )
    several = old.kind is new.kind is StateKind.LIST or new.kind is StateKind.LIST
    array = coding.array(old.parsed, new.parsed if after is None else after.value_type, fields)
    convert = _values(array, several=several)
    key = None if after is None else coding.map_key(after.key_type, entry)
    return lambda item: Item(key, convert(item.arrays))


def _in_maps(before: MapTypeInfo, after: MapTypeInfo, fields: Fields, coding: Coding) -> Callable[[Item], Item]:
    """Where the keys of a map are what changes, the fields are theirs."""
    of_keys = before.key_type != after.key_type
    key = coding.array(before.key_type, after.key_type, fields if of_keys else Fields())
    array = coding.array(before.value_type, after.value_type, Fields() if of_keys else fields)
    value = _values(array, several=False)
    return lambda item: Item(key(item.map_key or b"")[0], value(item.arrays))


def _values(convert: ArrayChange, *, several: bool) -> Callable[[Sequence[Array]], tuple[Array, ...]]:
    def values(arrays: Sequence[Array]) -> tuple[Array, ...]:
        found = [convert(array.data) for array in arrays]
        number = sum(number for _, number in found)
        if number != 1 and not several:
            raise Unconvertible(f"a list of {number} elements is no single value")
        return tuple(Array(data, array.time) for (data, _), array in zip(found, arrays, strict=True))

    return values


def _array(old: TypeInformation, new: TypeInformation, fields: Fields) -> ArrayChange:
    """What writes the values that stand behind one another in a byte array, and tells how many these are."""
    convert: Transcode = transcoder(form_of_type(old), form_of_type(new), fields)

    def array(data: bytes) -> tuple[bytes, int]:
        reader = ByteReader(data, "a byte array")
        written = []
        while reader.remaining:
            written.append(convert(reader))
        return b"".join(written), len(written)

    return array


def _map_key(type: TypeInformation, key: Constant) -> bytes:
    return writer_of(form_of_type(type))(key)


_OF_PYFLINK = Coding(_array, _map_key)

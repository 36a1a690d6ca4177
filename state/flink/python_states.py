"""Rewrites states of PyFlink's process mode, entry by entry: of another type, another kind, timed or not.

For Flink, value, list, reducing and aggregating states are lists of byte arrays; map and broadcast states are maps of byte
arrays. Only the types that a program declares say what the arrays hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import KeyLayout, KeyParts
from compat.state.flink.contents import DELIMITER, Entry
from compat.state.flink.entry_conversion import Layouts, Rewrite
from compat.state.flink.forms import Convert, Unconvertible
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import KIND, VALUES, StateMeta
from compat.state.flink.transcoding import Held, exactly
from compat.state.flink.values import ttl_inside

_COUNT = struct.Struct(">i")
_TIME = struct.Struct(">q")
_BROADCAST = "BROADCAST"


class Array(NamedTuple):
    """A byte array, in which PyFlink's coders wrote a value, or several behind one another; and the time of its last use."""

    data: bytes
    time: bytes


class Item(NamedTuple):
    """What a state has for a key, or for a key in a map: that key, and the byte arrays. Of a map that becomes one value these
    are its keys and values in turn."""

    map_key: bytes | None
    arrays: tuple[Array, ...]

    @property
    def time(self) -> bytes:
        """The time of the last use of any."""
        return max((array.time for array in self.arrays), default=bytes(_TIME.size))


Apply = Callable[[Sequence[Item]], Sequence[Sequence[Item]]]
"""Gives for each item what happens to it: another one, several entries of a map, or nothing. Raises Unconvertible."""


class PythonConversion(Struct, frozen=True):
    """The values of a state as ``apply`` makes them. ``form`` is what the header says then, where that is something else;
    ``held`` says how the state holds its values then. Values that had no time of last use get ``now``, in milliseconds."""

    apply: Apply
    held: Held | None = None
    form: StateForm = StateForm()
    now: int = 0

    def rewriter(self, meta: StateMeta, serializer: bytes, layout: Layouts) -> Rewrite:
        """The function that rewrites entries. Raises Unconvertible."""
        arrays, kind = meta.serializer(VALUES), meta.option(KIND)
        if arrays is None or kind not in ("LIST", "MAP"):
            raise Unconvertible("it is no state of PyFlink's process mode")
        before = Held(kind, ttl_inside(arrays.nested[-1]) is not None)
        after = self.held or before
        of_maps = "MAP" in (before.kind, after.kind)
        entries = _Entries(before, after, self.apply, layout() if of_maps else None, self.now)
        return Rewrite(entries.anew, of_maps, entries.together if entries.gathers else None)

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """The function that rewrites a broadcast state. Raises Unconvertible."""
        if meta.type != _BROADCAST:
            raise Unconvertible("it is no state of PyFlink's process mode")
        whole = exactly(lambda reader: _broadcast(reader, self.apply), "a broadcast state")
        return lambda values: list(map(whole, values))


class _Taken(NamedTuple):
    """An entry taken apart; the parts of its key are there where something of that changes."""

    entry: Entry
    item: Item
    parts: KeyParts | None


class _Entries:
    """Entries of a state in another form."""

    def __init__(self, before: Held, after: Held, apply: Apply, layout: KeyLayout | None, now: int) -> None:
        self._before, self._after = before, after
        self._apply, self._layout = apply, layout
        self._now = _TIME.pack(now)

    def anew(self, entries: list[Entry]) -> list[Entry]:
        """What happens to some entries."""
        taken = list(map(self._taken, entries))
        if self.gathers:
            taken = [_whole(list(members)) for _, members in groupby(taken, lambda one: self.together(one.entry))]
        made = self._apply([one.item for one in taken])
        return [
            Entry(one.entry.state, self._key(one, item), value_of(item, self._after))
            for one, items in zip(taken, made, strict=True)
            for item in items
        ]

    @property
    def gathers(self) -> bool:
        """Whether all entries of a map become one value."""
        return self._before.kind == "MAP" != self._after.kind

    def together(self, entry: Entry) -> object:
        """What is equal for all entries of a map."""
        assert self._layout is not None
        return self._layout.split(entry.key, "a key")._replace(map_key=b"")

    def _taken(self, entry: Entry) -> _Taken:
        arrays = arrays_of(entry.value, self._before, self._now)
        parts = None if self._layout is None else self._layout.split(entry.key, "a key")
        if self._before.kind != "MAP" or parts is None:
            return _Taken(entry, Item(None, arrays), parts)
        map_key = exactly(lambda key: key.sized("a key in a map"), "a key in a map")(parts.map_key)
        return _Taken(entry, Item(map_key, arrays), parts)

    def _key(self, taken: _Taken, item: Item) -> bytes:
        if taken.parts is None or self._layout is None:
            return taken.entry.key
        map_key = b"" if item.map_key is None else _sized(item.map_key)
        group = int.from_bytes(taken.entry.key[: self._layout.prefix], "big")
        parts = taken.parts._replace(map_key=map_key)
        return self._layout.joined(group, parts, ambiguous=self._layout.ambiguous)


def arrays_of(data: bytes, held: Held, first: bytes = b"") -> tuple[Array, ...]:
    """The byte arrays of a value as it is stored, each with the time of its last use, ``first`` where there is none.

    Raises Unconvertible for a value in a map that is null, and DamagedSavepoint.
    """
    reader = ByteReader(data, "a value")
    if held.kind == "MAP" and reader.raw(1, "a mark") != b"\0":
        raise Unconvertible("a key in a map has no value")
    return tuple(_arrays(reader, held, first))


def _arrays(reader: ByteReader, held: Held, first: bytes) -> Iterator[Array]:
    while True:
        time = reader.raw(_TIME.size, "a time") if held.timed else first
        yield Array(reader.sized("a byte array"), time)
        if not reader.remaining:
            return
        if held.kind == "MAP" or reader.raw(1, "a comma") != DELIMITER:
            reader.damaged(f"{reader.remaining} bytes left over", "another serializer wrote this than the header says")


def value_of(item: Item, held: Held) -> bytes:
    """The stored value of an item's byte arrays."""
    arrays = ((array.time if held.timed else b"") + _sized(array.data) for array in item.arrays)
    return b"\0" + b"".join(arrays) if held.kind == "MAP" else DELIMITER.join(arrays)


def _whole(members: Sequence[_Taken]) -> _Taken:
    """A map that becomes one value: in one item, its keys and values in turn."""
    arrays = (
        array
        for one in members
        for value in one.item.arrays
        for array in (Array(one.item.map_key or b"", value.time), value)
    )
    return members[0]._replace(item=Item(None, tuple(arrays)))


def _broadcast(reader: ByteReader, apply: Apply) -> bytes:
    """A broadcast state (`HeapBroadcastState`): a count, then keys and values."""
    number = reader.count("entries", 1)
    items = [Item(reader.sized("a key"), (Array(reader.sized("a value"), b""),)) for _ in range(number)]
    made: dict[bytes, bytes] = {}
    for item in (item for found in apply(items) for item in found):
        key = item.map_key or b""
        if key in made:
            raise Unconvertible("two keys in the map become one")
        made[key] = item.arrays[0].data
    return _COUNT.pack(len(made)) + b"".join(_sized(key) + _sized(data) for key, data in made.items())


def _sized(data: bytes) -> bytes:
    return _COUNT.pack(len(data)) + data

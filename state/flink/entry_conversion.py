"""Conversions of a state's values: their interface, and those that convert value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import KeyLayout
from compat.state.flink.contents import Entry
from compat.state.flink.forms import Convert, Transcode
from compat.state.flink.header_parts import StateForm
from compat.state.flink.headers import StateMeta

Layouts = Callable[[], KeyLayout]
"""Gives the layout of the keys of a state's entries. Raises Unconvertible."""


class Rewrite(NamedTuple):
    """``anew`` gives the new entries for some entries, in order: as many, more, or fewer. It raises Unconvertible. ``of_keys``
    says that the keys may change. ``together`` is equal for entries that must be given at once; these follow one another.
    ``merge`` gives one value for two whose keys became equal, if there is one."""

    anew: Callable[[list[Entry]], list[Entry]]
    of_keys: bool
    together: Callable[[Entry], object] | None = None
    merge: Callable[[bytes, bytes], bytes] | None = None


class MapKeys(NamedTuple):
    """Rewrites the keys of a map, of nothing if there was a single value; and where two can become one, the one value
    of the two that they had."""

    convert: Transcode
    merge: Callable[[bytes, bytes], bytes] | None = None


class Conversion(Protocol):
    """The conversion of a state's values, or of the elements of operator state.

    ``serializer`` is that of the values as the header has it. All raise Unconvertible.
    """

    @property
    def form(self) -> StateForm:
        """The parts of the state's header that change."""

    def rewriter(self, meta: StateMeta, serializer: bytes, layout: Layouts) -> Rewrite:
        """The function that rewrites the entries of a keyed state."""

    def converter(self, meta: StateMeta, serializer: bytes) -> Convert:
        """The function that rewrites the elements of operator state, or a whole broadcast state."""


def one_by_one(convert: Convert, map_keys: MapKeys | None, layout: Layouts) -> Rewrite:
    """Entries with other values, and with other map keys if there is a conversion for these."""
    key = None if map_keys is None else _key(layout(), map_keys.convert)

    def anew(entries: list[Entry]) -> list[Entry]:
        values = convert([entry.value for entry in entries])
        keys = (entry.key if key is None else key(entry.key) for entry in entries)
        return [Entry(entry.state, one, value) for entry, one, value in zip(entries, keys, values, strict=True)]

    return Rewrite(anew, key is not None, merge=None if map_keys is None else map_keys.merge)


def _key(layout: KeyLayout, map_key: Transcode) -> Callable[[bytes], bytes]:
    """What gives the key of an entry with another key in its map."""

    def anew(key: bytes) -> bytes:
        parts = layout.split(key, "a key")
        group = int.from_bytes(key[: layout.prefix], "big")
        found = map_key(ByteReader(parts.map_key, "a key in a map"))
        return layout.joined(group, parts._replace(map_key=found), ambiguous=layout.ambiguous)

    return anew

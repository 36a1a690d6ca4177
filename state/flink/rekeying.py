"""Rewrites keys in another form, and moves their state to the key groups where Flink then looks for it."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import KeyParts, is_variable, key_layout
from compat.state.flink.contents import Entry
from compat.state.flink.converting import batches
from compat.state.flink.errors import NotWritten
from compat.state.flink.forms import Convert, Form, Unconvertible, form_of
from compat.state.flink.header_parts import StateKey
from compat.state.flink.headers import QUEUE
from compat.state.flink.java_hashes import hash_of
from compat.state.flink.key_choosing import KeysChosen, KeysEqual, items_of
from compat.state.flink.keyed_transfer import KeyedSource
from compat.state.flink.longer_windows import LongerWindows, of_windows
from compat.state.flink.merging import Merge
from compat.state.flink.python_states import Apply
from compat.state.flink.snapshots import SerializerSnapshot, read_versioned
from compat.state.flink.tally import Tally
from compat.state.flink.transcoding import Classes, Fields, exactly, transcoder, within
from compat.state.key_groups import murmur_hash

_HEAD = struct.Struct(">HII")
_MOST_HELD = 32 << 20
"""Bytes of entries that are held before they are written to the files of their key groups."""

Anew = Callable[[Sequence[bytes]], Iterable[tuple[int, bytes]]]
"""Gives the hash codes and the bytes of the new keys, in order."""


class KeyConversion(Struct, frozen=True):
    """The keys of an operator as another serializer of Flink's writes them: its snapshot, as `writeVersionedSnapshot` gives
    it, and what happens to the fields of records: of keys of PyFlink, ``within`` the only field of a row.

    ``classes`` give hash codes that are not known here. ``apply`` gives the new keys if a function makes them.
    """

    serializer: bytes
    fields: Fields = Fields()
    classes: Classes | None = None
    within: bool = False
    apply: Apply | None = None

    @property
    def key(self) -> SerializerSnapshot:
        """The new serializer of the keys."""
        return read_versioned(ByteReader(self.serializer, "NEW's serializer of keys"), 0)

    def converter(self, old: SerializerSnapshot) -> Anew:
        """The function that gives the new keys. Raises Unconvertible."""
        hashes, convert = self._hashes(form_of(self.key)), self.keys(old)

        def anew(keys: Sequence[bytes]) -> Iterable[tuple[int, bytes]]:
            written = convert(keys)
            return zip(hashes(written), written, strict=True)

        return anew

    def keys(self, old: SerializerSnapshot) -> Convert:
        """The function that gives the bytes of the new keys. Raises Unconvertible."""
        if self.apply is not None:
            return partial(_applied, self.apply)
        one = exactly((within if self.within else transcoder)(form_of(old), form_of(self.key), self.fields), "a key")
        return lambda keys: list(map(one, keys))

    def _hashes(self, new: Form) -> Callable[[Sequence[bytes]], list[int]]:
        """What gives the hash codes of keys: rules of Java that are known here, or else NEW's classes."""
        try:
            code = hash_of(new)
        except Unconvertible:
            if self.classes is None:
                raise
            return partial(self.classes.hashes, self.serializer)
        return lambda keys: [code(new.read(ByteReader(key, "a key"))) for key in keys]


def _applied(apply: Apply, keys: Sequence[bytes]) -> list[bytes]:
    """The keys that a function makes of some: one of each."""
    return [item.arrays[0].data for (item,) in apply(items_of(keys))]


class KeyChange(Struct, frozen=True):
    """What happens to the keys of an operator: some go, the others become those of ``conversion``, or stay.

    ``windows`` are the longer windows that take in the open ones. ``merges`` say, by the names of states, what happens to
    values whose keys become equal.
    """

    conversion: KeyConversion | None = None
    dropped: KeysEqual | KeysChosen | None = None
    windows: LongerWindows | None = None
    merges: Mapping[str, Merge] = {}


def regrouped(sources: Sequence[KeyedSource], change: KeyChange, folder: str, tally: Tally) -> KeyedSource:
    """The keyed state of an operator under other keys, in files of a folder that is there; counts entries that go, and those
    that were merged into others.

    Raises NotWritten for keys that cannot be converted, and for two keys that would become equal.
    """
    first = sources[0]
    groups = _Spilled(folder, first, change.merges, tally.merged)
    try:
        for source in sources:
            _Rekeying(source, change, tally.dropped).into(groups)
    except Unconvertible as error:
        raise _refused(first, str(error)) from None
    groups.flush()
    return replace(first, groups=groups)


def _refused(source: KeyedSource, why: str) -> NotWritten:
    return NotWritten(
        f"the keys or windows of operator {source.operator} cannot be converted",
        path=source.savepoint.path,
        why=why,
        advice="Say in the recipe what happens to them, by fields, constants or a function; or drop the operator.",
    )


class _Rekeying:
    """The entries of a source with other keys."""

    def __init__(self, source: KeyedSource, change: KeyChange, dropped: Counter[StateKey]) -> None:
        header, conversion = source.parts.header, change.conversion
        if header.key_serializer is None:
            raise Unconvertible("keys without a serializer")
        self._source, self._dropped = source, dropped
        self._going = None if change.dropped is None else change.dropped.chooser(header.key_serializer)
        self._anew = None if conversion is None else conversion.converter(header.key_serializer)
        self._layouts = [key_layout(header, meta, source.max_parallelism) for meta in header.states]
        variable = is_variable(header.key_serializer if conversion is None else conversion.key)
        self._windows = change.windows
        self._windowed = [] if change.windows is None else of_windows(header.states)
        self._ambiguous = [variable and one.variable and not one.queue for one in self._layouts]

    def into(self, groups: _Spilled) -> None:
        """Put all entries into their new key groups."""
        path = self._source.savepoint.path
        for number in self._source.groups.numbers:
            for batch in batches(self._source.groups.entries(number)):
                parts = [self._layouts[entry.state].split(entry.key, path) for entry in batch]
                becomes = self._becomes(list({part.key for part in parts}))
                for entry, part in zip(batch, parts, strict=True):
                    self._put(groups, number, entry, part, becomes.get(part.key))

    def _put(
        self, groups: _Spilled, number: int, entry: Entry, parts: KeyParts, becomes: tuple[int | None, bytes] | None
    ) -> None:
        """Put an entry of a key group under what its key becomes; where that is nothing, it goes."""
        if becomes is None:
            name = self._source.names[entry.state]
            self._dropped[StateKey(self._source.operator, name, keyed=True)] += 1
            return
        hashed, key = becomes
        if self._windows is not None and self._windowed[entry.state]:
            parts = self._windows.parts(parts)
        group = number if hashed is None else murmur_hash(hashed) % self._source.max_parallelism
        ambiguous = self._ambiguous[entry.state]
        anew = self._layouts[entry.state].joined(group, parts._replace(key=key), ambiguous=ambiguous)
        groups.add(group, Entry(entry.state, anew, entry.value))

    def _becomes(self, keys: list[bytes]) -> dict[bytes, tuple[int | None, bytes]]:
        """The keys that stay, each with what it becomes, and the hash code of that, where it becomes another."""
        going = [False] * len(keys) if self._going is None else self._going(keys)
        left = [key for key, goes in zip(keys, going, strict=True) if not goes]
        if self._anew is None:
            return {key: (None, key) for key in left}
        return dict(zip(left, self._anew(left), strict=True))


class _Spilled:
    """Entries by their key groups, in a file for each, so that there may be more of them than the memory holds.

    Values of one key are merged as ``merges`` say, by the names of states, and those that go so are counted in ``merged``.
    """

    def __init__(
        self, folder: str, source: KeyedSource, merges: Mapping[str, Merge], merged: Counter[StateKey]
    ) -> None:
        self._folder = folder
        self._source = source
        self._states = source.parts.header.states
        self._merges, self._merged_away = merges, merged
        self._held: dict[int, list[bytes]] = {}
        self._size = 0
        self._files: set[int] = set()

    @property
    def numbers(self) -> Collection[int]:
        """The key groups that are there."""
        return self._files

    def add(self, group: int, entry: Entry) -> None:
        """Put an entry into a key group."""
        data = _HEAD.pack(entry.state, len(entry.key), len(entry.value)) + entry.key + entry.value
        self._held.setdefault(group, []).append(data)
        self._size += len(data)
        if self._size > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Write what is held to the files."""
        for group, found in self._held.items():
            with open(self._file(group), "ab") as file:
                file.writelines(found)
        self._files |= self._held.keys()
        self._held, self._size = {}, 0

    def entries(self, group: int) -> Iterator[Entry]:
        """The entries of a key group, state by state. Raises NotWritten if two keys have become one."""
        if group not in self._files:
            return
        with open(self._file(group), "rb") as file:
            data = file.read()
        found, position = [], 0
        while position < len(data):
            state, key, value = _HEAD.unpack_from(data, position)
            begin = position + _HEAD.size
            position = begin + key + value
            found.append(Entry(state, data[begin : begin + key], data[begin + key : position]))
        found.sort(key=lambda entry: entry.state)
        for state, members in groupby(found, lambda entry: entry.state):
            yield from self._each_once(state, members)

    def _each_once(self, state: int, members: Iterable[Entry]) -> Iterator[Entry]:
        """The entries of a state, one of each key; timers as they are, of which Flink keeps one."""
        if self._states[state].type == QUEUE:
            yield from members
            return
        values: dict[bytes, list[bytes]] = {}
        for entry in members:
            values.setdefault(entry.key, []).append(entry.value)
        several = [key for key, found in values.items() if len(found) > 1]
        if several:
            for key, value in zip(several, self._merged(state, [values[key] for key in several]), strict=True):
                values[key] = [value]
        yield from (Entry(state, key, value) for key, (value,) in values.items())

    def _merged(self, state: int, groups: list[list[bytes]]) -> list[bytes]:
        """The values that each key has from now on, of those that would have several."""
        name = self._states[state].name
        merge = self._merges.get(name)
        if merge is None:
            raise _refused(
                self._source, f"two keys become one, and both have a value of `{name}`: say how they `merge`"
            )
        self._merged_away[StateKey(self._source.operator, name, keyed=True)] += sum(map(len, groups)) - len(groups)
        try:
            merged: list[bytes] = merge.merger(self._states[state])(groups)
        except Unconvertible as error:
            raise _refused(self._source, f"the values of `{name}` do not merge: {error}") from None
        return merged

    def _file(self, group: int) -> str:
        return os.path.join(self._folder, str(group))

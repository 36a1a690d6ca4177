"""Rewrites keyed state from the key groups of others: some of their states, under other names, entry by entry."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import key_layout
from compat.state.flink.contents import Entry, Place, framed, places, stream_entries
from compat.state.flink.converting import batches, rewrite
from compat.state.flink.entry_conversion import Conversion, Rewrite
from compat.state.flink.errors import NotWritten
from compat.state.flink.handles import Incremental, KeyGroupRange, KeyGroups, RelativeFile
from compat.state.flink.header_parts import HeaderParts, StateKey, TypeNames, keyed_header, keyed_parts
from compat.state.flink.headers import BackendHeader
from compat.state.flink.heap_groups import heap_groups
from compat.state.flink.keyed_entries import is_framed
from compat.state.flink.savepoint import OperatorState, Savepoint, SubtaskState
from compat.state.flink.snapshots import out_of_header, read_versioned
from compat.state.flink.states import HeaderReader
from compat.state.flink.stream_readers import StreamReader, decompressed, pieces
from compat.state.flink.table_groups import TableGroups
from compat.state.flink.tally import Tally


class KeyedSource(Struct, frozen=True):
    """The keyed state of a subtask, or of a whole operator: the operator's id and max parallelism, whether it is canonical,
    its header, its key groups, and how the values of some states are rewritten."""

    savepoint: Savepoint
    operator: str
    max_parallelism: int
    canonical: bool
    parts: HeaderParts
    groups: Groups
    convert: Mapping[str, Rewrite]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its states, by their numbers."""
        return tuple(meta.name for meta in self.parts.header.states)


class Groups(Protocol):
    """The key groups of a source."""

    @property
    def numbers(self) -> Collection[int]:
        """The present key groups."""

    def entries(self, group: int) -> Iterator[Entry]:
        """The entries of a key group, those of each state together; none if it is missing.

        Raises a `SavepointError` for damaged bytes.
        """


class StoredGroups(Struct, frozen=True):
    """The key groups in a subtask's file."""

    savepoint: Savepoint
    handle: KeyGroups
    places: Mapping[int, Place]
    header: BackendHeader
    max_parallelism: int

    @property
    def numbers(self) -> Collection[int]:
        """The key groups that have a place in the file."""
        return self.places.keys()

    def entries(self, group: int) -> Iterator[Entry]:
        """The entries of a key group. Raises a `SavepointError` for damaged bytes."""
        place = self.places.get(group)
        if place is not None:
            read = pieces(self.savepoint, self.handle, place.start, place.start + place.size)
            reader = StreamReader(read, self.savepoint.path, origin=place.start)
            plain = decompressed(reader) if self.header.compressed else reader
            yield from stream_entries(plain, group, self.max_parallelism, len(self.header.states))


class Taken(NamedTuple):
    """States of a subtask by their names, with their new names."""

    source: KeyedSource
    names: Mapping[str, str]


def key_serializer_of(savepoint: Savepoint, operator: OperatorState) -> bytes | None:
    """The snapshot of the serializer of an operator's keys, in the form of `writeVersionedSnapshot`; None if there is none."""
    headers = HeaderReader(savepoint)
    for subtask in operator.subtasks:
        if isinstance(subtask.managed_keyed, KeyGroups | Incremental):
            written = headers.written(subtask.managed_keyed)
            return out_of_header(keyed_parts(written, savepoint.path, TypeNames(), {}).key_serializer)
    return None


def keyed_source(
    headers: HeaderReader,
    operator: OperatorState,
    subtask: SubtaskState,
    types: TypeNames,
    conversions: Mapping[str, Conversion],
    keys: bytes | None = None,
) -> KeyedSource | None:
    """The keyed state of a subtask; None if it has none. ``keys`` is another serializer of keys for its header.

    Raises NotWritten for a log of changes, and for values that do not become others.
    """
    savepoint, handle = headers.savepoint, subtask.managed_keyed
    if handle is None:
        return None
    if not isinstance(handle, Incremental | KeyGroups):
        raise NotWritten(
            "keyed state in this form of a state backend cannot be written anew",
            path=savepoint.path,
            why=f"operator {operator.id} has a log of changes",
            advice="Take a canonical savepoint of the job: flink savepoint --type canonical.",
        )
    forms = {name: one.form for name, one in conversions.items()}
    parts = keyed_parts(headers.written(handle), savepoint.path, types, forms, keys)
    header, most = parts.header, operator.max_parallelism
    # Where keys become others, that is done before the values are looked at: their entries have the new keys then.
    anew = (
        header if keys is None else replace(header, key_serializer=read_versioned(ByteReader(keys, savepoint.path), 0))
    )
    convert = {
        meta.name: rewrite(
            savepoint,
            conversions[meta.name],
            meta,
            parts.values.get(meta.name, b""),
            partial(key_layout, anew, meta, most),
        )
        for meta in header.states
        if meta.name in conversions
    }
    groups = _groups(savepoint, handle, header, most)
    canonical = not isinstance(groups, StoredGroups) or groups.handle.canonical
    return KeyedSource(savepoint, operator.id, most, canonical, parts, groups, convert)


def _groups(savepoint: Savepoint, handle: KeyGroups | Incremental, header: BackendHeader, most: int) -> Groups:
    if isinstance(handle, Incremental):
        return TableGroups(savepoint, handle, header, most)
    if not is_framed(savepoint, handle):
        return heap_groups(savepoint, handle, header, most)
    return StoredGroups(savepoint, handle, {place.number: place for place in places(handle)}, header, most)


def write_keyed_state(taken: Sequence[Taken], groups: range, file: str, tally: Tally) -> KeyGroups | None:
    """Write the key groups of some subtasks' states to a file, and count their entries, and the dropped ones; None if
    there is no state.

    Raises NotWritten for keys of two types, or a state that its subtasks describe in two ways.
    """
    states = _states(taken)
    if not states:
        return None
    numbers = {name: number for number, name in enumerate(states)}
    offsets = []
    with open(file, "xb") as out:
        out.write(keyed_header(taken[0].source.parts.header.version, _key_serializer(taken), states.items()))
        for group in groups:
            begun = out.tell()
            for piece in framed(_renumbered(taken, group, numbers, tally)):
                out.write(piece)
            offsets.append(begun if out.tell() > begun else 0)
        size = out.tell()
    canonical = all(one.source.canonical for one in taken)
    stream = RelativeFile(os.path.basename(file), size)
    return KeyGroups(KeyGroupRange(groups.start, len(groups)), tuple(offsets), stream, canonical)


def _states(taken: Iterable[Taken]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for source, names in taken:
        for name, data in source.parts.states.items():
            if name in names and found.setdefault(names[name], data) != data:
                raise NotWritten(
                    f"two subtasks describe the state `{name}` in two ways",
                    path=source.savepoint.path,
                    why="Flink would restore one of them",
                    advice="Take another savepoint of the job.",
                )
    return found


def _key_serializer(taken: Sequence[Taken]) -> bytes:
    first, *others = (one.source for one in taken)
    found = first.parts.key_serializer
    for other in others:
        if other.parts.key_serializer != found:
            raise NotWritten(
                f"the keys of operators {first.operator} and {other.operator} have two types",
                path=first.savepoint.path,
                why="one operator has one type of keys",
                advice="Move the state to an operator with the same keys.",
            )
    return found


def _renumbered(
    taken: Iterable[Taken],
    group: int,
    numbers: Mapping[str, int],
    tally: Tally,
) -> Iterator[Entry]:
    for source, names in taken:
        for state, members in groupby(source.groups.entries(group), lambda entry: entry.state):
            name = source.names[state]
            if name in names:
                key = StateKey(source.operator, name, keyed=True)
                for batch in _written(source, key, members, tally):
                    tally.written[key] += len(batch)
                    yield from (Entry(numbers[names[name]], entry.key, entry.value) for entry in batch)


def _written(source: KeyedSource, key: StateKey, members: Iterator[Entry], tally: Tally) -> Iterator[list[Entry]]:
    """The entries of a state in a key group, some at a time, as they are written.

    Keys of maps that change and can become one are held until the key group ends.
    """
    rewrite = source.convert.get(key.name)
    if rewrite is None:
        yield from batches(members)
        return
    held: dict[bytes, Entry] = {}
    for batch in batches(members, rewrite.together):
        found = rewrite.anew(batch)
        if len(found) < len(batch) and rewrite.together is None:
            tally.dropped[key] += len(batch) - len(found)
        if not rewrite.of_keys:
            yield found
            continue
        for entry in found:
            before = held.get(entry.key)
            if before is not None:
                entry = _merged(source, key.name, before, entry, rewrite)
                tally.merged[key] += 1
            held[entry.key] = entry
    yield list(held.values())


def _merged(source: KeyedSource, name: str, one: Entry, two: Entry, rewrite: Rewrite) -> Entry:
    """The entry of two whose keys have become one. Raises NotWritten if a backend would keep one of them."""
    if rewrite.merge is None:
        raise NotWritten(
            f"two keys in a map of the state `{name}` become one",
            path=source.savepoint.path,
            why=f"operator {source.operator} has values of both",
            advice="Drop the state, or keep its keys.",
        )
    return replace(one, value=rewrite.merge(one.value, two.value))

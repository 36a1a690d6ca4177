"""The key groups in the heap's own form, of a native savepoint or a checkpoint: entry by entry, as canonical ones have it.

A key group is its number and, state after state, the state's number, a count, and so many entries: namespace, key and value
(`HeapSnapshotStrategy`, `CopyOnWriteStateTableSnapshot`), or timers (`KeyGroupPartitioner`). Nothing has a length: only the
serializers know where an entry ends. Canonical savepoints have an entry for each key in a map, and commas between the elements
of lists (`HeapKeyValueStateIterator`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.composite_keys import TIME, KeyLayout, KeyParts, key_layout
from compat.state.flink.contents import DELIMITER, Entry, Place, places
from compat.state.flink.errors import UnreadableValue
from compat.state.flink.forms import Unconvertible, form_of, pass_map
from compat.state.flink.handles import KeyGroups
from compat.state.flink.headers import KIND, PARTS, VALUES, BackendHeader, StateMeta
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.stream_readers import StreamReader, decompressed, pieces
from compat.state.flink.transcoding import held_in
from compat.state.flink.values import Read, Undecodable

_MAP, _LIST = "MAP", "LIST"
_EXTERNAL = "org.apache.flink.table.runtime.typeutils.ExternalSerializer"
_SORTED_MAP = "org.apache.flink.table.runtime.typeutils.SortedMapSerializer"
_THERE = b"\0"
"""The mark of a value in a map that is not null."""
_CANONICAL = "take a canonical savepoint of it (flink stop --type canonical), in which each value has its length"


class HeapState(Struct, frozen=True):
    """The layout of one state's entries on the heap: ``value`` reads past a value, or past an element of a list or map."""

    name: str
    keys: KeyLayout
    kind: str
    value: Read
    map_key: Read | None = None


def heap_state(header: BackendHeader, meta: StateMeta, max_parallelism: int) -> HeapState:
    """The layout of a state's entries on the heap. Raises Unconvertible if a part of them cannot be read here."""
    keys, serializer = key_layout(header, meta, max_parallelism), meta.serializer(VALUES)
    if keys.queue:
        return HeapState(meta.name, keys, "", _nothing)
    if serializer is None:
        raise Unconvertible("values without a serializer")
    kind = meta.option(KIND) or "VALUE"
    if kind in PARTS and len(serializer.nested) != PARTS[kind]:
        raise Unconvertible(f"a {kind.lower()} of {serializer.serializer or serializer.class_name}")
    held, inner = held_in(kind, serializer)
    value = _past(inner)
    map_key = _past(serializer.nested[0]) if kind == _MAP else None
    return HeapState(meta.name, keys, kind, _timed(value) if held.timed else value, map_key)


def _past(serializer: SerializerSnapshot) -> Read:
    """What reads past a value. Raises Unconvertible for one that cannot be read here.

    SQL writes objects of functions with a serializer that wraps the objects' own one (`ExternalSerializer`), and the buffer of
    a top-N like any map (`SortedMapSerializer`).
    """
    if serializer.serializer == _EXTERNAL and len(serializer.nested) == 1:
        return _past(serializer.nested[0])
    if serializer.serializer == _SORTED_MAP and len(serializer.nested) == PARTS[_MAP]:
        return pass_map(tuple(map(_past, serializer.nested)))
    return form_of(serializer).read


def _nothing(reader: ByteReader) -> None:
    """A timer has no value."""


def _timed(value: Read) -> Read:
    def read(reader: ByteReader) -> None:
        reader.raw(TIME, "a time")
        value(reader)

    return read


class HeapGroups(Struct, frozen=True):
    """The key groups of a subtask; if a state cannot be read, the obstacle is in its place."""

    savepoint: Savepoint
    handle: KeyGroups
    compressed: bool
    places: Mapping[int, Place]
    states: tuple[HeapState | UnknownState, ...]

    @property
    def numbers(self) -> Collection[int]:
        """The key groups that have a place in the file."""
        return self.places.keys()

    def entries(self, group: int, wanted: Collection[int] | None = None) -> Iterator[Entry]:
        """The entries of one, those of each state together; of the ``wanted`` states alone, by their numbers.

        Raises a `SavepointError` for damaged bytes, and for a state on the way that cannot be read.
        """
        left = set(range(len(self.states)) if wanted is None else wanted)
        reader = self._reader(group) if left else None
        while reader is not None and left:
            number = self._number(reader)
            for entry in self._of_state(reader, number, group):
                if wanted is None or number in wanted:
                    yield entry
            left.discard(number)
        if reader is not None and wanted is None and not reader.at_end():
            reader.damaged("bytes left over in a key group", "another serializer wrote this than the header says")

    def before_unknown(self) -> frozenset[int]:
        """The states that are read, by their numbers: those that stand before what cannot be, which are the same in all key
        groups."""
        found: set[int] = set()
        reader = self._reader(next(iter(self.places), -1))
        while reader is not None and len(found) < len(self.states):
            number = self._number(reader)
            if isinstance(self.states[number], UnknownState):
                break
            for _ in self._of_state(reader, number, 0):
                pass
            found.add(number)
        return frozenset(found)

    def _reader(self, group: int) -> StreamReader | None:
        """The states of a key group; None if the group is not there."""
        place = self.places.get(group)
        if place is None:
            return None
        read = pieces(self.savepoint, self.handle, place.start, place.start + place.size)
        reader = StreamReader(read, self.savepoint.path, origin=place.start)
        if reader.integer() != group:
            reader.damaged("a key group that does not begin with its number")
        return decompressed(reader) if self.compressed else reader

    def _number(self, reader: StreamReader) -> int:
        number = reader.short()
        if number >= len(self.states):
            reader.damaged(f"state {number} of {len(self.states)}")
        return number

    def _of_state(self, reader: StreamReader, number: int, group: int) -> Iterator[Entry]:
        state, count = self.states[number], reader.count("entries", 0)
        if isinstance(state, UnknownState):
            if count:
                raise state.refused(reader)
            return
        read = _timer if state.keys.queue else _READ.get(state.kind, _value)
        try:
            for _ in range(count):
                yield from (Entry(number, key, value) for key, value in read(reader, state, group))
        except (Undecodable, Unconvertible) as error:
            raise UnknownState(state.name, str(error)).refused(reader) from None


class UnknownState(Struct, frozen=True):
    """A state whose entries cannot be separated here, and the reason."""

    name: str
    why: str

    def refused(self, reader: ByteReader) -> UnreadableValue:
        """The error for a file with such a state."""
        return UnreadableValue(
            f"the state `{self.name}` is in the heap's own form, where values have no length",
            path=reader.path,
            offset=reader.offset,
            why=self.why,
            advice=f"With the jar or the query that wrote it: compat migrate SAVEPOINT OLD OUT --canonical. Or start the job "
            f"from this snapshot as it is, and {_CANONICAL}.",
        )


def heap_groups(savepoint: Savepoint, handle: KeyGroups, header: BackendHeader, max_parallelism: int) -> HeapGroups:
    """The key groups of a subtask. Raises nothing."""
    states = tuple(_known(header, meta, max_parallelism) for meta in header.states)
    found = {place.number: place for place in places(handle)}
    return HeapGroups(savepoint, handle, header.compressed, found, states)


def _known(header: BackendHeader, meta: StateMeta, max_parallelism: int) -> HeapState | UnknownState:
    try:
        return heap_state(header, meta, max_parallelism)
    except Unconvertible as error:
        return UnknownState(meta.name, str(error))


Entries = Iterator[tuple[bytes, bytes]]
"""Keys and values, as canonical savepoints have them."""


def _value(reader: StreamReader, state: HeapState, group: int) -> Entries:
    key = _key(reader, state, group)
    yield key(b""), reader.span(state.value)


def _list(reader: StreamReader, state: HeapState, group: int) -> Entries:
    key = _key(reader, state, group)
    yield key(b""), DELIMITER.join(reader.span(state.value) for _ in range(reader.count("elements", 1)))


def _map(reader: StreamReader, state: HeapState, group: int) -> Entries:
    assert state.map_key is not None
    key = _key(reader, state, group)
    for _ in range(reader.count("entries", 1)):
        found, mark = key(reader.span(state.map_key)), reader.raw(1, "a mark")
        yield found, mark + (reader.span(state.value) if mark == _THERE else b"")


def _timer(reader: StreamReader, state: HeapState, group: int) -> Entries:
    time, key, namespace = reader.raw(TIME, "a time"), reader.span(state.keys.key), reader.span(state.keys.namespace)
    yield state.keys.joined(group, KeyParts(time, key, namespace, b""), ambiguous=False), b""


_READ = {_LIST: _list, _MAP: _map}


def _key(reader: StreamReader, state: HeapState, group: int) -> Callable[[bytes], bytes]:
    """What gives the key of an entry, with the key in a map."""
    namespace, key = reader.span(state.keys.namespace), reader.span(state.keys.key)
    keys = state.keys
    return lambda map_key: keys.joined(group, KeyParts(b"", key, namespace, map_key), ambiguous=keys.ambiguous)

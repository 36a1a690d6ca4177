"""The entries of full keyed snapshots, typed by the serializers that their headers record.

In the layout of canonical savepoints and of RocksDB's scans each entry is a key and a value after their lengths
(`FullSnapshotAsyncWriter`): the key is the key group, the key, the namespace and, of a map, the map key
(`CompositeKeySerializationUtils`). RocksDB's own files have a column family for each state, with such keys and values. Entries
in the heap's own form are converted (`heap_groups`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.contents import DELIMITER, Entry, places, prefix_of, stream_entries
from compat.state.flink.handles import Incremental, KeyGroups
from compat.state.flink.headers import KIND, NAMESPACE, PARTS, QUEUE, VALUES, BackendHeader, StateMeta
from compat.state.flink.heap_groups import heap_groups
from compat.state.flink.measure import Layout, layout
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.snapshots import SerializerSnapshot
from compat.state.flink.sst_files import TableFile, merged
from compat.state.flink.stream_readers import StreamReader, decompressed, pieces
from compat.state.flink.values import Decoder, Undecodable, decoder_of, ttl_inside

_LENGTH = 4
_SIGN = 1 << 63
Times = tuple[int, ...]


class Undecoded(Struct, frozen=True):
    """A value whose serializer cannot be read here: its bytes."""

    serializer: str
    data: bytes


class KeyedEntry(Struct, frozen=True):
    """An entry of a state: ``state`` is the state's number in the header. Times are those of last uses, see `StateEntry`."""

    state: int
    key_group: int
    key: Any
    namespace: Any
    map_key: Any
    value: Any
    times: Times


class KeyedLayout(Struct, frozen=True):
    """The layout of the entries of one keyed state. ``ttl`` says that each value is stored with the time of its last use.

    A queue's elements are timers: their decoders are those of key and namespace. ``element`` is a list's element.
    """

    kind: str
    key: Decoder
    namespace: Decoder
    value: Decoder
    map_key: Decoder | None = None
    element: Decoder | None = None
    ttl: bool = False

    @property
    def ambiguous(self) -> bool:
        """True if key and namespace are written with their lengths, as neither serializer has a fixed one."""
        return self.key.length < 0 and self.namespace.length < 0


_ABSENT = Decoder(None, lambda reader: None, 0)


def layout_of(header: BackendHeader, meta: StateMeta) -> KeyedLayout:
    """The layout of a state, with unreadable values as bytes. Raises Undecodable for unreadable keys."""
    value = _required(meta, VALUES)
    if meta.type == QUEUE:
        if len(value.nested) != 2 or not (value.serializer or "").endswith("TimerSerializer"):
            raise Undecodable(f"a queue of {value.serializer or value.class_name}")
        key, namespace = map(decoder_of, value.nested)
        return KeyedLayout(QUEUE, key, namespace, _ABSENT)
    if header.key_serializer is None:
        raise Undecodable("keys without a serializer")
    key = decoder_of(header.key_serializer)
    namespace = decoder_of(_required(meta, NAMESPACE))
    kind = meta.option(KIND) or "VALUE"
    if kind in PARTS and len(value.nested) != PARTS[kind]:
        raise Undecodable(f"a {kind.lower()} of {value.serializer or value.class_name}")
    inner = value.nested[-1] if kind in PARTS else value
    ttl = ttl_inside(inner)
    try:
        decoder = decoder_of(ttl or inner)
    except Undecodable as error:
        decoder, ttl = _rest(str(error)), None
    return KeyedLayout(
        kind,
        key,
        namespace,
        decoder,
        map_key=decoder_of(value.nested[0]) if kind == "MAP" else None,
        element=decoder if kind == "LIST" and decoder.type is not None else None,
        ttl=ttl is not None,
    )


def _rest(serializer: str) -> Decoder:
    return Decoder(None, lambda reader: Undecoded(serializer, reader.raw(reader.remaining, "a value")))


def _required(meta: StateMeta, name: str) -> SerializerSnapshot:
    found = meta.serializer(name)
    if found is None:
        raise Undecodable(f"no {name.lower().replace('_', ' ')}")
    return found


Layouts = tuple[KeyedLayout | Undecodable, ...]


def layouts_of(header: BackendHeader) -> Layouts:
    """The layouts of all states of a header, in order; for an unreadable state, the reason instead."""
    return tuple(_try(header, meta) for meta in header.states)


def _try(header: BackendHeader, meta: StateMeta) -> KeyedLayout | Undecodable:
    try:
        return layout_of(header, meta)
    except Undecodable as error:
        return error


def is_framed(savepoint: Savepoint, handle: KeyGroups) -> bool:
    """True if the entries of a full snapshot are written after their lengths."""
    return layout(savepoint, handle) is not Layout.HEAP


def read_keyed(
    savepoint: Savepoint, handle: KeyGroups, header: BackendHeader, max_parallelism: int, wanted: frozenset[int]
) -> Iterator[KeyedEntry]:
    """The entries of the ``wanted`` states (by number) of a snapshot. Raises a `SavepointError` for damaged bytes.

    In the heap's layout nothing is read behind the last of them.
    """
    layouts = layouts_of(header)
    if is_framed(savepoint, handle):
        for place in places(handle):
            reader = StreamReader(
                pieces(savepoint, handle, place.start, place.start + place.size), savepoint.path, origin=place.start
            )
            plain = decompressed(reader) if header.compressed else reader
            yield from _framed(plain, place.number, max_parallelism, layouts, wanted)
        return
    groups = heap_groups(savepoint, handle, header, max_parallelism)
    for group in groups.numbers:
        for entry in groups.entries(group, wanted):
            yield _typed(entry, group, max_parallelism, layouts, savepoint.path)


def _typed(entry: Entry, group: int, max_parallelism: int, layouts: Layouts, path: str) -> KeyedEntry:
    """An entry without a place in a file."""
    key = ByteReader(entry.key, path, start=prefix_of(max_parallelism))
    return _entry(entry.state, group, key, ByteReader(entry.value, path), layouts[entry.state])


def read_tables(
    savepoint: Savepoint, handle: Incremental, header: BackendHeader, max_parallelism: int, wanted: frozenset[int]
) -> Iterator[KeyedEntry]:
    """The same of RocksDB's own files: a state is a column family, with the keys and values of the layout that is framed.

    What is there of key groups that the handle does not have was left by a restore, and does not count.
    """
    layouts = layouts_of(header)
    prefix = prefix_of(max_parallelism)
    first, end = handle.key_groups.first, handle.key_groups.last + 1
    families = tables_of(savepoint, handle, max_parallelism)
    for number, meta in enumerate(header.states):
        if number in wanted:
            for key, value in merged(families.get(meta.name, []), DELIMITER):
                group = int.from_bytes(key[:prefix], "big")
                if first <= group < end:
                    yield _typed(Entry(number, key, value), group, max_parallelism, layouts, savepoint.path)


def tables_of(savepoint: Savepoint, handle: Incremental, max_parallelism: int) -> dict[str, list[TableFile]]:
    """RocksDB's files by their column families, which are states. Raises a `SavepointError` for files of unknown features."""
    prefix = prefix_of(max_parallelism)
    first, end = handle.key_groups.first, handle.key_groups.last + 1
    families: dict[str, list[TableFile]] = {}
    for file in (*handle.shared, *handle.private):
        if file.local_name.endswith(_TABLE):
            table = TableFile(savepoint, file.stream, file.local_name)
            for begun, ended in table.deleted_ranges():
                if int.from_bytes(begun[:prefix], "big") < end and ended > first.to_bytes(prefix, "big"):
                    table.refuse("it has ranges of keys that were deleted at once")
            families.setdefault(table.column_family, []).append(table)
    return families


_TABLE = ".sst"


def _framed(
    reader: StreamReader, group: int, max_parallelism: int, layouts: Layouts, wanted: frozenset[int]
) -> Iterator[KeyedEntry]:
    for entry in stream_entries(reader, group, max_parallelism, len(layouts)):
        if entry.state in wanted:
            place = reader.offset - len(entry.value)
            prefix, before = prefix_of(max_parallelism), place - _LENGTH - len(entry.key)
            key = ByteReader(entry.key, reader.path, origin=before, start=prefix)
            yield _entry(
                entry.state, group, key, ByteReader(entry.value, reader.path, origin=place), layouts[entry.state]
            )


def _entry(
    number: int, group: int, key: ByteReader, value: ByteReader, layout: KeyedLayout | Undecodable
) -> KeyedEntry:
    if isinstance(layout, Undecodable):
        name = str(layout)
        whole = Undecoded(name, key.raw(key.remaining, "a key"))
        return KeyedEntry(number, group, whole, None, None, Undecoded(name, value.raw(value.remaining, "a value")), ())
    if layout.kind == QUEUE:
        found = _timer(key, layout, number, group)
        _exhausted(key)
        return found
    name, namespace = _key_and_namespace(key, layout)
    map_key = layout.map_key.read(key) if layout.map_key is not None else None
    _exhausted(key)
    if layout.element is not None:
        elements, times = _delimited(value, layout)
        return KeyedEntry(number, group, name, namespace, None, elements, times)
    if layout.map_key is not None and value.boolean():
        return KeyedEntry(number, group, name, namespace, map_key, None, ())
    begin = value.position
    try:
        found_value, times = _timed(value, layout)
    except Undecodable as error:
        value.position = begin
        found_value, times = Undecoded(str(error), value.raw(value.remaining, "a value")), ()
    _exhausted(value)
    return KeyedEntry(number, group, name, namespace, map_key, found_value, times)


def _exhausted(reader: ByteReader) -> None:
    if reader.remaining:
        reader.damaged(f"{reader.remaining} bytes left over", "another serializer wrote this than the header says")


def _timer(reader: ByteReader, layout: KeyedLayout, number: int, group: int) -> KeyedEntry:
    """A timer (`TimerSerializer`): its time with the sign turned over, so that bytes sort as times do, key and namespace."""
    time = (reader.long() + _SIGN) % (1 << 64)
    time = time - (1 << 64) if time >= _SIGN else time
    key, namespace = layout.key.read(reader), layout.namespace.read(reader)
    return KeyedEntry(number, group, key, namespace, None, time, ())


def _key_and_namespace(reader: ByteReader, layout: KeyedLayout) -> tuple[Any, Any]:
    return _behind(reader, layout.key, layout.ambiguous), _behind(reader, layout.namespace, layout.ambiguous)


def _behind(reader: ByteReader, decoder: Decoder, ambiguous: bool) -> Any:
    """A part of a key; where keys are ambiguous with its length after it, lowest byte first, as many bytes as it needs."""
    begin = reader.position
    found = decoder.read(reader)
    if ambiguous:
        length = reader.position - begin
        reader.raw(max(1, -(-length.bit_length() // 8)), "a length")
    return found


def _timed(reader: ByteReader, layout: KeyedLayout) -> tuple[Any, Times]:
    if not layout.ttl:
        return layout.value.read(reader), ()
    time = reader.long()
    return layout.value.read(reader), (time,)


def _delimited(reader: ByteReader, layout: KeyedLayout) -> tuple[list[Any], Times]:
    """The elements of a list, a comma between two of them (`ListDelimitedSerializer`)."""
    elements: list[Any] = []
    times: list[int] = []
    while reader.remaining:
        if elements and reader.raw(1, "a comma") != DELIMITER:
            reader.damaged("no comma between two elements of a list")
        found, time = _timed(reader, layout)
        elements.append(found)
        times += time
    return elements, tuple(times)

"""OLD's state as Flink's in-memory handles: the bytes come from compat's savepoint reader, and Flink restores them.

Therefore a savepoint may have been moved or be on other storage, and nothing outside of its own folders is opened. All
subtasks of an operator become one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import jpype
from msgspec import Struct

from compat.loader.jvm.bridge import Java, array_of, byte_array, causes, class_name, flink, java
from compat.state.flink.binary import ByteReader
from compat.state.flink.handles import (
    EmptySegment,
    Incremental,
    Keyed,
    KeyGroups,
    OperatorStream,
    RelativeFile,
    StateFile,
    Stream,
)
from compat.state.flink.headers import StateMeta, read_operator_header
from compat.state.flink.locate import LOCAL, locate
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import FIRST_READ, LONGEST_HEADER, with_headers
from compat.state.flink.storage import LOCAL_FILES
from compat.state.flink.streams import read_window

_KEPT = 1 << 20
"""Bytes of an operator's operator state, or of its raw state, up to which they are always restored with their values."""

_BYTES = "BytePrimitiveArraySerializer$BytePrimitiveArraySerializerSnapshot"


class Header(Struct, frozen=True):
    """The beginning of a state file: its bytes, and Flink's proxy that read them."""

    data: bytes
    proxy: Java


class OldOperator(Struct, frozen=True, kw_only=True):
    """An operator of OLD: its id, its max parallelism, and its states without values.

    ``headers`` are those of the keyed state, each once; ``streams`` is the operator state, complete if it is small.
    ``versioned`` are the values, by the state's name, that an operator reads with its own ``SimpleVersionedSerializer``; they
    are not in ``streams``. ``enumerator`` is the state of a source's coordinator. ``only_rocksdb`` says that
    its files are RocksDB's own. ``notes`` say what was left out.
    """

    id: str
    max_parallelism: int
    headers: tuple[Header, ...]
    streams: tuple[tuple[OperatorStream, bytes], ...]
    raw_keyed: tuple[tuple[KeyGroups, bytes], ...]
    raw_operator: tuple[tuple[OperatorStream, bytes], ...]
    versioned: Mapping[str, tuple[bytes, ...]]
    enumerator: bytes
    only_rocksdb: bool
    notes: tuple[str, ...] = ()

    @property
    def max_key_groups(self) -> int:
        """The number of key groups of the operator."""
        return max(self.max_parallelism, 1)


def emptied(savepoint: Savepoint, operator: OperatorState, loader: Java, *, hand_out: bool) -> OldOperator:
    """An operator without the values of its keyed state: reads the heads of its state files, and small ones whole.

    The values of its operator state are in it only if the operator is meant to get them. It may act on them: a committer
    commits the values that it finds. Raises SavepointError for unreadable files, and Flink's exceptions for a header.
    """
    subtasks = operator.subtasks
    keyed = [handle for one in subtasks if one.managed_keyed for handle in with_headers(one.managed_keyed)]
    headers: dict[bytes, Header] = {}
    for handle in keyed:
        stream = handle.meta if isinstance(handle, Incremental) else handle
        assert isinstance(stream, Stream)
        if (header := _header(savepoint, stream, _keyed_proxy(loader), headers)) is not None:
            headers.setdefault(header.data, header)
    managed = [one for each in subtasks if (one := each.managed_operator) is not None and _holds_bytes(one)]
    raw = [one for each in subtasks if (one := each.raw_operator) is not None and _holds_bytes(one)]
    groups = [one.raw_keyed for one in subtasks if isinstance(one.raw_keyed, KeyGroups)]
    raw_keyed = [one for one in groups if _holds_bytes(one)]
    notes: list[str] = []
    versioned: Mapping[str, tuple[bytes, ...]] = {}
    if not _small(raw):
        raw = []
        notes.append("its raw operator state is too large to be tried")
    if not _small(raw_keyed):
        raw_keyed = []
        notes.append("its raw keyed state is too large to be tried")
    small = _small(managed)
    if not small:
        notes.append("the values of its operator state are too many to be tried")
    streams = list(_operator_streams(savepoint, managed, loader, small))
    if not hand_out:
        versioned = _versioned(streams)
        streams = [(_without_parts(handle), data) for handle, data in streams]
    return OldOperator(
        id=operator.id,
        max_parallelism=operator.max_parallelism,
        headers=tuple(headers.values()),
        streams=tuple(streams),
        raw_keyed=tuple((one, read_window(savepoint, one.stream, 0, one.size)) for one in raw_keyed),
        raw_operator=tuple((one, read_window(savepoint, one.stream, 0, one.size)) for one in raw),
        versioned=versioned,
        enumerator=b"" if operator.coordinator is None else operator.coordinator.data,
        only_rocksdb=any(isinstance(one, Incremental) for one in keyed),
        notes=tuple(notes),
    )


def _holds_bytes(handle: OperatorStream | KeyGroups) -> bool:
    """False for what file merging writes of a state without values: a place in no file."""
    return not isinstance(handle.stream, EmptySegment)


def _small(handles: Sequence[OperatorStream | Keyed]) -> bool:
    return sum(one.size for one in handles) <= _KEPT


def _operator_streams(
    savepoint: Savepoint, handles: Iterable[OperatorStream], loader: Java, whole: bool
) -> Iterator[tuple[OperatorStream, bytes]]:
    """Operator state with its bytes; without values where it is not taken ``whole``, each distinct header once."""
    seen: dict[bytes, Header] = {}

    def proxy() -> Java:
        return flink("runtime.state.OperatorBackendSerializationProxy")(loader)

    for handle in handles:
        if whole:
            yield handle, read_window(savepoint, handle.stream, 0, handle.size)
            continue
        header = _header(savepoint, handle.stream, proxy, seen)
        if header is not None and header.data not in seen:
            seen[header.data] = header
            yield _without_parts(handle), header.data


def _without_parts(handle: OperatorStream) -> OperatorStream:
    return OperatorStream((), handle.stream)


def _versioned(streams: Iterable[tuple[OperatorStream, bytes]]) -> dict[str, tuple[bytes, ...]]:
    """The values of list states of bytes, where they stand uncompressed, by the state's name."""
    found: dict[str, tuple[bytes, ...]] = {}
    for handle, data in streams:
        header = read_operator_header(data, "")
        lists = {one.name for one in header.states if _is_of_bytes(one)} if not header.compressed else set()
        for partition in handle.partitions:
            if partition.name in lists:
                values = tuple(ByteReader(data, "", start=offset).sized("a value") for offset in partition.offsets)
                found[partition.name] = found.get(partition.name, ()) + values
    return found


def _is_of_bytes(state: StateMeta) -> bool:
    snapshot = state.serializer("VALUE_SERIALIZER")
    return snapshot is not None and snapshot.class_name.endswith(_BYTES)


def _keyed_proxy(loader: Java) -> Callable[[], Java]:
    return lambda: flink("runtime.state.KeyedBackendSerializationProxy")(loader)


def _header(
    savepoint: Savepoint, stream: Stream, proxy: Callable[[], Java], known: Mapping[bytes, Header]
) -> Header | None:
    """The header at the start of a stream, read by Flink; more of the file is taken as long as it is cut off."""
    while isinstance(stream, KeyGroups):
        stream = stream.stream
    if isinstance(stream, EmptySegment):
        return None
    length = FIRST_READ
    while True:
        data = read_window(savepoint, stream, 0, length)
        if (one := next((head for begin, head in known.items() if data.startswith(begin)), None)) is not None:
            return one
        try:
            return read_header(data, proxy())
        except jpype.JException as error:
            if len(data) < length or length >= LONGEST_HEADER or not _cut_off(error):
                raise
            length *= 8


def read_header(data: bytes, proxy: Java) -> Header:
    """The header that some bytes begin with. Raises what Flink raises."""
    stream = java("java.io.ByteArrayInputStream")(byte_array(data))
    proxy.read(flink("core.memory.DataInputViewStreamWrapper")(stream))
    return Header(data[: len(data) - int(stream.available())], proxy)


def _cut_off(error: Java) -> bool:
    return any("EOFException" in (class_name(one) or "") for one in causes(error))


def header_of(savepoint: Savepoint, handle: KeyGroups, loader: Java) -> Header | None:
    """The header of a full snapshot; None for one without bytes. Raises SavepointError, and what Flink raises."""
    return _header(savepoint, handle, _keyed_proxy(loader), {})


def keyed_header(data: bytes, loader: Java) -> Header:
    """The header of keyed state that some bytes begin with. Raises what Flink raises."""
    return read_header(data, _keyed_proxy(loader)())


def without_values(old: OldOperator) -> Java:
    """The ``OperatorSubtaskState`` of an operator whose keyed state is empty."""
    return subtask(old, [key_groups(header.data, (), (0, old.max_key_groups - 1)) for header in old.headers])


def subtask(old: OldOperator, keyed: Iterable[Java]) -> Java:
    """The ``OperatorSubtaskState`` of an operator with these handles of keyed state."""
    builder = flink("runtime.checkpoint.OperatorSubtaskState").builder()
    builder.setManagedKeyedState(_collection(keyed))
    builder.setManagedOperatorState(_collection(_stream(*one) for one in old.streams))
    builder.setRawOperatorState(_collection(_stream(*one) for one in old.raw_operator))
    builder.setRawKeyedState(_collection(_raw(*one) for one in old.raw_keyed))
    return builder.build()


def key_groups(
    header: bytes, groups: Iterable[tuple[int, bytes]], among: tuple[int, int], *, canonical: bool = True
) -> Java:
    """A handle of a header and key groups, by number, behind it; the others of the range ``among`` are empty."""
    data, offsets = bytearray(header), dict.fromkeys(range(among[0], among[1] + 1), 0)
    for number, group in groups:
        offsets[number] = len(data)
        data += group
    kind = "KeyGroupsSavepointStateHandle" if canonical else "KeyGroupsStateHandle"
    return flink(f"runtime.state.{kind}")(_offsets(among, list(offsets.values())), _bytes(bytes(data)))


def native_files(savepoint: Savepoint, handle: Incremental) -> Java:
    """A handle of RocksDB's own files; those on this machine are read where they are, others are held."""
    part = flink("runtime.state.IncrementalKeyedStateHandle$HandleAndLocalPath")
    shared, private = (
        _list(part.of(_file(savepoint, one.stream), one.local_name) for one in files)
        for files in (handle.shared, handle.private)
    )
    return flink("runtime.state.IncrementalRemoteKeyedStateHandle")(
        java("java.util.UUID").randomUUID(),
        flink("runtime.state.KeyGroupRange").of(handle.key_groups.first, handle.key_groups.last),
        handle.checkpoint_id,
        shared,
        private,
        _file(savepoint, handle.meta),
    )


def _file(savepoint: Savepoint, stream: Stream) -> Java:
    if isinstance(stream, StateFile | RelativeFile) and savepoint.storage is LOCAL_FILES:
        found = locate(savepoint, stream)
        if found.status == LOCAL and found.path is not None:
            path = flink("core.fs.Path")(found.path)
            return flink("runtime.state.filesystem.FileStateHandle")(path, stream.size)
    return _bytes(read_window(savepoint, stream, 0, stream.size))


def _offsets(among: tuple[int, int], offsets: Sequence[int]) -> Java:
    return flink("runtime.state.KeyGroupRangeOffsets")(
        flink("runtime.state.KeyGroupRange").of(*among), array_of(jpype.JLong)(offsets)
    )


def _raw(handle: KeyGroups, data: bytes) -> Java:
    among = (handle.key_groups.first, handle.key_groups.last)
    return flink("runtime.state.KeyGroupsStateHandle")(_offsets(among, handle.offsets), _bytes(data))


def _stream(handle: OperatorStream, data: bytes) -> Java:
    modes = flink("runtime.state.OperatorStateHandle$Mode")
    info = flink("runtime.state.OperatorStateHandle$StateMetaInfo")
    parts = java("java.util.HashMap")()
    for partition in handle.partitions:
        parts.put(partition.name, info(array_of(jpype.JLong)(partition.offsets), modes.valueOf(partition.mode)))
    return flink("runtime.state.OperatorStreamStateHandle")(parts, _bytes(data))


def _bytes(data: bytes) -> Java:
    """A handle that holds its bytes; its name only has to be its own."""
    return flink("runtime.state.memory.ByteStreamStateHandle")(
        str(java("java.util.UUID").randomUUID()), byte_array(data)
    )


def _collection(handles: Iterable[Java]) -> Java:
    return flink("runtime.checkpoint.StateObjectCollection")(_list(handles))


def _list(values: Iterable[Java]) -> Java:
    found = java("java.util.ArrayList")()
    for value in values:
        found.add(value)
    return found

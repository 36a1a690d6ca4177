"""The elements of operator state: lists that are split or given to all, and broadcast state.

A list's elements are at the places that the handle names; a broadcast state is a count and then its keys and values
(`DefaultOperatorStateBackendSnapshotStrategy`, `HeapBroadcastState`). In a compressed stream, each place begins with its own
frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat.state.flink.errors import UnreadableValue
from compat.state.flink.handles import OperatorStream, Partition
from compat.state.flink.headers import BackendHeader, StateMeta
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.stream_readers import StreamReader, decompressed, pieces
from compat.state.flink.values import Decoder, Undecodable, decoder_of


def read_list(
    savepoint: Savepoint, handle: OperatorStream, header: BackendHeader, meta: StateMeta, partition: Partition
) -> Iterator[Any]:
    """The elements of a list state. Raises Undecodable for a serializer that cannot be read, or a `SavepointError`."""
    element = _decoder(meta, "VALUE_SERIALIZER")
    reader, reached = None, -1
    for offset in partition.offsets:
        # Elements stand one behind the other: only where compression or another state lies between, the reading begins anew.
        if reader is None or header.compressed or reader.offset != offset or reached > offset:
            reader = _reader(savepoint, handle, header, offset)
        yield _read(element, reader)
        reached = offset


def read_broadcast(
    savepoint: Savepoint, handle: OperatorStream, header: BackendHeader, meta: StateMeta, partition: Partition
) -> Iterator[tuple[Any, Any]]:
    """Keys and values of a broadcast state. Raises as :func:`read_list` does."""
    key, value = _decoder(meta, "KEY_SERIALIZER"), _decoder(meta, "VALUE_SERIALIZER")
    for offset in partition.offsets:
        reader = _reader(savepoint, handle, header, offset)
        number = reader.integer()
        if number < 0:
            reader.damaged(f"{number} entries", "a count cannot be negative")
        for _ in range(number):
            yield _read(key, reader), _read(value, reader)


def _read(decoder: Decoder, reader: StreamReader) -> Any:
    """A value. Raises UnreadableValue for an object of a class that the savepoint has no serializer of."""
    try:
        return decoder.read(reader)
    except Undecodable as error:
        raise UnreadableValue(
            str(error), path=reader.path, offset=reader.offset, advice="Only a class of the program can read it."
        ) from None


def _decoder(meta: StateMeta, name: str) -> Decoder:
    snapshot = meta.serializer(name)
    if snapshot is None:
        raise Undecodable("a state without a serializer")
    return decoder_of(snapshot)


def _reader(savepoint: Savepoint, handle: OperatorStream, header: BackendHeader, offset: int) -> StreamReader:
    reader = StreamReader(pieces(savepoint, handle.stream, offset, handle.stream.size), savepoint.path, origin=offset)
    return decompressed(reader) if header.compressed else reader

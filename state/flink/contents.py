"""The contents of full keyed snapshots, key group by key group: pieces that a backend can restore on their own.

Key groups follow one another; if they are compressed, each is compressed alone. In the layout of canonical savepoints and of
RocksDB's full scans (`FullSnapshotAsyncWriter`), a key group consists of entries, each after its length.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby

from msgspec import Struct

from compat.state.flink.handles import KeyGroups
from compat.state.flink.measure import OtherLayout, entries
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.stream_readers import StreamReader
from compat.state.flink.streams import read_window

DELIMITER = b","
"""The separator of a list's elements (`ListDelimitedSerializer`), and of the operands that RocksDB merged into a value."""
_ANOTHER_STATE_FOLLOWS = 0x80
_MARK = bytes([_ANOTHER_STATE_FOLLOWS])
_LAST_STATE = 0xFFFF
_END_OF_KEY_GROUP = b"\xff\xff"
_LARGEST_ONE_BYTE_PREFIX = 128
_SHORT = struct.Struct(">H")
_INT = struct.Struct(">i")


class Entry(Struct, frozen=True):
    """An entry of a key group: the number of its state in the header, its key with key group and namespace, its value."""

    state: int
    key: bytes
    value: bytes


class Group(Struct, frozen=True):
    """A key group: its number, and its bytes in the file."""

    number: int
    data: bytes

    def entries(self) -> list[Entry] | None:
        """The entries; None if the bytes are not entries behind their lengths, as in the heap's layout or compressed."""
        data = self.data
        try:
            return [
                Entry(state, _plain(data[start + _INT.size : value - _INT.size]), data[value:end])
                for state, start, value, end in entries(data, 0)
            ]
        except (OtherLayout, struct.error, IndexError):
            return None


class Place(Struct, frozen=True):
    """The place of a key group in a handle's stream."""

    number: int
    start: int
    size: int


def _plain(key: bytes) -> bytes:
    """A key without the mark that another state follows."""
    return bytes([key[0] & ~_ANOTHER_STATE_FOLLOWS]) + key[1:]


def framed(found: Iterable[Entry]) -> Iterator[bytes]:
    """The bytes of a key group of some entries, those of each state together. There is nothing for no entries."""
    state: int | None = None
    for state, members in groupby(found, lambda entry: entry.state):
        yield _SHORT.pack(state)
        last = None
        for entry in members:
            if last is not None:
                yield _framed(last.key, last.value)
            last = entry
        assert last is not None
        yield _framed(bytes([last.key[0] | _ANOTHER_STATE_FOLLOWS]) + last.key[1:], last.value)
    if state is not None:
        yield _END_OF_KEY_GROUP


def _framed(key: bytes, value: bytes) -> bytes:
    return b"".join((_INT.pack(len(key)), key, _INT.pack(len(value)), value))


def group_of(number: int, found: Iterable[Entry]) -> Group:
    """The key group of some entries, in the order of their states."""
    return Group(number, b"".join(framed(found)))


def stream_entries(reader: StreamReader, group: int, max_parallelism: int, states: int) -> Iterator[Entry]:
    """The entries of a key group, one by one, from a reader at its beginning. Raises a `SavepointError` for damaged bytes.

    The reader is behind an entry's value when the entry comes.
    """
    prefix = prefix_of(max_parallelism)
    state = reader.short()
    while state != _LAST_STATE:
        if state >= states:
            reader.damaged(f"state {state} of {states}")
        key = reader.sized("a key")
        value = reader.sized("a value")
        follows = key[:1] >= _MARK
        key = _plain(key) if follows else key
        if len(key) < prefix or int.from_bytes(key[:prefix], "big") != group:
            reader.damaged("a key of another key group", f"it stands among those of {group}")
        yield Entry(state, key, value)
        if follows:
            state = reader.short()


def prefix_of(max_parallelism: int) -> int:
    """The number of a key's bytes that contain the key group
    (`CompositeKeySerializationUtils.computeRequiredBytesInKeyGroupPrefix`).
    """
    return 1 if max_parallelism <= _LARGEST_ONE_BYTE_PREFIX else 2


def without(group: Group, states: Collection[int]) -> Group:
    """The key group without the entries of some states; as it is where it cannot be taken apart."""
    found = group.entries() if states else None
    return group if found is None else group_of(group.number, (one for one in found if one.state not in states))


def places(handle: KeyGroups) -> list[Place]:
    """The key groups that have a place in a handle's stream, in its order."""
    begun = sorted((offset, handle.key_groups.first + at) for at, offset in enumerate(handle.offsets) if offset > 0)
    ends = [*(offset for offset, _ in begun), handle.size][1:]
    return [Place(number, offset, end - offset) for (offset, number), end in zip(begun, ends, strict=True)]


def read_groups(savepoint: Savepoint, handle: KeyGroups, wanted: Iterable[Place]) -> Iterator[Group]:
    """Key groups with their bytes. Raises a `SavepointError` if they cannot be read."""
    for place in wanted:
        yield Group(place.number, read_window(savepoint, handle, place.start, place.size))

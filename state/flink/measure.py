"""The bytes of a stream per state, and the key groups with data, if the layout shows them.

Two layouts of full keyed snapshots exist. `FullSnapshotAsyncWriter` (canonical savepoints, RocksDB without
increments) writes entries of key and value after their lengths, and leaves the offset of an empty key group at 0.
`HeapSnapshotStrategy` (native heap) begins each key group with its number, and gives every key group a place. Its entries have
no lengths, so it only shows whether there are any. Unknown measures are None.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from msgspec import Struct

from compat.state.flink.errors import SavepointError
from compat.state.flink.handles import InlineBytes, KeyGroups, OperatorStream
from compat.state.flink.headers import BackendHeader
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.streams import read_window

MEASURED_FILES = 1 << 26
"""The maximum bytes of state files that are walked for one savepoint: a report should not read terabytes."""

_END_OF_KEY_GROUP = 0xFFFF
_ANOTHER_STATE_FOLLOWS = 0x80
_SHORTEST_KEY = 2
"""A key group's number and a namespace, beside which the key itself may be of no bytes."""

_SHORT = struct.Struct(">H")
_INT = struct.Struct(">i")


class Measured(Struct, frozen=True):
    """`state_bytes`: the bytes of each state's keys and values; `occupied`: how many key groups hold any."""

    state_bytes: dict[str, int] | None = None
    occupied: int | None = None


@dataclass(slots=True)
class Budget:
    """The number of bytes of state files that may still be read. State in the metadata does not count."""

    left: int = MEASURED_FILES

    def allows(self, handle: KeyGroups) -> bool:
        """Whether the handle's stream may be walked; takes its size off if so."""
        if isinstance(handle.stream, InlineBytes):
            return True
        if handle.size > self.left:
            return False
        self.left -= handle.size
        return True


class OtherLayout(Exception):
    """The bytes are not entries behind their lengths."""


def measure_keyed(savepoint: Savepoint, handle: KeyGroups, header: BackendHeader, budget: Budget) -> Measured:
    """Measure a full keyed snapshot. Raises nothing: unknown values are None."""
    match layout(savepoint, handle):
        case Layout.SCAN:
            occupied = sum(1 for offset in handle.offsets if offset > 0)
            return Measured(_entry_bytes(savepoint, handle, header, budget), occupied)
        case Layout.HEAP:
            on_heap = _occupied_on_heap(handle, header)
            return Measured({state.name: 0 for state in header.states} if on_heap == 0 else None, on_heap)
    return Measured()


def measure_operator(handle: OperatorStream, header: BackendHeader | None) -> dict[str, int] | None:
    """The bytes of each operator state, from the beginnings of its parts; None if compression hides that."""
    if header is None or header.compressed:
        return None
    ends = ends_of_parts(handle)
    return {
        partition.name: sum(max(0, ends[offset] - offset) for offset in partition.offsets)
        for partition in handle.partitions
    }


def ends_of_parts(handle: OperatorStream) -> dict[int, int]:
    """Where each part of an operator state ends, by where it begins: where the next one does, whosever it is, or at the end."""
    starts = sorted({offset for partition in handle.partitions for offset in partition.offsets})
    return dict(zip(starts, [*starts, handle.size][1:], strict=True))


def _entry_bytes(
    savepoint: Savepoint, handle: KeyGroups, header: BackendHeader, budget: Budget
) -> dict[str, int] | None:
    if header.compressed or header.unreadable or not budget.allows(handle):
        return None
    try:
        data = read_window(savepoint, handle, 0, handle.size)
    except SavepointError:
        return None
    totals = [0] * len(header.states)
    try:
        # Key groups stand one behind the other; each is walked at most once even if offsets repeat.
        for offset in sorted({offset for offset in handle.offsets if offset > 0}):
            for state, start, _, end in entries(data, offset):
                totals[state] += end - start
    except (OtherLayout, struct.error, IndexError):
        return None
    if sum(totals) > len(data):
        return None
    return {state.name: total for state, total in zip(header.states, totals, strict=True)}


def entries(data: bytes, at: int) -> Iterator[tuple[int, int, int, int]]:
    """Each entry of the key group that begins at `at`: the state's number, where it starts, where its value does, its end.

    Raises `OtherLayout`, and what reading past the end raises.
    """
    state = _SHORT.unpack_from(data, at)[0]
    at += 2
    while state != _END_OF_KEY_GROUP:
        key_length = _INT.unpack_from(data, at)[0]
        key = at + 4
        if key_length <= 0:
            raise OtherLayout
        value_length = _INT.unpack_from(data, key + key_length)[0]
        if value_length < 0:
            raise OtherLayout
        end = key + key_length + 4 + value_length
        if end > len(data):
            raise OtherLayout
        yield state, at, end - value_length, end
        at = end
        if data[key] & _ANOTHER_STATE_FOLLOWS:
            state = _SHORT.unpack_from(data, at)[0]
            at += 2


class Layout(Enum):
    """The layouts of full keyed snapshots, by their writers."""

    SCAN = "FullSnapshotAsyncWriter"
    HEAP = "HeapSnapshotStrategy"


def layout(savepoint: Savepoint, handle: KeyGroups) -> Layout | None:
    """The layout of a full keyed snapshot; None if it cannot be read.

    On the heap each key group begins with its number. Key group 0 of a scan may begin with the same bytes: the number of the
    first state, and half of a key's length. Then the next bytes decide: a state's number is too small for the rest of a key's
    length. If they do not, the entries decide: those of a scan end exactly at its mark.
    """
    if handle.canonical or 0 in handle.offsets:
        return Layout.SCAN
    last = handle.key_groups.last
    if last < 0 or not handle.offsets or handle.offsets[-1] < 0:
        return None
    try:
        begin = read_window(savepoint, handle, handle.offsets[-1], _INT.size + _SHORT.size)
        if begin[: _INT.size] != _INT.pack(last):
            return Layout.SCAN
        if last or begin[_INT.size :] < _SHORT.pack(_SHORTEST_KEY):
            return Layout.HEAP
        if handle.size > MEASURED_FILES:
            return None
        data = read_window(savepoint, handle, 0, handle.size)
    except SavepointError:
        return None
    try:
        ends = [end for *_, end in entries(data, handle.offsets[-1])]
    except (OtherLayout, struct.error, IndexError):
        return Layout.HEAP
    return Layout.SCAN if ends and ends[-1] + _SHORT.size == len(data) else Layout.HEAP


def _occupied_on_heap(handle: KeyGroups, header: BackendHeader) -> int | None:
    if header.compressed or header.unreadable:
        return None
    # A key group without entries is its number, and for each state the state's number and a count of 0.
    empty = 4 + 6 * len(header.states)
    ends = (*handle.offsets[1:], handle.size)
    return sum(1 for start, end in zip(handle.offsets, ends, strict=True) if end - start > empty)

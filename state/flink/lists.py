"""The elements of operator states that are lists of byte arrays: splits of sources, states of writers.

Flink: `SimpleVersionedListState` keeps the bytes of a connector's own serializer after their version and length, as an element
of `BytePrimitiveArraySerializer`, after the array's length.
"""

from __future__ import annotations

from msgspec import Struct

from compat.state.flink.errors import SavepointError
from compat.state.flink.handles import OperatorStream
from compat.state.flink.savepoint import OperatorState, Savepoint
from compat.state.flink.states import HeaderReader
from compat.state.flink.streams import read_window

LONGEST = 1 << 20
"""The maximum bytes of a subtask's state that are read."""

_INT = 4


class Versioned(Struct, frozen=True):
    """The bytes that a serializer wrote, and its version."""

    version: int
    data: bytes


def read_versioned(
    savepoint: Savepoint, operator: OperatorState, name: str, headers: HeaderReader
) -> tuple[Versioned, ...]:
    """The elements of an operator state of all subtasks; none if they cannot be read whole. Raises nothing."""
    found: list[Versioned] = []
    for subtask in operator.subtasks:
        if subtask.managed_operator is None:
            continue
        try:
            found += _of_handle(savepoint, subtask.managed_operator, name, headers)
        except (SavepointError, ValueError):
            return ()
    return tuple(found)


def _of_handle(savepoint: Savepoint, handle: OperatorStream, name: str, headers: HeaderReader) -> list[Versioned]:
    offsets = next((partition.offsets for partition in handle.partitions if partition.name == name), ())
    header = headers.operator(handle) if offsets else None
    if header is None:
        return []
    if header.compressed or handle.size > LONGEST:
        raise ValueError("elements that are compressed, or too many")
    data = read_window(savepoint, handle.stream, 0, LONGEST)
    return [_element(data, offset) for offset in offsets]


def _element(data: bytes, offset: int) -> Versioned:
    """One element. Raises ValueError for bytes that are of another form."""
    if offset < 0:
        raise ValueError("an element before the beginning")
    length, version, inner = (_integer(data, offset + place * _INT) for place in range(3))
    begin = offset + 3 * _INT
    if inner < 0 or length != inner + 2 * _INT or begin + inner > len(data):
        raise ValueError("an element of another form")
    return Versioned(version, data[begin : begin + inner])


def _integer(data: bytes, at: int) -> int:
    if at + _INT > len(data):
        raise ValueError("an element that ends early")
    return int.from_bytes(data[at : at + _INT], "big", signed=True)

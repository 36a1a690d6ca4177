"""The elements that flow between operators. Flink: ``StreamElement`` and its subclasses, and network buffers.

Inside a task, records go on in batches: a list of values and a list of their timestamps (or None if no record has one). Between
tasks, the elements of a channel are packed into buffers.
"""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple, Protocol

from compat.state.serializers import dump

MIN_TIMESTAMP = -(1 << 63)
"""The timestamp of a record without one, and the watermark before the first."""
MAX_WATERMARK = (1 << 63) - 1
"""The watermark after all input."""

BUFFER_RECORDS = 512
"""So many records are handed over at once: enough that the calls between operators do not count, and few enough that
the records are still in the processor's cache when the next operator looks at them, also where others share it."""

Values = list[Any]
Timestamps = list[int | None] | None


class Records(NamedTuple):
    """The records of one channel, in order."""

    values: Values
    timestamps: Timestamps


class KeyedRecords(NamedTuple):
    """Records with their keys, beside each other: a pair of each would cost as much as all else on their way."""

    keys: Values
    values: Values
    timestamps: Timestamps


class Watermark(NamedTuple):
    """No record of this timestamp or an earlier one will follow."""

    timestamp: int


class WatermarkStatus(NamedTuple):
    """The status of a channel: an idle one is not waited for."""

    idle: bool


class LatencyMarker(NamedTuple):
    """Travels with the records from a source to the sinks, to tell how long that took; ``marked`` in milliseconds."""

    marked: int
    operator: str
    subtask: int


Element = Records | KeyedRecords | Watermark | WatermarkStatus | LatencyMarker


class Stowed(NamedTuple):
    """A payload that is in a file of this machine's, from byte ``start`` on, with the checksum (CRC-32) of its bytes."""

    path: str
    start: int
    size: int
    checksum: int


class Buffer(NamedTuple):
    """Elements of one channel on their way to subtask ``subtask`` of ``vertex``; ``number`` counts a channel's buffers."""

    level: int
    vertex: int
    subtask: int
    edge: int
    channel: int
    number: int
    payload: bytes | Stowed


class Consumer(Protocol):
    """Takes the elements of a stream: an operator further down the chain, or a channel writer."""

    def records(self, values: Values, timestamps: Timestamps) -> None:
        """Take records in order; neither list may be changed."""

    def keyed(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Take records with their keys; consumers without keys take them as pairs (key, value)."""

    def watermark(self, timestamp: int) -> None:
        """Take a watermark."""

    def status(self, idle: bool) -> None:
        """Take a change of the watermark status."""

    def latency(self, marker: LatencyMarker) -> None:
        """Take a latency marker."""


def encode_elements(elements: list[Element]) -> bytes:
    """Elements as the payload of a buffer."""
    return dump([tuple(element) for element in elements])


def decode_elements(payload: bytes) -> list[Element]:
    """The elements of a buffer."""
    return [_element(parts) for parts in pickle.loads(payload)]


def _element(parts: tuple[Any, ...]) -> Element:
    if len(parts) == 2:
        return Records(*parts)
    if len(parts) == 3:
        return KeyedRecords(*parts) if type(parts[0]) is list else LatencyMarker(*parts)
    return WatermarkStatus(parts[0]) if isinstance(parts[0], bool) else Watermark(parts[0])

"""The choice of the subtask that gets a record. Flink: ``RecordWriter`` and the channel selectors of ``StreamPartitioner``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from compat.compiler.spark.plan import OutputSpec
from compat.compiler.spark.runtime_api.elements import (
    BUFFER_RECORDS,
    Buffer,
    Element,
    KeyedRecords,
    LatencyMarker,
    Records,
    Timestamps,
    Values,
    Watermark,
    WatermarkStatus,
    encode_elements,
)
from compat.compiler.spark.state.groups import SubtaskOfKey
from compat.compiler.transformations.partitioners import Ship

SPREAD_RECORDS = 2048
"""The number of keyed records that are distributed over the channels at once, as numpy's cost is per call rather than
per key.
"""


class _Channel:
    """The output for one subtask: elements that are done, and the records after them."""

    def __init__(self, elements: Iterable[Element] = ()) -> None:
        self.elements = list(elements)
        self.keys: Values = []
        self.values: Values = []
        self.timestamps: list[int | None] = []
        self.timed = False
        self.count = 0

    def add(self, keys: Sequence[Any] | None, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        if (keys is not None) is not bool(self.keys):
            self.cut()
        if keys is not None:
            self.keys += keys
        if timestamps is not None and not self.timed:
            self.timestamps = [None] * len(self.values)
            self.timed = True
        self.values += values
        if self.timed:
            self.timestamps += timestamps if timestamps is not None else [None] * len(values)
        self.count += len(values)

    def cut(self) -> None:
        if self.values:
            keys, values, times = self.take()
            self.elements.append(KeyedRecords(keys, values, times) if keys else Records(values, times))

    def take(self) -> tuple[Values, Values, Timestamps]:
        """The records after the elements, taken out."""
        taken = self.keys, self.values, self.timestamps if self.timed else None
        self.keys, self.values, self.timestamps, self.timed = [], [], [], False
        return taken


class RecordWriter:
    """Writes a stream that leaves a task into buffers, by the edge's partitioner. A channel without records costs nothing."""

    def __init__(
        self, output: OutputSpec, level: int, subtask: int, epoch: int, emit: Callable[[Buffer], None]
    ) -> None:
        assert output.group is not None
        self._output = output
        self._level = level
        self._subtask = subtask
        self._emit = emit
        self._epoch = epoch
        self._numbers: dict[int, int] = {}
        self.targets = output.group.consumers_of(subtask)
        self._channels: dict[int, _Channel] = {}
        self._common: list[Element] = []
        self._unspread = _Channel()
        self.next_channel = subtask
        self.sent = 0
        ship = output.partitioner.ship
        self._by_key = ship is Ship.HASH
        self._spread = partial(self._add, self.targets[0], None) if len(self.targets) == 1 else _SPREAD[ship](self)
        self._target_of = SubtaskOfKey.shared(output.max_parallelism, output.parallelism)

    def records(self, values: Values, timestamps: Timestamps) -> None:
        """Write records."""
        self.sent += len(values)
        self._spread_rest()
        self._spread(values, timestamps)

    def keyed(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Write records that have keys."""
        self.sent += len(values)
        if len(self.targets) == 1:
            self._add(self.targets[0], keys, values, timestamps)
        elif self._by_key:
            self._unspread.add(keys, values, timestamps)
            if len(self._unspread.values) >= SPREAD_RECORDS:
                self._spread_rest()
        else:
            self._spread(list(zip(keys, values, strict=True)), timestamps)

    def watermark(self, timestamp: int) -> None:
        """Write a watermark to every channel."""
        self._everywhere(Watermark(timestamp))

    def status(self, idle: bool) -> None:
        """Write a watermark status to every channel."""
        self._everywhere(WatermarkStatus(idle))

    def latency(self, marker: LatencyMarker) -> None:
        """Write a latency marker to one channel, a different one each time."""
        self._spread_rest()
        channel = self._channel(self.targets[marker.marked % len(self.targets)])
        channel.cut()
        channel.elements.append(marker)

    def flush(self) -> None:
        """Send the buffers that are not sent yet."""
        self._spread_rest()
        for target in tuple(self._channels):
            self._send(target)
        if self._common:
            payload = encode_elements(self._common)
            for target in self.targets:
                if target not in self._channels:
                    self._emit(self._buffer(target, 0, payload))

    def _channel(self, target: int) -> _Channel:
        """The output for a subtask: one that has had no records has what was written to all."""
        if (channel := self._channels.get(target)) is None:
            if target not in self.targets:
                raise IndexError(f"Subtask {target} reads no records of this one.")
            channel = self._channels[target] = _Channel(self._common)
        return channel

    def _spread_rest(self) -> None:
        """Write the records with keys that wait for more."""
        if self._unspread.values:
            keys, values, timestamps = self._unspread.take()
            self._part(self._target_of.all(keys), keys, values, timestamps)

    def _everywhere(self, element: Element) -> None:
        self._spread_rest()
        if len(self._channels) < len(self.targets):
            self._common.append(element)
        for channel in self._channels.values():
            channel.cut()
            channel.elements.append(element)

    def _add(
        self,
        target: int,
        keys: Sequence[Any] | None,
        values: Sequence[Any],
        timestamps: Sequence[int | None] | None,
    ) -> None:
        channel = self._channel(target)
        channel.add(keys, values, timestamps)
        if channel.count >= BUFFER_RECORDS:
            self._send(target)

    def _send(self, target: int) -> None:
        channel = self._channels[target]
        channel.cut()
        if not channel.elements:
            return
        number = self._numbers.get(target, 0)
        self._numbers[target] = number + 1
        self._emit(self._buffer(target, number, encode_elements(channel.elements)))
        self._channels[target] = _Channel()

    def _buffer(self, target: int, number: int, payload: bytes) -> Buffer:
        output = self._output
        assert output.vertex is not None
        return Buffer(self._level, output.vertex, target, output.edge, self._subtask, number, payload)

    def in_turn(self) -> Callable[[Values, Timestamps], None]:
        """Records in turn to all channels."""

        def spread(values: Values, timestamps: Timestamps) -> None:
            count = len(self.targets)
            for offset in range(min(count, len(values))):
                target = self.targets[(self.next_channel + offset) % count]
                times = None if timestamps is None else timestamps[offset::count]
                self._add(target, None, values[offset::count], times)
            self.next_channel = (self.next_channel + len(values)) % count

        return spread

    def at_random(self) -> Callable[[Values, Timestamps], None]:
        """Records to random channels; the same ones when an epoch is run again."""
        chosen = random.Random(f"{self._output.edge}/{self._subtask}/{self._epoch}")
        count = len(self.targets)
        return self._to(lambda values: np.array([self.targets[chosen.randrange(count)] for _ in values]))

    def by_key(self) -> Callable[[Values, Timestamps], None]:
        """Records to the subtask of their key's key group; a record is (key, value)."""
        return self._to(lambda values: self._target_of.all([value[0] for value in values]))

    def by_number(self) -> Callable[[Values, Timestamps], None]:
        """Records to the subtask that the custom partitioner named; a record is (subtask, value)."""
        return self._to(lambda values: np.array([value[0] for value in values]))

    def to_first(self) -> Callable[[Values, Timestamps], None]:
        """All records to the first subtask."""
        return lambda values, timestamps: self._add(0, None, values, timestamps)

    def to_all(self) -> Callable[[Values, Timestamps], None]:
        """All records to every subtask."""

        def spread(values: Values, timestamps: Timestamps) -> None:
            for target in self.targets:
                self._add(target, None, values, timestamps)

        return spread

    def _to(self, targets_of: Callable[[Values], Any]) -> Callable[[Values, Timestamps], None]:
        return lambda values, timestamps: self._part(targets_of(values), None, values, timestamps)

    def _part(self, chosen: Any, keys: Values | None, values: Values, timestamps: Timestamps) -> None:
        """Write each record to its target, of an array of them: sorted by these, all else is done by slices."""
        if not values:
            return
        counts = np.bincount(chosen)
        targets = counts.nonzero()[0]
        if len(targets) > 1:
            # so short numbers are sorted at once
            pick = itemgetter(*chosen.astype(np.int16).argsort(kind="stable").tolist())
            keys, timestamps = (None if each is None else pick(each) for each in (keys, timestamps))
            values = pick(values)
        end = 0
        for target, count in zip(targets.tolist(), counts[targets].tolist(), strict=True):
            first, end = end, end + count
            for start in range(first, end, BUFFER_RECORDS):
                some = slice(start, min(start + BUFFER_RECORDS, end))
                self._add(
                    target,
                    None if keys is None else keys[some],
                    values[some],
                    None if timestamps is None else timestamps[some],
                )


_SPREAD: dict[Ship, Callable[[RecordWriter], Callable[[Values, Timestamps], None]]] = {
    Ship.FORWARD: RecordWriter.in_turn,
    Ship.RESCALE: RecordWriter.in_turn,
    Ship.REBALANCE: RecordWriter.in_turn,
    Ship.SHUFFLE: RecordWriter.at_random,
    Ship.HASH: RecordWriter.by_key,
    Ship.CUSTOM: RecordWriter.by_number,
    Ship.GLOBAL: RecordWriter.to_first,
    Ship.BROADCAST: RecordWriter.to_all,
}

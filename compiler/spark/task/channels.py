"""Which subtask gets which record. Flink: ``RecordWriter`` and the channel selectors of ``StreamPartitioner``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from compat.compiler.spark.plan import OutputSpec
from compat.compiler.spark.state.groups import SubtaskOfKey
from compat.compiler.spark.task.elements import (
    BUFFER_RECORDS,
    Buffer,
    Element,
    LatencyMarker,
    Records,
    Timestamps,
    Values,
    Watermark,
    WatermarkStatus,
    encode_elements,
)
from compat.compiler.transformations.partitioners import Ship


class _Channel:
    """The output for one subtask: elements that are done, and the records after them."""

    def __init__(self, elements: Iterable[Element] = ()) -> None:
        self.elements = list(elements)
        self.values: Values = []
        self.timestamps: list[int | None] = []
        self.timed = False
        self.count = 0

    def add(self, values: Values, timestamps: Timestamps) -> None:
        if timestamps is not None and not self.timed:
            self.timestamps = [None] * len(self.values)
            self.timed = True
        self.values += values
        if self.timed:
            self.timestamps += timestamps if timestamps is not None else [None] * len(values)
        self.count += len(values)

    def cut(self) -> None:
        if self.values:
            self.elements.append(Records(self.values, self.timestamps if self.timed else None))
            self.values, self.timestamps, self.timed = [], [], False


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
        self.next_channel = subtask
        self.sent = 0
        ship = output.partitioner.ship
        self._spread = self._to_only if len(self.targets) == 1 else _SPREAD[ship](self)

    def records(self, values: Values, timestamps: Timestamps) -> None:
        """Write records."""
        self.sent += len(values)
        self._spread(values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Write a watermark to every channel."""
        self._everywhere(Watermark(timestamp))

    def status(self, idle: bool) -> None:
        """Write a watermark status to every channel."""
        self._everywhere(WatermarkStatus(idle))

    def latency(self, marker: LatencyMarker) -> None:
        """Write a latency marker to one channel, another one each time."""
        channel = self._channel(self.targets[marker.marked % len(self.targets)])
        channel.cut()
        channel.elements.append(marker)

    def flush(self) -> None:
        """Send what is not sent yet."""
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

    def _everywhere(self, element: Element) -> None:
        if len(self._channels) < len(self.targets):
            self._common.append(element)
        for channel in self._channels.values():
            channel.cut()
            channel.elements.append(element)

    def _add(self, target: int, values: Values, timestamps: Timestamps) -> None:
        channel = self._channel(target)
        channel.add(values, timestamps)
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

    def _to_only(self, values: Values, timestamps: Timestamps) -> None:
        self._add(self.targets[0], values, timestamps)

    def in_turn(self) -> Callable[[Values, Timestamps], None]:
        """Records in turn to all channels."""

        def spread(values: Values, timestamps: Timestamps) -> None:
            count = len(self.targets)
            for offset in range(min(count, len(values))):
                target = self.targets[(self.next_channel + offset) % count]
                self._add(target, values[offset::count], None if timestamps is None else timestamps[offset::count])
            self.next_channel = (self.next_channel + len(values)) % count

        return spread

    def at_random(self) -> Callable[[Values, Timestamps], None]:
        """Records to random channels; the same ones when an epoch is run again."""
        chosen = random.Random(f"{self._output.edge}/{self._subtask}/{self._epoch}")
        count = len(self.targets)
        return self._to(lambda values: [self.targets[chosen.randrange(count)] for _ in values])

    def by_key(self) -> Callable[[Values, Timestamps], None]:
        """Records to the subtask of their key's key group; a record is (key, value)."""
        target_of = SubtaskOfKey.shared(self._output.max_parallelism, self._output.parallelism)
        return self._to(lambda values: target_of.all([value[0] for value in values]))

    def by_number(self) -> Callable[[Values, Timestamps], None]:
        """Records to the subtask that the custom partitioner named; a record is (subtask, value)."""
        return self._to(lambda values: [value[0] for value in values])

    def to_first(self) -> Callable[[Values, Timestamps], None]:
        """All records to the first subtask."""
        return lambda values, timestamps: self._add(0, values, timestamps)

    def to_all(self) -> Callable[[Values, Timestamps], None]:
        """All records to every subtask."""

        def spread(values: Values, timestamps: Timestamps) -> None:
            for target in self.targets:
                self._add(target, values, timestamps)

        return spread

    def _to(self, targets_of: Callable[[Values], list[int]]) -> Callable[[Values, Timestamps], None]:
        def spread(values: Values, timestamps: Timestamps) -> None:
            buckets, times = _Buckets(), _Buckets()
            chosen = targets_of(values)
            for target, value in zip(chosen, values, strict=True):
                buckets[target](value)
            if timestamps is not None:
                for target, timestamp in zip(chosen, timestamps, strict=True):
                    times[target](timestamp)
            for target, own in buckets.lists.items():
                self._add(target, own, None if timestamps is None else times.lists[target])

        return spread


class _Buckets(dict[int, Callable[[Any], None]]):
    """A list for each target that something is put in for; gives the function that puts it there."""

    def __init__(self) -> None:
        self.lists: dict[int, list[Any]] = {}

    def __missing__(self, target: int) -> Callable[[Any], None]:
        own = self.lists[target] = []
        self[target] = own.append
        return own.append


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

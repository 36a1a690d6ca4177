"""Which subtask gets which record. Flink: ``RecordWriter`` and the channel selectors of ``StreamPartitioner``."""

from __future__ import annotations

import random
from collections.abc import Callable

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

    def __init__(self) -> None:
        self.elements: list[Element] = []
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
    """Writes a stream that leaves a task into buffers, by the edge's partitioner."""

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
        self._channels = {target: _Channel() for target in self.targets}
        self.next_channel = subtask
        ship = output.partitioner.ship
        self._spread = self._to_only if len(self.targets) == 1 else _SPREAD[ship](self)

    def records(self, values: Values, timestamps: Timestamps) -> None:
        """Write records."""
        self._spread(values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Write a watermark to every channel."""
        self._everywhere(Watermark(timestamp))

    def status(self, idle: bool) -> None:
        """Write a watermark status to every channel."""
        self._everywhere(WatermarkStatus(idle))

    def latency(self, marker: LatencyMarker) -> None:
        """Write a latency marker to one channel, another one each time."""
        channel = self._channels[self.targets[marker.marked % len(self.targets)]]
        channel.cut()
        channel.elements.append(marker)

    def flush(self) -> None:
        """Send what is not sent yet."""
        for target in self.targets:
            self._send(target)

    def _everywhere(self, element: Element) -> None:
        for channel in self._channels.values():
            channel.cut()
            channel.elements.append(element)

    def _add(self, target: int, values: Values, timestamps: Timestamps) -> None:
        channel = self._channels[target]
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
        output = self._output
        assert output.vertex is not None
        payload = encode_elements(channel.elements)
        self._emit(Buffer(self._level, output.vertex, target, output.edge, self._subtask, number, payload))
        self._channels[target] = _Channel()

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
            buckets: dict[int, Values] = {target: [] for target in self.targets}
            times: dict[int, list[int | None]] = {target: [] for target in self.targets}
            adders = {target: bucket.append for target, bucket in buckets.items()}
            chosen = targets_of(values)
            for target, value in zip(chosen, values, strict=True):
                adders[target](value)
            if timestamps is not None:
                for target, timestamp in zip(chosen, timestamps, strict=True):
                    times[target].append(timestamp)
            for target, own in buckets.items():
                if own:
                    self._add(target, own, None if timestamps is None else times[target])

        return spread


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

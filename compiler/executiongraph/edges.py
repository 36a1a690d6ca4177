"""Which subtask reads which partition. Flink: ``EdgeManagerBuildUtil`` and ``VertexInputInfoComputationUtils``.

The groups are arithmetic, not lists: an exchange between ten thousand and ten thousand subtasks is two ranges.
"""

from __future__ import annotations

from dataclasses import dataclass

from compat.compiler.jobgraph.model import DistributionPattern


@dataclass(frozen=True, slots=True)
class EdgeGroup:
    """All connections of one exchange between ``producers`` and ``consumers`` subtasks."""

    pattern: DistributionPattern
    producers: int
    consumers: int

    def partitions_of(self, consumer: int) -> range:
        """The partitions (numbers of producing subtasks) that a consuming subtask reads."""
        self._check(consumer, self.consumers, "consumer")
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            return range(self.producers)
        if self.producers >= self.consumers:
            start = consumer * self.producers // self.consumers
            return range(start, (consumer + 1) * self.producers // self.consumers)
        producer = consumer * self.producers // self.consumers
        return range(producer, producer + 1)

    def consumers_of(self, partition: int) -> range:
        """The consuming subtasks that read a partition."""
        self._check(partition, self.producers, "partition")
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            return range(self.consumers)
        if self.producers >= self.consumers:
            consumer = ((partition + 1) * self.consumers - 1) // self.producers
            return range(consumer, consumer + 1)
        start = -(-partition * self.consumers // self.producers)
        return range(start, -(-(partition + 1) * self.consumers // self.producers))

    @property
    def connections(self) -> int:
        """How many channels the exchange has."""
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            return self.producers * self.consumers
        return max(self.producers, self.consumers)

    @staticmethod
    def _check(number: int, count: int, what: str) -> None:
        if not 0 <= number < count:
            raise IndexError(f"There is no {what} {number}: the exchange has {count}, counted from 0.")

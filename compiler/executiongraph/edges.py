"""The partitions that each subtask reads. Flink: ``EdgeManagerBuildUtil`` and ``VertexInputInfoComputationUtils``.

The groups are arithmetic, not lists: an exchange between ten thousand and ten thousand subtasks is two ranges.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compat.compiler.jobgraph.graph import DistributionPattern


class EdgeGroup(Struct, frozen=True):
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
        """The number of channels of the exchange."""
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            return self.producers * self.consumers
        return max(self.producers, self.consumers)

    @property
    def one_to_one(self) -> bool:
        """True if each subtask reads only the partition of its own number."""
        return self.producers == self.consumers and self.pattern is DistributionPattern.POINTWISE

    @property
    def run_count(self) -> int:
        """The number of groups from :meth:`runs`."""
        return 1 if self.pattern is DistributionPattern.ALL_TO_ALL else min(self.producers, self.consumers)

    def runs(self) -> Iterator[tuple[range, range]]:
        """All connections in groups: neighbouring consumers that read the same partitions, and these partitions."""
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            yield range(self.consumers), range(self.producers)
        elif self.producers >= self.consumers:
            yield from ((range(number, number + 1), self.partitions_of(number)) for number in range(self.consumers))
        else:
            yield from ((self.consumers_of(number), range(number, number + 1)) for number in range(self.producers))

    @staticmethod
    def _check(number: int, count: int, what: str) -> None:
        if not 0 <= number < count:
            raise IndexError(f"There is no {what} {number}: the exchange has {count}, counted from 0.")

"""What the state of a source or a sink tells of its settings: read from the bytes that the connector wrote, without it.

Read from the sources of flink-connector-kafka 3.0 to 5.0: ``KafkaPartitionSplitSerializer`` has one version, 0;
``KafkaWriterStateSerializer`` has 1, of the prefix alone, and 2, which only the exactly-once writer uses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from compat.plan.connectors import (
    Connector,
    DeliveryGuarantee,
    KafkaOffset,
    KafkaOffsets,
    KafkaPartition,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    TransactionNaming,
)
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.lists import Versioned

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""What Kafka takes as the name of a topic."""
_NO_END = -(2**63)
_OWNERSHIPS = {0: TransactionNaming.INCREMENTING, 1: TransactionNaming.POOLING}
"""The naming by the ordinal of ``TransactionOwnership``: of the subtask, or by the writer's state."""
_DEFAULT_PREFIX = "kafka-sink"
"""The prefix of sinks that were given none (flink-connector-kafka 3.x); exactly-once needs one."""


@dataclass(frozen=True, slots=True)
class KafkaSplits:
    """The partitions that a source reads, and the ends of those that have one."""

    partitions: tuple[KafkaPartition, ...]
    ends: tuple[KafkaOffset, ...]

    def source(self, new: Connector | None) -> KafkaSource:
        """The source as it was, as far as its splits tell; what they do not tell is as in NEW."""
        same = new if isinstance(new, KafkaSource) else None
        names_partitions = same is not None and bool(same.partitions)
        stopping = KafkaOffsets(rule=OffsetRule.OFFSETS, offsets=self.ends) if self.ends else None
        if self.ends and same is not None and same.stopping is not None:
            stopping = same.stopping
        return KafkaSource(
            topics=() if names_partitions else tuple(sorted({one.topic for one in self.partitions})),
            partitions=self.partitions if names_partitions else (),
            group_id=None if same is None else same.group_id,
            starting=KafkaOffsets(rule=OffsetRule.OWN) if same is None else same.starting,
            stopping=stopping,
            bounded=same is not None and same.bounded,
        )


@dataclass(frozen=True, slots=True)
class KafkaWriters:
    """The prefix and the naming of the transactions of a sink; ``exactly_once`` is None where the state does not tell."""

    prefix: str
    exactly_once: bool | None
    naming: TransactionNaming

    def sink(self, new: Connector | None) -> KafkaSink | None:
        """The sink as it was; None where NEW has none of Kafka to hold it against."""
        if not isinstance(new, KafkaSink):
            return None
        told = self.exactly_once or self.prefix != _DEFAULT_PREFIX
        return KafkaSink(
            guarantee=DeliveryGuarantee.EXACTLY_ONCE if self.exactly_once else new.guarantee,
            transactional_id_prefix=self.prefix if told else new.transactional_id_prefix,
            naming=self.naming,
        )


def kafka_splits(elements: Sequence[Versioned]) -> KafkaSplits | None:
    """The partitions that the elements of a source's reader state are; None for what Kafka's source did not write."""
    partitions: dict[KafkaPartition, None] = {}
    ends: list[KafkaOffset] = []
    for element in elements:
        reader = ByteReader(element.data, "a split")
        try:
            topic, number = reader.utf(), reader.integer()
            _, end = reader.long(), reader.long()
        except SavepointError:
            return None
        if element.version != 0 or reader.remaining or number < 0 or not _TOPIC.fullmatch(topic):
            return None
        partition = KafkaPartition(topic=topic, partition=number)
        partitions[partition] = None
        ends += [KafkaOffset(partition=partition, offset=end)] if end != _NO_END else []
    if not partitions:
        return None
    by_name = sorted(partitions, key=lambda one: (one.topic, one.partition))
    return KafkaSplits(tuple(by_name), tuple(sorted(ends, key=lambda one: str(one.partition))))


def kafka_writers(elements: Sequence[Versioned]) -> KafkaWriters | None:
    """What the elements of a writer's state tell; None for what Kafka's sink did not write, or several did."""
    found = {_writer(element) for element in elements}
    return found.pop() if len(found) == 1 else None


def _writer(element: Versioned) -> KafkaWriters | None:
    reader = ByteReader(element.data, "a writer's state")
    naming = TransactionNaming.BEFORE_4
    try:
        prefix = reader.utf()
        if element.version == 2:
            reader.integer(), reader.integer()
            naming = _OWNERSHIPS[reader.integer()]
            for _ in range(reader.count("transactions", 10)):
                reader.utf(), reader.long()
    except (SavepointError, KeyError):
        return None
    if element.version not in (1, 2) or reader.remaining or not prefix:
        return None
    return KafkaWriters(prefix, True if element.version == 2 else None, naming)

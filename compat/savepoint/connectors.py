"""The settings of a source or a sink from its state: read from the bytes that the connector wrote, without the connector.

Read from the sources of flink-connector-kafka 3.0 to 5.0: ``KafkaPartitionSplitSerializer`` has one version, 0;
``KafkaWriterStateSerializer`` has 1, of the prefix alone, and 2, which only the exactly-once writer uses. File sources
are read by :mod:`compat.state.flink.file_splits`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.file_splits import enumerator_of, read_pending
from compat.state.flink.lists import Versioned
from compat.state.flink.savepoint import OperatorState
from compat.state.model.connectors import (
    NUMBERS,
    NUMBERS_SPLITS,
    Connector,
    DeliveryGuarantee,
    FileSource,
    KafkaOffset,
    KafkaOffsets,
    KafkaPartition,
    KafkaSink,
    KafkaSource,
    OffsetRule,
    OtherSource,
    TransactionNaming,
)

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""The allowed form of a Kafka topic name."""
_NO_END = -(2**63)
_OWNERSHIPS = {0: TransactionNaming.INCREMENTING, 1: TransactionNaming.POOLING}
"""The transaction naming by the ordinal of ``TransactionOwnership``: of the subtask, or by the writer's state."""
_DEFAULT_PREFIX = "kafka-sink"
"""The prefix of sinks without one (flink-connector-kafka 3.x); exactly-once needs one."""


class KafkaSplits(Struct, frozen=True):
    """The partitions that a source reads, and their end offsets, if any."""

    partitions: tuple[KafkaPartition, ...]
    ends: tuple[KafkaOffset, ...]

    def source(self, new: Connector | None) -> KafkaSource:
        """The source as its splits describe it; settings that they do not record are taken from NEW."""
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


class KafkaWriters(Struct, frozen=True):
    """The prefix and the naming of the transactions of a sink; ``exactly_once`` is None if the state does not show it."""

    prefix: str
    exactly_once: bool | None
    naming: TransactionNaming

    def sink(self, new: Connector | None) -> KafkaSink | None:
        """The sink as its state describes it; None if NEW has no Kafka sink to compare it with."""
        if not isinstance(new, KafkaSink):
            return None
        told = self.exactly_once or self.prefix != _DEFAULT_PREFIX
        return KafkaSink(
            guarantee=DeliveryGuarantee.EXACTLY_ONCE if self.exactly_once else new.guarantee,
            transactional_id_prefix=self.prefix if told else new.transactional_id_prefix,
            naming=self.naming,
        )


class FilesLeft(Struct, frozen=True):
    """The files that a file source has begun to read, or found: ``looks_for_more`` is None if there are neither."""

    looks_for_more: bool | None

    def source(self, named: Connector | None, new: Connector | None) -> FileSource:
        """The source as its state and, if given, its program describe it."""
        known = named if isinstance(named, FileSource) else new if isinstance(new, FileSource) else None
        looks = self.looks_for_more
        if looks is None:
            looks = known is not None and known.looks_for_more
        return FileSource(paths=known.paths if known is not None and known is named else None, looks_for_more=looks)


class NumbersLeft(Struct, frozen=True, kw_only=True):
    """Ranges of numbers that are still to be generated."""

    def source(self) -> OtherSource:
        """The source."""
        return OtherSource(
            class_name=NUMBERS, split_serializer=NUMBERS_SPLITS, enumerator_serializer=f"{NUMBERS}$CheckpointSerializer"
        )


class OtherLeft(Struct, frozen=True, kw_only=True):
    """The state of a source that is not for Kafka, files or ranges of numbers."""

    def source(self) -> OtherSource:
        """The source, about which nothing else is known."""
        return OtherSource(class_name="", split_serializer="", enumerator_serializer="")


Left = KafkaSplits | KafkaWriters | FilesLeft | NumbersLeft | OtherLeft


def source_left(operator: OperatorState, splits: Sequence[Versioned]) -> Left | None:
    """The state of a source, with the splits of its readers; None if any source may have written it."""
    kafka = kafka_splits(splits)
    try:
        enumerator = None if kafka is not None else enumerator_of(operator, version=None)
    except SavepointError:
        return None
    if enumerator is None:
        return kafka
    written = enumerator.raw(enumerator.remaining, "what is still to be read")
    if not splits and not any(written):
        return None
    try:
        enumerator_of(operator)
    except SavepointError:  # of another version than those that are read here
        return OtherLeft()
    for read in (_files_left, _numbers_left):
        try:
            return read(ByteReader(written, "what is still to be read"), splits)
        except SavepointError:
            continue
    return OtherLeft()


def _files_left(enumerator: ByteReader, splits: Sequence[Versioned]) -> Left:
    """Only a source that looks for more notes which files it has found."""
    pending = read_pending(enumerator)
    begun = bool(splits or pending.splits)
    return FilesLeft(True if pending.found else False if begun else None)


def _numbers_left(enumerator: ByteReader, splits: Sequence[Versioned]) -> Left:
    """Flink: ``NumberSequenceSource.CheckpointSerializer``, and ``SplitSerializer`` in the readers."""
    for _ in range(enumerator.count("ranges", 18)):
        _range(enumerator)
    left = [enumerator, *(ByteReader(split.data, "a range") for split in splits)]
    for reader in left[1:]:
        _range(reader)
    if any(reader.remaining for reader in left):
        enumerator.damaged("bytes behind ranges of numbers")
    return NumbersLeft()


def _range(reader: ByteReader) -> None:
    reader.utf(), reader.long(), reader.long()


def kafka_splits(elements: Sequence[Versioned]) -> KafkaSplits | None:
    """The partitions in the elements of a source's reader state; None if Kafka's source did not write them."""
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
    """The settings in the elements of a writer's state; None if Kafka's sink did not write them, or several did."""
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

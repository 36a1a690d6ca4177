"""The settings of sources and sinks that decide what a restore makes of their state."""

from __future__ import annotations

from enum import Enum

from compat.state.model.fields import Index, Int, Long, Record


class OffsetRule(Enum):
    """The rule that gives a partition its first or last offset (Flink: ``OffsetsInitializer``)."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"
    OWN = "own"


class DeliveryGuarantee(Enum):
    """The delivery guarantee of a sink for its records (Flink: ``DeliveryGuarantee``)."""

    NONE = "none"
    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class TransactionNaming(Enum):
    """The transaction naming of an exactly-once Kafka sink (Flink: ``TransactionNamingStrategy``).

    Connectors before 4.0 name them as ``INCREMENTING`` does, and keep less of them in their state.
    """

    BEFORE_4 = "before-4"
    INCREMENTING = "incrementing"
    POOLING = "pooling"


class KafkaPartition(Record, frozen=True, kw_only=True):
    """A partition of a topic."""

    topic: str
    partition: Index

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class KafkaOffset(Record, frozen=True, kw_only=True):
    """An offset that the program gives for a partition."""

    partition: KafkaPartition
    offset: Long


class KafkaOffsets(Record, frozen=True, kw_only=True):
    """The offsets at which the reading of partitions begins or ends.

    ``timestamp`` is in milliseconds since 1970; ``offsets`` are sorted by partition; ``class_name`` is the class of the
    program's own rule.
    """

    rule: OffsetRule
    timestamp: Long | None = None
    offsets: tuple[KafkaOffset, ...] = ()
    class_name: str | None = None

    def __str__(self) -> str:
        if self.rule is OffsetRule.TIMESTAMP:
            return f"timestamp {self.timestamp}"
        if self.rule is OffsetRule.OFFSETS:
            return f"offsets ({', '.join(f'{one.partition}: {one.offset}' for one in self.offsets)})"
        return self.class_name or self.rule.value


class KafkaSource(Record, frozen=True, kw_only=True, tag="kafka-source"):
    """A source of Kafka topics (Flink: ``KafkaSource``), which reads topics, those that match a pattern, or partitions.

    ``starting`` and ``stopping`` hold for partitions that no state knows. ``stopping`` is None if reading never ends.
    """

    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    partitions: tuple[KafkaPartition, ...] = ()
    group_id: str | None = None
    starting: KafkaOffsets
    stopping: KafkaOffsets | None = None
    bounded: bool = False


class KafkaSink(Record, frozen=True, kw_only=True, tag="kafka-sink"):
    """A sink that writes Kafka topics (Flink: ``KafkaSink``); with exactly-once it publishes at a checkpoint.

    ``naming`` is None if nobody said it: of programs in PyFlink, which has no call for it.
    """

    guarantee: DeliveryGuarantee
    transactional_id_prefix: str | None = None
    naming: TransactionNaming | None = None


class VersionedForm(Record, frozen=True, kw_only=True):
    """The form in which a connector writes its state (Flink: ``SimpleVersionedSerializer``): the class, and its version.

    ``digest`` is of its code where that is the user's own.
    """

    class_name: str
    version: Int
    digest: str | None = None


NUMBERS = "org.apache.flink.api.connector.source.lib.NumberSequenceSource"
"""The class of sources of ranges of numbers; data generators keep their ranges in the same form."""
NUMBERS_SPLITS = f"{NUMBERS}$SplitSerializer"


class FileSource(Record, frozen=True, kw_only=True, tag="file-source"):
    """A source of files (Flink: ``FileSource``): the paths below which it finds them, and whether it goes on looking for more.

    ``paths`` is None if a savepoint alone tells of it.
    """

    paths: tuple[str, ...] | None
    looks_for_more: bool


class OtherSource(Record, frozen=True, kw_only=True, tag="source"):
    """A source of another connector: its class, and the serializers of its splits and its enumerator, in its ``forms``."""

    class_name: str
    split_serializer: str
    enumerator_serializer: str
    forms: tuple[VersionedForm, ...] = ()


class OtherSink(Record, frozen=True, kw_only=True, tag="sink"):
    """A sink of another connector: the serializers of its writers' state and of its committables, in its ``forms``."""

    class_name: str
    writer_serializer: str | None = None
    committable_serializer: str | None = None
    forms: tuple[VersionedForm, ...] = ()


Connector = KafkaSource | KafkaSink | FileSource | OtherSource | OtherSink

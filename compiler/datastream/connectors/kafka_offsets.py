"""The offsets at which reading a Kafka topic starts and ends. Flink: ``OffsetsInitializer`` and what it uses."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple


class KafkaTopicPartition(NamedTuple):
    """A partition of a topic (Kafka: ``TopicPartition``)."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """The offset to use if the wanted one is gone (Kafka: ``OffsetResetStrategy``)."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaOffsetsInitializer:
    """A rule for offsets (Flink: ``OffsetsInitializer``): its name and its arguments."""

    def __init__(self, j_initializer: Any, **arguments: Any) -> None:
        self.name = str(j_initializer)
        self.arguments = arguments

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets of the consumer group."""
        return KafkaOffsetsInitializer("committed", reset=offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record not before ``timestamp``, in milliseconds since 1970."""
        return KafkaOffsetsInitializer("timestamp", timestamp=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The beginning."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end."""
        return KafkaOffsetsInitializer("latest")

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """An offset for each partition."""
        return KafkaOffsetsInitializer("offsets", offsets=dict(offsets), reset=offset_reset_strategy)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KafkaOffsetsInitializer) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in self.arguments.items())
        return f"KafkaOffsetsInitializer.{self.name}({arguments})"

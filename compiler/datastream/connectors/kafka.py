"""Kafka topics as sources and sinks. Flink: ``pyflink.datastream.connectors.kafka``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from compat.compiler.datastream.common.serialization import DeserializationSchema, SerializationSchema
from compat.compiler.datastream.connectors.base import DeliveryGuarantee
from compat.compiler.datastream.connectors.kafka_offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from compat.compiler.datastream.connectors.kafka_sink import (
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from compat.compiler.datastream.connectors.kafka_source import KafkaSource, KafkaSourceBuilder
from compat.compiler.datastream.functions import SinkFunction, SourceFunction
from compat.state.types import TypeInformation

__all__ = [
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]


class FlinkKafkaConsumerBase(SourceFunction):
    """The base of Kafka sources of the old kind."""

    connector = "kafka"
    parallel = True

    def __init__(self, j_flink_kafka_consumer: Any) -> None:
        super().__init__(j_flink_kafka_consumer)
        self.settings: dict[str, Any] = {}
        self._produced_type: TypeInformation | None = None

    def _set(self, **settings: Any) -> FlinkKafkaConsumerBase:
        self.settings.update(settings)
        return self

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> FlinkKafkaConsumerBase:
        """Set whether offsets are committed to Kafka at checkpoints."""
        return self._set(commit_offsets_on_checkpoints=commit_on_checkpoints)

    def set_start_from_earliest(self) -> FlinkKafkaConsumerBase:
        """Start at the beginning."""
        return self._set(start="earliest")

    def set_start_from_latest(self) -> FlinkKafkaConsumerBase:
        """Start at the end."""
        return self._set(start="latest")

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> FlinkKafkaConsumerBase:
        """Start at the first record not before the timestamp, in milliseconds since 1970."""
        return self._set(start="timestamp", start_timestamp=startup_offsets_timestamp)

    def set_start_from_group_offsets(self) -> FlinkKafkaConsumerBase:
        """Start at the offsets of the consumer group (the default)."""
        return self._set(start="group")

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> FlinkKafkaConsumerBase:
        """Continue reading restored partitions of topics that are no longer subscribed to."""
        return self._set(filter_restored_partitions=False)

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        return self._produced_type


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """The Kafka source of the old kind (Flink: ``FlinkKafkaConsumer``)."""

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema,
        properties: Mapping[str, str],
    ) -> None:
        super().__init__("FlinkKafkaConsumer")
        self._produced_type = deserialization_schema.get_produced_type()
        self._set(
            topics=(topics,) if isinstance(topics, str) else tuple(topics),
            deserializer=deserialization_schema,
            properties=dict(properties),
            start="group",
        )


class Semantic(Enum):
    """The delivery guarantee of the sink of the old kind."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducerBase(SinkFunction):
    """The base of Kafka sinks of the old kind."""

    connector = "kafka"

    def __init__(self, j_flink_kafka_producer: Any) -> None:
        super().__init__(j_flink_kafka_producer)
        self.settings: dict[str, Any] = {}

    def _set(self, **settings: Any) -> FlinkKafkaProducerBase:
        self.settings.update(settings)
        return self

    def set_log_failures_only(self, log_failures_only: bool) -> FlinkKafkaProducerBase:
        """Set whether a failed write is logged instead of failing the job."""
        return self._set(log_failures_only=log_failures_only)

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> FlinkKafkaProducerBase:
        """Set whether a checkpoint waits for all writes."""
        return self._set(flush_on_checkpoint=flush_on_checkpoint)

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> FlinkKafkaProducerBase:
        """Set whether records carry their event time."""
        return self._set(write_timestamp_to_kafka=write_timestamp_to_kafka)


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """The Kafka sink of the old kind (Flink: ``FlinkKafkaProducer``)."""

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema,
        producer_config: Mapping[str, str],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        super().__init__("FlinkKafkaProducer")
        self._set(
            topic=topic,
            serializer=serialization_schema,
            properties=dict(producer_config),
            pool_size=kafka_producer_pool_size,
            semantic=semantic,
        )

    def ignore_failures_after_transaction_timeout(self) -> FlinkKafkaProducer:
        """Continue when a transaction from before a failure has timed out."""
        self._set(ignore_failures_after_transaction_timeout=True)
        return self

"""Amazon Kinesis streams as sources and sinks. Flink: ``pyflink.datastream.connectors.kinesis``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from compat.compiler.datastream.common.serialization import DeserializationSchema, SerializationSchema
from compat.compiler.datastream.common.watermark_strategy import AssignerWithPeriodicWatermarksWrapper
from compat.compiler.datastream.connectors.base import Builder, Sink
from compat.compiler.datastream.functions import SourceFunction
from compat.state.types import TypeInformation

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]

A = TypeVar("A", bound="_AsyncSinkBuilder")


class KinesisShardAssigner:
    """The assignment of shards to subtasks (Flink: ``KinesisShardAssigner``)."""

    def __init__(self, j_kinesis_shard_assigner: Any) -> None:
        self.name = str(j_kinesis_shard_assigner)

    @staticmethod
    def default_shard_assigner() -> KinesisShardAssigner:
        """By the shard's hash."""
        return KinesisShardAssigner("default")

    @staticmethod
    def uniform_shard_assigner() -> KinesisShardAssigner:
        """By the shard's range of hash keys, so that each subtask has an equal part of it."""
        return KinesisShardAssigner("uniform")


class KinesisDeserializationSchema:
    """The conversion of Kinesis records (Flink: ``KinesisDeserializationSchema``)."""

    def __init__(self, j_kinesis_deserialization_schema: Any) -> None:
        self.name = str(j_kinesis_deserialization_schema)


class WatermarkTracker:
    """Shares watermarks between the subtasks of a source (Flink: ``WatermarkTracker``)."""

    def __init__(self, j_watermark_tracker: Any, **settings: Any) -> None:
        self.name = str(j_watermark_tracker)
        self.settings = settings

    @staticmethod
    def job_manager_watermark_tracker(
        aggregate_name: str, log_accumulator_interval_millis: int = -1
    ) -> WatermarkTracker:
        """Through the job manager."""
        return WatermarkTracker(
            "job_manager", aggregate_name=aggregate_name, log_interval=log_accumulator_interval_millis
        )


class FlinkKinesisConsumer(SourceFunction):
    """The records of Kinesis streams (Flink: ``FlinkKinesisConsumer``), a source of the old kind."""

    connector = "kinesis"
    parallel = True

    def __init__(
        self,
        streams: str | list[str],
        deserializer: DeserializationSchema | KinesisDeserializationSchema,
        config_props: Mapping[str, str],
    ) -> None:
        super().__init__("FlinkKinesisConsumer")
        self.settings: dict[str, Any] = {
            "streams": (streams,) if isinstance(streams, str) else tuple(streams),
            "deserializer": deserializer,
            "properties": dict(config_props),
        }

    def get_produced_type(self) -> TypeInformation | None:
        """The type of the records."""
        deserializer = self.settings["deserializer"]
        return deserializer.get_produced_type() if isinstance(deserializer, DeserializationSchema) else None

    def set_shard_assigner(self, shard_assigner: KinesisShardAssigner) -> FlinkKinesisConsumer:
        """Set the assignment of shards to subtasks."""
        self.settings["shard_assigner"] = shard_assigner
        return self

    def set_periodic_watermark_assigner(
        self, periodic_watermark_assigner: AssignerWithPeriodicWatermarksWrapper
    ) -> FlinkKinesisConsumer:
        """Set the assigner of timestamps and watermarks."""
        self.settings["periodic_watermark_assigner"] = periodic_watermark_assigner
        return self

    def set_watermark_tracker(self, watermark_tracker: WatermarkTracker) -> FlinkKinesisConsumer:
        """Set how subtasks share their watermarks."""
        self.settings["watermark_tracker"] = watermark_tracker
        return self


class PartitionKeyGenerator:
    """The partition key of a record (Flink: ``PartitionKeyGenerator``)."""

    def __init__(self, j_partition_key_generator: Any) -> None:
        self.name = str(j_partition_key_generator)

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """One for each subtask."""
        return PartitionKeyGenerator("fixed")

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """Another for each record."""
        return PartitionKeyGenerator("random")


class _AsyncSinkBuilder(Builder):
    """The limits that both sinks have."""

    def set_serialization_schema(self: A, serialization_schema: SerializationSchema) -> A:
        """How a record becomes bytes."""
        return self._set(serialization_schema=serialization_schema)

    def set_fail_on_error(self: A, fail_on_error: bool) -> A:
        """Whether an error fails the job instead of being tried again."""
        return self._set(fail_on_error=fail_on_error)

    def set_max_batch_size(self: A, max_batch_size: int) -> A:
        """The largest number of records in a request."""
        return self._set(max_batch_size=max_batch_size)

    def set_max_in_flight_requests(self: A, max_in_flight_requests: int) -> A:
        """The largest number of requests at once."""
        return self._set(max_in_flight_requests=max_in_flight_requests)

    def set_max_buffered_requests(self: A, max_buffered_requests: int) -> A:
        """The largest number of records that wait."""
        return self._set(max_buffered_requests=max_buffered_requests)

    def set_max_batch_size_in_bytes(self: A, max_batch_size_in_bytes: int) -> A:
        """The largest size of a request."""
        return self._set(max_batch_size_in_bytes=max_batch_size_in_bytes)

    def set_max_time_in_buffer_ms(self: A, max_time_in_buffer_ms: int) -> A:
        """The longest time that a record waits."""
        return self._set(max_time_in_buffer_ms=max_time_in_buffer_ms)

    def set_max_record_size_in_bytes(self: A, max_record_size_in_bytes: int) -> A:
        """The largest size of a record."""
        return self._set(max_record_size_in_bytes=max_record_size_in_bytes)


class KinesisStreamsSink(Sink):
    """Writes records to a Kinesis stream (Flink: ``KinesisStreamsSink``): a writer only."""

    connector = "kinesis"

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """A builder without settings."""
        return KinesisStreamsSinkBuilder()


class KinesisStreamsSinkBuilder(_AsyncSinkBuilder):
    """Collects the settings of a :class:`KinesisStreamsSink`; name and serialization schema are required."""

    def set_stream_name(self, stream_name: str | list[str]) -> KinesisStreamsSinkBuilder:
        """The stream."""
        return self._set(stream_name=stream_name)

    def set_partition_key_generator(self, partition_key_generator: PartitionKeyGenerator) -> KinesisStreamsSinkBuilder:
        """The partition key of a record."""
        return self._set(partition_key_generator=partition_key_generator)

    def set_kinesis_client_properties(self, kinesis_client_properties: Mapping[str, str]) -> KinesisStreamsSinkBuilder:
        """Options of the client."""
        return self._set(client_properties=dict(kinesis_client_properties))

    def build(self) -> KinesisStreamsSink:
        """The sink."""
        self._require(
            "A KinesisStreamsSink",
            stream_name="set_stream_name(…)",
            serialization_schema="set_serialization_schema(…)",
            partition_key_generator="set_partition_key_generator(…)",
        )
        return KinesisStreamsSink(settings=self._settings)


class KinesisFirehoseSink(Sink):
    """Writes records to a Firehose delivery stream (Flink: ``KinesisFirehoseSink``): a writer only."""

    connector = "firehose"

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """A builder without settings."""
        return KinesisFirehoseSinkBuilder()


class KinesisFirehoseSinkBuilder(_AsyncSinkBuilder):
    """Collects the settings of a :class:`KinesisFirehoseSink`; name and serialization schema are required."""

    def set_delivery_stream_name(self, delivery_stream_name: str) -> KinesisFirehoseSinkBuilder:
        """The delivery stream."""
        return self._set(delivery_stream_name=delivery_stream_name)

    def set_firehose_client_properties(
        self, firehose_client_properties: Mapping[str, str]
    ) -> KinesisFirehoseSinkBuilder:
        """Options of the client."""
        return self._set(client_properties=dict(firehose_client_properties))

    def build(self) -> KinesisFirehoseSink:
        """The sink."""
        self._require(
            "A KinesisFirehoseSink",
            delivery_stream_name="set_delivery_stream_name(…)",
            serialization_schema="set_serialization_schema(…)",
        )
        return KinesisFirehoseSink(settings=self._settings)

"""Kafka streams that move between clusters. Flink: ``pyflink.datastream.connectors.dynamic_kafka``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.datastream.common.serialization import DeserializationSchema
from compat.compiler.datastream.connectors.base import Builder, Source
from compat.compiler.datastream.connectors.kafka_offsets import KafkaOffsetsInitializer
from compat.compiler.errors import illegal_argument
from compat.state.types import TypeInformation

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]


class KafkaMetadataService:
    """The topics and clusters of each stream (Flink: ``KafkaMetadataService``)."""

    def __init__(self, j_metadata_service: Any) -> None:
        self.name = str(j_metadata_service)


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """Each stream is the topic of its name on one cluster."""

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        super().__init__("SingleClusterTopicMetadataService")
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = dict(properties)


class KafkaStreamSubscriber:
    """The choice of the streams to read (Flink: ``KafkaStreamSubscriber``)."""

    def __init__(self, j_kafka_stream_subscriber: Any) -> None:
        self.name = str(j_kafka_stream_subscriber)


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """These streams."""

    def __init__(self, stream_ids: set[str]) -> None:
        super().__init__("KafkaStreamSetSubscriber")
        self.stream_ids = frozenset(stream_ids)


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """All streams whose ids match."""

    def __init__(self, stream_pattern: str) -> None:
        super().__init__("StreamPatternSubscriber")
        self.stream_pattern = stream_pattern


class KafkaRecordDeserializationSchema(DeserializationSchema):
    """The conversion of Kafka's records (Flink: ``KafkaRecordDeserializationSchema``)."""

    def __init__(self, j_deserialization_schema: Any) -> None:
        super().__init__(j_deserialization_schema)
        self.value_schema: DeserializationSchema | None = None

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema) -> KafkaRecordDeserializationSchema:
        """A deserializer of the value only."""
        schema = KafkaRecordDeserializationSchema("value_only")
        schema.value_schema = deserialization_schema
        return schema

    def deserialize(self, message: bytes) -> Any:
        return message if self.value_schema is None else self.value_schema.deserialize(message)

    def get_produced_type(self) -> TypeInformation:
        return super().get_produced_type() if self.value_schema is None else self.value_schema.get_produced_type()


class DynamicKafkaSource(Source):
    """The records of streams whose topics and clusters may change (Flink: ``DynamicKafkaSource``)."""

    connector = "dynamic-kafka"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(
            bounded=settings.get("bounded", False),
            produced_type=settings["deserializer"].get_produced_type(),
            settings=settings,
        )

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder:
        """A builder without settings."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder(Builder):
    """Collects the settings of a :class:`DynamicKafkaSource`: streams, metadata service, deserializer are required."""

    def __init__(self) -> None:
        super().__init__()
        self._set(properties={}, starting_offsets=KafkaOffsetsInitializer.earliest())

    def build(self) -> DynamicKafkaSource:
        """The source."""
        self._require(
            "A DynamicKafkaSource",
            kafka_stream_subscriber="set_stream_ids(…), set_stream_pattern(…) or set_kafka_stream_subscriber(…)",
            kafka_metadata_service="set_kafka_metadata_service(…)",
            deserializer="set_deserializer(…) or set_value_only_deserializer(…)",
        )
        return DynamicKafkaSource(self._settings)

    def set_stream_ids(self, stream_ids: set[str]) -> DynamicKafkaSourceBuilder:
        """Read these streams."""
        if not stream_ids:
            raise illegal_argument("stream_ids must not be empty.")
        return self._set(kafka_stream_subscriber=KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder:
        """Read all streams whose ids match."""
        return self._set(kafka_stream_subscriber=StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(self, kafka_stream_subscriber: KafkaStreamSubscriber) -> DynamicKafkaSourceBuilder:
        """Read the streams that the subscriber chooses."""
        return self._set(kafka_stream_subscriber=kafka_stream_subscriber)

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> DynamicKafkaSourceBuilder:
        """Set the service that tells where streams are."""
        return self._set(kafka_metadata_service=kafka_metadata_service)

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Set the conversion of Kafka's records."""
        return self._set(deserializer=deserializer)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> DynamicKafkaSourceBuilder:
        """Set the conversion of the records' values."""
        return self._set(deserializer=KafkaRecordDeserializationSchema.value_only(deserialization_schema))

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Set the offsets to start at; the beginning if not set."""
        return self._set(starting_offsets=starting_offsets_initializer)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder:
        """Set the offsets to stop at."""
        return self._set(bounded=True, stopping_offsets=stopping_offsets_initializer)

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder:
        """Options of Kafka's consumer."""
        return self._put("properties", props)

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder:
        """An option of Kafka's consumer."""
        return self._put("properties", {key: value})

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder:
        """The consumer group."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder:
        """Set the prefix of client ids."""
        return self.set_property("client.id.prefix", prefix)

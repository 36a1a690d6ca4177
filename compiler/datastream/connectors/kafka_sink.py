"""Writing Kafka topics. Flink: ``KafkaSink`` and its record serializer; :mod:`.kafka` has the names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from compat.compiler.datastream.common.serialization import SerializationSchema
from compat.compiler.datastream.connectors.base import (
    Builder,
    DeliveryGuarantee,
    Sink,
    StreamTransformer,
    SupportsPreprocessing,
    committer,
    writer,
)
from compat.compiler.errors import illegal_argument, illegal_state
from compat.compiler.transformations.kinds import SinkTopology
from compat.state.types import Types

_LONGEST_TRANSACTIONAL_ID_PREFIX = 64_000


class KafkaTopicSelector(ABC):
    """The choice of a record's topic (Flink: ``TopicSelector``)."""

    @abstractmethod
    def apply(self, data: Any) -> str:
        """The topic."""


class _FunctionSelector(KafkaTopicSelector):
    def __init__(self, function: Callable[[Any], str]) -> None:
        self._function = function

    def apply(self, data: Any) -> str:
        return self._function(data)


class SelectTopic(StreamTransformer):
    """Puts a map before the sink that makes rows (topic, record)."""

    def __init__(self, topic_selector: KafkaTopicSelector) -> None:
        self._topic_selector = topic_selector

    def apply(self, ds: Any) -> Any:
        from compat.compiler.datastream.common.types import Row

        selector = self._topic_selector
        return ds.map(
            lambda record: Row(selector.apply(record), record),
            output_type=Types.ROW([Types.STRING(), ds.get_type()]),
        )


class KafkaRecordSerializationSchema(SerializationSchema):
    """The conversion of a record to key, value and topic (Flink: ``KafkaRecordSerializationSchema``)."""

    def __init__(
        self,
        j_serialization_schema: Any = None,
        topic_selector: KafkaTopicSelector | None = None,
        *,
        topic: str | None = None,
        key_serializer: SerializationSchema | None = None,
        value_serializer: SerializationSchema | None = None,
    ) -> None:
        super().__init__(j_serialization_schema)
        self.topic_selector = topic_selector
        self.topic = topic
        self.key_serializer = key_serializer
        self.value_serializer = value_serializer

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder:
        """A builder without settings."""
        return KafkaRecordSerializationSchemaBuilder()

    def __repr__(self) -> str:
        topic = repr(self.topic) if self.topic is not None else "chosen by record"
        return f"KafkaRecordSerializationSchema(topic={topic})"


class KafkaRecordSerializationSchemaBuilder(Builder):
    """Collects topic, key and value serializers; topic and value are required, and each can be set once."""

    def build(self) -> KafkaRecordSerializationSchema:
        """The schema."""
        settings = self._settings
        if "value_serializer" not in settings:
            raise illegal_state(
                "No value serializer is configured: call set_value_serialization_schema(…) on the builder."
            )
        if "topic" not in settings and "topic_selector" not in settings:
            raise illegal_state(
                "No topic selector is configured: call set_topic(…) or set_topic_selector(…) on the builder."
            )
        return KafkaRecordSerializationSchema(**settings)

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder:
        """All records go to this topic."""
        self._once("Topic selector", "topic", "topic_selector")
        return self._set(topic=topic)

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the function that chooses a record's topic."""
        self._once("Topic selector", "topic", "topic_selector")
        if isinstance(topic_selector, KafkaTopicSelector):
            return self._set(topic_selector=topic_selector)
        if not callable(topic_selector):
            raise TypeError(f"topic_selector must be KafkaTopicSelector or a callable, got {topic_selector!r}.")
        return self._set(topic_selector=_FunctionSelector(topic_selector))

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the conversion of a record to the key; without it, messages have no key."""
        self._once("Key serializer", "key_serializer")
        return self._set(key_serializer=key_serialization_schema)

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema
    ) -> KafkaRecordSerializationSchemaBuilder:
        """Set the conversion of a record to the value."""
        self._once("Value serializer", "value_serializer")
        return self._set(value_serializer=value_serialization_schema)

    def _once(self, what: str, *settings: str) -> None:
        if any(setting in self._settings for setting in settings):
            raise illegal_state(f"{what} already set.")


class KafkaSink(Sink, SupportsPreprocessing):
    """Writes records to Kafka topics (Flink: ``KafkaSink``): a writer and a committer, whatever the guarantee.

    With exactly-once the two are co-located by the prefix of the transactional ids, unless the program co-locates them.
    """

    connector = "kafka"

    def __init__(self, settings: dict[str, Any], transformer: StreamTransformer | None = None) -> None:
        super().__init__(settings=settings)
        self._transformer = transformer

    @staticmethod
    def builder() -> KafkaSinkBuilder:
        """A builder without settings."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """The function that changes the stream before the sink, or None."""
        return self._transformer

    def topology(self) -> SinkTopology:
        exactly_once = self.settings.get("delivery_guarantee") is DeliveryGuarantee.EXACTLY_ONCE
        return SinkTopology(
            writer=writer(self),
            committer=committer(self),
            supports_post_commit=True,
            co_location_group=self.settings.get("transactional_id_prefix") if exactly_once else None,
        )


class KafkaSinkBuilder(Builder):
    """Collects the settings of a :class:`KafkaSink`; bootstrap servers and record serializer are required."""

    def __init__(self) -> None:
        super().__init__()
        self._set(delivery_guarantee=DeliveryGuarantee.NONE, properties={})

    def build(self) -> KafkaSink:
        """The sink."""
        if "bootstrap.servers" not in self._settings["properties"]:
            raise illegal_argument(
                "A KafkaSink cannot be built: bootstrapServers is not set. Call set_bootstrap_servers(…)."
            )
        self._require("A KafkaSink", record_serializer="set_record_serializer(…)")
        exactly_once = self._settings["delivery_guarantee"] is DeliveryGuarantee.EXACTLY_ONCE
        if exactly_once and self._settings.get("transactional_id_prefix") is None:
            raise illegal_state(
                "EXACTLY_ONCE delivery guarantee requires a transactionIdPrefix to be set to provide unique "
                "transaction names across multiple KafkaSinks writing to the same Kafka cluster: call "
                "set_transactional_id_prefix(…) on the builder."
            )
        selector = self._settings["record_serializer"].topic_selector
        return KafkaSink(self._settings, None if selector is None else SelectTopic(selector))

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder:
        """Host and port of some brokers, with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
        """Set the delivery guarantee."""
        return self._set(delivery_guarantee=delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder:
        """Set the prefix of the transactions' names; must differ between sinks of one Kafka cluster."""
        if len(transactional_id_prefix.encode()) > _LONGEST_TRANSACTIONAL_ID_PREFIX:
            raise illegal_state(
                "The configured prefix is too long and the resulting transactionalId might exceed Kafka's "
                "transactionalIds size."
            )
        return self._set(transactional_id_prefix=transactional_id_prefix)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema) -> KafkaSinkBuilder:
        """Set the conversion of a record to key, value and topic."""
        if not isinstance(record_serializer, KafkaRecordSerializationSchema):
            raise TypeError(
                f"set_record_serializer takes a KafkaRecordSerializationSchema, got {record_serializer!r}: "
                "make one with KafkaRecordSerializationSchema.builder()."
            )
        return self._set(record_serializer=record_serializer)

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder:
        """An option of Kafka's producer."""
        return self._put("properties", {key: value})

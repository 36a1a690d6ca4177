"""Reading Kafka topics. Flink: ``KafkaSource``; :mod:`.kafka` has the names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.compiler.datastream.common.serialization import DeserializationSchema
from compat.compiler.datastream.connectors.base import Builder, Source
from compat.compiler.datastream.connectors.kafka_offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from compat.compiler.errors import illegal_argument, illegal_state


class KafkaSource(Source):
    """The records of Kafka topics (Flink: ``KafkaSource``). Bounded when ``set_bounded`` was called."""

    connector = "kafka"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(
            bounded=settings.get("bounded", False),
            produced_type=settings["value_only_deserializer"].get_produced_type(),
            settings=settings,
        )

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A builder without settings."""
        return KafkaSourceBuilder()


class KafkaSourceBuilder(Builder):
    """Collects the settings of a :class:`KafkaSource`; bootstrap servers, topics and deserializer are required."""

    def __init__(self) -> None:
        super().__init__()
        self._set(properties={}, starting_offsets=KafkaOffsetsInitializer.earliest())

    def build(self) -> KafkaSource:
        """The source."""
        properties = self._settings["properties"]
        if "bootstrap.servers" not in properties:
            raise illegal_argument(
                "A KafkaSource cannot be built: property bootstrap.servers is required but not provided. "
                "Call set_bootstrap_servers(…) on the builder."
            )
        if not self._subscribed():
            raise illegal_argument(
                "No subscribe mode is specified, should be one of topics, topic pattern and partition set: "
                "call set_topics(…), set_topic_pattern(…) or set_partitions(…) on the builder."
            )
        self._require("A KafkaSource", value_only_deserializer="set_value_only_deserializer(…)")
        commits = str(properties.get("commit.offsets.on.checkpoint", "")).lower() == "true"
        commits = commits or str(properties.get("enable.auto.commit", "")).lower() == "true"
        if commits and "group.id" not in properties:
            raise illegal_state("Property group.id is required when offset commit is enabled: call set_group_id(…).")
        return KafkaSource(self._settings)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Host and port of some brokers, with commas between them."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        return self._subscribe("topics", topics)

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose names match."""
        return self._subscribe("topic_pattern", topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read these partitions."""
        return self._subscribe("partitions", frozenset(partitions))

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Set the offsets to start at; the beginning if not set."""
        return self._set(starting_offsets=starting_offsets_initializer)

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Set the offsets to stop at, in a streaming job."""
        return self._set(bounded=False, stopping_offsets=stopping_offsets_initializer)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Set the offsets to stop at, in a job that may run as a batch."""
        return self._set(bounded=True, stopping_offsets=stopping_offsets_initializer)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """Set the conversion of the records' values."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise TypeError(
                f"set_value_only_deserializer takes a DeserializationSchema, got {deserialization_schema!r}."
            )
        return self._set(value_only_deserializer=deserialization_schema)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the prefix of client ids."""
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """An option of Kafka's consumer."""
        return self._put("properties", {key: value})

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        """Options of Kafka's consumer."""
        return self._put("properties", props)

    def _subscribed(self) -> str | None:
        modes = ("topics", "topic_pattern", "partitions")
        return next((mode for mode in modes if mode in self._settings), None)

    def _subscribe(self, mode: str, what: Any) -> KafkaSourceBuilder:
        before = self._subscribed()
        if before is not None:
            raise illegal_state(f"Cannot use {mode} for consumption because {before} is already set for consumption.")
        return self._set(**{mode: what})

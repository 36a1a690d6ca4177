"""Pulsar topics as sources and sinks. Flink: ``pyflink.datastream.connectors.pulsar``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from compat.compiler.datastream.common.serialization import DeserializationSchema, SerializationSchema
from compat.compiler.datastream.connectors.base import Builder, DeliveryGuarantee, Sink, Source, committer, writer
from compat.compiler.datastream.connectors.pulsar_settings import (
    MessageDelayer,
    RangeGenerator,
    StartCursor,
    StopCursor,
    TopicRoutingMode,
)
from compat.compiler.errors import illegal_argument, illegal_state
from compat.compiler.transformations.kinds import SinkTopology

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]

P = TypeVar("P", bound="_PulsarBuilder")


class _PulsarBuilder(Builder):
    """The settings that sources and sinks share."""

    def __init__(self) -> None:
        super().__init__()
        self._set(config={})

    def set_admin_url(self: P, admin_url: str) -> P:
        """Where Pulsar's administration is."""
        return self._set(admin_url=admin_url)

    def set_service_url(self: P, service_url: str) -> P:
        """Where Pulsar is."""
        return self._set(service_url=service_url)

    def set_authentication(self: P, auth_plugin_class_name: str, auth_params_string: str | Mapping[str, str]) -> P:
        """Who we are: the class that proves it, and what that needs."""
        return self._set(auth_plugin=auth_plugin_class_name, auth_params=auth_params_string)

    def set_config(self: P, key: Any, value: Any) -> P:
        """An option of Pulsar's client or of the connector."""
        return self._put("config", {_option(key): value})

    def set_properties(self: P, config: Mapping[Any, Any]) -> P:
        """Options of Pulsar's client or of the connector."""
        return self._put("config", {_option(key): value for key, value in config.items()})

    def _topics(self: P, topics: str | list[str]) -> P:
        given = (topics,) if isinstance(topics, str) else tuple(topics)
        if "topic_pattern" in self._settings:
            raise illegal_state("Topics cannot be set: a topic pattern is already set.")
        return self._set(topics=given)


def _option(key: Any) -> str:
    name = getattr(key, "key", key)
    return str(name() if callable(name) else name)


class PulsarSource(Source):
    """The records of Pulsar topics (Flink: ``PulsarSource``). Bounded when ``set_bounded_stop_cursor`` was called."""

    connector = "pulsar"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(
            bounded=settings.get("bounded", False),
            produced_type=settings["deserialization_schema"].get_produced_type(),
            settings=settings,
        )

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        """A builder without settings."""
        return PulsarSourceBuilder()


class PulsarSourceBuilder(_PulsarBuilder):
    """Collects the settings of a :class:`PulsarSource`: URLs, subscription, topics and deserializer are required."""

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder:
        """The subscription."""
        return self._set(subscription_name=subscription_name)

    def set_topics(self, topics: str | list[str]) -> PulsarSourceBuilder:
        """Read these topics."""
        return self._topics(topics)

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder:
        """Read all topics whose names match."""
        if "topics" in self._settings:
            raise illegal_state("A topic pattern cannot be set: topics are already set.")
        return self._set(topic_pattern=topic_pattern)

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder:
        """The name that Pulsar shows."""
        return self._set(consumer_name=consumer_name)

    def set_range_generator(self, range_generator: RangeGenerator) -> PulsarSourceBuilder:
        """Set the keys that a subtask reads."""
        return self._set(range_generator=range_generator)

    def set_start_cursor(self, start_cursor: StartCursor) -> PulsarSourceBuilder:
        """Set where to start; at the beginning if not set."""
        return self._set(start_cursor=start_cursor)

    def set_unbounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set where to stop, in a streaming job."""
        return self._set(bounded=False, stop_cursor=stop_cursor)

    def set_bounded_stop_cursor(self, stop_cursor: StopCursor) -> PulsarSourceBuilder:
        """Set where to stop, in a job that may run as a batch."""
        return self._set(bounded=True, stop_cursor=stop_cursor)

    def set_deserialization_schema(self, deserialization_schema: DeserializationSchema) -> PulsarSourceBuilder:
        """Set the conversion of messages to records."""
        return self._set(deserialization_schema=deserialization_schema)

    def set_config_with_dict(self, config: Mapping[Any, Any]) -> PulsarSourceBuilder:
        """Options of Pulsar's client or of the connector."""
        return self.set_properties(config)

    def build(self) -> PulsarSource:
        """The source."""
        self._require(
            "A PulsarSource",
            service_url="set_service_url(…)",
            subscription_name="set_subscription_name(…)",
            deserialization_schema="set_deserialization_schema(…)",
        )
        if "topics" not in self._settings and "topic_pattern" not in self._settings:
            raise illegal_argument(
                "No topic names or topic pattern are provided: call set_topics(…) or set_topic_pattern(…)."
            )
        return PulsarSource(self._settings)


class PulsarSink(Sink):
    """Writes records to Pulsar topics (Flink: ``PulsarSink``): a writer and a committer."""

    connector = "pulsar"

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """A builder without settings."""
        return PulsarSinkBuilder()

    def topology(self) -> SinkTopology:
        return SinkTopology(writer=writer(self), committer=committer(self))


class PulsarSinkBuilder(_PulsarBuilder):
    """Collects the settings of a :class:`PulsarSink`: service URL, topics and serializer are required."""

    def set_producer_name(self, producer_name: str) -> PulsarSinkBuilder:
        """The name that Pulsar shows."""
        return self._set(producer_name=producer_name)

    def set_topics(self, topics: str | list[str]) -> PulsarSinkBuilder:
        """Write to these topics."""
        return self._topics(topics)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> PulsarSinkBuilder:
        """Set the delivery guarantee."""
        return self._set(delivery_guarantee=delivery_guarantee)

    def set_topic_routing_mode(self, topic_routing_mode: TopicRoutingMode) -> PulsarSinkBuilder:
        """Set the choice of a message's partition."""
        return self._set(topic_routing_mode=topic_routing_mode)

    def set_topic_router(self, topic_router_class_name: str) -> PulsarSinkBuilder:
        """Set the Java class that chooses a message's partition."""
        return self._set(topic_router=topic_router_class_name)

    def set_serialization_schema(self, serialization_schema: SerializationSchema) -> PulsarSinkBuilder:
        """Set the conversion of records to messages."""
        return self._set(serialization_schema=serialization_schema)

    def delay_sending_message(self, message_delayer: MessageDelayer) -> PulsarSinkBuilder:
        """Set the delay of messages."""
        return self._set(message_delayer=message_delayer)

    def build(self) -> PulsarSink:
        """The sink."""
        self._require(
            "A PulsarSink",
            service_url="set_service_url(…)",
            serialization_schema="set_serialization_schema(…)",
            topics="set_topics(…)",
        )
        return PulsarSink(settings=self._settings)

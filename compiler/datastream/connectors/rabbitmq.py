"""RabbitMQ queues as sources and sinks. Flink: ``pyflink.datastream.connectors.rabbitmq``."""

from __future__ import annotations

from typing import Any

from compat.compiler.datastream.common.serialization import DeserializationSchema, SerializationSchema
from compat.compiler.datastream.functions import SinkFunction, SourceFunction
from compat.compiler.errors import illegal_argument
from compat.state.types import TypeInformation

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]


class RMQConnectionConfig:
    """The connection settings of RabbitMQ (Flink: ``RMQConnectionConfig``). Unset ones are None."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = dict(settings)

    def get_host(self) -> str:
        """The host."""
        return self._text("host")

    def get_port(self) -> int:
        """The port."""
        return self._number("port")

    def get_virtual_host(self) -> str:
        """The virtual host."""
        return self._text("virtual_host")

    def get_user_name(self) -> str:
        """The user."""
        return self._text("user_name")

    def get_password(self) -> str:
        """The user's password."""
        return self._text("password")

    def get_uri(self) -> str:
        """All of these in one."""
        return self._text("uri")

    def get_network_recovery_interval(self) -> int:
        """Milliseconds before a lost connection is made again."""
        return self._number("network_recovery_interval")

    def is_automatic_recovery(self) -> bool:
        """Whether a lost connection is made again."""
        return bool(self.settings.get("automatic_recovery"))

    def is_topology_recovery(self) -> bool:
        """Whether queues and exchanges are made again with it."""
        return bool(self.settings.get("topology_recovery"))

    def get_connection_timeout(self) -> int:
        """Milliseconds to wait for a connection."""
        return self._number("connection_timeout")

    def get_requested_channel_max(self) -> int:
        """The largest number of channels."""
        return self._number("requested_channel_max")

    def get_requested_frame_max(self) -> int:
        """The largest size of a frame."""
        return self._number("requested_frame_max")

    def get_requested_heartbeat(self) -> int:
        """Seconds between two heartbeats."""
        return self._number("requested_heartbeat")

    def _text(self, setting: str) -> str:
        return self.settings.get(setting)  # type: ignore[return-value]

    def _number(self, setting: str) -> int:
        return self.settings.get(setting)  # type: ignore[return-value]

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.settings.items() if key not in ("password", "uri")}
        return f"RMQConnectionConfig({shown})"

    class Builder:
        """Collects the settings: a URI, or host, port, virtual host, user and password."""

        def __init__(self) -> None:
            self._settings: dict[str, Any] = {}

        def _set(self, **settings: Any) -> RMQConnectionConfig.Builder:
            self._settings.update(settings)
            return self

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """The port."""
            return self._set(port=port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """The host."""
            return self._set(host=host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """The virtual host."""
            return self._set(virtual_host=vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """The user."""
            return self._set(user_name=user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """The user's password."""
            return self._set(password=password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """All of these in one."""
            return self._set(uri=uri)

        def set_topology_recovery_enabled(self, topology_recovery_enabled: bool) -> RMQConnectionConfig.Builder:
            """Whether queues and exchanges are made again after a lost connection."""
            return self._set(topology_recovery=topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Seconds between two heartbeats."""
            return self._set(requested_heartbeat=requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """The largest size of a frame."""
            return self._set(requested_frame_max=requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            """The largest number of channels."""
            return self._set(requested_channel_max=requested_channel_max)

        def set_network_recovery_interval(self, network_recovery_interval: int) -> RMQConnectionConfig.Builder:
            """Milliseconds before a lost connection is made again."""
            return self._set(network_recovery_interval=network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """Milliseconds to wait for a connection."""
            return self._set(connection_timeout=connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Whether a lost connection is made again."""
            return self._set(automatic_recovery=automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """The largest number of messages that are read ahead."""
            return self._set(prefetch_count=prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """The settings."""
            if "uri" not in self._settings:
                for setting in ("host", "port", "virtual_host", "user_name", "password"):
                    if self._settings.get(setting) is None:
                        raise illegal_argument(
                            f"RMQConnectionConfig cannot be built: {setting} can not be null. "
                            f"Call set_{setting}(…) or set_uri(…) on the builder."
                        )
            return RMQConnectionConfig(self._settings)


class RMQSource(SourceFunction):
    """The messages of a queue (Flink: ``RMQSource``); one subtask reads it. Exactly once with correlation ids only."""

    connector = "rabbitmq"

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        super().__init__("RMQSource")
        self.settings: dict[str, Any] = {
            "connection": connection_config,
            "queue": queue_name,
            "use_correlation_id": use_correlation_id,
            "deserializer": deserialization_schema,
        }

    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
        produced: TypeInformation = self.settings["deserializer"].get_produced_type()
        return produced


class RMQSink(SinkFunction):
    """Writes records to a queue (Flink: ``RMQSink``)."""

    connector = "rabbitmq"

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ) -> None:
        super().__init__("RMQSink")
        self.settings: dict[str, Any] = {
            "connection": connection_config,
            "queue": queue_name,
            "serializer": serialization_schema,
        }

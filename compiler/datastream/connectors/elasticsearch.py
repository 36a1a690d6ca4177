"""Writing to Elasticsearch. Flink: ``pyflink.datastream.connectors.elasticsearch``."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compat.compiler.datastream.connectors.base import Builder, DeliveryGuarantee, Sink
from compat.compiler.errors import illegal_argument, illegal_state

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
]


class FlushBackoffType(Enum):
    """The growth of the time between two tries (Flink: ``FlushBackoffType``)."""

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


class ElasticsearchEmitter:
    """The conversion of a record to a request (Flink: ``ElasticsearchEmitter``): the index, the document's id and type."""

    def __init__(self, j_emitter: Any, **settings: Any) -> None:
        self.name = str(j_emitter)
        self.settings = settings

    @staticmethod
    def static_index(index: str, key_field: str | None = None, doc_type: str | None = None) -> ElasticsearchEmitter:
        """All records go to one index; ``key_field`` holds a document's id."""
        return ElasticsearchEmitter("static_index", index=index, key_field=key_field, doc_type=doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """The record's field ``index_field`` names the index."""
        return ElasticsearchEmitter("dynamic_index", index_field=index_field, key_field=key_field, doc_type=doc_type)

    def __repr__(self) -> str:
        return f"ElasticsearchEmitter.{self.name}({self.settings})"


class ElasticsearchSink(Sink):
    """Writes records as documents (Flink: ``ElasticsearchSink``): a writer only."""

    connector = "elasticsearch"


class ElasticsearchSinkBuilderBase(Builder):
    """Collects the settings of an :class:`ElasticsearchSink`; emitter and hosts are required."""

    version = 0

    def __init__(self) -> None:
        super().__init__()
        self._set(version=self.version)

    def get_http_host_class(self) -> str:
        """The Java class of a host."""
        return "org.apache.http.HttpHost"

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """Set the conversion of a record to a request."""
        return self._set(emitter=emitter)

    def set_hosts(self, hosts: str | list[str]) -> ElasticsearchSinkBuilderBase:
        """Set Elasticsearch's hosts, each with its port."""
        given = (hosts,) if isinstance(hosts, str) else tuple(hosts)
        if not given:
            raise illegal_argument("Hosts cannot be empty.")
        return self._set(hosts=given)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> ElasticsearchSinkBuilderBase:
        """Set the delivery guarantee; exactly-once is impossible."""
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise illegal_state(
                "Elasticsearch sink does not support the EXACTLY_ONCE guarantee: use AT_LEAST_ONCE with a key_field, "
                "which makes writing twice harmless."
            )
        return self._set(delivery_guarantee=delivery_guarantee)

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> ElasticsearchSinkBuilderBase:
        """The largest number of requests in a bulk; -1 for no limit."""
        return self._limit("bulk_flush_max_actions", num_max_actions, "Max number of buffered actions")

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> ElasticsearchSinkBuilderBase:
        """The largest size of a bulk in MB; -1 for no limit."""
        return self._limit("bulk_flush_max_size_mb", max_size_mb, "Max size of buffered actions")

    def set_bulk_flush_interval(self, interval_millis: int) -> ElasticsearchSinkBuilderBase:
        """The longest time between two bulks; -1 for no limit."""
        return self._limit("bulk_flush_interval", interval_millis, "Interval (in milliseconds) between each flush")

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> ElasticsearchSinkBuilderBase:
        """Set the tries of a bulk that failed for lack of resources."""
        return self._set(bulk_flush_backoff=(flush_backoff_type, max_retries, delay_millis))

    def set_connection_username(self, username: str) -> ElasticsearchSinkBuilderBase:
        """The user."""
        return self._set(connection_username=username)

    def set_connection_password(self, password: str) -> ElasticsearchSinkBuilderBase:
        """The user's password."""
        return self._set(connection_password=password)

    def set_connection_path_prefix(self, prefix: str) -> ElasticsearchSinkBuilderBase:
        """Set the prefix of every request's path."""
        return self._set(connection_path_prefix=prefix)

    def set_connection_request_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set how long to wait for a connection of the pool, in milliseconds."""
        return self._limit("connection_request_timeout", timeout, "Connection request timeout", smallest=0)

    def set_connection_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set how long to wait for a new connection, in milliseconds."""
        return self._limit("connection_timeout", timeout, "Connection timeout", smallest=0)

    def set_socket_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set how long to wait for data, in milliseconds."""
        return self._limit("socket_timeout", timeout, "Socket timeout", smallest=0)

    def build(self) -> ElasticsearchSink:
        """The sink."""
        self._require("An ElasticsearchSink", emitter="set_emitter(…)", hosts="set_hosts(…)")
        return ElasticsearchSink(settings=self._settings)

    def _limit(self, setting: str, value: int, what: str, smallest: int = 1) -> ElasticsearchSinkBuilderBase:
        if value < smallest and value != -1:
            raise illegal_state(f"{what} must be at least {smallest}, got {value}.")
        return self._set(**{setting: value})


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """The builder for Elasticsearch 6."""

    version = 6


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """The builder for Elasticsearch 7."""

    version = 7

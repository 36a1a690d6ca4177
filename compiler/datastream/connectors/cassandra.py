"""Writing to Cassandra. Flink: ``pyflink.datastream.connectors.cassandra``."""

from __future__ import annotations

from enum import Enum
from typing import Any

from compat.compiler.datastream.connectors.base import Builder
from compat.compiler.datastream.functions import SinkFunction
from compat.compiler.errors import illegal_argument
from compat.state.time import Duration

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]


class ConsistencyLevel(Enum):
    """The number of replicas that must agree (Cassandra: ``ConsistencyLevel``)."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions(Builder):
    """The mapping of objects to rows (Flink: ``MapperOptions``)."""

    @property
    def settings(self) -> dict[str, Any]:
        """The settings made so far."""
        return dict(self._settings)

    def ttl(self, ttl: int) -> MapperOptions:
        """Set how long a row lives, in seconds."""
        return self._set(ttl=ttl)

    def timestamp(self, timestamp: int) -> MapperOptions:
        """Set the time of writing, in microseconds since 1970."""
        return self._set(timestamp=timestamp)

    def consistency_level(self, cl: ConsistencyLevel) -> MapperOptions:
        """Set how many replicas must agree."""
        return self._set(consistency_level=cl)

    def tracing(self, enabled: bool) -> MapperOptions:
        """Set whether Cassandra traces the statements."""
        return self._set(tracing=enabled)

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        """Set whether None is written."""
        return self._set(save_null_fields=enabled)

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        """Set whether only new rows are written."""
        return self._set(if_not_exists=enabled)


class ClusterBuilder:
    """The connection to the cluster (Flink: ``ClusterBuilder``)."""

    def __init__(self, j_cluster_builder: Any) -> None:
        self.name = j_cluster_builder


class CassandraCommitter:
    """Remembers which checkpoints were written (Flink: ``CassandraCommitter``)."""

    def __init__(self, j_checkpoint_committer: Any, **settings: Any) -> None:
        self.name = j_checkpoint_committer
        self.settings = settings

    @staticmethod
    def default_checkpoint_committer(builder: ClusterBuilder, key_space: str | None = None) -> CassandraCommitter:
        """A committer that uses a table of the cluster."""
        return CassandraCommitter("default", cluster=builder, key_space=key_space)


class CassandraFailureHandler:
    """A handler of failed writes (Flink: ``CassandraFailureHandler``)."""

    def __init__(self, j_cassandra_failure_handler: Any) -> None:
        self.name = j_cassandra_failure_handler

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """A handler that fails the job."""
        return CassandraFailureHandler("no_op")


class _CassandraFunction(SinkFunction):
    """The sink's function: holds the settings."""

    connector = "cassandra"

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__("CassandraSink")
        self.settings = settings


class CassandraSink:
    """A sink that was put behind a stream (Flink: ``CassandraSink``); its settings can still be given."""

    def __init__(self, j_cassandra_sink: Any) -> None:
        self._sink = j_cassandra_sink

    def name(self, name: str) -> CassandraSink:
        """The name that is shown."""
        self._sink.name(name)
        return self

    def uid(self, uid: str) -> CassandraSink:
        """The id that state is found by."""
        self._sink.uid(uid)
        return self

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        """The operator id itself, as 32 hexadecimal digits."""
        self._sink.set_uid_hash(uid_hash)
        return self

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        """The number of subtasks."""
        self._sink.set_parallelism(parallelism)
        return self

    def disable_chaining(self) -> CassandraSink:
        """Never share a thread with neighbouring operators."""
        self._sink.disable_chaining()
        return self

    def slot_sharing_group(self, slot_sharing_group: str) -> CassandraSink:
        """Run in slots of that group only."""
        self._sink.slot_sharing_group(slot_sharing_group)
        return self

    @staticmethod
    def add_sink(input: Any) -> CassandraSink.CassandraSinkBuilder:
        """Start a sink behind a stream."""
        return CassandraSink.CassandraSinkBuilder(input)

    class CassandraSinkBuilder(Builder):
        """Collects the settings; a host or a cluster builder is required, and a query for tuples and rows."""

        def __init__(self, stream: Any) -> None:
            super().__init__()
            self._stream = stream

        def set_query(self, query: str) -> CassandraSink.CassandraSinkBuilder:
            """The statement for each record."""
            return self._set(query=query)

        def set_host(self, host: str, port: int = 9042) -> CassandraSink.CassandraSinkBuilder:
            """Set the host of Cassandra."""
            return self._set(host=host, port=port)

        def set_cluster_builder(self, builder: ClusterBuilder) -> CassandraSink.CassandraSinkBuilder:
            """Set the connection to the cluster."""
            return self._set(cluster_builder=builder)

        def enable_write_ahead_log(
            self, committer: CassandraCommitter | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Keep records in state and write them after the checkpoint, exactly once for idempotent statements."""
            return self._set(write_ahead_log=True, committer=committer)

        def set_mapper_options(self, options: MapperOptions) -> CassandraSink.CassandraSinkBuilder:
            """Set the mapping of objects to rows."""
            return self._set(mapper_options=options)

        def set_failure_handler(self, failure_handler: CassandraFailureHandler) -> CassandraSink.CassandraSinkBuilder:
            """Set the handler of failed writes."""
            return self._set(failure_handler=failure_handler)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Duration | None = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Set the largest number of statements at once, and how long to wait for one to end."""
            return self._set(max_concurrent_requests=max_concurrent_requests, max_wait=duration)

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            """Keep the database's value if a field is None."""
            return self._set(ignore_null_fields=True)

        def build(self) -> CassandraSink:
            """Put the sink behind the stream."""
            if self._settings.get("host") is None and self._settings.get("cluster_builder") is None:
                raise illegal_argument(
                    "Cassandra host information must be supplied using either set_host(…) or set_cluster_builder(…)."
                )
            return CassandraSink(self._stream.add_sink(_CassandraFunction(self._settings)).name("Cassandra Sink"))

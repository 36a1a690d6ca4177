"""The connector for Kafka topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat.compiler.spark.connectors.base import Connector, Position, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.kafka import sink as sinks
from compat.compiler.spark.connectors.kafka import source as sources
from compat.compiler.spark.runtime_api.sinks import Committer, SinkWriter, WriterContext

if TYPE_CHECKING:
    from compat.state.flink.binary import ByteReader
    from compat.state.flink.savepoint import OperatorState


class _Source(SourceConnector):
    def refusal(self, source: Any) -> str | None:
        return sources.unsupported(source)

    def enumerator(self, source: Any, parallelism: int) -> sources.KafkaEnumerator:
        return sources.KafkaEnumerator(source)

    def reader(self, source: Any, output_type: Any) -> sources.KafkaReader:
        return sources.KafkaReader(source)

    def positions(self, source: Any, operator: OperatorState, splits: Iterator[ByteReader]) -> list[Position]:
        from compat.compiler.spark.connectors.kafka.savepoint import positions

        return positions(source, splits)


class _Sink(SinkConnector):
    writers_keep_output = False

    def refusal(self, sink: Any) -> str | None:
        return sinks.unsupported(sink)

    def writer(self, sink: Any, context: WriterContext) -> SinkWriter:
        return sinks.writer_of(sink, context)

    def committer(self, sink: Any) -> Committer | None:
        return sinks.committer_of(sink)


CONNECTORS = {"kafka": Connector(source=_Source(), sink=_Sink())}

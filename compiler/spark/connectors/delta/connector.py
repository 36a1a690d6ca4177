"""The connector for Delta tables."""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.connectors.base import Connector, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.delta.sink import DeltaCommitter, DeltaWriter, unsupported
from compat.compiler.spark.connectors.delta.source import DeltaEnumerator, DeltaReader
from compat.compiler.spark.runtime_api.sinks import WriterContext
from compat.state.stores.schemes import why_no_place


class _Source(SourceConnector):
    def refusal(self, source: Any) -> str | None:
        return why_no_place(str(source.settings["path"]))

    def enumerator(self, source: Any, parallelism: int) -> DeltaEnumerator:
        return DeltaEnumerator(source.settings, source.bounded)

    def reader(self, source: Any, output_type: Any) -> DeltaReader:
        return DeltaReader(source.get_produced_type(), source.settings.get("column_names"))


class _Sink(SinkConnector):
    folder = "path"

    def refusal(self, sink: Any) -> str | None:
        return unsupported(sink.settings)

    def writer(self, sink: Any, context: WriterContext) -> DeltaWriter:
        return DeltaWriter(sink.settings, context)

    def committer(self, sink: Any) -> DeltaCommitter:
        return DeltaCommitter(sink.settings)


CONNECTORS = {"delta": Connector(source=_Source(), sink=_Sink())}

"""The connector for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from compat.compiler.spark.connectors.base import Connector, Position, SinkConnector, SourceConnector
from compat.compiler.spark.connectors.files.formats import read_avro, reader_of_format
from compat.compiler.spark.connectors.files.sink import FileCommitter, FileWriter, unsupported
from compat.compiler.spark.connectors.files.source import FileEnumerator, FileReader
from compat.compiler.spark.runtime_api.sinks import WriterContext
from compat.state.stores.schemes import why_no_place

if TYPE_CHECKING:
    from compat.state.flink.binary import ByteReader
    from compat.state.flink.savepoint import OperatorState


class _Source(SourceConnector):
    def refusal(self, source: Any) -> str | None:
        if reader_of_format(source.format) is not None:
            return next(filter(None, (why_no_place(str(path)) for path in source.paths)), None)
        return f"there is no reader for files of the format {source.format.name!r}: there are text, json, csv, parquet and avro"

    def enumerator(self, source: Any, parallelism: int) -> FileEnumerator:
        return FileEnumerator(source.paths, source.settings.get("discovery_interval"))

    def reader(self, source: Any, output_type: Any) -> FileReader:
        read = reader_of_format(source.format)
        assert read is not None
        return FileReader(read)

    def positions(self, source: Any, operator: OperatorState, splits: Iterator[ByteReader]) -> list[Position]:
        from compat.compiler.spark.connectors.files.savepoint import stored_positions

        return stored_positions(source, operator, splits)


class _InputFormat(SourceConnector):
    """Files of Avro, in the form of old."""

    def refusal(self, source: Any) -> str | None:
        if type(source).__name__ == "AvroInputFormat":
            return why_no_place(str(source.settings["path"]))
        return f"the input format {type(source).__name__} has no reader here: use a FileSource"

    def enumerator(self, source: Any, parallelism: int) -> FileEnumerator:
        return FileEnumerator((source.settings["path"],))

    def reader(self, source: Any, output_type: Any) -> FileReader:
        return FileReader(read_avro)


class _Sink(SinkConnector):
    folder = "base_path"

    def refusal(self, sink: Any) -> str | None:
        return unsupported(sink.settings)

    def writer(self, sink: Any, context: WriterContext) -> FileWriter:
        return FileWriter(sink.settings, context)

    def committer(self, sink: Any) -> FileCommitter:
        return FileCommitter(sink.settings)


CONNECTORS = {"filesystem": Connector(source=_Source(), sink=_Sink()), "input-format": Connector(source=_InputFormat())}

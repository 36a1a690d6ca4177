"""Sources: split enumerators on the driver, readers in tasks. Flink: FLIP-27 (``SplitEnumerator``, ``SourceReader``).

A source of your own extends ``compat.compiler.datastream.connectors.base.Source``, with ``create_enumerator(parallelism)`` and
``create_reader()``; see :class:`SplitEnumerator` and :class:`SourceReader`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from compat.compiler.spark.connectors.own import as_enumerator
from compat.compiler.spark.runtime_api.splits import Read, SourceReader, SourceWork, Split, SplitEnumerator
from compat.compiler.transformations import operators as ops
from compat.state.stores.schemes import why_no_place

__all__ = [
    "Read",
    "SourceReader",
    "SourceWork",
    "Split",
    "SplitEnumerator",
    "enumerator_of",
    "reader_of",
    "unsupported_source",
]


SourceKind = ops.Source | ops.LegacySource | ops.InputFormat | ops.Collection
"""The operators that read a source of a program."""


def unsupported_source(operator: ops.Operator) -> str | None:
    """Why a source cannot be run; None for one that can."""
    source = operator.function
    if isinstance(operator, ops.Collection) or hasattr(source, "create_enumerator"):
        return None
    connector = getattr(source, "connector", None)
    if isinstance(operator, ops.FileMonitor):
        return "read_text_file has no reader here: use a FileSource with StreamFormat.text_line_format()"
    if isinstance(operator, ops.InputFormat):
        if type(source).__name__ == "AvroInputFormat":
            return why_no_place(str(source.settings["path"]))
        return f"the input format {type(source).__name__} has no reader here: use a FileSource"
    if connector not in _CONNECTORS:
        return (
            f"there is no reader for the source {type(source).__name__}: use from_collection, a number sequence, a data "
            "generator, files, a socket, Kafka or a Delta table, or write one with create_enumerator() and create_reader()"
        )
    return _CONNECTORS[connector].refusal(source)


def enumerator_of(operator: ops.Operator, parallelism: int) -> SplitEnumerator:
    """The enumerator of a source operator."""
    from compat.compiler.spark.connectors import builtin

    source = operator.function
    if isinstance(operator, ops.Collection):
        return builtin.CollectionEnumerator(source)
    if isinstance(operator, ops.InputFormat):
        from compat.compiler.spark.connectors.files.source import FileEnumerator

        return FileEnumerator((source.settings["path"],))
    if hasattr(source, "create_enumerator"):
        return as_enumerator(source.create_enumerator(parallelism))
    return _CONNECTORS[source.connector].enumerator(source, parallelism)


def reader_of(operator: ops.Operator, output_type: Any) -> SourceReader:
    """The reader of a source operator."""
    from compat.compiler.spark.connectors import builtin

    source = operator.function
    if isinstance(operator, ops.Collection):
        return builtin.CollectionReader(output_type)
    if isinstance(operator, ops.InputFormat):
        from compat.compiler.spark.connectors.files.formats import read_avro
        from compat.compiler.spark.connectors.files.source import FileReader

        return FileReader(read_avro)
    if hasattr(source, "create_reader"):
        return source.create_reader()  # type: ignore[no-any-return]
    return _CONNECTORS[source.connector].reader(source)


def _numbers(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.builtin import NumberEnumerator

    return NumberEnumerator(source.start, source.end, parallelism)


def _number_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.builtin import NumberReader

    return NumberReader()


def _generated(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.builtin import GeneratorEnumerator

    return GeneratorEnumerator(source.settings["count"], source.settings["rate"], parallelism)


def _generator_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.builtin import GeneratorReader

    return GeneratorReader(source.settings["function"])


def _files(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.files.source import FileEnumerator

    return FileEnumerator(source.paths, source.settings.get("discovery_interval"))


def _file_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.files.formats import reader_of_format
    from compat.compiler.spark.connectors.files.source import FileReader

    read = reader_of_format(source.format)
    assert read is not None
    return FileReader(read)


def _unreadable_files(source: Any) -> str | None:
    from compat.compiler.spark.connectors.files.formats import reader_of_format

    if reader_of_format(source.format) is not None:
        return next(filter(None, (why_no_place(str(path)) for path in source.paths)), None)
    return f"there is no reader for files of the format {source.format.name!r}: there are text, json, csv, parquet and avro"


def _socket(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.socket import SocketEnumerator

    return SocketEnumerator(source.settings["host"], source.settings["port"], source.settings["delimiter"])


def _socket_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.socket import LinesReader

    return LinesReader()


def _kafka(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.kafka.source import KafkaEnumerator

    return KafkaEnumerator(source)


def _kafka_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.kafka.source import KafkaReader

    return KafkaReader(source)


def _unreadable_kafka(source: Any) -> str | None:
    from compat.compiler.spark.connectors.kafka.source import unsupported

    return unsupported(source)


def _delta(source: Any, parallelism: int) -> SplitEnumerator:
    from compat.compiler.spark.connectors.delta.source import DeltaEnumerator

    return DeltaEnumerator(source.settings, source.bounded)


def _delta_reader(source: Any) -> SourceReader:
    from compat.compiler.spark.connectors.delta.source import DeltaReader

    return DeltaReader(source.get_produced_type(), source.settings.get("column_names"))


class _Connector(Struct, frozen=True):
    """The parts that read the sources of a connector.

    ``refusal`` tells why one of the sources cannot be run, None for one that can.
    """

    enumerator: Callable[[Any, int], SplitEnumerator]
    reader: Callable[[Any], SourceReader]
    refusal: Callable[[Any], str | None] = lambda source: None


_CONNECTORS = {
    "number-sequence": _Connector(_numbers, _number_reader),
    "data-generator": _Connector(_generated, _generator_reader),
    "filesystem": _Connector(_files, _file_reader, _unreadable_files),
    "socket": _Connector(_socket, _socket_reader),
    "delta": _Connector(_delta, _delta_reader, lambda source: why_no_place(str(source.settings["path"]))),
    "kafka": _Connector(_kafka, _kafka_reader, _unreadable_kafka),
}
"""The connectors by name."""

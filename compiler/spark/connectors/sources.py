"""Sources: split enumerators on the driver, readers in tasks. Flink: FLIP-27 (``SplitEnumerator``, ``SourceReader``).

A source of your own extends ``compat.compiler.datastream.connectors.base.Source``, with ``create_enumerator(parallelism)`` and
``create_reader()``; see :class:`SplitEnumerator` and :class:`SourceReader`.
"""

from __future__ import annotations

from typing import Any

from compat.compiler.spark.connectors.base import SourceConnector
from compat.compiler.spark.connectors.table import connector_of, source_connector
from compat.compiler.spark.runtime_api.splits import Read, SourceReader, SourceWork, Split, SplitEnumerator
from compat.compiler.transformations import operators as ops

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
    if isinstance(operator, ops.FileMonitor):
        return "read_text_file has no reader here: use a FileSource with StreamFormat.text_line_format()"
    connector = _connector(operator)
    if connector is None:
        return (
            f"there is no reader for the source {type(operator.function).__name__}: use from_collection, a number sequence, a "
            "data generator, files, a socket, Kafka or a Delta table, or write one with create_enumerator() and create_reader()"
        )
    return connector.refusal(operator.function)


def enumerator_of(operator: ops.Operator, parallelism: int) -> SplitEnumerator:
    """The enumerator of a source operator."""
    return _runnable(operator).enumerator(operator.function, parallelism)


def reader_of(operator: ops.Operator, output_type: Any) -> SourceReader:
    """The reader of a source operator."""
    return _runnable(operator).reader(operator.function, output_type)


def _connector(operator: ops.Operator) -> SourceConnector | None:
    """What runs a source operator: the operator tells it, or else what it reads."""
    match operator:
        case ops.Collection():
            return connector_of("collection").source
        case ops.InputFormat():
            return connector_of("input-format").source
        case _:
            return source_connector(operator.function)


def _runnable(operator: ops.Operator) -> SourceConnector:
    found = _connector(operator)
    assert found is not None, "the program was found to be one that runs"
    return found

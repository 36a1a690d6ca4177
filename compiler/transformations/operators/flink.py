"""The operators that Flink runs in Java: sources, sinks, and those between them without a function in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat.compiler.transformations.operators.base import Operator

# Sources


class Source(Operator, frozen=True, kw_only=True):
    """A source of a connector, which is its function."""

    factory: str = "SourceOperatorFactory"
    coordinated: bool = True
    watermark_strategy: Any = None

    kind = "source"


class LegacySource(Operator, frozen=True, kw_only=True):
    """A source of the old kind."""

    kind = "legacy_source"


class InputFormat(Operator, frozen=True, kw_only=True):
    """A source that reads with an input format."""

    factory: str = "SimpleInputFormatOperatorFactory"

    kind = "input_format"


class FileMonitor(Operator, frozen=True, kw_only=True):
    """Finds the files for an input format, and the new parts of them; the input format is its function."""

    kind = "file_monitor"


class FileSplitReader(Operator, frozen=True, kw_only=True):
    """Reads the file parts that a file monitor found; the input format is its function."""

    factory: str = "ContinuousFileReaderOperatorFactory"
    yielding: bool = True

    kind = "file_split_reader"


class Collection(Operator, frozen=True, kw_only=True):
    """The elements of a collection; the tuple of them is its function."""

    factory: str = "SimpleInputFormatOperatorFactory"

    kind = "collection"


# Between sources and sinks


class Project(Operator, frozen=True, kw_only=True):
    """Some fields of a tuple, by their numbers."""

    factory: str = "SimpleOperatorFactory"
    positions: tuple[int, ...]

    kind = "project"


class TimestampsAndWatermarks(Operator, frozen=True, kw_only=True):
    """Makes watermarks by a watermark strategy, which is its function."""

    factory: str = "TimestampsAndWatermarksOperatorFactory"

    kind = "timestamps_and_watermarks"

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield "watermark_strategy", self.function


class RemoveTimestamp(Operator, frozen=True, kw_only=True):
    """Removes the timestamp that an operator in Python put beside the record."""

    kind = "remove_timestamp"


class MultipleInput(Operator, frozen=True, kw_only=True):
    """A function of any number of streams."""

    factory: str = "SimpleOperatorFactory"
    key_selectors: tuple[Any, ...] = ()

    kind = "multiple_input"

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)


class KeyedMultipleInput(Operator, frozen=True, kw_only=True):
    """A function of any number of streams with keys of the same type."""

    factory: str = "SimpleOperatorFactory"
    key_selectors: tuple[Any, ...] = ()

    kind = "keyed_multiple_input"

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)


class RowsToRowData(Operator, frozen=True, kw_only=True):
    """Converts rows to the Table API's rows; the type of the rows is its function."""

    kind = "rows_to_row_data"


class CacheWrite(Operator, frozen=True, kw_only=True):
    """Writes the records of a cached stream."""

    factory: str = "SimpleOperatorFactory"

    kind = "cache_write"


# Sinks


class LegacySink(Operator, frozen=True, kw_only=True):
    """A sink of the old kind."""

    kind = "add_sink"


class Print(Operator, frozen=True, kw_only=True):
    """Writes lines to the standard output, after ``identifier``, if there is one."""

    identifier: str | None = None
    type: Any = None

    kind = "print"


class Collect(Operator, frozen=True, kw_only=True):
    """Gives the records back to the program."""

    factory: str = "CollectSinkOperatorFactory"
    coordinated: bool = True

    kind = "collect"


class SinkWriter(Operator, frozen=True, kw_only=True):
    """The part of a sink that writes records."""

    factory: str = "SinkWriterOperatorFactory"
    yielding: bool = True

    kind = "sink_writer"


class SinkCommitter(Operator, frozen=True, kw_only=True):
    """The part of a sink that publishes the written output after a checkpoint."""

    factory: str = "CommitterOperatorFactory"

    kind = "sink_committer"


class SinkGlobalCommitter(Operator, frozen=True, kw_only=True):
    """The part of a sink that publishes for all subtasks at once."""

    factory: str = "SimpleOperatorFactory"

    kind = "sink_global_committer"


class FileCompactorCoordinator(Operator, frozen=True, kw_only=True):
    """The part of a file sink that decides which files are compacted into one."""

    kind = "file_sink_compactor_coordinator"


class FileCompactor(Operator, frozen=True, kw_only=True):
    """The part of a file sink that compacts several files into one."""

    kind = "file_sink_compactor"

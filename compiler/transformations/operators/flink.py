"""The operators that Flink runs in Java: sources, sinks, and what stands between them without a function in Python."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from compat.compiler.transformations.operators.base import Operator
from compat.state.frozen import frozen

# Sources


@frozen
class Source(Operator):
    """A source of a connector, which is its function."""

    factory: str = "SourceOperatorFactory"
    coordinated: bool = True
    watermark_strategy: Any = field(default=None, compare=False)

    kind = "source"


@frozen
class LegacySource(Operator):
    """A source of the old kind."""

    kind = "legacy_source"


@frozen
class InputFormat(Operator):
    """A source that reads with an input format."""

    factory: str = "SimpleInputFormatOperatorFactory"

    kind = "input_format"


@frozen
class FileMonitor(Operator):
    """Finds the files that an input format shall read, and what of them is new; the input format is its function."""

    kind = "file_monitor"


@frozen
class FileSplitReader(Operator):
    """Reads the parts of files that a file monitor found; the input format is its function."""

    factory: str = "ContinuousFileReaderOperatorFactory"
    yielding: bool = True

    kind = "file_split_reader"


@frozen
class Collection(Operator):
    """The elements of a collection; the tuple of them is its function."""

    factory: str = "SimpleInputFormatOperatorFactory"

    kind = "collection"


# Between sources and sinks


@frozen
class Project(Operator):
    """Some fields of a tuple, by their numbers."""

    factory: str = "SimpleOperatorFactory"
    positions: tuple[int, ...] = field(compare=False)

    kind = "project"


@frozen
class TimestampsAndWatermarks(Operator):
    """Makes watermarks by a watermark strategy, which is its function."""

    factory: str = "TimestampsAndWatermarksOperatorFactory"

    kind = "timestamps_and_watermarks"

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield "watermark_strategy", self.function


@frozen
class RemoveTimestamp(Operator):
    """Takes off the timestamp that an operator in Python put beside the record."""

    kind = "remove_timestamp"


@frozen
class MultipleInput(Operator):
    """A function of any number of streams."""

    factory: str = "SimpleOperatorFactory"
    key_selectors: tuple[Any, ...] = field(default=(), compare=False)

    kind = "multiple_input"

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)


@frozen
class KeyedMultipleInput(Operator):
    """A function of any number of streams with keys of the same type."""

    factory: str = "SimpleOperatorFactory"
    key_selectors: tuple[Any, ...] = field(default=(), compare=False)

    kind = "keyed_multiple_input"

    @property
    def functions(self) -> tuple[Any, ...]:
        return (self.function,)


@frozen
class RowsToRowData(Operator):
    """Makes rows of the Table API of rows; the type of the rows is its function."""

    kind = "rows_to_row_data"


@frozen
class CacheWrite(Operator):
    """Writes the records of a cached stream."""

    factory: str = "SimpleOperatorFactory"

    kind = "cache_write"


# Sinks


@frozen
class LegacySink(Operator):
    """A sink of the old kind."""

    kind = "add_sink"


@frozen
class Print(Operator):
    """Writes lines to the standard output, behind ``identifier`` where there is one."""

    identifier: str | None = field(default=None, compare=False)
    type: Any = field(default=None, compare=False)

    kind = "print"


@frozen
class Collect(Operator):
    """Gives the records back to the program."""

    factory: str = "CollectSinkOperatorFactory"
    coordinated: bool = True

    kind = "collect"


@frozen
class SinkWriter(Operator):
    """The part of a sink that writes records."""

    factory: str = "SinkWriterOperatorFactory"
    yielding: bool = True

    kind = "sink_writer"


@frozen
class SinkCommitter(Operator):
    """The part of a sink that publishes, after a checkpoint, what was written."""

    factory: str = "CommitterOperatorFactory"

    kind = "sink_committer"


@frozen
class SinkGlobalCommitter(Operator):
    """The part of a sink that publishes for all subtasks at once."""

    factory: str = "SimpleOperatorFactory"

    kind = "sink_global_committer"


@frozen
class FileCompactorCoordinator(Operator):
    """The part of a file sink that decides which files become one."""

    kind = "file_sink_compactor_coordinator"


@frozen
class FileCompactor(Operator):
    """The part of a file sink that makes one file of several."""

    kind = "file_sink_compactor"

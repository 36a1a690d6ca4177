"""The base classes of connectors: the sources and sinks of a connector's folder, with defaults.

``source`` and ``sink`` are what the program made, whose settings its connector knows; nothing here opens anything.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from compat.compiler.spark.runtime_api.sinks import Committer, SinkWriter, WriterContext
from compat.compiler.spark.runtime_api.splits import SourceReader, Split, SplitEnumerator

if TYPE_CHECKING:
    from compat.state.flink.binary import ByteReader
    from compat.state.flink.savepoint import OperatorState


Position = tuple[Split, bool]
"""A split, and whether it is read to its end."""


class SourceConnector(ABC):
    """Runs the sources of a connector."""

    def refusal(self, source: Any) -> str | None:
        """Why a source cannot be run; None for one that can."""
        return None

    @abstractmethod
    def enumerator(self, source: Any, parallelism: int) -> SplitEnumerator:
        """The part that finds splits, on the driver."""

    @abstractmethod
    def reader(self, source: Any, output_type: Any) -> SourceReader:
        """The part that reads them, in a task."""

    def positions(self, source: Any, operator: OperatorState, splits: Iterator[ByteReader]) -> list[Position] | None:
        """The positions of a source in a savepoint, None if they cannot be read: ``splits`` are those of its readers.

        Raises Untranslatable and SavepointError.
        """
        return None


class SinkConnector(ABC):
    """Runs the sinks of a connector. ``folder`` is the setting with the path of what is written, if it has one.

    ``writers_keep_output`` is False if the state that Flink's writers leave has no output in it.
    """

    folder: str | None = None
    writers_keep_output = True

    def refusal(self, sink: Any) -> str | None:
        """Why a sink cannot be run; None for one that can."""
        return None

    @abstractmethod
    def writer(self, sink: Any, context: WriterContext) -> SinkWriter:
        """The part that writes records, in a task."""

    def committer(self, sink: Any) -> Committer | None:
        """The part that publishes them, on the driver; None if there is nothing to publish."""
        return None


class Connector(Struct, frozen=True, kw_only=True):
    """A connector: what runs its sources, and what runs its sinks."""

    source: SourceConnector | None = None
    sink: SinkConnector | None = None

"""Sources and sinks that a program defines itself: they need no base class of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from compat.compiler.spark.connectors.base import SinkConnector, SourceConnector
from compat.compiler.spark.runtime_api.sinks import Committer, SinkWriter, WriterContext
from compat.compiler.spark.runtime_api.splits import SourceReader, Split, SplitEnumerator


def as_enumerator(given: Any) -> SplitEnumerator:
    """The enumerator that a source's ``create_enumerator`` made, with defaults for the methods that it lacks."""
    return given if isinstance(given, SplitEnumerator) else _OwnEnumerator(given)


class _OwnEnumerator(SplitEnumerator):
    """An enumerator that has ``discover`` and ``complete``, and any of the other methods."""

    def __init__(self, given: Any) -> None:
        self._given = given
        self.concurrent = bool(getattr(given, "concurrent", False))

    @property
    def complete(self) -> bool:  # type: ignore[override]
        return bool(self._given.complete)

    def discover(self, known: set[str]) -> list[Split]:
        return self._given.discover(known)  # type: ignore[no-any-return]

    def ready(self, split: Split) -> bool:
        ready = self._method("ready")
        return super().ready(split) if ready is None else bool(ready(split))

    def fill(self, split: Split, limit: int) -> Split:
        fill = self._method("fill")
        return super().fill(split, limit) if fill is None else fill(split, limit)

    def owner(self, split: Split, parallelism: int) -> int | None:
        owner = self._method("owner")
        return super().owner(split, parallelism) if owner is None else int(owner(split, parallelism))

    def notify_checkpoint_complete(self, splits: Sequence[Split]) -> None:
        notify = self._method("notify_checkpoint_complete")
        if notify is not None:
            notify(splits)

    def _method(self, name: str) -> Callable[..., Any] | None:
        return getattr(self._given, name, None)


@runtime_checkable
class EnumeratedByProgram(Protocol):
    """A source that makes its own enumerator."""

    def create_enumerator(self, parallelism: int) -> Any:
        """The part that finds splits."""


@runtime_checkable
class WrittenByProgram(Protocol):
    """A sink that makes its own writer."""

    def create_writer(self, context: WriterContext) -> SinkWriter:
        """The part that writes records."""


@runtime_checkable
class _PublishedByProgram(Protocol):
    def create_committer(self) -> Committer | None: ...


class _Source(SourceConnector):
    def enumerator(self, source: Any, parallelism: int) -> SplitEnumerator:
        return as_enumerator(source.create_enumerator(parallelism))

    def reader(self, source: Any, output_type: Any) -> SourceReader:
        return source.create_reader()  # type: ignore[no-any-return]


class _Sink(SinkConnector):
    def writer(self, sink: Any, context: WriterContext) -> SinkWriter:
        return sink.create_writer(context)  # type: ignore[no-any-return]

    def committer(self, sink: Any) -> Committer | None:
        return sink.create_committer() if isinstance(sink, _PublishedByProgram) else None


OWN_SOURCE, OWN_SINK = _Source(), _Sink()

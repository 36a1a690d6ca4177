"""Sources: split enumerators on the driver, readers in tasks. Flink: FLIP-27 (``SplitEnumerator``, ``SourceReader``).

A source of one's own extends ``compiler.datastream.connectors.base.Source`` and has ``create_enumerator(parallelism)`` and
``create_reader()``; see :class:`SplitEnumerator` and :class:`SourceReader`. A split is a dict of plain data with an ``id``; the
position inside it is part of it, so that a split is all that a checkpoint needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

Split = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of a split: records, their timestamps (or None), the split as it is now, and whether it is done."""

    values: list[Any]
    timestamps: list[int | None] | None
    split: Split
    done: bool


class SplitEnumerator(Protocol):
    """Finds splits, on the driver."""

    def discover(self, known: set[str]) -> list[Split]:
        """Splits whose ids are not known yet."""

    @property
    def complete(self) -> bool:
        """True when no further split will be found."""


class SourceReader(Protocol):
    """Reads splits, in a task."""

    def read(self, split: Split, limit: int) -> Read:
        """At most ``limit`` records from where the split stands; none if there are none at the moment."""


@dataclass(frozen=True, slots=True)
class SourceWork:
    """What a source's subtask is to do in an epoch; ``last`` when nothing follows for it."""

    splits: tuple[Split, ...]
    limit: int
    last: bool


def enumerator_of(operator: Any, parallelism: int) -> SplitEnumerator:
    """The enumerator of a source operator."""
    from compiler.spark.sources import builtin

    source = operator.function
    if operator.kind == "collection":
        return builtin.CollectionEnumerator(source)
    if hasattr(source, "create_enumerator"):
        return source.create_enumerator(parallelism)  # type: ignore[no-any-return]
    connector = getattr(source, "connector", None)
    if connector == "number-sequence":
        return builtin.NumberEnumerator(source.start, source.end, parallelism)
    if connector == "filesystem":
        from compiler.spark.sources.files import FileEnumerator

        return FileEnumerator(source)
    raise NotImplementedError(f"The source {source!r} cannot be run yet.")


def reader_of(operator: Any, output_type: Any) -> SourceReader:
    """The reader of a source operator."""
    from compiler.spark.sources import builtin

    source = operator.function
    if operator.kind == "collection":
        return builtin.CollectionReader(output_type)
    if hasattr(source, "create_reader"):
        return source.create_reader()  # type: ignore[no-any-return]
    if getattr(source, "connector", None) == "number-sequence":
        return builtin.NumberReader()
    from compiler.spark.sources.files import FileReader

    return FileReader(source)

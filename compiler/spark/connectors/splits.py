"""What a source is made of. Flink: FLIP-27 (``SplitEnumerator``, ``SourceReader``, ``SourceSplit``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

Split = dict[str, Any]
"""Plain data with an ``id``; the position inside it is part of it, so that a split is all that a checkpoint needs."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader made of a split: records, their timestamps (or None), the split as it is now, and whether it is done."""

    values: list[Any]
    timestamps: list[int | None] | None
    split: Split
    done: bool


class SplitEnumerator(Protocol):
    """Finds splits, on the driver.

    What it may have besides: ``ready(split)`` tells whether there is something to read, ``fill(split, limit)`` gives
    a split with what the reader needs for an epoch, ``concurrent`` is true where the splits of a subtask are read side
    by side, as the partitions of a topic are, ``owner(split, parallelism)`` tells which subtask reads a split, and
    ``notify_checkpoint_complete(splits)`` is told all splits after each commit.
    """

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
    concurrent: bool = False

"""The parts of a source. Flink: FLIP-27 (``SplitEnumerator``, ``SourceReader``, ``SourceSplit``)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

Split = dict[str, Any]
"""Plain data with an ``id``; it contains its position, so that a checkpoint needs only the split."""

NOTHING_LEFT: Final[Split] = {"id": "read before"}
"""The split of a source that had finished where its snapshot is from: no other is looked for, as finished operators of Flink
do not run again."""


class CacheDamaged(Exception):
    """The records of a cached stream are damaged or gone. Flink: ``ClusterDatasetCorruptedException``."""

    def __init__(self, cache: int) -> None:
        super().__init__(cache)
        self.cache = cache

    def __str__(self) -> str:
        return "The records that were kept of a cached stream are damaged: they have to be made again."


class Read(Struct, frozen=True):
    """The result of reading a split: records, their timestamps (or None), the split as it is now, and whether it is done.

    ``after`` gives the split after the first n of the records; without it, one epoch takes all records, however long that
    lasts.
    """

    values: list[Any]
    timestamps: list[int | None] | None
    split: Split
    done: bool
    after: Callable[[int], Split] | None = None


class SplitEnumerator(ABC):
    """Finds splits, on the driver.

    ``complete`` is true once no further split will be found; ``concurrent`` if the splits of a subtask are read side by side,
    like the partitions of a topic, and not one after the other.
    """

    complete: bool
    concurrent: bool = False

    @abstractmethod
    def discover(self, known: set[str]) -> list[Split]:
        """The splits with ids that are not known yet."""

    def ready(self, split: Split) -> bool:
        """True when there may be something to read."""
        return True

    def fill(self, split: Split, limit: int) -> Split:
        """The split with what the reader needs for an epoch in which it reads at most ``limit`` records."""
        return split

    def owner(self, split: Split, parallelism: int) -> int | None:
        """The subtask that reads a split; None to give the splits to all in turn, as they were found."""
        return None

    def notify_checkpoint_complete(self, splits: Sequence[Split]) -> None:  # noqa: B027
        """Take all splits with their positions as of the commit that was just made."""


class SourceReader(Protocol):
    """Reads splits, in a task."""

    def read(self, split: Split, limit: int) -> Read:
        """At most ``limit`` records from the split's position; none if there are none at the moment."""


class SourceWork(Struct, frozen=True):
    """The work of a source's subtask in an epoch; ``last`` if it is the subtask's last.

    After ``seconds`` it takes no more records, even if it has read some.
    """

    splits: tuple[Split, ...]
    limit: int
    last: bool
    concurrent: bool = False
    seconds: float = math.inf

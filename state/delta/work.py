"""The workers for parts of large state: this process, or tasks on the machines of a job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

P = TypeVar("P")
R = TypeVar("R")

LARGE = 32 * 1024 * 1024
"""The bytes of files from which on other workers are used. To merge 50 MB of files takes about a second, which is how long
an epoch may keep a job waiting by default; a job of Spark's takes a tenth of that before it has begun."""


class Workers(Protocol):
    """Workers for the parts of large state."""

    def each(self, work: Callable[[P], R], parts: Sequence[P]) -> list[R]:
        """The results of ``work`` for each part, in order. Parts and results are plain data. Raises StoreError."""

    def beside(self) -> Workers:
        """Workers that work in parallel to epochs."""

    def give_up(self) -> None:
        """Stop working: callers that wait for :meth:`each` get a StoreError. May be called in any thread."""


class InThisProcess(Workers):
    """Works on one part after the other, in this process."""

    def beside(self) -> Workers:
        return self

    def give_up(self) -> None:
        """Do nothing: a little work is soon done."""

    def each(self, work: Callable[[P], R], parts: Sequence[P]) -> list[R]:
        return [work(part) for part in parts]


HERE = InThisProcess()


def is_large(size: int) -> bool:
    """True if work on so many bytes of files is for other workers."""
    return size >= LARGE

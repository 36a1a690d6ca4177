"""How many records a source reads in an epoch: as many as take about the time between checkpoints, and can be done at all."""

from __future__ import annotations

from dataclasses import dataclass

_LARGEST = 2_000_000
_SMALLEST = 1000
_COST = 1.0
"""Seconds that an epoch may cost, however few records it reads."""
_CALM = 20
"""After so many epochs that were done, twice as many records are tried."""


@dataclass(slots=True)
class Pace:
    """The records that a subtask reads in an epoch: ``limit`` by the time that they take, at most ``ceiling``.

    There is a ceiling once an epoch could not be done, because a worker or Spark was lost by it. ``given`` were read at most in
    the last epoch, and ``full`` says that some subtask did.
    """

    limit: int = 10_000
    ceiling: int | None = None
    given: int = 10_000
    full: bool = False
    calm: int = 0

    def give(self, bound: int | None, readers: int, share: float = 1.0) -> int:
        """The number of records that so many subtasks read in the next epoch, ``bound`` in all where that is given.

        ``share`` is the part of the time between checkpoints that the epoch has: what each one costs is not shared.
        """
        total = max(int(self.limit * share), min(self.limit, _SMALLEST)) * readers if bound is None else bound
        if self.ceiling is not None:
            total = min(total, self.ceiling * readers)
        self.given = max(total // max(readers, 1), 1)
        self.full = False
        return total

    def report(self, records: int) -> None:
        """A subtask read so many."""
        self.full = self.full or records >= self.given

    def done(self, seconds: float, target: float, share: float = 1.0) -> None:
        """Larger epochs while they take less than their share of ``target`` seconds, smaller ones when they take much more.

        It must grow back by the way it shrank: where each epoch costs the same, small ones are no quicker than large ones.
        """
        length = target * share
        if self.full and seconds < length:
            self.limit = min(self.limit * (4 if seconds < length / 2 else 2), _LARGEST)
        elif seconds > 2 * max(length, min(target, _COST)):
            self.limit = max(self.limit // 2, _SMALLEST)
        if self.ceiling is not None:
            self.calm += 1
            if self.calm >= _CALM:
                self.ceiling, self.calm = self.ceiling * 2, 0
                if self.ceiling >= self.limit:
                    self.ceiling = None

    def lost(self) -> None:
        """An epoch could not be done: the next ones are much smaller."""
        self.ceiling, self.calm = max(self.given // 4, 1), 0

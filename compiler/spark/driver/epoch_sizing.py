"""The number of records that a source reads in an epoch: as many as fit into the time between checkpoints, and into
memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

FIRST = 16
"""Records of the first epoch of a job with a checkpoint interval, when the cost of a record is still unknown."""
_LARGEST = 2_000_000
_TOO_LONG = 8
"""An epoch takes at most this many times its time where what it costs grows as the square of its records."""
_CALM = 20
"""The number of finished epochs after which twice as many records are tried."""
_LEAST = 0.5
"""The part of the time between checkpoints that records have at least, whatever each epoch costs besides."""
_STEADY = 2.0
"""Up to this ratio two sizes differ by chance, and the next one is between them."""
_OVERTIME = 1.25
"""The multiple of the checkpoint interval that a source reads at most, as a grown cost is unknown before."""


@dataclass(slots=True)
class Pace:
    """The records that a subtask reads in an epoch: ``limit`` by the time that they take, at most ``ceiling``.

    ``target`` are the seconds between two checkpoints. There is a ceiling once an epoch failed because it lost a worker or
    Spark. ``given`` is the limit of records in the last epoch, ``most`` the largest number that a subtask read.
    """

    target: float = 1.0
    limit: int = 10_000
    ceiling: int | None = None
    given: int = 10_000
    most: int = 0
    calm: int = 0

    def give(self, bound: int | None, readers: int, share: float = 1.0) -> int:
        """The number of records that each of this many subtasks reads in the next epoch, at most ``bound`` in all if
        that is given.

        ``share`` is the epoch's part of the time between checkpoints; the fixed costs of an epoch are not shared.
        """
        total = max(int(self.limit * share), 1) * readers if bound is None else bound
        if self.ceiling is not None:
            total = min(total, self.ceiling * readers)
        self.given = max(total // max(readers, 1), 1)
        self.most = 0
        return total

    def seconds(self, share: float) -> float:
        """The longest time that a subtask may read in an epoch."""
        return self.target * share * _OVERTIME

    def report(self, records: int) -> None:
        """Note how many records a subtask read."""
        self.most = max(self.most, records)

    def done(self, seconds: float, busy: float, share: float = 1.0) -> None:
        """Note that the epoch took so many seconds, of which tasks were ``busy`` with records.

        The next epoch gets as many records as fit beside its fixed costs: fewer at once, more by and by.
        """
        length = self.target * share
        room = max(length - max(seconds - busy, 0.0), length * _LEAST)
        if self.most and (self.most >= self.given or busy > room):
            time = room / max(busy, 1e-9)
            fits = min(self.most / share * time, _LARGEST)
            self._fit(int(min(fits, max(self.limit * sqrt(_TOO_LONG * time), 1))))
        if self.ceiling is not None:
            self.calm += 1
            if self.calm >= _CALM:
                self.ceiling, self.calm = self.ceiling * 2, 0
                if self.ceiling >= self.limit:
                    self.ceiling = None

    def _fit(self, fits: int) -> None:
        """Go to the number of records that would have been right, where it is another one."""
        if self.limit / _STEADY < fits < self.limit * _STEADY:
            fits = (self.limit + fits + 1) // 2
        self.limit = max(fits, 1)

    def lost(self) -> None:
        """Note that an epoch could not be done: the next ones are much smaller."""
        self.ceiling, self.calm = max(self.given // 4, 1), 0

"""The time limit of a thread: seconds of waiting count, seconds without a processor do not."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

_COMPUTING = 4
"""The multiple of its time that a computing thread gets, as the reflection of Scala's library needs on first use."""
MOST_TIMES = 4
"""The multiple of its time after which a program is ended, however busy the machine is."""
_AT_WORK = ("R", "D")
"""The states of Linux in which a thread runs, waits for a processor, or waits for a disk."""


class Account(Struct, frozen=True):
    """A thread's usage until now: the seconds with a processor, those waiting for one, and whether it does either."""

    ran: float
    kept: float = 0.0
    at_work: bool = False


class Patience:
    """What is left of the time of a thread whose ``account`` is asked each tick: ``seconds`` to wait, and more to compute."""

    def __init__(
        self, seconds: float, account: Callable[[], Account], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._seconds, self._account, self._clock = seconds, account, clock
        self._time, self._last = clock(), account()
        self._begun = self._last.ran
        self.waited = 0.0
        self.tick = min(seconds / 10, 0.1)
        """How long to wait for the thread before it is asked again."""

    @property
    def computed(self) -> float:
        """The seconds of processor time that it had."""
        return self._last.ran - self._begun

    def is_over(self) -> bool:
        """Whether the time is up; asked once a tick."""
        now, account = self._clock(), self._account()
        worked = account.ran - self._last.ran + account.kept - self._last.kept
        if not account.at_work:
            # Where a tick took longer, it was this machine that stood still.
            self.waited += max(min(now - self._time, 2 * self.tick) - worked, 0.0)
        self._time, self._last = now, account
        return self.waited >= self._seconds or self.computed >= _COMPUTING * self._seconds

    def __str__(self) -> str:
        if self.waited >= self._seconds:
            return f"{self._seconds:g} seconds"
        return f"{_COMPUTING * self._seconds:g} seconds of computing"


class FairClock:
    """The seconds of a program since it was made: those in which the system kept its threads from a processor do not count.

    ``kept`` gives how many these were so far, of all threads that the program waits for. At most three of four seconds do
    not count, so that there is an end in any case.
    """

    def __init__(self, kept: Callable[[], float], clock: Callable[[], float] = time.monotonic) -> None:
        self._kept, self._clock = kept, clock
        self._begun, self._before = clock(), kept()

    @property
    def seconds(self) -> float:
        """The seconds that count."""
        passed = self._clock() - self._begun
        return max(passed - (self._kept() - self._before), passed / MOST_TIMES)


def kept_from_work(process: int, thread: int) -> float:
    """How many seconds the system kept a thread of a process from a processor; 0 if it does not tell."""
    try:
        return int(Path("/proc", str(process), "task", str(thread), "schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def account_of(thread: int) -> Account | None:
    """The account of a thread of this process by its native id; None if the system does not keep one."""
    try:
        folder = Path("/proc/self/task", str(thread))
        ran, kept, _ = map(int, (folder / "schedstat").read_text(encoding="ascii").split())
        state = (folder / "stat").read_bytes().rpartition(b") ")[2][:1].decode()
    except (OSError, ValueError):
        return None
    return Account(ran / 1e9, kept / 1e9, state in _AT_WORK)

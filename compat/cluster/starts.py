"""The waits and limits for restarts of processes that a dispatcher started."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.restarts import RestartStrategy, names_strategy

MOST_STARTS = 20
"""The number of attempts in a row that fail soon after their start, after which a job without options for it has failed."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0
"""Seconds between two attempts to start what dies at once: those in front of the second, and the most."""
_STABLE = 60.0
"""What lived so many seconds is no reason to wait before the next attempt."""


@dataclass(slots=True)
class Backoff:
    """The wait before a process that died at once is started again."""

    wait: float = 0.0
    until: float = 0.0

    def died(self, lived: float) -> None:
        """Note that the process lived so many seconds."""
        self.wait = 0.0 if lived > _STABLE else min(_LONGEST_WAIT, self.wait * 2 or _FIRST_WAIT)
        self.until = time.monotonic() + (self.wait if self.wait > _FIRST_WAIT else 0.0)

    @property
    def over(self) -> bool:
        """True when the process may be started."""
        return time.monotonic() >= self.until


def starts_of(options: Mapping[str, str]) -> RestartStrategy:
    """The strategy by which a job's process is started again that ends with an error: the one of its options, or ours.

    Flink's own default never gives up. Ours does, as most of what keeps a process from its start stays as it is.
    """
    if names_strategy(options):
        with suppress(ValueError, OverflowError, ProgramError):  # the process itself refuses unreadable ones
            return RestartStrategy.of(options, checkpointing=True)
    return RestartStrategy(
        "exponential-delay",
        attempts=MOST_STARTS - 1,
        delay=_FIRST_WAIT,
        longest=_LONGEST_WAIT,
        factor=2.0,
        reset_after=_STABLE,
    )


@dataclass(slots=True)
class Starts:
    """The attempts to run one job. What ends with an error of its own counts by the job's strategy; a kill never does."""

    strategy: RestartStrategy
    backoff: Backoff = field(default_factory=Backoff)

    def died(self, lived: float) -> None:
        """Note that an attempt was ended from outside, or without Spark, after this many seconds."""
        self.backoff.died(lived)

    def failed(self) -> bool:
        """Note that an attempt ended with an error; gives whether there is another."""
        delay = self.strategy.next_delay()
        if delay is None:
            return False
        self.backoff.until = time.monotonic() + delay
        return True

    @property
    def said(self) -> str:
        """The reason why there is no other attempt."""
        count = len(self.strategy.failures)
        if self.strategy.kind == "none":
            return "It ended with an error, and its restart strategy is none."
        times = "once" if count == 1 else f"{count} times"
        return f"It ended with an error {times}, which is the end by its restart strategy ({self.strategy.kind})."

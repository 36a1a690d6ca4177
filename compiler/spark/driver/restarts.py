"""Whether a failed job starts again, and when. Flink: ``RestartBackoffTimeStrategy``."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from compat.compiler.configuration import RESTART_STRATEGIES, RESTART_STRATEGY, parse_duration, restart_strategy


def is_of_strategy(name: str) -> bool:
    """True for an option about restarts."""
    return name == RESTART_STRATEGY or name.startswith(f"{RESTART_STRATEGY}.")


def names_strategy(options: Mapping[str, str]) -> bool:
    """True for options that choose a strategy; its numbers alone choose none."""
    return bool(restart_strategy(options))


@dataclass(slots=True)
class RestartStrategy:
    """Counts failures; :meth:`next_delay` gives the seconds to wait, or None when the job has to end.

    An exponential delay starts again from its first value once the job has run ``reset_after`` seconds longer than its last
    delay. The other strategies never start again, as in Flink.
    """

    kind: str
    attempts: int = 0
    delay: float = 0.0
    longest: float = 60.0
    factor: float = 1.0
    interval: float = 60.0
    reset_after: float = 3600.0
    failures: list[float] = field(default_factory=list)
    _waited: float = 0.0

    def next_delay(self, now: float | None = None) -> float | None:
        """The delay after a failure at ``now`` (in seconds of any clock); None if the job has to end."""
        now = time.monotonic() if now is None else now
        stable = self.reset_after + 2 * self._waited  # the wait itself, and as much again
        if self.kind == "exponential-delay" and self.failures and now - self.failures[-1] >= stable:
            self.failures.clear()
        self.failures.append(now)
        match self.kind:
            case "none":
                return None
            case "failure-rate":
                recent = [each for each in self.failures if each > now - self.interval]
                return self.delay if len(recent) <= self.attempts else None
            case "fixed-delay":
                return self.delay if len(self.failures) <= self.attempts else None
            case _:
                if self.attempts and len(self.failures) > self.attempts:
                    return None
                self._waited = self._backoff(len(self.failures) - 1)
                return self._waited

    def _backoff(self, times: int) -> float:
        """The delay that has grown so many times."""
        if self.factor <= 1 or not self.delay:
            return min(self.longest, self.delay)
        enough = math.log(max(self.longest / self.delay, 1), self.factor)  # beyond that, powers overflow
        return self.longest if times > enough else min(self.longest, self.delay * self.factor**times)

    @classmethod
    def of(cls, options: Mapping[str, str], checkpointing: bool) -> RestartStrategy:
        """The strategy of a job's options; without any: none, or if it has checkpoints, one that never gives up.

        So it is from Flink 1.19 on; before, the delay did not grow.
        """
        kind = restart_strategy(options)
        kind = RESTART_STRATEGIES.get(kind, kind)
        if not kind:
            kind = "exponential-delay" if checkpointing else "none"

        def seconds(name: str, default: str) -> float:
            return parse_duration(options.get(f"{RESTART_STRATEGY}.{kind}.{name}", default)) / 1000

        def number(name: str, default: str) -> float:
            return float(options.get(f"{RESTART_STRATEGY}.{kind}.{name}", default))

        if kind == "fixed-delay":
            return cls(kind, attempts=int(number("attempts", "1")), delay=seconds("delay", "1 s"))
        if kind == "failure-rate":
            return cls(
                kind,
                attempts=int(number("max-failures-per-interval", "1")),
                delay=seconds("delay", "1 s"),
                interval=seconds("failure-rate-interval", "1 min"),
            )
        if kind == "exponential-delay":
            return cls(
                kind,
                attempts=int(number("attempts-before-reset-backoff", "0")),
                delay=seconds("initial-backoff", "1 s"),
                longest=seconds("max-backoff", "1 min"),
                factor=number("backoff-multiplier", "1.5"),
                reset_after=seconds("reset-backoff-threshold", "1 h"),
            )
        return cls("none")

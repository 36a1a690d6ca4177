"""Restarting after a failure. Flink: ``RestartStrategies``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from compat.compiler.configuration import parse_duration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]


class RestartStrategyConfiguration:
    """A restart strategy and its numbers. ``options`` says the same in a job's options."""

    def get_description(self) -> str:
        """The strategy in a few words."""
        raise NotImplementedError

    def options(self) -> dict[str, str]:
        """The options that choose this strategy."""
        return {}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))


class RestartStrategies:
    """Makes restart strategies."""

    class NoRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The job fails with its first failure."""

        def get_description(self) -> str:
            return "Restart deactivated."

        def options(self) -> dict[str, str]:
            return {"restart-strategy.type": "none"}

    class FixedDelayRestartStrategyConfiguration(RestartStrategyConfiguration):
        """A number of attempts with the same pause before each."""

        def __init__(
            self,
            restart_attempts: int | None = None,
            delay_between_attempts_interval: timedelta | int | None = None,
        ) -> None:
            self._attempts = restart_attempts or 0
            self._delay = _interval("delay_between_attempts_interval", delay_between_attempts_interval)

        def get_restart_attempts(self) -> int:
            return self._attempts

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self._delay

        def get_description(self) -> str:
            return f"Restart with fixed delay ({_milliseconds(self._delay)} ms). #{self._attempts} restart attempts."

        def options(self) -> dict[str, str]:
            return {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": str(self._attempts),
                "restart-strategy.fixed-delay.delay": f"{_milliseconds(self._delay)} ms",
            }

    class FailureRateRestartStrategyConfiguration(RestartStrategyConfiguration):
        """Restarts as long as there are few failures in an interval."""

        def __init__(
            self,
            max_failure_rate: int | None = None,
            failure_interval: timedelta | int | None = None,
            delay_between_attempts_interval: timedelta | int | None = None,
        ) -> None:
            self._rate = max_failure_rate or 0
            self._interval = _interval("failure_interval", failure_interval)
            self._delay = _interval("delay_between_attempts_interval", delay_between_attempts_interval)

        def get_max_failure_rate(self) -> int:
            return self._rate

        def get_failure_interval(self) -> timedelta:
            return self._interval

        def get_delay_between_attempts_interval(self) -> timedelta:
            return self._delay

        def get_description(self) -> str:
            return (
                f"Failure rate restart with maximum of {self._rate} failures within interval "
                f"{_milliseconds(self._interval)} ms and fixed delay {_milliseconds(self._delay)} ms."
            )

        def options(self) -> dict[str, str]:
            return {
                "restart-strategy.type": "failure-rate",
                "restart-strategy.failure-rate.max-failures-per-interval": str(self._rate),
                "restart-strategy.failure-rate.failure-rate-interval": f"{_milliseconds(self._interval)} ms",
                "restart-strategy.failure-rate.delay": f"{_milliseconds(self._delay)} ms",
            }

    class FallbackRestartStrategyConfiguration(RestartStrategyConfiguration):
        """The strategy that the cluster is configured for."""

        def get_description(self) -> str:
            return "Cluster level default restart strategy"

    @staticmethod
    def no_restart() -> NoRestartStrategyConfiguration:
        return RestartStrategies.NoRestartStrategyConfiguration()

    @staticmethod
    def fall_back_restart() -> FallbackRestartStrategyConfiguration:
        return RestartStrategies.FallbackRestartStrategyConfiguration()

    @staticmethod
    def fixed_delay_restart(
        restart_attempts: int, delay_between_attempts: int
    ) -> FixedDelayRestartStrategyConfiguration:
        """``delay_between_attempts`` in milliseconds."""
        return RestartStrategies.FixedDelayRestartStrategyConfiguration(restart_attempts, delay_between_attempts)

    @staticmethod
    def failure_rate_restart(
        failure_rate: int, failure_interval: int, delay_interval: int
    ) -> FailureRateRestartStrategyConfiguration:
        """Intervals in milliseconds."""
        return RestartStrategies.FailureRateRestartStrategyConfiguration(failure_rate, failure_interval, delay_interval)


RESTART_OPTIONS = (
    "restart-strategy.type",
    "restart-strategy.fixed-delay.attempts",
    "restart-strategy.fixed-delay.delay",
    "restart-strategy.failure-rate.max-failures-per-interval",
    "restart-strategy.failure-rate.failure-rate-interval",
    "restart-strategy.failure-rate.delay",
)
"""The options that strategies set."""


def strategy_of(options: Mapping[str, str]) -> RestartStrategyConfiguration:
    """The strategy that a job's options choose; the cluster's if they choose none with a class here."""
    kind, attempts, delay, rate, interval, pause = (options.get(key, "") for key in RESTART_OPTIONS)
    if kind == "none":
        return RestartStrategies.NoRestartStrategyConfiguration()
    if kind == "fixed-delay":
        return RestartStrategies.fixed_delay_restart(int(attempts or 1), parse_duration(delay or "1 s"))
    if kind == "failure-rate":
        return RestartStrategies.failure_rate_restart(
            int(rate or 1), parse_duration(interval or "1 min"), parse_duration(pause or "1 s")
        )
    return RestartStrategies.FallbackRestartStrategyConfiguration()


def _interval(name: str, value: timedelta | int | None) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, int):
        return timedelta(milliseconds=value)
    raise TypeError(f"{name} takes a number of milliseconds or a timedelta, not {type(value).__name__}.")


def _milliseconds(value: timedelta) -> int:
    return value // timedelta(milliseconds=1)

"""Amounts of time and points in time, as the API and the state settings use them.

Flink: ``java.time.Duration``, ``java.time.Instant`` and PyFlink's ``Time``.
"""

from __future__ import annotations

from typing import Any, NoReturn

_NANOS_A_SECOND = 1_000_000_000
_NANOS_A_MILLI = 1_000_000


class Duration:
    """An amount of time, exact to the nanosecond (Flink: ``java.time.Duration``)."""

    __slots__ = ("_nanos",)

    _nanos: int

    def __init__(self, nanos: int = 0) -> None:
        object.__setattr__(self, "_nanos", nanos)

    @staticmethod
    def of_days(days: int) -> Duration:
        """``days`` times 24 hours."""
        return Duration(days * 86_400 * _NANOS_A_SECOND)

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """A time of this many hours."""
        return Duration(hours * 3_600 * _NANOS_A_SECOND)

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """A time of this many minutes."""
        return Duration(minutes * 60 * _NANOS_A_SECOND)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """A time of this many seconds."""
        return Duration(seconds * _NANOS_A_SECOND)

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """A time of this many milliseconds."""
        return Duration(millis * _NANOS_A_MILLI)

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """A time of this many nanoseconds."""
        return Duration(nanos)

    def to_millis(self) -> int:
        """Whole milliseconds, rounded towards minus infinity."""
        return self._nanos // _NANOS_A_MILLI

    def to_nanos(self) -> int:
        """Nanoseconds."""
        return self._nanos

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"A Duration does not change; make a new one instead of setting {name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Duration, (self._nanos,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __repr__(self) -> str:
        seconds, nanos = divmod(self._nanos, _NANOS_A_SECOND)
        fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
        return f"Duration({seconds}{fraction} s)"


class Instant:
    """A point on the time line: seconds since 1970 in UTC, and nanoseconds from 0 to 999,999,999 after it.

    Flink: ``java.time.Instant``.
    """

    __slots__ = ("nanos", "seconds")

    seconds: int
    nanos: int

    def __init__(self, seconds: int, nanos: int) -> None:
        object.__setattr__(self, "seconds", seconds)
        object.__setattr__(self, "nanos", nanos)

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """The point ``epoch_milli`` milliseconds after the epoch."""
        seconds, millis = divmod(epoch_milli, 1000)
        return Instant(seconds, millis * _NANOS_A_MILLI)

    def to_epoch_milli(self) -> int:
        """Whole milliseconds since the epoch, rounded towards minus infinity."""
        return self.seconds * 1000 + self.nanos // _NANOS_A_MILLI

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"An Instant does not change; make a new one instead of setting {name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Instant, (self.seconds, self.nanos)

    def __setstate__(self, state: dict[str, int]) -> None:
        """Take the fields from a pickle of PyFlink's."""
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"


class Time:
    """An interval of time in whole milliseconds (PyFlink: ``Time``)."""

    __slots__ = ("_milliseconds",)

    _milliseconds: int

    def __init__(self, milliseconds: int) -> None:
        object.__setattr__(self, "_milliseconds", milliseconds)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """A time of this many milliseconds."""
        return Time(milliseconds)

    @staticmethod
    def seconds(seconds: int) -> Time:
        """A time of this many seconds."""
        return Time(seconds * 1000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """A time of this many minutes."""
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """A time of this many hours."""
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """``days`` times 24 hours."""
        return Time(days * 86_400_000)

    def to_milliseconds(self) -> int:
        """The interval in milliseconds."""
        return self._milliseconds

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"A Time does not change; make a new one instead of setting {name!r}.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Time, (self._milliseconds,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    def __repr__(self) -> str:
        return f"Time({self})"


def milliseconds_of(amount: Duration | Time | int) -> int:
    """Milliseconds of a ``Duration``, a ``Time`` or a plain number of milliseconds.

    Raises TypeError for anything else.
    """
    if isinstance(amount, Duration):
        return amount.to_millis()
    if isinstance(amount, Time):
        return amount.to_milliseconds()
    if isinstance(amount, int) and not isinstance(amount, bool):
        return amount
    raise TypeError(f"Expected an amount of time, got {amount!r}: pass Time.seconds(10) or Duration.of_seconds(10).")

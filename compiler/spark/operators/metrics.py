"""The metrics of operators and functions. Flink: ``MetricGroup`` and its kinds of metrics, as PyFlink offers them.

A metric counts from the opening of its subtask's functions, or within one epoch if they do not stay open. Its report goes to
the driver with the task's report; the driver adds them up (:mod:`compat.compiler.spark.driver.job_metrics`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RECORDS_IN = "numRecordsIn"
"""The number of records that a chain read: a metric of its first operator."""
RECORDS_OUT = "numRecordsOut"
"""The number of records that left a chain for other tasks, each counted once: a metric of the operator that they left from."""
RECORD_COUNTS = frozenset({RECORDS_IN, RECORDS_OUT})
"""Built-in metrics, which override a program's metrics of these names."""


class Counter:
    """A number that goes up and down (Flink: ``Counter``)."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        """Add ``n``."""
        self._count += n

    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""
        self._count -= n

    def get_count(self) -> int:
        """The number."""
        return self._count

    report = get_count


class Meter:
    """The rate of events (Flink: ``Meter``)."""

    def __init__(self) -> None:
        self._count = 0

    def mark_event(self, value: int = 1) -> None:
        """Count ``value`` events."""
        self._count += value

    def get_count(self) -> int:
        """The number of events."""
        return self._count

    report = get_count


class Distribution:
    """Sum, count, minimum and maximum of whole numbers (PyFlink: ``Distribution``)."""

    def __init__(self) -> None:
        self._values = {"sum": 0, "count": 0}

    def update(self, value: int) -> None:
        """Add a number."""
        values = self._values
        values["sum"] += value
        values["count"] += 1
        values["min"] = min(values.get("min", value), value)
        values["max"] = max(values.get("max", value), value)

    def report(self) -> dict[str, int]:
        """The four numbers; without minimum and maximum if there are no numbers."""
        return self._values


class Gauge:
    """The value of a function (Flink: ``Gauge``); if the function fails, there is no value, and the job continues."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read

    def report(self) -> list[Any]:
        """The value of this subtask, as the only element of a list: those of many subtasks are not added up."""
        try:
            value = self._read()
        except Exception as error:
            value = f"{type(error).__name__}: {error}"
        return [value if isinstance(value, (int, float, str, bool)) or value is None else repr(value)]


class Metrics:
    """The metrics of an operator, by their full names."""

    def __init__(self) -> None:
        self._by_name: dict[str, Any] = {}

    def counter(self, name: str) -> Counter:
        """The counter of a name."""
        return self._by_name.setdefault(name, Counter())  # type: ignore[no-any-return]

    def meter(self, name: str) -> Meter:
        """The meter of a name."""
        return self._by_name.setdefault(name, Meter())  # type: ignore[no-any-return]

    def distribution(self, name: str) -> Distribution:
        """The distribution of a name."""
        return self._by_name.setdefault(name, Distribution())  # type: ignore[no-any-return]

    def gauge(self, name: str, read: Callable[[], Any]) -> None:
        """Register a gauge: ``read`` is called at the end of each epoch."""
        self._by_name[name] = Gauge(read)

    def report(self) -> dict[str, Any]:
        """The measurements, by name."""
        return {name: metric.report() for name, metric in self._by_name.items()}


class MetricGroup:
    """The registry of a function's metrics (Flink: ``MetricGroup``)."""

    def __init__(self, metrics: Metrics, scope: tuple[str, ...] = ()) -> None:
        self._metrics, self._scope = metrics, scope

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group inside this one; with ``extra`` a pair of key and value."""
        return MetricGroup(self._metrics, (*self._scope, name, *(() if extra is None else (extra,))))

    def counter(self, name: str) -> Counter:
        """A counter."""
        return self._metrics.counter(self._full(name))

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """A gauge: the number that a function gives."""
        self._metrics.gauge(self._full(name), obj)

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A meter."""
        return self._metrics.meter(self._full(name))

    def distribution(self, name: str) -> Distribution:
        """A distribution."""
        return self._metrics.distribution(self._full(name))

    def _full(self, name: str) -> str:
        return ".".join((*self._scope, name))

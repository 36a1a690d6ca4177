"""The metrics of a function, from its runtime context. Flink: ``pyflink.metrics.metricbase``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any


class MetricGroup(ABC):
    """A place for metrics and further groups; name and place make a metric one of its own."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """A group in this one; with ``extra``, the group of that value of a variable ``name``."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """A new counter."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """A new number that ``obj`` gives when it is asked for."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A new rate over so many seconds."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """A new statistic of values."""


class Metric(ABC):  # noqa: B024
    """The base of all metrics."""


class Counter(Metric, ABC):
    """Counts up and down."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Count ``n`` up."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Count ``n`` down."""

    @abstractmethod
    def get_count(self) -> int:
        """The present count."""


class Meter(Metric, ABC):
    """Measures a rate of events."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """Note ``value`` events."""

    @abstractmethod
    def get_count(self) -> int:
        """All events so far."""


class Distribution(Metric, ABC):
    """Keeps a statistic of values."""

    @abstractmethod
    def update(self, value: Any) -> None:
        """Note a value."""

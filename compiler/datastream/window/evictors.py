"""The removal of records from windows that fire. Flink's Java API: ``Evictor`` and its subclasses.

An evictor gets the window's records as a list of :class:`TimestampedValue`, in order of arrival, and removes the unwanted ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from compat.state.time import Duration, Time, milliseconds_of

W = TypeVar("W")


class TimestampedValue(NamedTuple):
    """A record and its timestamp, None if it has none."""

    value: Any
    timestamp: int | None = None

    def has_timestamp(self) -> bool:
        """Whether there is a timestamp."""
        return self.timestamp is not None


class Evictor(ABC, Generic[W]):
    """Takes records out of a window before or after its function is called."""

    class EvictorContext(ABC):
        """The clocks that an evictor may ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark."""

    @abstractmethod
    def evict_before(self, elements: list[TimestampedValue], size: int, window: W, ctx: EvictorContext) -> None:
        """Take records out before the window's function sees them."""

    @abstractmethod
    def evict_after(self, elements: list[TimestampedValue], size: int, window: W, ctx: EvictorContext) -> None:
        """Take records out after the window's function saw them."""


class _OneSided(Evictor[W]):
    """Does its work either before or after."""

    def __init__(self, do_evict_after: bool = False) -> None:
        self.do_evict_after = do_evict_after

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue]) -> None: ...

    def evict_before(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        if not self.do_evict_after:
            self._evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: W, ctx: Evictor.EvictorContext) -> None:
        if self.do_evict_after:
            self._evict(elements)


class CountEvictor(_OneSided[W]):
    """Keeps the last records, up to a number."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.max_count = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor[Any]:
        """The evictor for a number of records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if len(elements) > self.max_count:
            del elements[: len(elements) - self.max_count]

    def __repr__(self) -> str:
        return f"CountEvictor({self.max_count})"


class TimeEvictor(_OneSided[W]):
    """Keeps the records that are less than a time older than the newest, in milliseconds."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_size = window_size

    @staticmethod
    def of(window_size: Time | Duration, do_evict_after: bool = False) -> TimeEvictor[Any]:
        """The evictor for an amount of time."""
        return TimeEvictor(milliseconds_of(window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if not elements or elements[0].timestamp is None:
            return
        times = [element.timestamp for element in elements if element.timestamp is not None]
        cutoff = max(times) - self.window_size
        elements[:] = [each for each in elements if each.timestamp is None or each.timestamp > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self.window_size})"


class DeltaEvictor(_OneSided[W]):
    """Keeps the records that are closer than a threshold to the newest."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> None:
        super().__init__(do_evict_after)
        self.threshold = threshold
        self.delta_function = delta_function

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float], do_evict_after: bool = False
    ) -> DeltaEvictor[Any]:
        """The evictor for a threshold and a distance of two records (older, newest)."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        if elements:
            newest = elements[-1].value
            elements[:] = [e for e in elements if self.delta_function(e.value, newest) < self.threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self.threshold})"

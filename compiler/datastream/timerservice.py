"""Time and timers. Flink: ``TimerService``."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["TimerService"]


class TimerService(ABC):
    """The clock and the timers of a function. Times are milliseconds since the epoch."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The machine's clock."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The present event time."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the clock passes ``timestamp``."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Call ``on_timer`` when the watermark passes ``timestamp``."""

    def delete_processing_time_timer(self, timestamp: int) -> None:  # noqa: B027
        """Forget the processing-time timer of ``timestamp``, if there is one."""

    def delete_event_time_timer(self, timestamp: int) -> None:  # noqa: B027
        """Forget the event-time timer of ``timestamp``, if there is one."""

"""Watermarks of many channels as one. Flink: ``StatusWatermarkValve`` and ``CombinedWatermarkStatus``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from compat.compiler.spark.task.elements import MAX_WATERMARK, MIN_TIMESTAMP


class WatermarkValve:
    """The smallest watermark of the channels that are not idle; it never goes back."""

    def __init__(self, channels: Iterable[Hashable]) -> None:
        self._watermarks: dict[Hashable, int] = dict.fromkeys(channels, MIN_TIMESTAMP)
        self._idle: set[Hashable] = set()
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    def advance(self, channel: Hashable, timestamp: int) -> int | None:
        """A watermark came in a channel; gives the watermark to pass on, if it grew."""
        if timestamp <= self._watermarks[channel]:
            return None
        self._watermarks[channel] = timestamp
        return self._passed()

    def set_idle(self, channel: Hashable, idle: bool) -> tuple[bool | None, int | None]:
        """A channel became idle or active; gives the status to pass on, and the watermark, if either changed."""
        (self._idle.add if idle else self._idle.discard)(channel)
        all_idle = len(self._idle) == len(self._watermarks)
        changed = None if all_idle == self.idle else all_idle
        self.idle = all_idle
        return changed, self._passed()

    def add(self, channel: Hashable) -> None:
        """A channel more, which has no watermark yet."""
        if channel not in self._watermarks:
            self._watermarks[channel] = MIN_TIMESTAMP
            self.idle = False

    def remove(self, channel: Hashable) -> int | None:
        """A channel less; gives the watermark to pass on, if it grew."""
        self._watermarks.pop(channel)
        self._idle.discard(channel)
        return self._passed() if self._watermarks else None

    def _passed(self) -> int | None:
        if len(self._idle) == len(self._watermarks):
            smallest = max(self._watermarks.values(), default=MIN_TIMESTAMP)
        else:
            smallest = min(mark for channel, mark in self._watermarks.items() if channel not in self._idle)
        if smallest <= self.watermark:
            return None
        self.watermark = smallest
        return smallest

    @property
    def ended(self) -> bool:
        """True when every channel has seen the last watermark."""
        return all(mark == MAX_WATERMARK for mark in self._watermarks.values())

    def snapshot(self) -> Any:
        """The state of the valve, in the form that :meth:`restore` takes."""
        return self._watermarks, self._idle, self.watermark, self.idle

    def restore(self, snapshot: Any) -> None:
        """Go on where a valve of the same channels stood."""
        self._watermarks, self._idle, self.watermark, self.idle = snapshot

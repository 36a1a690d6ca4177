"""Combines the watermarks of many channels into one. Flink: ``StatusWatermarkValve`` and ``CombinedWatermarkStatus``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable
from heapq import heapify, heappop, heappush
from typing import Any

from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP


class WatermarkValve:
    """The smallest watermark of the channels that are not idle; it never goes back.

    Only channels that are idle, or differ from most others, are listed: hundreds of silent channels cost nothing.
    """

    def __init__(self, channels: Collection[Hashable]) -> None:
        self._channels = channels
        self._count = len(channels)
        self._most = MIN_TIMESTAMP
        self._listed: dict[Hashable, int] = {}
        self._idle: set[Hashable] = set()
        self._heap: list[tuple[int, Any]] | None = None
        """The listed channels that are not idle, by their watermarks; some also by what these were before."""
        self.watermark = MIN_TIMESTAMP
        self.idle = False

    def advance(self, channel: Hashable, timestamp: int) -> int | None:
        """Take a channel's watermark; gives the watermark to pass on, if it grew."""
        if timestamp <= self._list(channel):
            return None
        self._put(channel, timestamp)
        return self._passed()

    def set_idle(self, channel: Hashable, idle: bool) -> tuple[bool | None, int | None]:
        """Note that a channel became idle or active; gives the status to pass on, and the watermark, if either changed."""
        mark = self._list(channel)
        (self._idle.add if idle else self._idle.discard)(channel)
        self._put(channel, mark)
        all_idle = len(self._idle) == self._count
        changed = None if all_idle == self.idle else all_idle
        self.idle = all_idle
        return changed, self._passed()

    def add(self, channel: Hashable) -> None:
        """Add a channel, which has no watermark yet."""
        if channel not in self._listed and channel not in self._channels:
            self._put(channel, MIN_TIMESTAMP)
            self._count += 1
            self.idle = False

    def remove(self, channel: Hashable) -> int | None:
        """Remove a channel that was added; gives the watermark to pass on, if it grew."""
        self._listed.pop(channel)
        self._count -= 1
        self._idle.discard(channel)
        return self._passed() if self._count else None

    def _list(self, channel: Hashable) -> int:
        """The watermark of a channel, which is listed from now on."""
        mark = self._listed.get(channel)
        if mark is None:
            if channel not in self._channels:
                raise KeyError(channel)
            mark = self._most
            self._put(channel, mark)
        return mark

    def _put(self, channel: Hashable, mark: int) -> None:
        self._listed[channel] = mark
        if self._heap is not None:
            heappush(self._heap, (mark, channel))

    def _passed(self) -> int | None:
        unlisted = self._count > len(self._listed)
        if len(self._idle) == self._count:
            smallest = max(self._listed.values(), default=MIN_TIMESTAMP)
        else:
            smallest = min(self._smallest_listed(), self._most) if unlisted else self._smallest_listed()
        if smallest <= self.watermark:
            return None
        self.watermark = smallest
        return smallest

    def _smallest_listed(self) -> int:
        """The smallest watermark of the listed channels that are not idle; the last watermark where there is none."""
        if self._heap is None:
            self._heap = [(mark, channel) for channel, mark in self._listed.items()]
            heapify(self._heap)
        while self._heap:
            mark, channel = self._heap[0]
            if self._listed.get(channel) == mark and channel not in self._idle:
                return mark
            heappop(self._heap)
        return MAX_WATERMARK

    @property
    def ended(self) -> bool:
        """True when every channel has seen the last watermark."""
        if self._count > len(self._listed) and self._most != MAX_WATERMARK:
            return False
        return all(mark == MAX_WATERMARK for mark in self._listed.values())

    def snapshot(self) -> Any:
        """The state of the valve, in the form that :meth:`restore` takes."""
        if self._listed and self._count == len(self._channels):
            self._list_few()
        return self._listed, self._idle, self.watermark, self.idle, self._most

    def _list_few(self) -> None:
        """List only channels that are idle, or do not stand where most do."""
        unlisted = self._count - len(self._listed)
        mark, times = Counter(self._listed.values()).most_common(1)[0]
        if mark != self._most and times > unlisted:
            for channel in self._channels if unlisted else ():
                self._listed.setdefault(channel, self._most)
            self._most = mark
        stands, idle = self._most, self._idle
        self._listed = {each: mark for each, mark in self._listed.items() if mark != stands or each in idle}

    def restore(self, snapshot: Any) -> None:
        """Continue from the state of a valve of the same channels."""
        self._listed, self._idle, self.watermark, self.idle, *most = snapshot
        self._most = most[0] if most else MIN_TIMESTAMP  # without it, all channels are listed
        self._count = len(self._channels) + sum(channel not in self._channels for channel in self._listed)
        self._heap = None

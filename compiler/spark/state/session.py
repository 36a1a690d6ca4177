"""Sessions in memory, the times at which to look for their ends, and the spans of time whose sessions are not in memory."""

from __future__ import annotations

import heapq
from typing import Any

from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP

Session = list[Any]
"""A session of a key; its fields are at the places below. A list, as half of all records may begin one: it is made in a
fifth of the time of an object."""
START, END, VALUE, SLOT, EARLIER, LOGGED, STATE = range(7)
"""``VALUE`` is None for no contents. ``EARLIER`` are the other sessions of the key in the order of time, or None; only the last
one has them. ``LOGGED`` is where the log has it, or None."""
BEGUN, QUIET, CHANGED, OVER = range(4)
"""States: begun since the last watermark; in the log as it is; to be logged; fired, or part of another session."""


class Ends:
    """Sessions, by the time at which to look for their end.

    That time is the start of the span of time that contains the end, if none of the span may have come, or the end itself.
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._times: list[int] = []
        self._waiting: dict[int, list[Session]] = {}
        self._looked_up_to = MIN_TIMESTAMP

    def add(self, session: Session) -> None:
        """Await the end of a session."""
        time = session[END]
        time -= time % self._gap
        if time <= self._looked_up_to:
            time = session[END]
        there = self._waiting.get(time)
        if there is None:
            heapq.heappush(self._times, time)
            self._waiting[time] = [session]
        else:
            there.append(session)

    def look_up_to(self, limit: int) -> None:
        """From now on a span of time that begins before has begun."""
        self._looked_up_to = limit

    def due(self) -> list[Session]:
        """The sessions that have ended; they are removed."""
        ended: list[Session] = []
        while self._times and self._times[0] <= self._looked_up_to:
            for session in self._waiting.pop(heapq.heappop(self._times)):
                if session[STATE] == OVER:
                    continue
                if session[END] <= self._looked_up_to:
                    ended.append(session)
                else:
                    self.add(session)
        return ended

    def all(self) -> list[Session]:
        """The sessions that have not ended."""
        return [each for waiting in self._waiting.values() for each in waiting if each[STATE] != OVER]

    def clear(self) -> None:
        """Drop all sessions."""
        self._times.clear()
        self._waiting.clear()


class LeftSpans:
    """The spans of time, each as long as the gap, in which sessions end that were left to the replica.

    For each span of time ``_covered`` has those in which sessions end that reach into it.
    """

    def __init__(self, gap: int) -> None:
        self._gap = gap
        self._spans: dict[int, range] = {}
        self._covered: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._spans)

    def leave(self, span: int, start: int) -> None:
        """Note that sessions which end in a span are left to the replica; the earliest of them begins at ``start``."""
        self._spans[span] = range(start // self._gap, span + 1)
        for each in self._spans[span]:
            self._covered.setdefault(each, []).append(span)

    def come_back(self, span: int) -> None:
        """Note that the sessions are in memory again."""
        for each in self._spans.pop(span):
            self._covered[each].remove(span)
            if not self._covered[each]:
                del self._covered[each]

    def touched(self, times: list[int]) -> set[int]:
        """The spans of sessions that records of some times may be parts of."""
        parts = {time // self._gap for time in times}
        return {span for each in parts for there in (each, each + 1) for span in self._covered.get(there, ())}

    def ending(self, limit: int) -> list[int]:
        """The spans that begin before a time, or with it."""
        return [span for span in self._spans if span * self._gap <= limit]

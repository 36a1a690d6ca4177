"""Sessions of event time that are folded, by key. Flink: ``MergingWindowSet``, and the state of ``WindowOperator``.

In the log and in the replica they are what they always are (:mod:`compat.compiler.spark.state.session_entries`). In memory a
session is one list, so that a record costs one look for the last session of its key; one that begins and ends within an epoch
is nowhere else.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import itemgetter, length_hint
from typing import Any

from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP
from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import PLACE, Memory, sampled, size_of
from compat.compiler.spark.state.session_entries import Logged, SessionEntries

Session = list[Any]
"""A session of a key; its fields are at the places below. A list, as half of all records may begin one: it is made in a
fifth of the time of an object."""
START, END, VALUE, SLOT, EARLIER, LOGGED, STATE = range(7)
"""``VALUE`` is None for no contents. ``EARLIER`` are the other sessions of the key in the order of time, or None; only the last
one has them. ``LOGGED`` is where the log has it, or None."""
_BEGUN, _QUIET, _CHANGED, _OVER = range(4)
"""States: begun since the last watermark; in the log as it is; to be logged; fired, or part of another session."""
_SESSION_BYTES = 350
_START, _END = itemgetter(START), itemgetter(END)


class FoldFailed(Exception):
    """The program's function failed on ``value``; why is the cause."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Sessions:
    """All sessions of an operator in a subtask, none of which touch.

    ``_begun`` are those that began since the last watermark, and all others are in ``_waiting``, by the time at which to look
    for their end: it is where a span of time begins that it is in, of which none may have come, or their end itself.

    Where they are too large for the memory, those that no record comes to are left to the replica until one does, or they end:
    all that end in the same span of time, which is as long as the gap. ``_left`` are these spans, and for each span of time
    ``_covered`` has those in which sessions end that reach into it. ``spilled`` when that was not enough, or not all are such
    as end with their windows: then they are states and timers like others.
    """

    def __init__(self, backend: KeyedBackend, descriptor: Any, merge: Callable[[Any, Any], Any], gap: int) -> None:
        self._merge, self._gap = merge, gap
        self._entries = SessionEntries(backend, descriptor)
        self.memory: Memory = backend.memory
        self.spilled = False
        self.last: dict[Any, Session] = {}
        self._begun: list[Session] = []
        self._times: list[int] = []
        self._waiting: dict[int, list[Session]] = {}
        self._looked_up_to = MIN_TIMESTAMP
        self._touched = frozenset[int]()
        self._left: dict[int, range] = {}
        self._covered: dict[int, list[int]] = {}
        self._changed: list[Session] = []
        self._gone: list[tuple[Any, Logged]] = []
        self._unsaved: dict[int, Session] = {}
        self._gone_from_replica: list[tuple[Any, Logged]] = []
        self._left_in_replica: list[tuple[Any, Logged]] = []
        self._replica_is_empty = True
        self._load()
        self.memory.hold(self)

    def add(
        self,
        slots: list[Any],
        values: list[Any],
        times: list[int],
        fold: Callable[[Any, Any], Any],
        reduces: bool,
        watermark: int,
        late: Callable[[Any, int], None],
    ) -> None:
        """Put records into the sessions of their keys; ``late`` has those that come behind the end of theirs.

        ``fold`` makes one of what a session has and a value; where it ``reduces``, a value alone is what a session has that had
        nothing. Raises FoldFailed.
        """
        if self._left:
            self._have_back_for(times)
        last, last_of, gap = self.last, self.last.get, self._gap
        begun, changed = self._begun, self._changed
        rest = iter(values)
        try:
            for value, slot, time in zip(rest, slots, times, strict=True):
                session = last_of(slot)
                if session is None or time > session[END]:
                    end = time + gap
                    if end - 1 <= watermark:
                        late(value, time)
                        continue
                    if session is None:
                        earlier = None
                    else:
                        earlier = session[EARLIER]
                        if earlier is None:
                            earlier = [session]
                        else:
                            earlier.append(session)
                            session[EARLIER] = None
                    first = value if reduces else fold(None, value)
                    last[slot] = session = [time, end, first, slot, earlier, None, _BEGUN]
                    begun.append(session)
                    continue
                if time >= session[START]:
                    end = time + gap
                    if end > session[END]:
                        session[END] = end
                else:
                    joined = self._joined(session, time, time + gap)
                    if joined is None:
                        if time + gap - 1 <= watermark:
                            late(value, time)
                        else:
                            first = value if reduces else fold(None, value)
                            self._precede(session, [time, time + gap, first, slot, None, None, _BEGUN])
                        continue
                    session = joined
                if session[STATE] == _QUIET:
                    session[STATE] = _CHANGED
                    changed.append(session)
                present = session[VALUE]
                session[VALUE] = value if reduces and present is None else fold(present, value)
        except Exception as error:
            raise FoldFailed(values[len(values) - length_hint(rest) - 1]) from error

    def due(self, watermark: int) -> list[Session]:
        """The sessions that end with a watermark, in order, taken out."""
        limit = watermark + 1
        for span in [span for span in self._left if span * self._gap <= limit]:
            self._have_back(span)
        begun, self._begun = self._begun, []
        ended = [session for session in begun if session[END] <= limit and session[STATE] == _BEGUN]
        just_begun = len(ended)
        self._looked_up_to = limit
        if just_begun < len(begun):
            for session in begun:
                if session[END] > limit:
                    self._keep(session)
        while self._times and self._times[0] <= limit:
            for session in self._waiting.pop(heapq.heappop(self._times)):
                if session[STATE] == _OVER:
                    continue
                if session[END] <= limit:
                    ended.append(session)
                else:
                    self._await(session)
        for session in ended[just_begun:]:
            session[STATE] = _OVER
            if session[LOGGED] is not None:
                self._end_logged(session)
        self._take_out(ended, limit)
        ended.sort(key=_END)
        return ended

    def _take_out(self, ended: list[Session], limit: int) -> None:
        """Forget the sessions that have ended, which are all up to a limit."""
        if len(ended) < len(self.last) // 4:
            for session in ended:
                self._forget(session)
            return
        self.last = {slot: last for slot, last in self.last.items() if last[END] > limit}
        for last in self.last.values():
            if last[EARLIER] is not None:
                last[EARLIER] = [each for each in last[EARLIER] if each[END] > limit] or None

    def _forget(self, session: Session) -> None:
        slot = session[SLOT]
        last = self.last[slot]
        if last is not session:
            earlier = last[EARLIER]
            del earlier[bisect_left(earlier, session[START], key=_START)]
            if not earlier:
                last[EARLIER] = None
        elif session[EARLIER] is None:
            del self.last[slot]
        else:
            self._follow(session[EARLIER].pop(), session[EARLIER])

    def _follow(self, session: Session, earlier: list[Session]) -> None:
        """Have a session as the last one of its key, behind others."""
        session[EARLIER] = earlier or None
        self.last[session[SLOT]] = session

    def _precede(self, last: Session, session: Session) -> None:
        """Have a session before the last one of its key, and await its end."""
        earlier = last[EARLIER]
        if earlier is None:
            last[EARLIER] = [session]
        else:
            earlier.insert(bisect_left(earlier, session[START], key=_START), session)
        if session[STATE] == _BEGUN:
            self._begun.append(session)

    def _joined(self, last: Session, start: int, end: int) -> Session | None:
        """The session that a window is a part of which begins before the last one of its key, grown and as one with all others
        that it touches; None if it touches none."""
        earlier: list[Session] = last[EARLIER] or []
        until = bisect_right(earlier, end, key=_START)
        first = until
        while first and earlier[first - 1][END] >= start:
            first -= 1
        touched = earlier[first:until]
        if last[START] <= end:
            touched.append(last)
        if not touched:
            return None
        session = touched[0]
        if len(touched) > 1:
            self._join(session, touched[1:])
            if touched[-1] is last:
                del earlier[first:]
                self._follow(session, earlier)
            else:
                del earlier[first + 1 : until]
        session[START], session[END] = min(start, session[START]), max(end, session[END])
        return session

    def _join(self, first: Session, others: list[Session]) -> None:
        """Make sessions a part of one before them."""
        for other in others:
            if other[VALUE] is not None:
                first[VALUE] = other[VALUE] if first[VALUE] is None else self._merge(first[VALUE], other[VALUE])
            first[END] = other[END]
            other[STATE] = _OVER
            if other[LOGGED] is not None:
                if first[LOGGED] is None:
                    first[LOGGED] = other[LOGGED]
                    self._unsaved.pop(id(other), None)
                    self._keep(first)
                else:
                    self._end_logged(other)

    def _end_logged(self, session: Session) -> None:
        """A session is no more that the log has."""
        self._unsaved.pop(id(session), None)
        self._gone.append((session[SLOT], session[LOGGED]))

    def _keep(self, session: Session) -> None:
        """Await the end of a session that began, and log it with the next snapshot."""
        if session[STATE] == _BEGUN:
            session[STATE] = _CHANGED
            self._changed.append(session)
            self._await(session)

    def _await(self, session: Session) -> None:
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

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        for session in self._begun:
            self._keep(session)
        self._begun = []
        changed = [session for session in self._changed if session[STATE] == _CHANGED]
        self._changed = []
        self._touched = frozenset(session[END] // self._gap for session in changed)
        before = [session[LOGGED] for session in changed]
        for session in changed:
            self._settle(session)
        logged = [session[LOGGED] for session in changed]
        slots, values = [session[SLOT] for session in changed], [session[VALUE] for session in changed]
        for place, value in self._entries.log(slots, logged, before, values, changes).items():
            changed[place][VALUE] = value
        self._entries.log_end([slot for slot, _ in self._gone], [each for _, each in self._gone], changes)
        if not self._replica_is_empty:
            self._gone_from_replica += self._gone
            self._left_in_replica += [
                (slot, old)
                for slot, old, new in zip(slots, before, logged, strict=True)
                if old is not None and old.window != new.window
            ]
        self._gone = []

    def _settle(self, session: Session) -> None:
        """The log has a session as it is now."""
        session[STATE] = _QUIET
        window, logged = (session[START], session[END]), session[LOGGED]
        if logged is None or logged.window != window:
            session[LOGGED] = Logged(window, window if logged is None else logged.contents)
        self._unsaved[id(session)] = session

    def __len__(self) -> int:
        gone = len(self._gone_from_replica) + len(self._left_in_replica)
        return 3 * (len(self._unsaved) + gone)

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica does not have as they are."""
        gone, left = self._gone_from_replica, self._left_in_replica
        yield from self._entries.removed([slot for slot, _ in gone], [each for _, each in gone])
        yield from self._entries.removed_windows([slot for slot, _ in left], [each.window for _, each in left])
        sessions = self._unsaved.values()
        yield from self._entries.set(
            [session[SLOT] for session in sessions],
            [session[LOGGED] for session in sessions],
            [session[VALUE] for session in sessions],
        )

    def saved(self) -> None:
        """The replica has them."""
        self._gone_from_replica, self._left_in_replica = [], []
        self._replica_is_empty = self._replica_is_empty and not self._unsaved
        self._unsaved = {}

    def size(self) -> int:
        """The bytes that they take in memory, about."""
        return len(self.last) * PLACE + sampled(self.last, _size)

    def shrink(self) -> None:
        """Leave to the replica those that end in spans of time in which none does that the last epoch touched; all of them,
        where those are not half."""
        sessions = [each for waiting in self._waiting.values() for each in waiting if each[STATE] != _OVER]
        cold: dict[int, int] = {}
        hot: list[Session] = []
        for session in sessions:
            span = session[END] // self._gap
            if span in self._touched:
                hot.append(session)
            else:
                cold[span] = min(session[START], cold.get(span, session[START]))
        if 2 * len(hot) > len(sessions):
            self._spill()
            return
        self._clear()
        for span, start in cold.items():
            self._left[span] = range(start // self._gap, span + 1)
            for each in self._left[span]:
                self._covered.setdefault(each, []).append(span)
        for session in hot:
            session[EARLIER] = None
            self._have(session)

    def _spill(self) -> None:
        self._clear()
        self._left.clear()
        self._covered.clear()
        self.spilled = True

    def _clear(self) -> None:
        for part in (self.last, self._begun, self._times, self._waiting):
            part.clear()

    def _have_back_for(self, times: list[int]) -> None:
        """Have all sessions back that records of some times may be parts of."""
        gap, covered = self._gap, self._covered
        touched = {time // gap for time in times}
        for span in {span for each in touched for there in (each, each + 1) for span in covered.get(there, ())}:
            self._have_back(span)

    def _have_back(self, span: int) -> None:
        """Have the sessions again that end in a span of time, and were left to the replica."""
        for each in self._left.pop(span):
            self._covered[each].remove(span)
            if not self._covered[each]:
                del self._covered[each]
        for slot, logged, value in self._entries.stored(span * self._gap, (span + 1) * self._gap):
            assert logged is not None
            self._have([*logged.window, value, slot, None, logged, _QUIET])

    def _load(self) -> None:
        count = 0
        for slot, logged, value in self._entries.stored():
            self._replica_is_empty = False
            if logged is None:
                self._spill()  # it was kept for records that come late, or by a trigger
                return
            self._have([*logged.window, value, slot, None, logged, _QUIET])
            count += 1
        if count != self._entries.count():
            self._spill()

    def _have(self, session: Session) -> None:
        """Have a session that the log has, too."""
        last = self.last.get(session[SLOT])
        if last is None:
            self.last[session[SLOT]] = session
        elif last[START] < session[START]:
            earlier, last[EARLIER] = last[EARLIER] or [], None
            earlier.append(last)
            self._follow(session, earlier)
        else:
            self._precede(last, session)
        self._await(session)


def _size(value: Any) -> int:
    if not isinstance(value, list):
        return size_of(value)
    earlier = value[EARLIER] or ()
    return _SESSION_BYTES + size_of(value[VALUE]) + sum(_SESSION_BYTES + size_of(each[VALUE]) for each in earlier)

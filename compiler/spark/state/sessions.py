"""Folded event-time sessions, by key. Flink: ``MergingWindowSet``, and the state of ``WindowOperator``.

In the log and the replica they have the usual form (:mod:`compat.compiler.spark.state.session_entries`). In memory a session is
one list, so a record costs one look for the last session of its key. A session that begins and ends within an epoch is only in
memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import itemgetter, length_hint
from typing import Any

from compat.compiler.spark.state.backend import KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import PLACE, Memory, sampled, size_of
from compat.compiler.spark.state.session import (
    BEGUN,
    CHANGED,
    EARLIER,
    END,
    LOGGED,
    OVER,
    QUIET,
    SLOT,
    START,
    STATE,
    VALUE,
    Ends,
    LeftSpans,
    Session,
)
from compat.compiler.spark.state.session_entries import SessionEntries
from compat.compiler.spark.state.session_log import SessionLog

_SESSION_BYTES = 350
_START, _END = itemgetter(START), itemgetter(END)


class FoldFailed(Exception):
    """The program's function failed on ``value``; its error is the cause."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


class Sessions:
    """All sessions of an operator in a subtask, none of which touch.

    ``_begun`` are those that began since the last watermark; all others are in ``_ends``. If they are too large for the memory,
    only the replica has the sessions without new records, until a record comes or they end. It takes all sessions that end in
    the same span of time, which is as long as the gap; ``_left`` are these spans. If that is not enough, or some sessions do
    not end with their windows, they are ``spilled``: then they are ordinary states and timers.
    """

    def __init__(self, backend: KeyedBackend, descriptor: Any, merge: Callable[[Any, Any], Any], gap: int) -> None:
        self._merge, self._gap = merge, gap
        self._entries = SessionEntries(backend, descriptor)
        self._log = SessionLog(self._entries)
        self.memory: Memory = backend.memory
        self.spilled = False
        self.last: dict[Any, Session] = {}
        self._begun: list[Session] = []
        self._ends = Ends(gap)
        self._touched = frozenset[int]()
        self._left = LeftSpans(gap)
        self._changed: list[Session] = []
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

        ``fold`` combines a session's content with a value; if it ``reduces``, the first value is the content. Raises
        FoldFailed.
        """
        if self._left:
            for span in self._left.touched(times):
                self._have_back(span)
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
                    last[slot] = session = [time, end, first, slot, earlier, None, BEGUN]
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
                            self._precede(session, [time, time + gap, first, slot, None, None, BEGUN])
                        continue
                    session = joined
                if session[STATE] == QUIET:
                    session[STATE] = CHANGED
                    changed.append(session)
                present = session[VALUE]
                session[VALUE] = value if reduces and present is None else fold(present, value)
        except Exception as error:
            raise FoldFailed(values[len(values) - length_hint(rest) - 1]) from error

    def due(self, watermark: int) -> list[Session]:
        """The sessions that end with a watermark, in order; they are removed."""
        limit = watermark + 1
        for span in self._left.ending(limit):
            self._have_back(span)
        begun, self._begun = self._begun, []
        ended = [session for session in begun if session[END] <= limit and session[STATE] == BEGUN]
        just_begun = len(ended)
        self._ends.look_up_to(limit)
        if just_begun < len(begun):
            for session in begun:
                if session[END] > limit:
                    self._keep(session)
        ended += self._ends.due()
        for session in ended[just_begun:]:
            session[STATE] = OVER
            if session[LOGGED] is not None:
                self._log.end(session)
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
        if session[STATE] == BEGUN:
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
            other[STATE] = OVER
            if other[LOGGED] is not None:
                if first[LOGGED] is None:
                    first[LOGGED] = other[LOGGED]
                    self._log.forget(other)
                    self._keep(first)
                else:
                    self._log.end(other)

    def _keep(self, session: Session) -> None:
        """Await the end of a session that began, and log it with the next snapshot."""
        if session[STATE] == BEGUN:
            session[STATE] = CHANGED
            self._changed.append(session)
            self._ends.add(session)

    def snapshot(self, changes: Changes) -> None:
        """Add the epoch's changes."""
        for session in self._begun:
            self._keep(session)
        self._begun = []
        changed = [session for session in self._changed if session[STATE] == CHANGED]
        self._changed = []
        self._touched = frozenset(session[END] // self._gap for session in changed)
        self._log.log(changed, changes)

    def __len__(self) -> int:
        return len(self._log)

    def unsaved(self) -> Iterator[tuple[bytes, bytes | None]]:
        """The entries that the replica lacks, or has in an older form."""
        return self._log.unsaved()

    def saved(self) -> None:
        """Note that the replica has them."""
        self._log.saved()

    def size(self) -> int:
        """The approximate bytes that they take in memory."""
        return len(self.last) * PLACE + sampled(self.last, _size)

    def shrink(self) -> None:
        """Leave to the replica those that end in spans of time in which none does that the last epoch touched; all of them,
        where those are not half."""
        sessions = self._ends.all()
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
            self._left.leave(span, start)
        for session in hot:
            session[EARLIER] = None
            self._have(session)

    def _spill(self) -> None:
        self._clear()
        self._left = LeftSpans(self._gap)
        self.spilled = True

    def _clear(self) -> None:
        self.last.clear()
        self._begun.clear()
        self._ends.clear()

    def _have_back(self, span: int) -> None:
        """Have the sessions again that end in a span of time, and were left to the replica."""
        self._left.come_back(span)
        for slot, logged, value in self._entries.stored(span * self._gap, (span + 1) * self._gap):
            assert logged is not None
            self._have([*logged.window, value, slot, None, logged, QUIET])

    def _load(self) -> None:
        count = 0
        for slot, logged, value in self._entries.stored():
            self._log.replica_is_empty = False
            if logged is None:
                self._spill()  # it was kept for records that come late, or by a trigger
                return
            self._have([*logged.window, value, slot, None, logged, QUIET])
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
        self._ends.add(session)


def _size(value: Any) -> int:
    if not isinstance(value, list):
        return size_of(value)
    earlier = value[EARLIER] or ()
    return _SESSION_BYTES + size_of(value[VALUE]) + sum(_SESSION_BYTES + size_of(each[VALUE]) for each in earlier)

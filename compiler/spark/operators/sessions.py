"""Records of event-time sessions, put into them many at once. Flink: the merging windows of ``WindowOperator``."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import TimeWindow
from compat.compiler.spark.operators.base import NO_RECORD
from compat.compiler.spark.operators.keyed import can_be_hashed
from compat.compiler.spark.state.backend import plain_key
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.sessions import Session, Sessions
from compat.compiler.spark.task.elements import MIN_TIMESTAMP, Timestamps, Values

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator

_MOST_HELD = 50_000
"""So many records are held back."""


class FoldedSessions:
    """The sessions in memory, where each fires once, when the watermark passes its end, and holds one value."""

    def __init__(self, operator: WindowOperator, sessions: Sessions, gap: int) -> None:
        self._operator, self._sessions, self._gap = operator, sessions, gap

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put records into the sessions of their keys; those that come behind the end of theirs are too late."""
        operator, gap, watermark = self._operator, self._gap, self._operator.timers.watermark
        at, begin = self._sessions.at, self._sessions.begin
        reduces, fold = operator.folder()
        hashable, backend = can_be_hashed(keys), operator.backend
        value: Any = NO_RECORD
        try:
            for key, value, given in zip(keys, values, timestamps or repeat(None), strict=False):
                if not hashable:
                    backend.set_key(key)
                    key = backend.slot
                time = MIN_TIMESTAMP if given is None else given
                session = at(key, time, time + gap)
                if session is not None:
                    present = session.value
                    session.value = value if reduces and present is None else fold(present, value)
                elif time + gap - 1 <= watermark:
                    operator.too_late(value, time, given)
                else:
                    begin(key, Session(time, time + gap, value if reduces else fold(None, value)))
        except Exception as error:
            operator.fail(value, error)
        operator.emitter.flush()

    def fire(self, watermark: int) -> None:
        """Fire the sessions that end with a watermark."""
        operator, result = self._operator, self._operator.result()
        emitter, call, clear = operator.emitter, operator.call, operator.clearing()
        try:
            for slot, session in self._sessions.due(watermark):
                time = session.end - 1
                made = None if session.value is None else result(session.value)
                if operator.function is None:
                    if made is not None:
                        emitter.take((made,), time)
                    continue
                window = TimeWindow(session.start, session.end)
                operator.backend.set_key(plain_key(slot))
                operator.select(window)
                if session.value is not None:
                    emitter.take(call(window, [made]), time)
                clear()
        except Exception as error:
            operator.fail(NO_RECORD, error)
        emitter.flush()

    def snapshot(self, changes: Changes) -> None:
        """Add what the epoch changed."""
        self._sessions.snapshot(changes)


class _HeldSession:
    """A session as it is ``known`` to the state, and from ``start`` to ``end`` with ``values`` that are not there yet."""

    __slots__ = ("end", "has_fired", "known", "start", "values")

    def __init__(self, known: TimeWindow, has_fired: bool) -> None:
        self.known, self.start, self.end = known, known.start, known.end
        self.has_fired = has_fired
        self.values: Values = []


class HeldSessions:
    """The sessions of event time of some keys, whose further records get into the state together.

    Until the next watermark nothing fires, and a session to which records are added only grows: what becomes of it is the
    same whether its window in the state moves with each of them or once. A record that begins a session, or joins two,
    takes the common way, and so does one of a session that fires with each, as it is late.
    """

    def __init__(self, operator: WindowOperator, gap: int) -> None:
        self._operator, self._gap = operator, gap
        self._held: dict[Any, list[_HeldSession]] = {}
        self._count = 0

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put records into the sessions of their keys."""
        operator, held, gap = self._operator, self._held, self._gap
        value: Any = NO_RECORD
        try:
            for key, value, time in zip(keys, values, timestamps or repeat(None), strict=False):
                sessions = held.get(key)
                if sessions is not None:
                    if time is not None:
                        touched = [each for each in sessions if each.start - gap <= time <= each.end]
                        if len(touched) == 1 and not touched[0].has_fired:
                            (session,) = touched
                            session.values.append(value)
                            if time < session.start:
                                session.start = time
                            if time + gap > session.end:
                                session.end = time + gap
                            self._count += 1
                            continue
                    self._put(key, held.pop(key))
                self._begin(key, value, time)
        except Exception as error:
            operator.fail(value, error)
        operator.emitter.flush()
        if self._count > _MOST_HELD:
            self.put_all()

    def put_all(self) -> None:
        """Have all records in the state."""
        for key, sessions in self._held.items():
            self._put(key, sessions)
        self._held.clear()
        self._count = 0

    def _begin(self, key: Any, value: Any, time: int | None) -> None:
        """Put a record into the state by the common way, and hold the sessions that its key has then."""
        operator = self._operator
        operator.backend.set_key(key)
        operator.handler(0)(value, time)
        operator.backend.set_namespace(b"")
        watermark = operator.timers.watermark
        self._held[key] = [_HeldSession(each, each.end - 1 <= watermark) for each in operator.sessions().all()]

    def _put(self, key: Any, sessions: list[_HeldSession]) -> None:
        operator = self._operator
        value: Any = NO_RECORD
        try:
            for session in sessions:
                if session.values:
                    operator.backend.set_key(key)
                    operator.move_session(session.known, TimeWindow(session.start, session.end))
                    for value in session.values:
                        operator.contents.add(value)
        except Exception as error:
            operator.fail(value, error)

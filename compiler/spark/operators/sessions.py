"""Records of event-time sessions, put into them many at once. Flink: the merging windows of ``WindowOperator``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import TimeWindow
from compat.compiler.spark.operators.base import NO_RECORD
from compat.compiler.spark.operators.folding import Folding
from compat.compiler.spark.operators.merging import MergingWindows
from compat.compiler.spark.operators.state_windows import StateWindows
from compat.compiler.spark.operators.window_path import WindowPath
from compat.compiler.spark.runtime_api.elements import BUFFER_RECORDS, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.session import END, SLOT, START, VALUE, Session
from compat.compiler.spark.state.sessions import FoldFailed, Sessions

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator

_MOST_HELD = 50_000
"""The number of records that are held back."""


class FoldedSessions(WindowPath):
    """The sessions in memory, where each fires once, when the watermark passes its end, and holds one value."""

    def __init__(self, operator: WindowOperator, sessions: Sessions, folding: Folding) -> None:
        self._operator, self._sessions, self._folding = operator, sessions, folding

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Add records to the sessions of their keys; records behind their session's end are too late."""
        operator = self._operator
        slots = operator.backend.slots.all_of(keys)
        late: Callable[[Any, int], None]
        if timestamps is None or None in timestamps:
            for slot, value, given in zip(slots, values, timestamps or repeat(None), strict=False):
                time = MIN_TIMESTAMP if given is None else given
                late = lambda value, time, given=given: operator.too_late(value, time, given)  # type: ignore[misc] # noqa: E731
                self._fold([slot], [value], [time], late)
        else:
            late = lambda value, time: operator.too_late(value, time, time)  # noqa: E731
            self._fold(slots, values, timestamps, late)  # type: ignore[arg-type]
        operator.emitter.flush()

    def _fold(self, slots: Values, values: Values, times: list[int], late: Callable[[Any, int], None]) -> None:
        reduces, fold = self._folding.reduces, self._folding.fold
        try:
            self._sessions.add(slots, values, times, fold, reduces, self._operator.timers.watermark, late)
        except FoldFailed as failed:
            self._operator.fail(failed.value, failed.__cause__ or failed)

    def fire(self, watermark: int) -> None:
        operator = self._operator
        ended = self._sessions.due(watermark)
        try:
            if operator.function is None and not operator.output.tagged:
                self._emit(ended)
            else:
                self._call(ended)
        except Exception as error:
            operator.fail(NO_RECORD, error)
        operator.emitter.flush()

    def _emit(self, ended: list[Session]) -> None:
        """Emit what sessions hold, so many at once as others hand over."""
        operator = self._operator
        result = self._folding.result
        for start in range(0, len(ended), BUFFER_RECORDS):
            some = ended[start : start + BUFFER_RECORDS]
            made = [session[VALUE] for session in some]
            if result is not None:
                made = [None if value is None else result(value) for value in made]
            times: list[int | None] = [session[END] - 1 for session in some]
            is_there = [value is not None for value in made]
            if not all(is_there):
                made, times = list(compress(made, is_there)), list(compress(times, is_there))
            operator.output.records(made, times)

    def _call(self, ended: list[Session]) -> None:
        """Have the program's function called for each, or look for side outputs among what they hold."""
        operator, result = self._operator, self._folding.result
        emitter, call, clear = operator.emitter, operator.call, operator.clearing()
        for session in ended:
            value, time = session[VALUE], session[END] - 1
            made = value if value is None or result is None else result(value)
            if operator.function is None:
                if made is not None:
                    emitter.take((made,), time)
                continue
            window = TimeWindow(session[START], session[END])
            operator.backend.set_slot(session[SLOT])
            operator.select(window)
            if value is not None:
                emitter.take(call(window, [made]), time)
            clear()

    def snapshot(self, changes: Changes) -> None:
        self._sessions.snapshot(changes)


class _HeldSession:
    """A session as it is ``known`` to the state, and from ``start`` to ``end`` with ``values`` that are not there yet."""

    __slots__ = ("end", "has_fired", "known", "start", "values")

    def __init__(self, known: TimeWindow, has_fired: bool) -> None:
        self.known, self.start, self.end = known, known.start, known.end
        self.has_fired = has_fired
        self.values: Values = []


class HeldSessions(StateWindows):
    """The sessions of event time of some keys, whose further records get into the state together.

    Until the next watermark nothing fires, and a session that gets records only grows. So its window in the state may move once
    instead of with each record. Three kinds of records take the usual way: those that begin a session, those that join two, and
    those of a late session, which fires with each record.
    """

    def __init__(self, operator: WindowOperator, merging: MergingWindows, gap: int) -> None:
        super().__init__(operator)
        self._merging, self._gap = merging, gap
        self._held: dict[Any, list[_HeldSession]] = {}
        self._count = 0

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Add records to the sessions of their keys."""
        operator, held, gap = self._operator, self._held, self._gap
        value: Any = NO_RECORD
        try:
            slots = operator.backend.slots.all_of(keys)
            for slot, value, time in zip(slots, values, timestamps or repeat(None), strict=False):
                sessions = held.get(slot)
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
                    self._put(slot, held.pop(slot))
                self._begin(slot, value, time)
        except Exception as error:
            operator.fail(value, error)
        operator.emitter.flush()
        if self._count > _MOST_HELD:
            self.settle()

    def settle(self) -> None:
        for slot, sessions in self._held.items():
            self._put(slot, sessions)
        self._held.clear()
        self._count = 0

    def _begin(self, slot: Any, value: Any, time: int | None) -> None:
        """Put a record into the state by the common way, and hold the sessions that its key has then."""
        operator = self._operator
        operator.backend.set_slot(slot)
        self._merging.add(value, time)
        operator.backend.set_namespace(b"")
        watermark = operator.timers.watermark
        self._held[slot] = [_HeldSession(each, each.end - 1 <= watermark) for each in self._merging.windows().all()]

    def _put(self, slot: Any, sessions: list[_HeldSession]) -> None:
        operator = self._operator
        value: Any = NO_RECORD
        try:
            for session in sessions:
                if session.values:
                    operator.backend.set_slot(slot)
                    self._merging.move_session(session.known, TimeWindow(session.start, session.end))
                    if not operator.operator.call.combines:
                        operator.contents.add_all(session.values)
                        continue
                    for value in session.values:  # one by one: the user's function may fail at one
                        operator.contents.add(value)
        except Exception as error:
            operator.fail(value, error)

"""Windows of event time in memory, each of which fires once, when the watermark passes its end, and holds one value by key."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import SlidingEventTimeWindows, TimeWindow, TumblingEventTimeWindows
from compat.compiler.spark.operators.base import NO_RECORD
from compat.compiler.spark.operators.folding import Folding
from compat.compiler.spark.operators.window_path import WindowPath
from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.panes import Pane, Panes

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator

WindowsAt = Callable[[Any], list[tuple[int, int]]]
"""Gives start and end of a timestamp's windows."""


class FoldedPanes(WindowPath):
    """The windows of all keys, each with the folded value of its records."""

    def __init__(self, operator: WindowOperator, panes: Panes, folding: Folding, windows_at: WindowsAt) -> None:
        self._operator, self._panes, self._folding, self._windows_at = operator, panes, folding, windows_at
        self._regular = _regular(operator.assigner)

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put records into their windows, but for records of windows that have ended."""
        try:
            self._add(keys, values, timestamps)
        finally:
            self._operator.emitter.flush()

    def _add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        operator, panes, windows_at = self._operator, self._panes, self._windows_at
        watermark, reduces, fold = operator.timers.watermark, self._folding.reduces, self._folding.fold
        slots = operator.backend.slots.all_of(keys)
        slide, offset = self._regular
        if (time := _same_part(timestamps, slide, offset)) is not None:
            open_panes = [panes.pane(start, end) for start, end in windows_at(time) if end - 1 > watermark]
            for pane in open_panes:
                self._fold_into(pane, slots, values)
            if open_panes:
                return
        known: dict[int, list[Pane]] = {}
        value: Any = NO_RECORD
        try:
            for slot, value, time in zip(slots, values, timestamps or repeat(None), strict=False):
                if time is None or time == MIN_TIMESTAMP:
                    operator.assigner.assign_windows(value, MIN_TIMESTAMP, operator.assigning)  # it says what is wrong
                place = time - (time - offset) % slide  # type: ignore[operator]
                live = known.get(place)
                if live is None:
                    found = windows_at(time)
                    live = known[place] = [panes.pane(start, end) for start, end in found if end - 1 > watermark]
                for pane in live:
                    fresh = pane.fresh
                    present = fresh.get(slot, pane)
                    if present is pane:
                        present = pane.take(slot) if pane.logged else None
                    fresh[slot] = value if reduces and present is None else fold(present, value)
                if not live:
                    operator.too_late(value, time, time)  # type: ignore[arg-type]
        except Exception as error:
            self._operator.fail(value, error)

    def _fold_into(self, pane: Pane, slots: Values, values: Values) -> None:
        """Put records into one window, which they all fall into: most that are handed over at once fall into the same ones."""
        reduces, fold = self._folding.reduces, self._folding.fold
        fresh, logged = pane.fresh, pane.logged
        value: Any = NO_RECORD
        try:
            for slot, value in zip(slots, values, strict=True):
                present = fresh.get(slot)
                if present is None:
                    if logged:
                        present = pane.take(slot)
                    if present is None and reduces:
                        fresh[slot] = value
                        continue
                fresh[slot] = fold(present, value)
        except Exception as error:
            self._operator.fail(value, error)

    def fire(self, watermark: int) -> None:
        """Fire the windows that end with a watermark."""
        try:
            for pane in self._panes.due(watermark):
                self._fire_pane(pane)
        except Exception as error:
            self._operator.fail(NO_RECORD, error)

    def _fire_pane(self, pane: Pane) -> None:
        operator, result, time = self._operator, self._folding.result, pane.end - 1
        if operator.function is None:
            values = [value for _, value in pane.contents()]
            operator.emitter.take(values if result is None else map(result, values), time)
        else:
            window, call, clear = TimeWindow(pane.start, pane.end), operator.call, operator.clearing()
            for slot, value in pane.contents():
                operator.backend.set_slot(slot)
                operator.select(window)
                operator.emitter.take(call(window, [value if result is None else result(value)]), time)
                clear()
        operator.emitter.flush()

    def snapshot(self, changes: Changes) -> None:
        self._panes.snapshot(changes)


def windows_at(assigner: Any) -> WindowsAt | None:
    """The function that gives start and end of a timestamp's windows; None if they depend on more than the timestamp."""
    if type(assigner) is TumblingEventTimeWindows:
        size, offset = assigner.arguments

        def tumbling(time: int) -> list[tuple[int, int]]:
            start = time - (time - offset) % size
            return [(start, start + size)]

        return tumbling
    if type(assigner) is SlidingEventTimeWindows:
        size, slide, offset = assigner.arguments

        def sliding(time: int) -> list[tuple[int, int]]:
            last = time - (time - offset) % slide
            return [(start, start + size) for start in range(last, time - size, -slide)]

        return sliding
    return None


def _regular(assigner: Any) -> tuple[int, int]:
    """A length and where it is counted from: times that fall into the same part of it have the same windows."""
    if type(assigner) is TumblingEventTimeWindows:
        size, offset = assigner.arguments
        return size, offset
    size, slide, offset = assigner.arguments
    return (slide if size % slide == 0 else 1), offset


def _same_part(timestamps: Timestamps, length: int, offset: int) -> int | None:
    """One of some timestamps, if they all fall into the same part of a length; None if they do not, or one is missing."""
    if timestamps is None:
        return None
    try:
        first: int = min(timestamps)  # type: ignore[type-var, assignment]
        last: int = max(timestamps)  # type: ignore[type-var, assignment]
    except (TypeError, ValueError):  # there is None among them, or nothing
        return None
    if first == MIN_TIMESTAMP or (first - offset) // length != (last - offset) // length:
        return None
    return first

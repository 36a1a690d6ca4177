"""Windows whose contents are states of keys, and whose ends are timers. Flink: ``WindowOperator``."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from compat.compiler.datastream.window import TimeWindow
from compat.compiler.spark.operators.base import NO_RECORD
from compat.compiler.spark.operators.panes import WindowsAt
from compat.compiler.spark.operators.window_path import WindowPath
from compat.compiler.spark.runtime_api.elements import MIN_TIMESTAMP, Timestamps, Values

if TYPE_CHECKING:
    from compat.compiler.spark.operators.windows import WindowOperator


class StateWindows(WindowPath):
    """The path for any windows: one record after the other, each given to the trigger."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        self._operator.add_each(keys, values, timestamps)

    def fire(self, watermark: int) -> None:
        self._operator.fire_timers(watermark)


class GroupedWindows(StateWindows):
    """Windows of event time that fire when the watermark passes their end: records of one window get into it together."""

    def __init__(self, operator: WindowOperator, windows_at: WindowsAt) -> None:
        super().__init__(operator)
        self._windows_at = windows_at

    def add(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        if not self._in_time(timestamps):
            super().add(keys, values, timestamps)
            return
        operator, windows_at, groups = self._operator, self._windows_at, defaultdict[Any, Values](list)
        for slot, value, time in zip(operator.backend.slots.all_of(keys), values, timestamps or (), strict=True):
            for place in windows_at(time):
                groups[slot, place].append(value)
        many: Any = NO_RECORD
        try:
            for (slot, (start, end)), many in groups.items():
                operator.backend.set_slot(slot)
                operator.select(TimeWindow(start, end))
                operator.contents.add_all(many)
                operator.timers.event.register(end - 1)
                operator.register_cleanup(operator.window)
        except Exception as error:
            operator.fail(many, error)

    def _in_time(self, timestamps: Timestamps) -> bool:
        """True when nothing fires before the next watermark: no window of these records has ended."""
        if not timestamps or None in timestamps:
            return False
        earliest: int = min(timestamps)  # type: ignore[type-var, assignment]
        if earliest == MIN_TIMESTAMP:
            return False
        first = min((end for _, end in self._windows_at(earliest)), default=MIN_TIMESTAMP)  # none between the slides
        return first - 1 > self._operator.timers.watermark

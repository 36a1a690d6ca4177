"""The conditions for windows to fire. Flink: ``Trigger`` and its subclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from compat.compiler.datastream.common.constants import MAX_LONG_VALUE
from compat.compiler.datastream.functions import ReduceFunction
from compat.compiler.datastream.window.windows import TimeWindow, Window
from compat.state.descriptors import ReducingStateDescriptor, StateDescriptor, ValueStateDescriptor
from compat.state.time import Duration, Time, milliseconds_of
from compat.state.types import TypeInformation, Types

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class TriggerResult(Enum):
    """The decision about a window: (emit its result, drop its records)."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        """Whether the window's result is emitted."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the window's records are dropped."""
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Decides when a window fires. Keeps what it must remember in the context's state, never in itself."""

    class TriggerContext(ABC):
        """The clocks, timers and state of a trigger; times in milliseconds since 1970."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The clock."""

        @abstractmethod
        def get_metric_group(self) -> Any:
            """The group for the trigger's metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Call ``on_processing_time`` when the clock passes ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Call ``on_event_time`` when the watermark passes ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Delete a timer of the clock."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Delete a timer of the watermark."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """The state of this key and window."""

    class OnMergeContext(TriggerContext):
        """The context while windows are merged."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into that of the new one."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Handle a record that came into the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Handle a timer of the clock that is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: TriggerContext) -> TriggerResult:
        """Handle a timer of the watermark that is due."""

    def can_merge(self) -> bool:
        """Whether the trigger works for windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: OnMergeContext) -> None:
        """Handle the merging of windows into ``window``."""

    @abstractmethod
    def clear(self, window: W, ctx: TriggerContext) -> None:
        """Clear the state of the window."""


class _Quiet(Trigger[T, W]):
    """A trigger that does nothing unless told otherwise."""

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        return

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        return

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class EventTimeTrigger(_Quiet[T, TimeWindow]):
    """Fires when the watermark passes the end of the window, and then for each late record."""

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        """The trigger."""
        return EventTimeTrigger()

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_Quiet[T, TimeWindow]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        """The trigger."""
        return ProcessingTimeTrigger()

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class Min(ReduceFunction):
    """The smaller one of two values."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return min(value1, value2)


def _sum(left: int, right: int) -> int:
    return left + right


class _Continuous(_Quiet[T, TimeWindow]):
    """Fires at the multiples of an interval within the window; the next one is kept in the state ``fire-time``."""

    def __init__(self, interval: int) -> None:
        self.interval = interval
        self.state_desc = ReducingStateDescriptor("fire-time", Min(), Types.LONG())

    def can_merge(self) -> bool:
        return True

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext, fire_timestamp_state: Any
    ) -> None:
        """Remember the next time to fire and set a timer for it."""
        due = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(due)
        self._register(due, ctx)

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.state_desc)
        due = ctx.get_partitioned_state(self.state_desc).get()
        if due is not None:
            self._register(due, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(self.state_desc)
        due = fire_time.get()
        if due is not None:
            self._delete(due, ctx)
            fire_time.clear()

    def _start(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        fire_time = ctx.get_partitioned_state(self.state_desc)
        if fire_time.get() is None:
            self.register_next_fire_timestamp(time - time % self.interval, window, ctx, fire_time)

    def _fire_if_due(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        fire_time = ctx.get_partitioned_state(self.state_desc)
        if fire_time.get() != time:
            return TriggerResult.CONTINUE
        fire_time.clear()
        self.register_next_fire_timestamp(time, window, ctx, fire_time)
        return TriggerResult.FIRE

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_Continuous[T]):
    """Fires each time the watermark passes a multiple of the interval, and at the end of the window."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousEventTimeTrigger[Any]:
        """The trigger for an interval."""
        return ContinuousEventTimeTrigger(milliseconds_of(interval))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        self._start(timestamp, window, ctx)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_Continuous[T]):
    """Fires each time the clock passes a multiple of the interval."""

    @staticmethod
    def of(interval: Time | Duration) -> ContinuousProcessingTimeTrigger[Any]:
        """The trigger for an interval."""
        return ContinuousProcessingTimeTrigger(milliseconds_of(interval))

    def on_element(self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        self._start(ctx.get_current_processing_time(), window, ctx)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


class CountTrigger(_Quiet[T, W]):
    """Fires each time a number of records has come; counted in the state ``count``."""

    def __init__(self, window_size: int) -> None:
        self._window_size = window_size
        self._count_state_descriptor = ReducingStateDescriptor("count", _sum, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any, Any]:
        """The trigger for a number of records."""
        return CountTrigger(window_size)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count_state_descriptor)
        count.add(1)
        if count.get() < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count_state_descriptor).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class NeverTrigger(_Quiet[T, W]):
    """Never fires: the default of ``GlobalWindows``."""


class EndOfStreamTrigger(_Quiet[T, W]):
    """Fires once, when all input has ended (Flink: ``GlobalWindows.EndOfStreamTrigger``)."""

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        ctx.register_event_time_timer(MAX_LONG_VALUE)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE if time == MAX_LONG_VALUE else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        ctx.register_event_time_timer(MAX_LONG_VALUE)


class DeltaTrigger(_Quiet[T, W]):
    """Fires when a record is further than a threshold from the one that fired last (Flink: ``DeltaTrigger``).

    The last one is kept in the state ``last-element``.
    """

    def __init__(
        self,
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        state_type: TypeInformation | None = None,
    ) -> None:
        self.threshold = threshold
        self.delta_function = delta_function
        self.state_desc = ValueStateDescriptor("last-element", state_type)

    @staticmethod
    def of(
        threshold: float,
        delta_function: Callable[[Any, Any], float],
        state_type: TypeInformation | None = None,
    ) -> DeltaTrigger[Any, Any]:
        """The trigger for a threshold, a distance of two records, and the records' type."""
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        last = ctx.get_partitioned_state(self.state_desc)
        if last.value() is None:
            last.update(element)
            return TriggerResult.CONTINUE
        if self.delta_function(last.value(), element) <= self.threshold:
            return TriggerResult.CONTINUE
        last.update(element)
        return TriggerResult.FIRE

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self.state_desc).clear()

"""Triggers around other triggers. Flink: ``PurgingTrigger``, ``ProcessingTimeoutTrigger``."""

from __future__ import annotations

from typing import Any, TypeVar

from compat.compiler.datastream.window.triggers import Trigger, TriggerResult
from compat.compiler.datastream.window.windows import Window
from compat.state.descriptors import ValueStateDescriptor
from compat.state.time import Duration, Time, milliseconds_of
from compat.state.types import Types

T = TypeVar("T")
W = TypeVar("W", bound=Window)


class _Nesting(Trigger[T, W]):
    """Asks another trigger, and may change its answer."""

    def __init__(self, nested_trigger: Trigger[T, W]) -> None:
        self.nested_trigger = nested_trigger

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.nested_trigger!r})"


class PurgingTrigger(_Nesting[T, W]):
    """Drops the window's records whenever the other trigger fires."""

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger[Any, Any]:
        """The trigger around ``nested_trigger``."""
        return PurgingTrigger(nested_trigger)

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))


def _purging(result: TriggerResult) -> TriggerResult:
    return TriggerResult.FIRE_AND_PURGE if result.is_fire() else result


class ProcessingTimeoutTrigger(_Nesting[T, W]):
    """Fires when the other trigger does, and at the latest some time after a record came (Flink: of the same name).

    The time is kept in the state ``timeout``.
    """

    def __init__(
        self,
        nested_trigger: Trigger[T, W],
        interval: int,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> None:
        super().__init__(nested_trigger)
        self.interval = interval
        self.reset_timer_on_new_record = reset_timer_on_new_record
        self.should_clear_on_timeout = should_clear_on_timeout
        self.state_desc = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: Time | Duration,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger[Any, Any]:
        """The trigger around ``nested_trigger``."""
        return ProcessingTimeoutTrigger(
            nested_trigger, milliseconds_of(timeout), reset_timer_on_new_record, should_clear_on_timeout
        )

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self.state_desc)
        due = state.value()
        if due is not None and self.reset_timer_on_new_record:
            ctx.delete_processing_time_timer(due)
            due = None
        if due is None:
            due = ctx.get_current_processing_time() + self.interval
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_processing_time(time, window, ctx)
        if self.should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_event_time(time, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
        return result

    def can_merge(self) -> bool:
        return False

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self.state_desc)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self.nested_trigger.clear(window, ctx)

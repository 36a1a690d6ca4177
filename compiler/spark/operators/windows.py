"""Windows. Flink: ``WindowOperator``, ``EvictingWindowOperator``."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from compat.compiler.datastream.time_domain import TimeDomain
from compat.compiler.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from compat.compiler.datastream.window.evictors import Evictor, TimestampedValue
from compat.compiler.spark.operators.base import OperatorContext, Output, TaskRuntimeContext
from compat.compiler.spark.operators.folding import Folding, folded
from compat.compiler.spark.operators.keyed import KeyedOperator
from compat.compiler.spark.operators.merging import MergingWindows
from compat.compiler.spark.operators.panes import FoldedPanes, windows_at
from compat.compiler.spark.operators.sessions import FoldedSessions, HeldSessions
from compat.compiler.spark.operators.state_windows import GroupedWindows, StateWindows
from compat.compiler.spark.operators.window_contexts import (
    AssignerContext,
    EvictorContext,
    ProcessContext,
    TriggerContext,
    WindowRuntimeContext,
)
from compat.compiler.spark.operators.window_path import WindowPath
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.panes import Panes
from compat.compiler.spark.state.sessions import Sessions
from compat.compiler.transformations.operators import Window
from compat.state.descriptors import ListStateDescriptor, StateDescriptor

_KNOWN_WINDOWS = 10_000


class WindowOperator(KeyedOperator[Window]):
    """Runs windows; a key's windows are namespaces of its state."""

    def __init__(self, context: OperatorContext, output: Output, operator: Window) -> None:
        super().__init__(context, output, operator)
        self.assigner = operator.assigner
        self.trigger: Trigger[Any, Any] = operator.trigger
        self._lateness = operator.allowed_lateness
        self._late_tag = operator.late_data_output_tag
        self._evictor: Evictor[Any] | None = operator.evictor
        self._event_time: bool = self.assigner.is_event_time()
        self.merging = MergingWindows(self) if isinstance(self.assigner, MergingWindowAssigner) else None
        self._serializer = operator.window_serializer
        descriptor: StateDescriptor = operator.state_descriptor
        if self._evictor is not None:
            descriptor = ListStateDescriptor(descriptor.name, None)
        self.contents = self.backend.cells(descriptor)
        self.assigning = AssignerContext(self)
        self.triggering = TriggerContext(self)
        self._evicting = EvictorContext(self)
        self.call = self._window_function()
        self._encoded: dict[Any, bytes] = {}
        self.window: Any = None
        self._path = self._fastest_path(descriptor)

    def _fastest_path(self, descriptor: StateDescriptor) -> WindowPath:
        """How windows are kept: in memory where each fires once with one value, else many records at once, or one by one."""
        if self._evictor is not None or type(self.trigger) is not EventTimeTrigger:
            return StateWindows(self)
        folding = Folding.of(descriptor)
        in_memory = (
            folding is not None and self._lateness == 0 and not self.context.batch and descriptor.ttl_config is None
        )
        places = windows_at(self.assigner)
        if places is not None:
            panes = self._open_panes(descriptor) if in_memory else None
            if folding is None or panes is None:
                return GroupedWindows(self, places)
            return FoldedPanes(self, panes, folding, places)
        plain = (
            type(self.assigner) is EventTimeSessionWindows and descriptor.ttl_config is None and not self.context.batch
        )
        if self.merging is None or not plain:
            return StateWindows(self)
        sessions = self._open_sessions(descriptor, self.merging) if in_memory else None
        if folding is None or sessions is None:
            return HeldSessions(self, self.merging, *self.assigner.arguments)
        return FoldedSessions(self, sessions, folding)

    def _open_panes(self, descriptor: StateDescriptor) -> Panes | None:
        """The windows in memory; None if they are too large for it."""
        found = self.context.opened.panes
        if found is None or found.memory is not self.context.memory:

            def decode(namespace: bytes) -> tuple[int, int]:
                window = self._serializer.deserialize(BytesIO(namespace))
                return window.start, window.end

            found = Panes(
                self.backend, descriptor, lambda start, end: self.encode_window(TimeWindow(start, end)), decode
            )
            self.context.opened.panes = found
        return None if found.spilled else found

    def _open_sessions(self, descriptor: StateDescriptor, merging: MergingWindows) -> Sessions | None:
        """The same of sessions."""
        found = self.context.opened.sessions
        if found is None or found.memory is not self.context.memory:
            found = Sessions(self.backend, descriptor, self.contents.fold, *self.assigner.arguments)
            self.context.opened.sessions = found
            merging.windows()  # so that the description of the states has them
        return None if found.spilled else found

    def runtime_context(self) -> TaskRuntimeContext:
        return WindowRuntimeContext(self.context, self.backend)

    def encode_window(self, window: Any) -> bytes:
        """The namespace of a window."""
        place = (window.start, window.end) if type(window) is TimeWindow else window
        found = self._encoded.get(place)
        if found is None:
            stream = BytesIO()
            self._serializer.serialize(window, stream)
            found = stream.getvalue()
            if len(self._encoded) >= _KNOWN_WINDOWS:
                self._encoded.clear()
            self._encoded[place] = found
        return found

    def process_keyed(self, input: int, keys: Values, values: Values, timestamps: Timestamps) -> None:
        self._path.add(keys, values, timestamps)

    def add_each(self, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put one record after the other into its windows."""
        super().process_keyed(0, keys, values, timestamps)

    def process_watermark(self, timestamp: int) -> None:
        self._path.settle()
        self.watermark_now = self.timers.watermark = timestamp
        self._path.fire(timestamp)
        self.output.watermark(timestamp)

    def fire_timers(self, watermark: int) -> None:
        """Fire the windows whose timers are due."""
        self._fire(self.timers.event.due(watermark), TimeDomain.EVENT_TIME)

    def snapshot_state(self, changes: Changes) -> Any:
        self._path.settle()
        self._path.snapshot(changes)
        return super().snapshot_state(changes)

    def clearing(self) -> Callable[[], None]:
        """The program's action when a window is removed."""
        if hasattr(self.function, "clear") and hasattr(self.function, "process"):
            return lambda: self.function.clear(ProcessContext(self))
        return lambda: None

    def select(self, window: Any) -> None:
        """Select this window of the present key for all further calls to the state."""
        self.window = window
        self.backend.set_namespace(self.encode_window(window))

    def handler(self, input: int) -> Callable[[Any, int | None], None]:
        return self._add if self.merging is None else self.merging.add

    def _add(self, value: Any, time: int | None) -> None:
        timestamp = MIN_TIMESTAMP if time is None else time
        skipped = True
        self.backend.set_namespace(b"")
        for window in self.assigner.assign_windows(value, timestamp, self.assigning):
            if self.is_late(window):
                continue
            skipped = False
            self.select(window)
            self.append(value, time)
            self.act(self.trigger.on_element(value, timestamp, window, self.triggering), window, window, time)
            self.register_cleanup(window)
        if skipped:
            self.too_late(value, timestamp, time)

    def append(self, value: Any, time: int | None) -> None:
        """Put a record into the selected window."""
        self.contents.add(value if self._evictor is None else (value, time))

    def too_late(self, value: Any, timestamp: int, time: int | None) -> None:
        """Drop a record that is too late for every window, or give it to the side output for late records."""
        if not self._event_time or timestamp + self._lateness > self.timers.watermark:
            return
        if self._late_tag is None:
            self.context.metrics.counter("numLateRecordsDropped").inc()
        else:
            self.emitter.to_side(self._late_tag.tag_id, value, time)

    def is_late(self, window: Any) -> bool:
        """True for a window that has ended."""
        return self._event_time and self._cleanup_time(window) <= self.timers.watermark

    def _cleanup_time(self, window: Any) -> int:
        end: int = window.max_timestamp()
        if not self._event_time:
            return end
        cleanup = end + self._lateness
        return cleanup if cleanup <= MAX_WATERMARK else MAX_WATERMARK

    def register_cleanup(self, window: Any) -> None:
        """Set the timer that removes a window when its time is over."""
        time = self._cleanup_time(window)
        if time == MAX_WATERMARK:
            return
        self.backend.set_namespace(self.encode_window(window))
        (self.timers.event if self._event_time else self.timers.processing).register(time)

    def act(self, result: TriggerResult, window: Any, state_window: Any, time: int | None) -> None:
        """Fire and purge ``window``, whose contents are kept under ``state_window``.

        As in PyFlink, but not in Flink's Java, results have the timestamp of the record or timer that fired the window.
        """
        if result.is_fire():
            self._emit(window, state_window, time)
        if result.is_purge():
            self.select(state_window)
            self.contents.clear()
        self.select(window)

    def _emit(self, window: Any, state_window: Any, time: int | None) -> None:
        self.select(state_window)
        contents = self._read()
        if contents is None:
            return
        if self._evictor is None:
            self.select(window)
            self.emitter.take(self.call(window, contents), time)
            return
        elements = [TimestampedValue(*each) for each in contents]
        self._evictor.evict_before(elements, len(elements), window, self._evicting)
        values = [each.value for each in elements]
        self.select(window)
        self.emitter.take(
            self.call(
                window, folded(self.operator.state_descriptor, values) if self.operator.call.combines else values
            ),
            time,
        )
        self._evictor.evict_after(elements, len(elements), window, self._evicting)
        self.select(state_window)
        self.contents.update([tuple(each) for each in elements])

    def _read(self) -> Any:
        if self._evictor is not None or not self.operator.call.combines:
            return self.contents.values() or None
        value = self.contents.get()
        return None if value is None else [value]

    def _window_function(self) -> Callable[[Any, list[Any]], Any]:
        function = self.function
        for_all = self.operator.for_all
        if function is None:
            return lambda window, contents: contents
        if hasattr(function, "process"):
            context = ProcessContext(self)
            if for_all:
                return lambda window, contents: function.process(context, contents)
            return lambda window, contents: function.process(self.backend.key, context, contents)
        if for_all:
            return lambda window, contents: function.apply(window, contents)
        return lambda window, contents: function.apply(self.backend.key, window, contents)

    def on_timer(self, timestamp: int, key: Any, namespace: bytes, domain: TimeDomain) -> None:
        window = self._serializer.deserialize(BytesIO(namespace))
        state_window = window
        if self.merging is not None:
            state_window = self.merging.state_window(window)
            if state_window is None:
                return
        self.select(window)
        fired = self.trigger.on_event_time if domain is TimeDomain.EVENT_TIME else self.trigger.on_processing_time
        self.act(fired(timestamp, window, self.triggering), window, state_window, timestamp)
        if timestamp == self._cleanup_time(window) and (domain is TimeDomain.EVENT_TIME) == self._event_time:
            self._forget(window, state_window)

    def _forget(self, window: Any, state_window: Any) -> None:
        self.select(state_window)
        self.contents.clear()
        self.select(window)
        self.trigger.clear(window, self.triggering)
        self.clearing()()
        if self.merging is not None:
            self.merging.forget(window)

    def slot_of(self, window: Any) -> Any:
        """The slot of the state of a window of the present key."""
        self.backend.set_namespace(self.encode_window(window))
        return self.backend.slot

    def delete_cleanup(self, window: Any) -> None:
        """Delete that timer."""
        time = self._cleanup_time(window)
        if time != MAX_WATERMARK:
            (self.timers.event if self._event_time else self.timers.processing).delete(time)

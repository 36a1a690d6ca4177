"""Windows. Flink: ``WindowOperator``, ``EvictingWindowOperator``, ``MergingWindowSet``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from io import BytesIO
from itertools import repeat
from typing import Any

from compat.compiler.datastream.time_domain import TimeDomain
from compat.compiler.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    MergingWindowAssigner,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from compat.compiler.datastream.window.evictors import Evictor, TimestampedValue
from compat.compiler.spark.operators.base import (
    NO_RECORD,
    OperatorContext,
    Output,
    TaskRuntimeContext,
)
from compat.compiler.spark.operators.keyed import KeyedOperator
from compat.compiler.spark.operators.metrics import MetricGroup
from compat.compiler.spark.operators.sessions import FoldedSessions, HeldSessions
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP, Timestamps, Values
from compat.compiler.spark.state.backend import VOID, KeyedBackend
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.panes import Pane, Panes
from compat.compiler.spark.state.sessions import Sessions
from compat.compiler.transformations.operators import Window
from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from compat.state.names import MERGING_WINDOWS

_KNOWN_WINDOWS = 10_000


class WindowOperator(KeyedOperator[Window]):
    """Windows of a key, in namespaces of the key's state."""

    def __init__(self, context: OperatorContext, output: Output, operator: Window) -> None:
        super().__init__(context, output, operator)
        self._assigner = operator.assigner
        self._trigger: Trigger[Any, Any] = operator.trigger
        self._lateness = operator.allowed_lateness
        self._late_tag = operator.late_data_output_tag
        self._evictor: Evictor[Any] | None = operator.evictor
        self._event_time: bool = self._assigner.is_event_time()
        self.merging = isinstance(self._assigner, MergingWindowAssigner)
        self._serializer = operator.window_serializer
        descriptor: StateDescriptor = operator.state_descriptor
        if self._evictor is not None:
            descriptor = ListStateDescriptor(descriptor.name, None)
        self.contents = self.backend.cells(descriptor)
        self._assigning = _AssignerContext(self)
        self._triggering = _TriggerContext(self)
        self._evicting = _EvictorContext(self)
        self.call = self._window_function()
        self._encoded: dict[Any, bytes] = {}
        self._windows_at = None
        if self._evictor is None and type(self._trigger) is EventTimeTrigger:
            self._windows_at = _windows_at(self._assigner)
        self.window: Any = None
        self._panes = self._open_panes(descriptor)
        self._merging_set: _MergingSet | None = None
        self._held: HeldSessions | None = None
        self._folded_sessions: FoldedSessions | None = None
        plain = type(self._assigner) is EventTimeSessionWindows and type(self._trigger) is EventTimeTrigger
        if plain and self._evictor is None and descriptor.ttl_config is None and not context.batch:
            sessions = self._open_sessions(descriptor)
            if sessions is None:
                self._held = HeldSessions(self, *self._assigner.arguments)
            else:
                self._folded_sessions = FoldedSessions(self, sessions)

    def _open_panes(self, descriptor: StateDescriptor) -> Panes | None:
        """The windows in memory, where each fires once, when the watermark passes its end, and holds one value by key."""
        folded = isinstance(descriptor, ReducingStateDescriptor | AggregatingStateDescriptor)
        plain = self._windows_at is not None and self._lateness == 0 and not self.context.batch
        if not (folded and plain and descriptor.ttl_config is None):
            return None
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

    def _open_sessions(self, descriptor: StateDescriptor) -> Sessions | None:
        """The same of sessions."""
        if not isinstance(descriptor, ReducingStateDescriptor | AggregatingStateDescriptor) or self._lateness:
            return None
        found = self.context.opened.sessions
        if found is None or found.memory is not self.context.memory:
            found = Sessions(self.backend, descriptor, self.contents.fold, *self._assigner.arguments)
            self.context.opened.sessions = found
            self.sessions()  # so that what describes the states knows of them
        return None if found.spilled else found

    def runtime_context(self) -> TaskRuntimeContext:
        return _RuntimeContext(self.context, self.backend)

    def encode_window(self, window: Any) -> bytes:
        """A window as a namespace."""
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
        if self._panes is not None:
            try:
                self._fold(self._panes, keys, values, timestamps)
            finally:
                self.emitter.flush()
            return
        if self._folded_sessions is not None:
            self._folded_sessions.add(keys, values, timestamps)
            return
        if self._held is not None:
            self._held.add(keys, values, timestamps)
            return
        if self._windows_at is None or not self._in_time(timestamps):
            super().process_keyed(input, keys, values, timestamps)
            return
        windows_at, groups = self._windows_at, defaultdict[Any, Values](list)
        for slot, value, time in zip(self.backend.slots.all_of(keys), values, timestamps or (), strict=True):
            for place in windows_at(time):
                groups[slot, place].append(value)
        many: Any = NO_RECORD
        try:
            for (slot, (start, end)), many in groups.items():
                self.backend.set_slot(slot)
                self.select(TimeWindow(start, end))
                self.contents.add_all(many)
                self.timers.event.register(end - 1)
                self._register_cleanup(self.window)
        except Exception as error:
            self.fail(many, error)

    def _fold(self, panes: Panes, keys: Values, values: Values, timestamps: Timestamps) -> None:
        """Put records into their windows; those that have ended are gone."""
        assert self._windows_at is not None
        windows_at, watermark = self._windows_at, self.timers.watermark
        reduces, fold = self.folder()
        slots = self.backend.slots.all_of(keys)
        slide, offset = _regular(self._assigner)
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
                    self._assigner.assign_windows(value, MIN_TIMESTAMP, self._assigning)  # it says what is wrong
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
                    self.too_late(value, time, time)  # type: ignore[arg-type]
        except Exception as error:
            self.fail(value, error)

    def _fold_into(self, pane: Pane, slots: Values, values: Values) -> None:
        """Put records into one window, which they all fall into: most that are handed over at once fall into the same ones."""
        reduces, fold = self.folder()
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
            self.fail(value, error)

    def folder(self) -> tuple[bool, Callable[[Any, Any], Any]]:
        """What a window has of a key and a value as one; whether a value alone is what a window has where it has nothing."""
        descriptor = self.operator.state_descriptor
        if isinstance(descriptor, ReducingStateDescriptor):
            return True, descriptor.get_reduce_function().reduce
        assert isinstance(descriptor, AggregatingStateDescriptor)
        function = descriptor.get_agg_function()
        add, create = function.add, function.create_accumulator

        def fold(present: Any, value: Any) -> Any:
            return None if value is None else add(value, create() if present is None else present)

        return False, fold

    def process_watermark(self, timestamp: int) -> None:
        if self._panes is None and self._folded_sessions is None:
            if self._held is not None:
                self._held.put_all()
            super().process_watermark(timestamp)
            return
        self.watermark_now = self.timers.watermark = timestamp
        if self._folded_sessions is not None:
            self._folded_sessions.fire(timestamp)
        elif self._panes is not None:
            self._fire_panes(self._panes, timestamp)
        self.output.watermark(timestamp)

    def _fire_panes(self, panes: Panes, timestamp: int) -> None:
        try:
            for pane in panes.due(timestamp):
                self._fire_pane(pane)
        except Exception as error:
            self.fail(NO_RECORD, error)

    def _fire_pane(self, pane: Pane) -> None:
        result, time = self.result(), pane.end - 1
        if self.function is None:
            values = [value for _, value in pane.contents()]
            self.emitter.take(values if result is None else map(result, values), time)
        else:
            window, call, clear = TimeWindow(pane.start, pane.end), self.call, self.clearing()
            for slot, value in pane.contents():
                self.backend.set_slot(slot)
                self.select(window)
                self.emitter.take(call(window, [value if result is None else result(value)]), time)
                clear()
        self.emitter.flush()

    def result(self) -> Callable[[Any], Any] | None:
        """Makes what the window function is given of what was folded; None where that is the same."""
        descriptor = self.operator.state_descriptor
        if isinstance(descriptor, AggregatingStateDescriptor):
            return descriptor.get_agg_function().get_result  # type: ignore[no-any-return]
        return None

    def clearing(self) -> Callable[[], None]:
        """What the program does when a window is gone."""
        if hasattr(self.function, "clear") and hasattr(self.function, "process"):
            return lambda: self.function.clear(_ProcessContext(self))
        return lambda: None

    def snapshot_state(self, changes: Changes) -> Any:
        if self._panes is not None:
            self._panes.snapshot(changes)
        if self._folded_sessions is not None:
            self._folded_sessions.snapshot(changes)
        if self._held is not None:
            self._held.put_all()
        return super().snapshot_state(changes)

    def _in_time(self, timestamps: Timestamps) -> bool:
        """True when nothing fires before the next watermark: no window of these records has ended."""
        if not timestamps or None in timestamps:
            return False
        assert self._windows_at is not None
        earliest: int = min(timestamps)  # type: ignore[type-var, assignment]
        if earliest == MIN_TIMESTAMP:
            return False
        first = min((end for _, end in self._windows_at(earliest)), default=MIN_TIMESTAMP)  # none between the slides
        return first - 1 > self.timers.watermark

    def select(self, window: Any) -> None:
        """All further calls to the state are about this window of the present key."""
        self.window = window
        self.backend.set_namespace(self.encode_window(window))

    def handler(self, input: int) -> Callable[[Any, int | None], None]:
        return self._merge_and_add if self.merging else self._add

    def _add(self, value: Any, time: int | None) -> None:
        timestamp = MIN_TIMESTAMP if time is None else time
        skipped = True
        self.backend.set_namespace(b"")
        for window in self._assigner.assign_windows(value, timestamp, self._assigning):
            if self._late(window):
                continue
            skipped = False
            self.select(window)
            self._append(value, time)
            self._act(self._trigger.on_element(value, timestamp, window, self._triggering), window, window, time)
            self._register_cleanup(window)
        if skipped:
            self.too_late(value, timestamp, time)

    def _append(self, value: Any, time: int | None) -> None:
        self.contents.add(value if self._evictor is None else (value, time))

    def too_late(self, value: Any, timestamp: int, time: int | None) -> None:
        if not self._event_time or timestamp + self._lateness > self.timers.watermark:
            return
        if self._late_tag is None:
            self.context.metrics.counter("numLateRecordsDropped").inc()
        else:
            self.emitter.to_side(self._late_tag.tag_id, value, time)

    def _late(self, window: Any) -> bool:
        return self._event_time and self._cleanup_time(window) <= self.timers.watermark

    def _cleanup_time(self, window: Any) -> int:
        end: int = window.max_timestamp()
        if not self._event_time:
            return end
        cleanup = end + self._lateness
        return cleanup if cleanup <= MAX_WATERMARK else MAX_WATERMARK

    def _register_cleanup(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if time == MAX_WATERMARK:
            return
        self.backend.set_namespace(self.encode_window(window))
        (self.timers.event if self._event_time else self.timers.processing).register(time)

    def _act(self, result: TriggerResult, window: Any, state_window: Any, time: int | None) -> None:
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
        self.select(window)
        self.emitter.take(self.call(window, self._folded([each.value for each in elements])), time)
        self._evictor.evict_after(elements, len(elements), window, self._evicting)
        self.select(state_window)
        self.contents.update([tuple(each) for each in elements])

    def _read(self) -> Any:
        if self._evictor is not None or not self.operator.call.combines:
            return self.contents.values() or None
        value = self.contents.get()
        return None if value is None else [value]

    def _folded(self, values: list[Any]) -> list[Any]:
        """The values as the window function sees them behind an evictor: reduced or aggregated only now."""
        if not values or not self.operator.call.combines:
            return values
        state = self.operator.state_descriptor
        if isinstance(state, ReducingStateDescriptor):
            reduce = state.get_reduce_function().reduce
            total = values[0]
            for value in values[1:]:
                total = reduce(total, value)
            return [total]
        assert isinstance(state, AggregatingStateDescriptor)
        function = state.get_agg_function()
        accumulator = function.create_accumulator()
        for value in values:
            accumulator = function.add(value, accumulator)
        return [function.get_result(accumulator)]

    def _window_function(self) -> Callable[[Any, list[Any]], Any]:
        function = self.function
        for_all = self.operator.for_all
        if function is None:
            return lambda window, contents: contents
        if hasattr(function, "process"):
            context = _ProcessContext(self)
            if for_all:
                return lambda window, contents: function.process(context, contents)
            return lambda window, contents: function.process(self.backend.key, context, contents)
        if for_all:
            return lambda window, contents: function.apply(window, contents)
        return lambda window, contents: function.apply(self.backend.key, window, contents)

    def on_timer(self, timestamp: int, key: Any, namespace: bytes, domain: TimeDomain) -> None:
        window = self._serializer.deserialize(BytesIO(namespace))
        state_window = window
        if self.merging:
            self.backend.set_namespace(b"")
            state_window = self.sessions().get(window)
            if state_window is None:
                return
        self.select(window)
        fired = self._trigger.on_event_time if domain is TimeDomain.EVENT_TIME else self._trigger.on_processing_time
        self._act(fired(timestamp, window, self._triggering), window, state_window, timestamp)
        if timestamp == self._cleanup_time(window) and (domain is TimeDomain.EVENT_TIME) == self._event_time:
            self._forget(window, state_window)

    def _forget(self, window: Any, state_window: Any) -> None:
        self.select(state_window)
        self.contents.clear()
        self.select(window)
        self._trigger.clear(window, self._triggering)
        self.clearing()()
        if self.merging:
            self.backend.set_namespace(b"")
            self.sessions().pop(window, None)

    def sessions(self) -> _MergingSet:
        """The windows of the present key."""
        if self._merging_set is None:
            self._merging_set = _MergingSet(self.backend.cells(MapStateDescriptor(MERGING_WINDOWS, None, None)))
        return self._merging_set

    def _merge_and_add(self, value: Any, time: int | None) -> None:
        timestamp = MIN_TIMESTAMP if time is None else time
        skipped = True
        self.backend.set_namespace(b"")
        for window in self._assigner.assign_windows(value, timestamp, self._assigning):
            actual = self._add_window(window)
            if self._late(actual):
                self.backend.set_namespace(b"")
                self.sessions().pop(actual, None)
                continue
            skipped = False
            self.backend.set_namespace(b"")
            state_window = self.sessions().get(actual)
            self.select(state_window)
            self._append(value, time)
            self.select(actual)
            self._act(self._trigger.on_element(value, timestamp, actual, self._triggering), actual, state_window, time)
            self._register_cleanup(actual)
        if skipped:
            self.too_late(value, timestamp, time)

    def _add_window(self, window: TimeWindow) -> Any:
        """Put a window into the set of the key; gives the window it became part of."""
        self.backend.set_namespace(b"")
        windows = self.sessions()
        known = windows.all()
        merges: list[tuple[set[Any], Any]] = []
        self._assigner.merge_windows([*known, window], _Callback(merges))
        result = window
        for members, merged in merges:
            if window in members:
                result = merged
            members = {member for member in members if member in known}
            if not members or (members == {merged} and merged in known):
                continue
            self._merge(windows, members, merged, known)
        if result == window and window not in known and not any(window in members for members, _ in merges):
            windows.put(window, window)
        self.backend.set_namespace(b"")
        if windows.get(result) is None:
            windows.put(result, result)
        return result

    def _merge(self, windows: _MergingSet, members: set[Any], merged: Any, known: dict[Any, Any]) -> None:
        ordered = sorted(members)
        keep = known[ordered[0]]
        others = [known[member] for member in ordered[1:]]
        for member in ordered:
            windows.pop(member, None)
        windows.put(merged, keep)
        self._triggering.merged = ordered
        self.select(merged)
        self._trigger.on_merge(merged, self._triggering)
        for member in ordered:
            if member != merged:
                self.select(member)
                self._trigger.clear(member, self._triggering)
                self._delete_cleanup(member)
        if others:
            self.contents.merge([self._slot(each) for each in others], self._slot(keep))
        self.backend.set_namespace(b"")

    def move_session(self, known: TimeWindow, grown: TimeWindow) -> None:
        """Give a session of the present key its window as it has grown, and select the one that its contents are under."""
        windows = self.sessions()
        every = windows.all()
        if grown != known:
            self._merge(windows, {known}, grown, every)
            self._register_cleanup(grown)
        self.select(every[known])

    def _slot(self, window: Any) -> Any:
        self.backend.set_namespace(self.encode_window(window))
        return self.backend.slot

    def _delete_cleanup(self, window: Any) -> None:
        time = self._cleanup_time(window)
        if time != MAX_WATERMARK:
            (self.timers.event if self._event_time else self.timers.processing).delete(time)


def _windows_at(assigner: Any) -> Callable[[Any], list[tuple[int, int]]] | None:
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


class _Callback(MergingWindowAssigner.MergeCallback[Any]):
    def __init__(self, merges: list[tuple[set[Any], Any]]) -> None:
        self._merges = merges

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self._merges.append((set(to_be_merged), merge_result))


class _MergingSet:
    """For each window of a key the window under which its contents are kept (Flink: ``MergingWindowSet``)."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def all(self) -> dict[Any, Any]:
        return {TimeWindow(*key): TimeWindow(*value) for key, value in self._state.items()}

    def get(self, window: Any) -> Any:
        found = self._state.get((window.start, window.end))
        return None if found is None else TimeWindow(*found)

    def put(self, window: Any, state_window: Any) -> None:
        self._state.put((window.start, window.end), (state_window.start, state_window.end))

    def pop(self, window: Any, default: Any) -> None:
        if self._state.contains((window.start, window.end)):
            self._state.remove((window.start, window.end))


class _AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, operator: WindowOperator) -> None:
        self._clock = operator.context.clock
        self._runtime = TaskRuntimeContext(operator.context, operator.backend)

    def get_current_processing_time(self) -> int:
        return self._clock()

    def get_runtime_context(self) -> Any:
        return self._runtime


class _TriggerContext(Trigger.OnMergeContext):
    """The context that triggers ask; state and timers are those of the selected window."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._timers = operator.timers
        self.merged: list[Any] = []
        self.register_processing_time_timer = operator.timers.processing.register  # type: ignore[method-assign, assignment]
        self.register_event_time_timer = operator.timers.event.register  # type: ignore[method-assign, assignment]
        self.delete_processing_time_timer = operator.timers.processing.delete  # type: ignore[method-assign, assignment]
        self.delete_event_time_timer = operator.timers.event.delete  # type: ignore[method-assign, assignment]

    def get_current_processing_time(self) -> int:
        return self._timers.clock()

    def get_metric_group(self) -> Any:
        return MetricGroup(self._operator.context.metrics)

    def get_current_watermark(self) -> int:
        return self._timers.watermark

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._operator.backend.cells(state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        if isinstance(state_descriptor, (MapStateDescriptor, ValueStateDescriptor)):
            raise TypeError(f"State {state_descriptor.name!r} cannot be merged: a list or folded state can.")
        operator = self._operator
        into = operator.backend.slot
        namespace = operator.backend.namespace
        slots = [slot for window in self.merged if (slot := operator._slot(window)) != into]
        operator.backend.set_namespace(namespace)
        operator.backend.cells(state_descriptor).merge(slots, into)
        operator.backend.set_namespace(namespace)

    def register_processing_time_timer(self, time: int) -> None: ...

    def register_event_time_timer(self, time: int) -> None: ...

    def delete_processing_time_timer(self, time: int) -> None: ...

    def delete_event_time_timer(self, time: int) -> None: ...


class _EvictorContext(Evictor.EvictorContext):
    def __init__(self, operator: WindowOperator) -> None:
        self._timers = operator.timers

    def get_current_processing_time(self) -> int:
        return self._timers.clock()

    def get_current_watermark(self) -> int:
        return self._timers.watermark


class _ProcessContext:
    """The context of process window functions."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def window(self) -> Any:
        """The window that fired."""
        return self._operator.window

    def current_processing_time(self) -> int:
        """The machine's clock."""
        return self._operator.timers.clock()

    def current_watermark(self) -> int:
        """The present event time."""
        return self._operator.timers.watermark

    def window_state(self) -> Any:
        """State of this key and window."""
        return _InNamespace(self._operator, window=True)

    def global_state(self) -> Any:
        """State of this key over all its windows."""
        return _InNamespace(self._operator, window=False)


class _InNamespace:
    """A store whose states always belong to the window, or always to the key."""

    def __init__(self, operator: WindowOperator, window: bool) -> None:
        self._operator = operator
        self._window = window

    def get_state(self, descriptor: Any) -> Any:
        """The state of a descriptor, apart from those of the other store."""
        operator = self._operator
        if self._window and operator.merging:
            raise RuntimeError("Windows that merge have no state of their own: use global_state() or other windows.")
        namespace = operator.encode_window(operator.window) if self._window else b""
        return _Bound(operator.backend, operator.backend.cells(descriptor), namespace)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


class _RuntimeContext(TaskRuntimeContext):
    """The runtime context of window functions: the state that they ask it for is of the key, whatever window fires."""

    def get_state(self, state_descriptor: Any) -> Any:
        backend = self._state()
        return _Bound(backend, backend.cells(state_descriptor), VOID)

    get_list_state = get_map_state = get_reducing_state = get_aggregating_state = get_state


class _Bound:
    """A state whose every call is made in one namespace."""

    def __init__(self, backend: KeyedBackend, cells: Any, namespace: bytes) -> None:
        self._backend, self._cells, self._namespace = backend, cells, namespace

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._cells, name)
        backend = self._backend

        def call(*arguments: Any) -> Any:
            before = backend.namespace
            backend.set_namespace(self._namespace)
            try:
                return method(*arguments)
            finally:
                backend.set_namespace(before)

        return call

    def __iter__(self) -> Any:
        return iter(self.get() if hasattr(self._cells, "get") else self.keys())

    def __getitem__(self, key: Any) -> Any:
        return self.get(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __contains__(self, key: Any) -> bool:
        return bool(self.contains(key))

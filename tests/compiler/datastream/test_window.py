"""Windows as they are assigned, merged, fired, thinned and written down."""

from io import BytesIO
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.datastream.common.constants import MAX_LONG_VALUE, MIN_LONG_VALUE
from compat.compiler.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DeltaEvictor,
    DeltaTrigger,
    EndOfStreamTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from compat.state.descriptors import ReducingStateDescriptor
from compat.state.time import Time

CONTINUE, FIRE, PURGE_TOO = TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE


class Cell:
    """A value state and a reducing state in one."""

    def __init__(self, reduce=None):
        self.held, self.reduce = None, reduce

    def value(self):
        return self.held

    get = value

    def update(self, value):
        self.held = value

    def add(self, value):
        self.held = value if self.held is None else self.reduce(self.held, value)

    def clear(self):
        self.held = None


class Context:
    """Serves assigners and triggers: a clock, a watermark, timers and state."""

    def __init__(self, clock=0, watermark=MIN_LONG_VALUE):
        self.clock, self.watermark = clock, watermark
        self.timers, self.states, self.merged = set(), {}, []

    def get_current_processing_time(self):
        return self.clock

    def get_current_watermark(self):
        return self.watermark

    def register_event_time_timer(self, time):
        self.timers.add(("event", time))

    def register_processing_time_timer(self, time):
        self.timers.add(("clock", time))

    def delete_event_time_timer(self, time):
        self.timers.discard(("event", time))

    def delete_processing_time_timer(self, time):
        self.timers.discard(("clock", time))

    def get_partitioned_state(self, descriptor):
        reduce = None
        if isinstance(descriptor, ReducingStateDescriptor):
            reduce = descriptor.get_reduce_function().reduce
        return self.states.setdefault(descriptor.name, Cell(reduce))

    def merge_partitioned_state(self, descriptor):
        self.merged.append(descriptor.name)

    def get_runtime_context(self):
        return SimpleNamespace(get_state=self.get_partitioned_state)


def spans(windows):
    return [(window.start, window.end) for window in windows]


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element


@pytest.mark.parametrize(
    ("assigner", "time", "expected"),
    [
        (TumblingEventTimeWindows.of(Time.seconds(5)), 12_345, [(10_000, 15_000)]),
        (TumblingEventTimeWindows.of(Time.seconds(5)), -1, [(-5_000, 0)]),
        (TumblingEventTimeWindows.of(Time.seconds(5), Time.seconds(2)), 1_000, [(-3_000, 2_000)]),
        (TumblingEventTimeWindows.of(Time.days(1), Time.hours(-8)), 0, [(-28_800_000, 57_600_000)]),
        (SlidingEventTimeWindows.of(Time.seconds(10), Time.seconds(5)), 12_000, [(10_000, 20_000), (5_000, 15_000)]),
        (SlidingEventTimeWindows.of(Time.seconds(5), Time.seconds(10)), 7_000, []),
        (EventTimeSessionWindows.with_gap(Time.seconds(3)), 100, [(100, 3_100)]),
        (EventTimeSessionWindows.with_dynamic_gap(Gap()), 100, [(100, 142)]),
        (TumblingProcessingTimeWindows.of(Time.seconds(1)), 100, [(7_000, 8_000)]),
        (ProcessingTimeSessionWindows.with_gap(Time.seconds(1)), 100, [(7_777, 8_777)]),
    ],
)
def test_time_windows(assigner, time, expected) -> None:
    assert spans(assigner.assign_windows(42, time, Context(clock=7_777))) == expected


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6), st.data())
def test_a_record_is_in_its_window(time: int, size: int, data: st.DataObject) -> None:
    offset = data.draw(st.integers(-size + 1, size - 1))
    (window,) = TumblingEventTimeWindows(size, offset).assign_windows(None, time, Context())
    assert window.start <= time <= window.max_timestamp()
    assert (window.start - offset) % size == 0


@given(st.integers(-(10**9), 10**9), st.integers(1, 1000), st.integers(1, 1000))
def test_sliding_windows_are_all_that_hold_the_record(time: int, size: int, slide: int) -> None:
    found = set(SlidingEventTimeWindows(size, slide, 0).assign_windows(None, time, Context()))
    first = (time - size) // slide
    every = (TimeWindow(n * slide, n * slide + size) for n in range(first, time // slide + 1))
    assert found == {window for window in every if window.start <= time < window.end}


def test_count_windows() -> None:
    context = Context()
    tumbling = CountTumblingWindowAssigner.of(2)
    assert [tumbling.assign_windows(None, 0, context)[0].id for _ in range(5)] == [0, 0, 1, 1, 2]
    sliding = CountSlidingWindowAssigner.of(4, 2)
    found = [[window.id for window in sliding.assign_windows(None, 0, context)] for _ in range(6)]
    assert found == [[0], [0], [1, 0], [1, 0], [2, 1], [2, 1]]
    assert set(context.states) == {"tumble-count-assigner", "slide-count-assigner"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TumblingEventTimeWindows.of(Time.seconds(1), Time.seconds(1)), r"abs\(offset\) < size"),
        (
            lambda: SlidingEventTimeWindows.of(Time.seconds(1), Time.seconds(1), Time.seconds(1)),
            r"abs\(offset\) < slide",
        ),
        (lambda: EventTimeSessionWindows.with_gap(Time.seconds(0)), "0 < size"),
        (lambda: EventTimeSessionWindows.with_dynamic_gap(Gap()).assign_windows(0, 0, Context()), "0 < gap"),
        (
            lambda: TumblingEventTimeWindows.of(Time.seconds(1)).assign_windows(0, MIN_LONG_VALUE, Context()),
            "assign_timestamps_and_watermarks",
        ),
    ],
)
def test_windows_that_cannot_be(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_sessions_merge_where_they_touch() -> None:
    calls = []
    callback = SimpleNamespace(merge=lambda members, cover: calls.append((spans(sorted(members)), cover)))
    assigner = EventTimeSessionWindows.with_gap(Time.seconds(1))
    assert isinstance(assigner, MergingWindowAssigner)
    assigner.merge_windows([TimeWindow(8, 9), TimeWindow(0, 2), TimeWindow(1, 4), TimeWindow(4, 5)], callback)
    assert calls == [([(0, 2), (1, 4), (4, 5)], TimeWindow(0, 5))]


@pytest.mark.parametrize(
    ("assigner", "trigger", "event_time"),
    [
        (TumblingEventTimeWindows.of(Time.seconds(1)), EventTimeTrigger, True),
        (TumblingProcessingTimeWindows.of(Time.seconds(1)), ProcessingTimeTrigger, False),
        (CountTumblingWindowAssigner.of(3), CountTrigger, False),
        (GlobalWindows.create(), NeverTrigger, False),
        (GlobalWindows.create_with_end_of_stream_trigger(), EndOfStreamTrigger, False),
    ],
)
def test_default_triggers(assigner, trigger, event_time) -> None:
    assert isinstance(assigner.get_default_trigger(None), trigger)
    assert assigner.is_event_time() is event_time


WINDOW = TimeWindow(0, 100)


def test_the_event_time_trigger_fires_at_the_end_and_for_late_records() -> None:
    trigger, context = EventTimeTrigger.create(), Context()
    assert trigger.on_element(1, 5, WINDOW, context) is CONTINUE
    assert context.timers == {("event", 99)}
    assert trigger.on_event_time(50, WINDOW, context) is CONTINUE
    assert trigger.on_event_time(99, WINDOW, context) is FIRE
    trigger.clear(WINDOW, context)
    assert context.timers == set()
    context.watermark = 99
    assert trigger.on_element(1, 5, WINDOW, context) is FIRE


def test_the_processing_time_trigger_fires_at_the_end() -> None:
    trigger, context = ProcessingTimeTrigger.create(), Context()
    assert trigger.on_element(1, 5, WINDOW, context) is CONTINUE
    assert context.timers == {("clock", 99)}
    assert trigger.on_processing_time(99, WINDOW, context) is FIRE
    trigger.on_merge(TimeWindow(0, 200), context)
    assert ("clock", 199) in context.timers


def test_the_continuous_trigger_fires_at_each_interval() -> None:
    trigger, context = ContinuousEventTimeTrigger.of(Time.milliseconds(30)), Context()
    assert trigger.on_element(1, 35, WINDOW, context) is CONTINUE
    assert context.timers == {("event", 99), ("event", 60)}
    assert trigger.on_event_time(60, WINDOW, context) is FIRE
    assert ("event", 90) in context.timers
    assert trigger.on_event_time(90, WINDOW, context) is FIRE
    assert context.states["fire-time"].get() == 99
    assert trigger.on_event_time(99, WINDOW, context) is FIRE
    trigger.clear(WINDOW, context)
    assert context.states["fire-time"].get() is None


def test_the_count_trigger_fires_at_each_count_and_purges_on_demand() -> None:
    trigger, context = CountTrigger.of(2), Context()
    assert [trigger.on_element(1, 0, WINDOW, context) for _ in range(4)] == [CONTINUE, FIRE, CONTINUE, FIRE]
    purging = PurgingTrigger.of(CountTrigger.of(1))
    assert purging.on_element(1, 0, WINDOW, Context()) is PURGE_TOO
    assert purging.can_merge()


def test_the_delta_trigger_fires_when_a_record_is_far_from_the_last() -> None:
    trigger, context = DeltaTrigger.of(10, lambda old, new: new - old), Context()
    assert [trigger.on_element(x, 0, WINDOW, context) for x in (1, 5, 20, 25)] == [CONTINUE, CONTINUE, FIRE, CONTINUE]


def test_the_timeout_trigger_fires_at_the_latest_then() -> None:
    trigger, context = ProcessingTimeoutTrigger.of(CountTrigger.of(3), Time.milliseconds(50)), Context(clock=7)
    assert trigger.on_element(1, 0, WINDOW, context) is CONTINUE
    assert context.timers == {("clock", 57)}
    assert trigger.on_processing_time(57, WINDOW, context) is FIRE
    assert context.timers == set()


def test_the_end_of_stream_trigger_fires_once() -> None:
    trigger, context = EndOfStreamTrigger(), Context()
    assert trigger.on_element(1, 0, WINDOW, context) is CONTINUE
    assert trigger.on_event_time(5, WINDOW, context) is CONTINUE
    assert trigger.on_event_time(MAX_LONG_VALUE, WINDOW, context) is FIRE


@pytest.mark.parametrize(
    ("evictor", "kept"),
    [
        (CountEvictor.of(2), [30, 25]),
        (CountEvictor.of(9), [1, 20, 30, 25]),
        (TimeEvictor.of(Time.milliseconds(10)), [30, 25]),
        (DeltaEvictor.of(6, lambda old, new: abs(new - old)), [20, 30, 25]),
    ],
)
def test_evictors_keep_the_latest(evictor, kept) -> None:
    elements = [TimestampedValue(value, value) for value in (1, 20, 30, 25)]
    untouched = list(elements)
    evictor.evict_after(untouched, 4, WINDOW, None)
    assert untouched == elements
    evictor.evict_before(elements, 4, WINDOW, None)
    assert [element.value for element in elements] == kept


@pytest.mark.parametrize(
    ("serializer", "window"),
    [
        (TimeWindowSerializer(), TimeWindow(-5, 2**62)),
        (CountWindowSerializer(), CountWindow(7)),
        (GlobalWindowSerializer(), GlobalWindow.get()),
    ],
)
def test_windows_are_written_and_read(serializer, window) -> None:
    stream = BytesIO()
    serializer.serialize(window, stream)
    stream.seek(0)
    assert serializer.deserialize(stream) == window
    assert serializer == type(serializer)()

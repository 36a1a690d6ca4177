"""Windows against plain Python, whatever the epoch size and the parallelism."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkStrategy,
)
from compat.compiler.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from compat.compiler.datastream.output_tag import OutputTag
from compat.compiler.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from compat.compiler.datastream.window.evictors import CountEvictor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.state.memory import MANAGED_MEMORY
from compat.compiler.spark.state.sessions import Sessions
from compat.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from compat.state.time import Duration, Time
from compat.state.types import Types

EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
SHAPES = pytest.mark.parametrize(("parallelism", "epoch_records"), [(1, None), (2, 23), (5, 60)])


def events(count: int = 240) -> list[tuple[str, int, int]]:
    draw = random.Random(7)
    return [(f"k{draw.randrange(5)}", 1000 + i * 10 + draw.randrange(40), i) for i in range(count)]


class Ending(WindowAssigner[Any, TimeWindow]):
    """Windows that begin where a record says, and end with it."""

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(start, timestamp + 1) for start in element[2]]

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class Started(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start


@pytest.mark.parametrize(
    "records",
    [
        [("a", 60, (30, 40))],
        [("a", 60, (40, 30))],
        [("b", 10, (5,)), ("a", 60, (30, 40))],
        [("b", 10, (5,)), ("b", 30, (5,)), ("a", 60, (30, 40, 50))],
    ],
)
def test_windows_of_a_key_that_end_together_fire_in_their_order(cluster: Any, records: list[Any]) -> None:
    """As in PyFlink 2.3 on RocksDB. On the heap Flink has no order for timers of one time: in these programs 30 is the first
    one, then 40, 40 and 40, as the timers of the other key were before them."""
    env = cluster.environment(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1000))
    stream = env.from_collection(records).assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ByField()))
    fired = stream.key_by(lambda value: value[0], Types.STRING()).window(Ending()).process(Started())
    found = [start for key, start in fired.execute_and_collect() if key == "a"]
    assert found == sorted(records[-1][2])


class ByField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


def timed(env: Any, data: list[Any], delay: int = 1000) -> Any:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(delay))
    stream = env.from_collection(data, EVENT)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ByField()))


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.window().end, sorted(e[2] for e in elements)


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + value[2]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


@SHAPES
def test_tumbling(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    keyed = timed(env, events()).key_by(lambda e: e[0], Types.STRING())
    found = list(
        keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(300))).process(Contents()).execute_and_collect()
    )
    expected: dict[Any, list[int]] = defaultdict(list)
    for key, time, number in events():
        start = time // 300 * 300
        expected[key, start, start + 300].append(number)
    assert sorted(found) == sorted((*window, sorted(numbers)) for window, numbers in expected.items())


class Slow(AggregateFunction):
    """Counts in a list that it changes, and tells the count; None forgets."""

    def create_accumulator(self) -> Any:
        return [0]

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator[0] += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0]

    def merge(self, a: Any, b: Any) -> Any:
        return [a[0] + b[0]]


class Told(ProcessWindowFunction):
    """Tells each window with its number among those of the key; forgets what it kept of the window."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        total = context.global_state().get_state(ValueStateDescriptor("total", Types.LONG()))
        own = context.window_state().get_state(ValueStateDescriptor("own", Types.LONG()))
        total.update((total.value() or 0) + 1)
        own.update(1)
        yield key, context.window().start, next(iter(elements)), total.value()

    def clear(self, context: Any) -> None:
        own = context.window_state().get_state(ValueStateDescriptor("own", Types.LONG()))
        assert own.value() == 1
        own.clear()


class Numbered(ProcessWindowFunction):
    """Numbers the windows of a key with states that it asks for in open()."""

    def open(self, runtime_context: Any) -> None:
        self.fired = runtime_context.get_state(ValueStateDescriptor("fired", Types.LONG()))
        self.starts = runtime_context.get_list_state(ListStateDescriptor("starts", Types.LONG()))
        self.sizes = runtime_context.get_map_state(MapStateDescriptor("sizes", Types.LONG(), Types.LONG()))

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        self.fired.update((self.fired.value() or 0) + 1)
        self.starts.add(context.window().start)
        self.sizes[context.window().start] = 1
        yield key, context.window().start, self.fired.value(), list(self.starts.get()), sorted(self.sizes.keys())


@pytest.mark.parametrize("epoch_records", [None, 20])
@pytest.mark.parametrize("kind", ["tumbling", "reduced", "sessions", "evicted"])
def test_the_state_that_a_window_function_opens_is_of_the_key(
    cluster: Any, kind: str, epoch_records: int | None
) -> None:
    """Not of the window, as in PyFlink; it goes on from epoch to epoch."""
    env = cluster.environment(2, epoch_records=epoch_records)
    keyed = timed(env, events()).key_by(lambda e: e[0], Types.STRING())
    size = Time.milliseconds(400)
    windows = keyed.window(
        EventTimeSessionWindows.with_gap(size) if kind == "sessions" else TumblingEventTimeWindows.of(size)
    )
    if kind == "evicted":
        windows = windows.evictor(CountEvictor.of(3))
    made = windows.reduce(lambda a, b: a, Numbered()) if kind == "reduced" else windows.process(Numbered())
    starts: dict[str, list[int]] = defaultdict(list)
    for key, start, number, known, sizes in made.execute_and_collect():
        starts[key].append(start)
        assert (number, known, sizes) == (len(starts[key]), starts[key], sorted(starts[key]))
    assert len(starts) == 5
    assert kind == "sessions" or all(len(each) > 3 for each in starts.values())


@pytest.mark.parametrize("budget", ["0 b", "20 kb", "512m"])
@pytest.mark.parametrize("key_type", [Types.STRING(), Types.LIST(Types.STRING())])
def test_windows_in_memory_and_spilled_are_the_same(cluster: Any, budget: str, key_type: Any) -> None:
    data = [(key, time * 3, count) for key, time, count in events()]
    env = cluster.environment(2, epoch_records=20)
    env.configuration.set_string(MANAGED_MEMORY, budget)
    listed = not isinstance(key_type, type(Types.STRING()))
    keyed = timed(env, data).key_by((lambda e: [e[0]]) if listed else (lambda e: e[0]), key_type)
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(400), Time.milliseconds(200)))
    made = windows.aggregate(
        Slow(), Told(), accumulator_type=Types.PICKLED_BYTE_ARRAY(), output_type=Types.PICKLED_BYTE_ARRAY()
    )
    found = [(key[0] if listed else key, *rest) for key, *rest in made.execute_and_collect()]
    counts: dict[tuple[str, int], int] = defaultdict(int)
    for key, time, _ in data:
        for start in range(time - time % 200, time - 400, -200):
            counts[key, start] += 1
    assert sorted(each[:3] for each in found) == sorted((key, start, count) for (key, start), count in counts.items())
    for key in {key for key, _ in counts}:
        numbers = [number for each, start, _, number in sorted(found, key=lambda each: each[1]) if each == key]
        assert numbers == list(range(1, len(numbers) + 1))


class NoneForOdd(AggregateFunction):
    """Starts anew where it has lost what it had: None stands for no accumulator."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return None if value[2] % 7 == 0 else (accumulator[0] + 1, accumulator[1] + value[2])

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


@pytest.mark.parametrize("size", [50, 700, 5000])
@pytest.mark.parametrize("epoch_records", [None, 5, 23])
def test_windows_that_are_folded(cluster: Any, size: int, epoch_records: int | None) -> None:
    """Where all records that are handed over at once are in one window, and where they are in many."""
    env = cluster.environment(1, epoch_records=epoch_records)
    pickled = {"accumulator_type": Types.PICKLED_BYTE_ARRAY(), "output_type": Types.PICKLED_BYTE_ARRAY()}
    windows = (
        timed(env, events())
        .key_by(lambda e: e[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(size)))
    )
    reduced = windows.reduce(lambda a, b: (a[0], max(a[1], b[1]), a[2] + b[2]))
    expected: dict[Any, Any] = {}
    kept: dict[Any, Any] = {}
    for event in events():
        place, add = (event[0], event[1] // size), NoneForOdd()
        before = expected.get(place)
        expected[place] = event if before is None else (event[0], max(before[1], event[1]), before[2] + event[2])
        kept[place] = add.add(event, kept.get(place) or add.create_accumulator())
    assert sorted(reduced.execute_and_collect()) == sorted(expected.values())
    found = list(windows.aggregate(NoneForOdd(), **pickled).execute_and_collect())
    assert sorted(found) == sorted(each for each in kept.values() if each is not None)


class Claims(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
        return value[1]


@pytest.mark.parametrize("timestamp", [1 << 63, "noon"])
def test_a_timestamp_that_is_no_long_is_refused(cluster: Any, timestamp: Any) -> None:
    env = cluster.environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Claims())
    stream = env.from_collection([("a", 1), ("b", timestamp)]).assign_timestamps_and_watermarks(strategy)
    with pytest.raises(JobFailed, match=r"declared type LONG"):
        list(stream.execute_and_collect())


@pytest.mark.parametrize("epoch_records", [None, 7])
def test_records_have_the_form_of_their_type_behind_timestamps(cluster: Any, epoch_records: int | None) -> None:
    env = cluster.environment(2, epoch_records=epoch_records)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByField())
    lists = env.from_collection(events()).map(list, EVENT)
    made = lists.assign_timestamps_and_watermarks(strategy).process(Stamped())
    assert sorted(made.execute_and_collect()) == sorted((event, event[1]) for event in events())


@SHAPES
def test_sliding_aggregate(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    keyed = timed(env, events()).key_by(lambda e: e[0], Types.STRING())
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(300), Time.milliseconds(100)))
    found = list(
        windows.aggregate(Sum(), accumulator_type=Types.LONG(), output_type=Types.LONG()).execute_and_collect()
    )
    expected: dict[Any, int] = defaultdict(int)
    for key, time, number in events():
        for start in range(time // 100 * 100, time - 300, -100):
            expected[key, start] += number
    assert sorted(found) == sorted(expected.values())


@SHAPES
def test_sessions(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    keyed = timed(env, events()).key_by(lambda e: e[0], Types.STRING())
    found = list(
        keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(60))).process(Contents()).execute_and_collect()
    )
    expected = []
    by_key: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, time, number in events():
        by_key[key].append((time, number))
    for key, records in by_key.items():
        session: list[tuple[int, int]] = []
        for record in sorted(records):
            if session and record[0] > session[-1][0] + 60:
                expected.append((key, session[0][0], session[-1][0] + 60, sorted(n for _, n in session)))
                session = []
            session.append(record)
        expected.append((key, session[0][0], session[-1][0] + 60, sorted(n for _, n in session)))
    assert sorted(found) == sorted(expected)


class Unknown(EventTimeTrigger):
    """Does what it extends does, which nobody can know."""


class InOrder(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.window().end, [each[2] for each in elements]


@pytest.mark.parametrize("lateness", [0, 150])
@pytest.mark.parametrize(
    ("kind", "epoch_records", "budget"),
    [
        ("reduced", 7, "512m"),
        ("reduced", 7, "2 kb"),
        ("aggregated", 40, "512m"),
        ("listed", 7, "512m"),
        ("by lists", 40, "0 b"),
    ],
)
def test_sessions_whose_records_are_held_back(
    cluster: Any, kind: str, epoch_records: int, budget: str, lateness: int
) -> None:
    """They become what they do where each record has to be seen by a trigger: those that grow, join, end and come late."""
    draw = random.Random(f"{kind} {lateness}")
    data = [(f"k{draw.randrange(3)}", 1000 + i * 6 + draw.choice([0, 0, 3, -20, -250]), i) for i in range(300)]
    by_lists = kind == "by lists"

    def found(trigger: Any) -> list[Any]:
        env = cluster.environment(1, epoch_records=epoch_records)
        env.configuration.set_string(MANAGED_MEMORY, budget)
        keyed = timed(env, data, 60).key_by(
            (lambda e: [e[0]]) if by_lists else (lambda e: e[0]),
            Types.LIST(Types.STRING()) if by_lists else Types.STRING(),
        )
        windows = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(25))).allowed_lateness(lateness)
        if trigger is not None:
            windows = windows.trigger(trigger)
        pickled = {"accumulator_type": Types.PICKLED_BYTE_ARRAY(), "output_type": Types.PICKLED_BYTE_ARRAY()}
        if kind == "aggregated":
            made = windows.aggregate(NoneForOdd(), **pickled)
        elif kind == "listed":
            made = windows.process(InOrder())
        else:
            made = windows.reduce(lambda a, b: (a[0], b[1], (31 * a[2] + b[2]) % 100_003))
        return list(made.execute_and_collect())

    held = found(None)
    assert held == found(Unknown())
    assert len(held) > 50


class Bounds(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, context.window().end, *elements


@pytest.mark.parametrize("kind", ["reduced", "aggregated", "told"])
def test_sessions_far_ahead_of_the_watermark_are_left_to_the_replica(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Until a record comes to them, or they end: all become what they do where memory has room for them."""
    draw = random.Random(kind)
    near = [(f"k{draw.randrange(9)}", i * 7 + draw.randrange(20), i) for i in range(1200)]
    far = [(f"k{draw.randrange(9)}", 7000 + i * 12, 2000 + i) for i in range(600)]
    data = [each for pair in zip(near, far, strict=False) for each in pair] + near[600:]
    had_back: list[Sessions] = []
    have_back = Sessions._have_back

    def counted(sessions: Sessions, span: int) -> None:
        had_back.append(sessions)
        have_back(sessions, span)

    monkeypatch.setattr(Sessions, "_have_back", counted)

    def found(budget: str) -> list[Any]:
        env = cluster.environment(1, epoch_records=40)
        env.configuration.set_string(MANAGED_MEMORY, budget)
        keyed = timed(env, data, 14_000).key_by(lambda e: e[0], Types.STRING())
        windows = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(25)))
        pickled = {"accumulator_type": Types.PICKLED_BYTE_ARRAY(), "output_type": Types.PICKLED_BYTE_ARRAY()}
        if kind == "aggregated":
            made = windows.aggregate(NoneForOdd(), **pickled)
        elif kind == "told":
            made = windows.aggregate(Slow(), Bounds(), **pickled)
        else:
            made = windows.reduce(lambda a, b: (a[0], b[1], (31 * a[2] + b[2]) % 100_003))
        return list(made.execute_and_collect())

    in_memory = found("512m")
    assert not had_back
    assert sorted(found("300 kb")) == sorted(in_memory)
    assert len(had_back) > 30
    assert not any(each.spilled for each in had_back)
    assert len(in_memory) > 500


@SHAPES
def test_reduce_over_all_records(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    windows = timed(env, events()).window_all(TumblingEventTimeWindows.of(Time.milliseconds(500)))
    found = list(windows.reduce(lambda a, b: ("", max(a[1], b[1]), a[2] + b[2])).execute_and_collect())
    expected: dict[int, list[Any]] = defaultdict(list)
    for event in events():
        expected[event[1] // 500].append(event)
    assert sorted(e[2] for e in found) == sorted(sum(e[2] for e in many) for many in expected.values())


@SHAPES
def test_count_windows(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    keyed = env.from_collection(events(), EVENT).key_by(lambda e: e[0], Types.STRING())
    found = list(keyed.count_window(4).reduce(lambda a, b: (a[0], a[1], a[2] + b[2])).execute_and_collect())
    by_key: dict[str, list[int]] = defaultdict(list)
    for key, _, number in events():
        by_key[key].append(number)
    expected = [(k, sum(ns[i : i + 4])) for k, ns in by_key.items() for i in range(0, len(ns) - 3, 4)]
    assert sorted((e[0], e[2]) for e in found) == sorted(expected)


def test_global_window_with_purging_trigger(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=11)
    keyed = env.from_collection(events(60), EVENT).key_by(lambda e: e[0], Types.STRING())
    stream = keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(3)))
    found = list(stream.aggregate(Sum(), output_type=Types.LONG()).execute_and_collect())
    by_key: dict[str, list[int]] = defaultdict(list)
    for key, _, number in events(60):
        by_key[key].append(number)
    assert sorted(found) == sorted(sum(ns[i : i + 3]) for ns in by_key.values() for i in range(0, len(ns) - 2, 3))


class AfterEach(WatermarkGenerator):
    """A watermark after each record, so that what is late does not depend on the epochs."""

    def on_event(self, event: Any, timestamp: int) -> int:
        return timestamp

    def on_periodic_emit(self) -> None:
        return None


@pytest.mark.parametrize("epoch_records", [None, 1, 3])
def test_late_records(cluster: Any, epoch_records: int | None) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    data = [("a", 5, 1), ("a", 25, 2), ("a", 7, 4), ("a", 45, 8), ("a", 8, 16)]
    late = OutputTag("late", EVENT)
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(ByField())
    keyed = env.from_collection(data, EVENT).assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).allowed_lateness(20)
    main = windows.side_output_late_data(late).aggregate(Sum(), output_type=Types.LONG())
    lost = main.get_side_output(late).map(lambda e: -e[2], Types.LONG())
    assert sorted(main.union(lost).execute_and_collect()) == sorted([1, 5, 2, 8, -16])


class Stamped(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp()


@pytest.mark.parametrize("epoch_records", [None, 1])
@pytest.mark.parametrize(
    ("trigger", "lateness", "expected"),
    [
        (EventTimeTrigger.create(), 0, [(1, 9), (2, 29)]),
        (EventTimeTrigger.create(), 30, [(1, 9), (5, 7), (2, 29)]),
        (PurgingTrigger.of(CountTrigger.of(1)), 0, [(1, 5), (2, 25)]),
        (ContinuousEventTimeTrigger.of(Time.milliseconds(4)), 0, [(1, 8), (1, 9), (2, 28), (2, 29)]),
    ],
    ids=["timer", "late", "count", "continuous"],
)
def test_results_have_the_timestamp_of_what_fired_the_window(
    cluster: Any, trigger: Any, lateness: int, expected: list[Any], epoch_records: int | None
) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(ByField())
    stream = env.from_collection([("a", 5, 1), ("a", 25, 2), ("a", 7, 4)], EVENT)
    keyed = stream.assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10))).trigger(trigger)
    sums = windows.allowed_lateness(lateness).aggregate(Sum(), output_type=Types.LONG())
    assert sorted(sums.process(Stamped()).execute_and_collect()) == sorted(expected)


@pytest.mark.parametrize("epoch_records", [None, 1])
@pytest.mark.parametrize("purging", [False, True])
def test_records_between_sliding_windows_are_in_none(cluster: Any, purging: bool, epoch_records: int | None) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    data = [("a", 15, 1), ("a", 22, 2), ("a", 9, 4), ("a", 31, 8), ("a", 47, 16)]
    windows = timed(env, data).key_by(lambda e: e[0])
    windows = windows.window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(20)))
    if purging:
        windows = windows.trigger(PurgingTrigger.of(EventTimeTrigger.create()))
    assert sorted(windows.aggregate(Sum(), output_type=Types.LONG()).execute_and_collect()) == [2, 4, 16]


class Remembering(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window_state().get_state(ValueStateDescriptor("seen", Types.INT())).value()


class Counting(Trigger):
    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.get_partitioned_state(self.descriptor)
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    on_processing_time = on_event_time

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.descriptor)

    def clear(self, window: Any, ctx: Any) -> None: ...


@pytest.mark.parametrize(
    ("trigger", "message"),
    [
        (EventTimeTrigger.create(), "merge have no state of their own"),
        (Counting(ValueStateDescriptor("count", Types.INT())), "'count' cannot be merged"),
        (Counting(MapStateDescriptor("count", Types.INT(), Types.INT())), "'count' cannot be merged"),
    ],
    ids=["window", "value", "map"],
)
def test_states_that_cannot_follow_a_merge_are_refused(cluster: Any, trigger: Any, message: str) -> None:
    stream = timed(cluster.environment(1), [("a", 5, 1), ("a", 7, 2)]).key_by(lambda e: e[0])
    windows = stream.window(EventTimeSessionWindows.with_gap(Time.milliseconds(10))).trigger(trigger)
    process = Contents() if isinstance(trigger, Counting) else Remembering()
    with pytest.raises(Exception, match=message):
        list(windows.process(process).execute_and_collect())


class Alarm(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if self.last.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.last.value() + 50)
        self.last.update(max(ctx.timestamp(), self.last.value() or 0))
        ctx.timer_service().register_event_time_timer(self.last.value() + 50)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("epoch_records", [None, 1, 9])
def test_timers_survive_epochs(cluster: Any, epoch_records: int | None) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    data = [("a", 10, 0), ("b", 20, 0), ("a", 30, 0), ("b", 200, 0), ("a", 210, 0)]
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(ByField())
    stream = env.from_collection(data, EVENT).assign_timestamps_and_watermarks(strategy).key_by(lambda e: e[0])
    found = sorted(stream.process(Alarm()).set_parallelism(3).execute_and_collect())
    assert found == [("a", 80), ("a", 260), ("b", 250)]

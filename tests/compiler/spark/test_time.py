"""Clocks: processing time, lifetimes of state, idle sources, latency, batches. The clock is the test's own."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.connectors.base import Source
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.datastream.functions import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from compat.compiler.datastream.window import (
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from compat.compiler.spark.driver.epoch_sizing import FIRST
from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.descriptors import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from compat.state.time import Duration, Time
from compat.state.ttl import StateTtlConfig
from compat.state.types import Types

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
NONE = WatermarkStrategy.no_watermarks()


class Clock:
    """Stands still until a script moves it on."""

    now = 0

    def __call__(self) -> int:
        return Clock.now


class Script(Source):
    """Records at times: each epoch sets the clock and gives what is due then. ``None`` as records ends a split."""

    def __init__(self, *parts: list[tuple[int, list[Any] | None]]) -> None:
        super().__init__(bounded=True, produced_type=PAIR)
        self.parts = parts

    def create_enumerator(self, parallelism: int) -> Any:
        return Scripted(self.parts)

    def create_reader(self) -> Any:
        return self

    def read(self, split: Split, limit: int) -> Read:
        records = split["due"]
        done = records is None
        rest = {"id": split["id"], "next": split["next"] + 1, "part": split["part"]}
        return Read([tuple(record) for record in records or []], None, rest, done)


class Scripted:
    complete = True
    concurrent = True

    def __init__(self, parts: Any) -> None:
        self._parts = parts

    def discover(self, known: set[str]) -> list[Split]:
        return [] if known else [{"id": f"{n}", "part": n, "next": 0} for n in range(len(self._parts))]

    def ready(self, split: Split) -> bool:
        time, _ = self._parts[split["part"]][split["next"]]
        Clock.now = max(Clock.now, time)
        return True

    def fill(self, split: Split, limit: int) -> Split:
        return {**split, "due": self._parts[split["part"]][split["next"]][1]}


@pytest.fixture(autouse=True)
def start() -> None:
    Clock.now = 0


def run(cluster: Any, build: Any, *parts: Any, parallelism: int = 2, strategy: Any = NONE, **options: Any) -> list[Any]:
    env = cluster.environment(parallelism, clock=Clock(), **options)
    stream = env.from_source(Script(*parts), strategy, "script").set_parallelism(1)
    return list(build(stream).execute_and_collect())


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(e[1] for e in elements)


PARTS = [(0, [("a", 1), ("b", 2)]), (40, [("a", 3)]), (120, [("a", 4)]), (130, []), (400, []), (401, None)]


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        (TumblingProcessingTimeWindows.of(Time.milliseconds(100)), [("a", 0, [1, 3]), ("b", 0, [2]), ("a", 100, [4])]),
        (
            SlidingProcessingTimeWindows.of(Time.milliseconds(100), Time.milliseconds(50)),
            [("a", -50, [1, 3]), ("b", -50, [2]), ("a", 0, [1, 3]), ("b", 0, [2]), ("a", 50, [4]), ("a", 100, [4])],
        ),
        (
            ProcessingTimeSessionWindows.with_gap(Time.milliseconds(60)),
            [("a", 0, [1, 3]), ("b", 0, [2]), ("a", 120, [4])],
        ),
    ],
)
def test_processing_time_windows(cluster: Any, windows: Any, expected: list[Any]) -> None:
    found = run(cluster, lambda s: s.key_by(lambda p: p[0], Types.STRING()).window(windows).process(Contents()), PARTS)
    assert sorted(found) == sorted(expected)


class Alarm(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 50)
        if value[1] == 3:
            ctx.timer_service().delete_processing_time_timer(50)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, ctx.time_domain().name


def test_processing_time_timers(cluster: Any) -> None:
    found = run(cluster, lambda s: s.key_by(lambda p: p[0], Types.STRING()).process(Alarm()), PARTS)
    assert sorted(found) == [(k, t, "PROCESSING_TIME") for k, t in [("a", 90), ("a", 170), ("b", 50)]]


class Remembering(KeyedProcessFunction):
    def __init__(self, ttl: StateTtlConfig) -> None:
        self.ttl = ttl

    def open(self, runtime_context: Any) -> None:
        value = ValueStateDescriptor("value", Types.LONG())
        items = ListStateDescriptor("items", Types.LONG())
        entries = MapStateDescriptor("map", Types.LONG(), Types.LONG())
        for descriptor in (value, items, entries):
            descriptor.enable_time_to_live(self.ttl)
        self.value = runtime_context.get_state(value)
        self.items = runtime_context.get_list_state(items)
        self.map = runtime_context.get_map_state(entries)

    def process_element(self, value: Any, ctx: Any) -> Any:
        before = (self.value.value(), list(self.items.get()), sorted(self.map.keys()))
        if value[1] > 0:
            self.value.update(value[1])
            self.items.add(value[1])
            self.map.put(value[1], value[1])
        yield before


LIVES = [(0, [("a", 1)]), (60, [("a", 2)]), (110, [("a", 0)]), (150, [("a", 0)]), (170, [("a", 0)]), (171, None)]
EMPTY: tuple[Any, ...] = (None, [], [])


@pytest.mark.parametrize(
    ("ttl", "expected"),
    [
        (
            StateTtlConfig.new_builder(Time.milliseconds(100)).build(),
            [EMPTY, (1, [1], [1]), (2, [2], [2]), (2, [2], [2]), EMPTY],
        ),
        (
            StateTtlConfig.new_builder(Time.milliseconds(100)).update_ttl_on_read_and_write().build(),
            [EMPTY, (1, [1], [1]), (2, [1, 2], [1, 2]), (2, [1, 2], [1, 2]), (2, [1, 2], [1, 2])],
        ),
    ],
    ids=["written", "read"],
)
def test_state_expires(cluster: Any, ttl: StateTtlConfig, expected: list[Any]) -> None:
    assert run(cluster, lambda s: s.key_by(lambda p: p[0], Types.STRING()).process(Remembering(ttl)), LIVES) == expected


class ByNumber(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Mark(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value[1], ctx.timer_service().current_watermark()


@pytest.mark.parametrize("idle", [False, True])
def test_an_idle_split_is_not_waited_for(cluster: Any, idle: bool) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    if idle:
        strategy = strategy.with_idleness(Duration.of_millis(50))
    busy = [(0, [("a", 10)]), (100, [("a", 20)]), (200, [("a", 30)]), (300, [("a", 40)]), (301, None)]
    quiet = [(0, [("b", 5)]), (100, []), (200, []), (300, []), (301, None)]
    given = strategy.with_timestamp_assigner(ByNumber())
    found = dict(run(cluster, lambda s: s.process(Mark()).set_parallelism(1), busy, quiet, strategy=given))
    assert found[40] == (29 if idle else 4)


def test_an_idle_input_is_not_waited_for(cluster: Any) -> None:
    env = cluster.environment(1, clock=Clock())
    idle = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(50))
    busy = Script([(0, [("a", 10)]), (100, [("a", 20)]), (200, [("a", 30)]), (300, [("a", 40)]), (301, None)])
    quiet = Script([(0, [("b", 5)]), (100, []), (200, []), (300, []), (301, None)])
    monotonous = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    left = env.from_source(busy, monotonous, "busy")
    right = env.from_source(quiet, idle.with_timestamp_assigner(ByNumber()), "quiet")
    found = dict(left.union(right).process(Mark()).execute_and_collect())
    assert found[10] == -(1 << 63)
    assert found[40] == 29


class Measured(MapFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group().add_group("mine", "x")
        self.seen = group.counter("seen")
        self.sizes = group.distribution("sizes")
        group.gauge("nine", lambda: 9)
        group.meter("rate").mark_event(2)

    def map(self, value: Any) -> Any:
        self.seen.inc()
        self.sizes.update(value[1])
        return value


def test_metrics_and_latency_are_reported(cluster: Any) -> None:
    env = cluster.environment(1, clock=Clock())
    env.configuration.set_string("metrics.latency.interval", "100 ms")
    stream = env.from_source(Script([(7, [("a", 1), ("b", 5)]), (9, None)]), NONE, "script")
    made = stream.map(Measured(), PAIR).name("measured").rebalance().map(lambda p: p, PAIR).name("last")
    list(made.execute_and_collect())
    found = {each["name"]: each["metrics"] for each in cluster.last.master.job.measured.all()}
    assert found["measured"] == {
        "mine.x.nine": [9],
        "mine.x.rate": 2,
        "mine.x.seen": 2,
        "mine.x.sizes": {"sum": 6, "count": 2, "min": 1, "max": 5},
        "numRecordsOut": 2,
    }
    (latency,) = [metrics["latency"] for metrics in found.values() if "latency" in metrics]
    assert latency["count"] == 2  # of a subtask that keeps nothing open, one in each epoch


class Counting(MapFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group()
        self.seen, self.sizes = group.counter("seen"), group.distribution("sizes")
        group.counter("numRecordsIn").inc(1000)
        group.gauge("subtask", runtime_context.get_index_of_this_subtask)
        group.gauge("broken", lambda: 1 // 0)

    def map(self, value: Any) -> Any:
        self.seen.inc()
        self.sizes.update(value)
        return value


def test_a_job_adds_up_what_its_subtasks_measure(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=3)
    numbers = env.from_collection(list(range(10)), Types.INT()).rebalance()
    list(numbers.map(Counting(), Types.INT()).name("counting").execute_and_collect())
    (measured,) = [each for each in cluster.last.master.job.measured.all() if each["name"] == "counting"]
    assert measured["metrics"] == {
        "broken": ["ZeroDivisionError: integer division or modulo by zero"] * 2,
        "numRecordsIn": 10,
        "numRecordsOut": 10,
        "seen": 10,
        "sizes": {"sum": 45, "count": 10, "min": 0, "max": 9},
        "subtask": [0, 1],
    }


def test_records_that_leave_a_task_are_counted_once_however_many_read_them(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=3)
    numbers = env.from_collection(list(range(10)), Types.INT())
    shared = numbers.rebalance().flat_map(lambda n: [n, n], Types.INT()).name("twice")
    odd = shared.rebalance().filter(lambda n: n % 2 == 1).name("odd")
    together = shared.broadcast().map(lambda n: n, Types.INT()).name("all").union(odd)
    assert len(list(together.execute_and_collect())) == 20 * 2 + 10
    records = {
        each["name"]: (each["metrics"].get("numRecordsIn"), each["metrics"].get("numRecordsOut"))
        for each in cluster.last.master.job.measured.all()
    }
    assert records["twice"] == (10, 20)
    assert (records["odd"], records["all"][0]) == ((20, 10), 40)


def test_late_records_are_counted_over_all_epochs(cluster: Any) -> None:
    env = cluster.environment(1, epoch_records=1)
    monotonous = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    stream = env.from_collection([("a", 100), ("a", 5), ("a", 7), ("b", 6), ("b", 100)], PAIR)
    windows = (
        stream.assign_timestamps_and_watermarks(monotonous)
        .key_by(lambda p: p[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: b)
        .name("windows")
    )
    assert sorted(windows.execute_and_collect()) == [("a", 100), ("b", 100)]
    master = cluster.last.master
    (measured,) = [each["metrics"] for each in master.job.measured.all() if each["name"] == "windows"]
    assert measured["numLateRecordsDropped"] == 3
    assert master.job.store.read(master.job.job_id).metrics == master.job.measured.all()


def test_a_batch_gives_only_the_last_value_of_a_key(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=3)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_collection([("a", n) for n in range(10)] + [("b", 1)], PAIR)
    assert sorted(stream.key_by(lambda p: p[0], Types.STRING()).sum(1).execute_and_collect()) == [("a", 45), ("b", 1)]


def test_a_batch_has_no_late_records(cluster: Any) -> None:
    env = cluster.environment(1, epoch_records=1)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    monotonous = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    stream = env.from_collection([("a", 100), ("a", 5), ("a", 7)], PAIR).assign_timestamps_and_watermarks(monotonous)
    windows = stream.key_by(lambda p: p[0], Types.STRING()).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    assert sorted(windows.process(Contents()).execute_and_collect()) == [("a", 0, [5, 7]), ("a", 100, [100])]


class OnceFailing(MapFunction):
    """Fails at a record, the first time that it comes."""

    def __init__(self, record: Any, mark: str) -> None:
        self.record, self.mark = record, mark

    def map(self, value: Any) -> Any:
        if value == self.record and not os.path.exists(self.mark):
            Path(self.mark).touch()
            raise ValueError("once")
        return value


class AtTheEnd(KeyedProcessFunction):
    """The sum of a key when event time has ended, and what came too late for that."""

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        if ctx.timer_service().current_watermark() > 0:
            yield value[0], -value[1]
        self.sum.update((self.sum.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.sum.value()


def test_after_a_failure_event_time_goes_on_where_the_slowest_source_was(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(2, clock=Clock())
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "0 s")
    short = [(0, [("a", 1)]), (0, None)]
    long = [(0, [("a", 2)]), (0, [("b", 4)]), (0, [("a", 8)]), (0, [("b", 16)]), (0, None)]
    stream = env.from_source(Script(short, long), NONE, "script")
    fragile = stream.map(OnceFailing(("a", 8), str(tmp_path / "failed")), PAIR)
    sums = fragile.key_by(lambda p: p[0], Types.STRING()).process(AtTheEnd(), PAIR)
    assert sorted(sums.execute_and_collect()) == [("a", 11), ("b", 20)]
    assert [event["event"] for event in cluster.events].count("restarting") == 1


class Later(KeyedProcessFunction):
    """Asks for a timer a moment later, and says what the clock was when it fired."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + 200)
        yield ("asked", now)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ("fired", ctx.timer_service().current_processing_time() - timestamp)


class OneRecord(Source):
    """Gives one record, and goes on to claim that it may have more."""

    def __init__(self) -> None:
        super().__init__(bounded=False, produced_type=Types.INT())

    def create_enumerator(self, parallelism: int) -> Any:
        return OneSplit()

    def create_reader(self) -> Any:
        return self

    def read(self, split: Split, limit: int) -> Read:
        return Read([] if split["next"] else [1], None, {**split, "next": 1}, False)


class OneSplit(SplitEnumerator):
    complete = False

    def discover(self, known: set[str]) -> list[Split]:
        return [] if known else [{"id": "0", "next": 0}]


@pytest.mark.parametrize("skew", [-3.0, 3.0])
def test_the_drivers_clock_decides(cluster: Any, monkeypatch: Any, skew: float) -> None:
    """Workers whose clocks are wrong fire timers when they are due, and commit no epochs in which nothing happens."""

    def elsewhere(self: Any, spec: Any) -> Any:
        working.add(threading.get_ident())
        try:
            return real(self, spec)
        finally:
            working.discard(threading.get_ident())

    clock, real, working = time.time, InProcessRunner.run, set[int]()
    monkeypatch.setattr(time, "time", lambda: clock() + (skew if threading.get_ident() in working else 0))
    monkeypatch.setattr(InProcessRunner, "run", elsewhere)
    env = cluster.environment(1)
    source = env.from_source(OneRecord(), NONE, "one")
    made = source.key_by(lambda value: 0, Types.INT()).process(Later())
    began = clock() * 1000
    with made.execute_and_collect() as records:
        (asked, at), (fired, late) = next(records), next(records)
    assert (asked, fired) == ("asked", "fired")
    assert abs(at - began) < 2000
    assert 0 <= late < 2000
    assert sum(event["event"] == "checkpoint" for event in cluster.events) < 10


class Slow(KeyedProcessFunction):
    """Takes its time over each record; the first one sets a timer that is due meanwhile."""

    again = False

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value == 1:
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now + 20)
        time.sleep(0.05)
        yield ("record", value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ("timer", ctx.get_current_key())
        if not self.again:
            self.again = True
            ctx.timer_service().register_processing_time_timer(timestamp)  # behind the clock: it fires at once


@pytest.mark.parametrize("chained", [False, True])
def test_processing_time_timers_fire_between_the_records_of_an_epoch(cluster: Any, chained: bool) -> None:
    env = cluster.environment(1)
    numbers = env.from_collection([1, 2, 3, 4], Types.INT())
    parted = numbers if chained else numbers.rebalance()
    made = list(parted.key_by(lambda n: n, Types.INT()).process(Slow()).execute_and_collect())
    assert [each for each in made if each[0] == "record"] == [("record", n) for n in (1, 2, 3, 4)]
    assert made[:3] == [("record", 1), ("timer", 1), ("timer", 1)]


class Patient(OneRecord):
    """Gives one record, and knows that it has no other."""

    def create_enumerator(self, parallelism: int) -> Any:
        return PatientSplit()


class PatientSplit(OneSplit):
    def ready(self, split: Split) -> bool:
        return not split["next"]


def test_an_idle_job_wakes_for_its_timers_after_a_restore(cluster: Any) -> None:
    """There is no input that would start an epoch: only the state knows of the timer."""

    def made(**options: Any) -> Any:
        env = cluster.environment(1, **options)
        return env.from_source(Patient(), NONE, "one").key_by(lambda value: 0, Types.INT()).process(Later())

    (asked,) = made(epochs=1).execute_and_collect()
    assert asked[0] == "asked"
    with made(savepoint=cluster.last.master.job.savepoint).execute_and_collect() as records:
        fired, late = next(records)
    assert fired == "fired"
    assert 0 <= late < 5000


READ = [0]
"""How many records a source has given."""


def counted(number: int) -> int:
    READ[0] += 1
    if READ[0] > FIRST and READ[0] % 10 == 0:  # from the second epoch on
        time.sleep(0.002)
    return number


class Soon(KeyedProcessFunction):
    """Sets one timer that is soon due; tells how many records the source had given when it was set, and when it fired."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value == 1:
            ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 100)
            yield READ[0]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield READ[0]


def test_timers_behind_an_exchange_do_not_wait_for_a_long_epoch(cluster: Any) -> None:
    """With minutes between checkpoints, an epoch takes minutes, and tasks run when those before them are done."""
    env = cluster.environment(1)
    env.enable_checkpointing(60_000)
    READ[0] = 0
    numbers = env.from_source(NumberSequenceSource(1, 30_000), WatermarkStrategy.no_watermarks(), "numbers")
    soon = numbers.map(counted, Types.LONG()).key_by(lambda n: n % 2, Types.LONG()).process(Soon(), Types.LONG())
    was_set, fired = soon.execute_and_collect()
    assert was_set == FIRST
    assert fired < 15_000


class Registering(KeyedProcessFunction):
    """Sets timers in on_timer: behind the watermark, and among those that are due with it."""

    def __init__(self, what: str) -> None:
        self.what = what

    def process_element(self, value: Any, ctx: Any) -> Any:
        for due in (value[1] - 1000,) if self.what == "late" else (value[1], value[1] + 5):
            ctx.timer_service().register_event_time_timer(due)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield timestamp
        if self.what == "chain" and timestamp < 300:
            ctx.timer_service().register_event_time_timer(timestamp + 100)
        if self.what == "back" and timestamp > 50:
            ctx.timer_service().register_event_time_timer(timestamp - 51)
        if self.what == "between" and timestamp % 10 == 0:
            ctx.timer_service().register_event_time_timer(timestamp + 2)


FIRED = {
    "chain": [time + more for time in (10, 20, 100, 110, 120, 200, 210, 220, 300, 310, 320) for more in (0, 5)],
    "back": [10, 15, 20, 25, 100, 49, 105, 54, 3, 200, 149, 98, 47, 205, 154, 103, 52, 1],
    "between": [10, 12, 15, 20, 22, 25, 100, 102, 105, 200, 202, 205],
    "late": [-990, -980, -900, -800],
}
"""What PyFlink 2.3 prints in thread mode, which is what Java's Flink does. In process mode, the timers that on_timer sets
are known to Flink only when a bundle is finished: there the order, and how often equal timers fire, follow the size of
bundles (python.fn-execution.bundle.size), and in bundles of one they are lost at the end of the input."""


@pytest.mark.parametrize("what", FIRED)
def test_timers_that_on_timer_sets_fire_in_the_order_of_time(cluster: Any, what: str) -> None:
    env = cluster.environment(1)
    values = env.from_collection([("a", time) for time in (10, 20, 100, 200)], PAIR)
    keyed = values.key_by(lambda value: value[0], Types.STRING())
    assert list(keyed.process(Registering(what), Types.LONG()).execute_and_collect()) == FIRED[what]

"""Programs that together use every operator, each with what plain Python says its result is.

A program takes an environment and events (key, milliseconds, number) in the order of their arrival, and gives a stream;
the expectation takes the events and gives the same records in any order. Neither depends on how the job is run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from compat.compiler.datastream.async_data_stream import AsyncDataStream
from compat.compiler.datastream.common.watermark_strategy import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkStrategy,
)
from compat.compiler.datastream.functions import (
    AggregateFunction,
    AsyncFunction,
    AsyncRetryStrategy,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from compat.compiler.datastream.output_tag import OutputTag
from compat.compiler.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from compat.compiler.datastream.window.evictors import CountEvictor, TimeEvictor
from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from compat.state.time import Duration, Time
from compat.state.types import Types

Event = tuple[str, int, int]
Events = list[Event]
EVENT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Program(NamedTuple):
    """A name, what makes the stream, and what its records are."""

    name: str
    build: Callable[[Any, Events], Any]
    expected: Callable[[Events], Iterable[Any]]


PROGRAMS: list[Program] = []


def program(expected: Callable[[Events], Iterable[Any]]) -> Callable[[Callable[[Any, Events], Any]], Any]:
    """Registers a program with its expectation."""

    def add(build: Callable[[Any, Events], Any]) -> Any:
        PROGRAMS.append(Program(build.__name__, build, expected))
        return build

    return add


def key(event: Event) -> str:
    return event[0]


def source(env: Any, events: Events) -> Any:
    return env.from_collection(events, EVENT)


class ByField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class AfterEach(WatermarkGenerator):
    """A watermark after each record, so that what is late does not depend on how the job is run."""

    def on_event(self, event: Any, timestamp: int) -> int:
        return timestamp - 100

    def on_periodic_emit(self) -> None:
        return None


def timed(stream: Any) -> Any:
    """With watermarks that no record comes behind."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1_000_000))
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(ByField()))


def strict(stream: Any) -> Any:
    """With a watermark after each record, 100 ms behind it."""
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(ByField())
    env = stream.get_execution_environment()
    parallelism = env.get_parallelism()
    env.set_parallelism(1)
    made = stream.assign_timestamps_and_watermarks(strategy)
    env.set_parallelism(parallelism)
    return made


def by_key(events: Events) -> dict[str, Events]:
    groups: dict[str, Events] = defaultdict(list)
    for event in events:
        groups[event[0]].append(event)
    return groups


def tumbling(events: Events, size: int) -> dict[tuple[str, int], Events]:
    windows: dict[tuple[str, int], Events] = defaultdict(list)
    for event in events:
        windows[event[0], event[1] // size * size].append(event)
    return windows


# Records without keys


@program(lambda events: [x for _, _, n in events if n % 3 for x in (2 * n, 2 * n + 1)])
def stateless(env: Any, events: Events) -> Any:
    numbers = source(env, events).map(lambda e: e[2], Types.INT()).filter(lambda n: n % 3)
    return numbers.map(lambda n: 2 * n, Types.INT()).flat_map(lambda n: [n, n + 1], Types.INT())


@program(lambda events: [(n, k) for k, _, n in events])
def projected(env: Any, events: Events) -> Any:
    return source(env, events).project(2, 0)


class Sort(ProcessFunction):
    odd, deep = OutputTag("odd", Types.INT()), OutputTag("deep", PAIR)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[2] % 2:
            yield self.odd, value[2]
        elif value[2] % 4 == 0:
            yield self.deep, (value[0], ctx.timestamp())
        else:
            yield value[2]


@program(lambda events: [-n if n % 2 else n + 10**6 * (t + 1) if n % 4 == 0 else n for _, t, n in events])
def side_outputs(env: Any, events: Events) -> Any:
    plus = source(env, events).map(lambda e: e, EVENT)
    main = timed(plus).process(Sort(), Types.INT())
    odd = main.get_side_output(Sort.odd).map(lambda n: -n, Types.INT())
    # The number is not in this output: it is found again by its time, which is the event's own.
    numbers = {(k, t): n for k, t, n in events}
    deep = main.get_side_output(Sort.deep).map(lambda p: numbers[p] + 10**6 * (p[1] + 1), Types.INT())
    return main.union(odd, deep)


@program(lambda events: [f"{k}{t}" for k, t, _ in events] + [n for *_, n in events if n != 3])
def connected(env: Any, events: Events) -> Any:
    class Both(CoMapFunction):
        def map1(self, value: Any) -> Any:
            return f"{value[0]}{value[1]}"

        def map2(self, value: Any) -> Any:
            return value if value != 3 else None

    return source(env, events).connect(source(env, events).map(lambda e: e[2], Types.INT())).map(Both())


@program(lambda events: [x for _, _, n in events for x in (n, -n)] + ["even" for *_, n in events if n % 2 == 0])
def connected_flat(env: Any, events: Events) -> Any:
    class Both(CoFlatMapFunction):
        def flat_map1(self, value: Any) -> Any:
            yield value[2]
            yield -value[2]

        def flat_map2(self, value: Any) -> Any:
            if value[2] % 2 == 0:
                yield "even"

    return source(env, events).connect(source(env, events).rebalance()).flat_map(Both())


@program(lambda events: [("l", t) for _, t, _ in events] + [("r", -(1 << 63)) for _ in events])
def connected_process(env: Any, events: Events) -> Any:
    class Both(CoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            yield "l", ctx.timestamp()

        def process_element2(self, value: Any, ctx: Any) -> Any:
            yield "r", ctx.timestamp()

    return timed(source(env, events)).connect(source(env, events)).process(Both())


@program(lambda events: [n for *_, n in events] * 7 + [n for *_, n in events for _ in range(3)])
def partitioned(env: Any, events: Events) -> Any:
    numbers = source(env, events).map(lambda e: e[2], Types.INT())
    same: Callable[[Any], Any] = lambda n: n  # noqa: E731
    spread = [
        numbers.rebalance().map(same, Types.INT()),
        numbers.rescale().map(same, Types.INT()).rescale().map(same, Types.INT()).set_parallelism(3),
        numbers.shuffle().map(same, Types.INT()).shuffle().map(same, Types.INT()),
        numbers.forward().map(same, Types.INT()),
        numbers.partition_custom(lambda k, count: k % count, lambda n: abs(n)).map(same, Types.INT()),
        numbers.map(same, Types.INT()).start_new_chain(),
        numbers.map(same, Types.INT()).disable_chaining().map(same, Types.INT()),
    ]
    everywhere = numbers.broadcast().map(same, Types.INT()).set_parallelism(3)
    return spread[0].union(*spread[1:], everywhere)


def _loops(events: Events) -> list[int]:
    made = []
    for *_, number in events:
        while number > 0:
            number -= 7
        made.append(number)
    return made


@program(_loops)
def iterated(env: Any, events: Events) -> Any:
    numbers = source(env, events).map(lambda e: e[2], Types.INT())
    loop = numbers.iterate()
    step = loop.map(lambda n: n - 7 if n > 0 else n, Types.INT())
    loop.close_with(step.filter(lambda n: n > 0))
    return step.filter(lambda n: n <= 0)


class Slow(AsyncFunction):
    def __init__(self) -> None:
        self.asked: dict[int, int] = defaultdict(int)

    async def async_invoke(self, value: Any) -> Any:
        import asyncio

        self.asked[value[2]] += 1
        if value[2] % 5 == 0 and self.asked[value[2]] == 1:
            raise ValueError("try again")
        await asyncio.sleep(0)
        return [value[2] * 10]


@program(lambda events: [n * 10 for *_, n in events] * 2)
def asynchronous(env: Any, events: Events) -> Any:
    retry = AsyncRetryStrategy.fixed_delay(3, 1, None, lambda error: isinstance(error, ValueError))
    stream, timeout = source(env, events), Time.seconds(20)
    ordered = AsyncDataStream.ordered_wait_with_retry(stream, Slow(), timeout, retry, 10, Types.INT())
    unordered = AsyncDataStream.unordered_wait_with_retry(stream, Slow(), timeout, retry, 3, Types.INT())
    return ordered.union(unordered)


class Inputs:
    """Counted from 1."""

    def process_element(self, input: int, value: Any, ctx: Any) -> Any:
        yield input, value[2]


@program(lambda events: [(i, n) for i in (1, 2, 3) for *_, n in events])
def many_inputs(env: Any, events: Events) -> Any:
    streams = [source(env, events), source(env, events).rebalance(), source(env, events)]
    return env.connect_all(*streams).transform("three", Inputs())


# Keyed records


def _running(combine: Callable[[Any, Any], Any]) -> Callable[[Events], list[Any]]:
    def expected(events: Events) -> list[Any]:
        made = []
        for group in by_key(events).values():
            total: Any = None
            for event in group:
                total = event if total is None else combine(total, event)
                made.append(total)
        return made

    return expected


@program(_running(lambda a, b: (a[0], min(a[1], b[1]), a[2] + b[2])))
def reduced(env: Any, events: Events) -> Any:
    return source(env, events).key_by(key, Types.STRING()).reduce(lambda a, b: (a[0], min(a[1], b[1]), a[2] + b[2]))


@program(_running(lambda a, b: (a[0], a[1], a[2] + b[2])))
def summed(env: Any, events: Events) -> Any:
    return source(env, events).key_by(key).sum(2)


@program(_running(lambda a, b: (a[0], min(a[1], b[1]), a[2])))
def least(env: Any, events: Events) -> Any:
    return source(env, events).key_by(key, Types.STRING()).min(1)


@program(_running(lambda a, b: b if b[1] > a[1] else a))
def greatest_by(env: Any, events: Events) -> Any:
    return source(env, events).key_by(key, Types.STRING()).max_by(1)


@program(lambda events: [e[2] for e in _running(lambda a, b: b if b[2] < a[2] else a)(events)])
def least_number(env: Any, events: Events) -> Any:
    rows = env.from_collection(events, Types.ROW_NAMED(["k", "t", "n"], [Types.STRING(), Types.LONG(), Types.INT()]))
    return rows.key_by(lambda r: r.k, Types.STRING()).min_by("n").map(lambda r: r["n"], Types.INT())


@program(lambda events: [(e[0], e[2]) for e in _running(lambda a, b: (a[0], a[1], max(a[2], b[2])))(events)])
def greatest_in_rows(env: Any, events: Events) -> Any:
    rows = env.from_collection(events, Types.ROW_NAMED(["k", "t", "n"], [Types.STRING(), Types.LONG(), Types.INT()]))
    return rows.key_by(lambda r: r["k"]).max("n").map(lambda r: (r.k, r.n), Types.TUPLE([Types.STRING(), Types.INT()]))


class Seen(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value[0], self.count.value()


@program(lambda events: [(k, i + 1) for k, group in by_key(events).items() for i in range(len(group)) if i % 2])
def keyed_map_and_filter(env: Any, events: Events) -> Any:
    counted = source(env, events).key_by(key, Types.STRING()).map(Seen(), PAIR)
    return counted.key_by(key, Types.STRING()).filter(lambda p: p[1] % 2 == 0)


@program(lambda events: [(len(k), x) for k, _, n in events for x in (k, n)])
def keys_of_many_kinds(env: Any, events: Events) -> Any:
    pairs = source(env, events).key_by(lambda e: [e[0], e[2] % 3]).flat_map(lambda e: [(e[0], e[0]), (e[0], e[2])])
    return pairs.key_by(lambda p: (p[0], None)).map(lambda p: (len(p[0]), p[1]))


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] * 1000 + accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class EveryState(KeyedProcessFunction):
    """Uses each kind of state, clears some of it now and then."""

    def open(self, runtime_context: Any) -> None:
        get = runtime_context
        self.count = get.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.items = get.get_list_state(ListStateDescriptor("items", Types.INT()))
        self.map = get.get_map_state(MapStateDescriptor("map", Types.INT(), Types.STRING()))
        self.least = get.get_reducing_state(ReducingStateDescriptor("least", min, Types.INT()))
        self.sum = get.get_aggregating_state(AggregatingStateDescriptor("sum", Sum(), None))

    def process_element(self, value: Any, ctx: Any) -> Any:
        number = value[2]
        self.count.update((self.count.value() or 0) + 1)
        self.items.add(number)
        self.map.put(number % 4, f"{number}")
        if number % 5 == 0 and self.map.contains(1):
            self.map.remove(1)
        self.least.add(number)
        self.sum.add(value)
        yield (
            ctx.get_current_key(),
            self.count.value(),
            tuple(self.items.get()),
            tuple(sorted(self.map.items())),
            self.map.is_empty(),
            self.least.get(),
            self.sum.get(),
        )
        if number % 7 == 0:
            self.items.update([number, number])
            self.map.clear()
            self.least.clear()
        if number % 11 == 0:
            self.items.clear()
            self.sum.clear()
            self.count.clear()


def _every_state(events: Events) -> list[Any]:
    made = []
    for name, group in by_key(events).items():
        count, items, entries, least_so_far, total = 0, [], {}, None, (0, 0)
        for *_, number in group:
            count += 1
            items = [*items, number]
            entries[number % 4] = f"{number}"
            if number % 5 == 0:
                entries.pop(1, None)
            least_so_far = number if least_so_far is None else min(number, least_so_far)
            total = (total[0] + number, total[1] + 1)
            shown = total[0] * 1000 + total[1]
            made.append((name, count, tuple(items), tuple(sorted(entries.items())), not entries, least_so_far, shown))
            if number % 7 == 0:
                items, entries, least_so_far = [number, number], {}, None
            if number % 11 == 0:
                items, total, count = [], (0, 0), 0
    return made


@program(_every_state)
def every_state(env: Any, events: Events) -> Any:
    return source(env, events).key_by(key, Types.STRING()).process(EveryState())


class Alarm(KeyedProcessFunction):
    """Fires 50 ms after the last record of a key, unless another comes."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        timers = ctx.timer_service()
        if self.last.value() is not None:
            timers.delete_event_time_timer(self.last.value() + 500)
        self.last.update(max(ctx.timestamp(), self.last.value() or 0))
        timers.register_event_time_timer(self.last.value() + 500)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp, ctx.timestamp() == timestamp
        self.last.clear()


def _alarms(events: Events) -> list[Any]:
    made, timers, last, mark = [], {}, {}, -(1 << 63)
    for name, time, _ in [*events, (None, 1 << 62, 0)]:
        if name is not None:
            last[name] = max(time, last.get(name, 0))
            timers[name] = last[name] + 500
        if time - 100 <= mark:
            continue
        mark = time - 100
        for each in [each for each, due in timers.items() if due <= mark]:
            made.append((each, timers.pop(each), True))
            del last[each]
    return made


@program(_alarms)
def alarms(env: Any, events: Events) -> Any:
    return strict(source(env, events)).key_by(key, Types.STRING()).process(Alarm())


class Enrich(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.left = runtime_context.get_list_state(ListStateDescriptor("left", Types.INT()))
        self.right = runtime_context.get_state(ValueStateDescriptor("right", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.left.add(value[2])
        ctx.timer_service().register_event_time_timer(5)
        return []

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.right.update((self.right.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(5)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), tuple(sorted(self.left.get())), self.right.value()


@program(
    lambda events: [
        (
            k,
            tuple(sorted(n for *_, n in group)),
            sum(n for *_, n in group if n % 2) if any(n % 2 for *_, n in group) else None,
        )
        for k, group in by_key(events).items()
    ]
)
def joined(env: Any, events: Events) -> Any:
    odd = source(env, events).filter(lambda e: e[2] % 2)
    left, right = source(env, events).key_by(key, Types.STRING()), odd.key_by(key, Types.STRING())
    return left.connect(right).process(Enrich())


@program(lambda events: [("a", i + 1) for g in by_key(events).values() for i in range(len(g))] * 2)
def keyed_connected(env: Any, events: Events) -> Any:
    class Count(CoMapFunction):
        def open(self, runtime_context: Any) -> None:
            self.seen = [runtime_context.get_state(ValueStateDescriptor(f"{n}", Types.INT())) for n in (1, 2)]

        def _count(self, which: int) -> Any:
            self.seen[which].update((self.seen[which].value() or 0) + 1)
            return "a", self.seen[which].value()

        def map1(self, value: Any) -> Any:
            return self._count(0)

        def map2(self, value: Any) -> Any:
            return self._count(1)

    left, right = source(env, events), source(env, events)
    return left.connect(right).key_by(key, key, Types.STRING()).map(Count())


class Tallies:
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.INT()))

    def process_element(self, input: int, value: Any, ctx: Any) -> Any:
        self.seen.put(input, (self.seen.get(input) or 0) + 1)
        yield ctx.get_current_key(), input, self.seen.get(input)


@program(lambda events: [(k, i, n + 1) for k, g in by_key(events).items() for i in (1, 2, 3) for n in range(len(g))])
def many_keyed_inputs(env: Any, events: Events) -> Any:
    streams = [source(env, events).key_by(key, Types.STRING()) for _ in range(3)]
    return env.connect_all(*streams).transform("tallies", Tallies())


RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield "record", value[2]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[0], max(value[2], rules.get(value[0]) or 0))
        yield "rule", value[0], rules.get(value[0])


def _rules(events: Events, copies: int) -> list[Any]:
    greatest: dict[str, int] = {}
    made: list[Any] = []
    for name, _, number in events:
        greatest[name] = max(number, greatest.get(name, 0))
        made += [("rule", name, greatest[name])] * copies
    return made + [("record", n) for *_, n in events]


@program(lambda events: _rules(events, 3))
def broadcast(env: Any, events: Events) -> Any:
    values = source(env, events).rebalance()
    return values.connect(source(env, events).broadcast(RULES)).process(Rules()).set_parallelism(3)


class KeyedRules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()
        ctx.timer_service().register_event_time_timer(1 << 60)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(f"{value[2]}", value[2])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield sum(number for _, number in ctx.get_broadcast_state(RULES).items())


@program(
    lambda events: (
        [(k, i + 1) for k, g in by_key(events).items() for i in range(len(g))]
        + [sum({n for *_, n in events})] * len(by_key(events))
    )
)
def keyed_broadcast(env: Any, events: Events) -> Any:
    values = source(env, events).key_by(key, Types.STRING())
    return values.connect(source(env, events).broadcast(RULES)).process(KeyedRules())


# Windows


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(e[2] for e in elements)


class Applied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, window.end, len(list(inputs))


class All(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        yield context.window().start, sorted(e[2] for e in elements)


@program(lambda events: [(k, start, sorted(n for *_, n in many)) for (k, start), many in tumbling(events, 300).items()])
def tumbling_windows(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(300))).process(Contents())


def _strict_windows(events: Events, size: int, lateness: int) -> list[Any]:
    """The windows that fire for each record after the window's end, and at the end; late records negative."""
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    fired: set[tuple[str, int]] = set()
    made: list[Any] = []
    mark = -(1 << 63)
    for name, time, number in events:
        window = (name, time // size * size)
        last = window[1] + size - 1
        if last + lateness <= mark:
            made.append(-number)
        else:
            windows[window].append(number)
            if last <= mark:
                fired.add(window)
                made.append((name, window[1], sorted(windows[window])))
        mark = max(mark, time - 100)
        for each in list(windows):
            if each[1] + size - 1 <= mark and each not in fired:
                fired.add(each)
                made.append((*each, sorted(windows[each])))
            if each[1] + size - 1 + lateness <= mark:
                del windows[each]
    return made + [(*each, sorted(windows[each])) for each in windows if each not in fired]


LATE = OutputTag("late", EVENT)


@program(lambda events: _strict_windows(events, 50, 80))
def late_records(env: Any, events: Events) -> Any:
    keyed = strict(source(env, events)).key_by(key, Types.STRING())
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).allowed_lateness(80)
    main = windows.side_output_late_data(LATE).process(Contents())
    return main.union(main.get_side_output(LATE).map(lambda e: -e[2]))


def _sliding(events: Events) -> list[Any]:
    windows: dict[Any, list[int]] = defaultdict(list)
    for name, time, number in events:
        for start in range(time // 100 * 100, time - 300, -100):
            windows[name, start].append(number)
    return [sum(numbers) * 1000 + len(numbers) for numbers in windows.values()]


@program(_sliding)
def sliding_windows(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(300), Time.milliseconds(100)))
    return windows.aggregate(Sum(), output_type=Types.LONG())


def _sessions(events: Events, gap: Callable[[Event], int]) -> list[Any]:
    made = []
    for name, group in by_key(events).items():
        sessions: list[tuple[int, int, list[int]]] = []
        for event in sorted(group, key=lambda e: e[1]):
            start, end = event[1], event[1] + gap(event)
            if sessions and start <= sessions[-1][1]:
                first, last, numbers = sessions.pop()
                sessions.append((first, max(last, end), [*numbers, event[2]]))
            else:
                sessions.append((start, end, [event[2]]))
        made += [(name, start, sorted(numbers)) for start, _, numbers in sessions]
    return made


@program(lambda events: _sessions(events, lambda e: 60))
def sessions(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(60))).process(Contents())


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 20 + 10 * (element[2] % 3)


@program(lambda events: [sum(ns) * 1000 + len(ns) for _, _, ns in _sessions(events, lambda e: 20 + 10 * (e[2] % 3))])
def sessions_of_any_gap(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    return keyed.window(EventTimeSessionWindows.with_dynamic_gap(Gap())).aggregate(Sum(), output_type=Types.LONG())


@program(
    lambda events: [
        (k, sum(n for *_, n in g[i : i + 4])) for k, g in by_key(events).items() for i in range(0, len(g) - 3, 4)
    ]
)
def count_windows(env: Any, events: Events) -> Any:
    keyed = source(env, events).key_by(key, Types.STRING())
    summed_up = keyed.count_window(4).reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
    return summed_up.map(lambda e: (e[0], e[2]), PAIR)


@program(
    lambda events: [
        (k, [n for *_, n in g[max(0, i - 3) : i + 1]]) for k, g in by_key(events).items() for i in range(1, len(g), 2)
    ]
)
def evicted(env: Any, events: Events) -> Any:
    class Last(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            yield key, [e[2] for e in elements]

    keyed = source(env, events).key_by(key, Types.STRING())
    windows = keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2))
    return windows.evictor(CountEvictor.of(4)).process(Last())


@program(
    lambda events: [
        sum(n for *_, n in g[i : i + 3]) * 1000 + 3 for g in by_key(events).values() for i in range(0, len(g) - 2, 3)
    ]
)
def global_windows(env: Any, events: Events) -> Any:
    keyed = source(env, events).key_by(key, Types.STRING())
    windows = keyed.window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(3)))
    return windows.aggregate(Sum(), output_type=Types.LONG())


@program(lambda events: [(k, start + 200, len(many)) for (k, start), many in tumbling(events, 200).items()])
def applied_windows(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(200))).apply(Applied())


@program(
    lambda events: [
        (start, sorted(n for _, t, n in events if t // 500 * 500 == start))
        for start in {t // 500 * 500 for _, t, _ in events}
    ]
)
def windows_of_all(env: Any, events: Events) -> Any:
    return timed(source(env, events)).window_all(TumblingEventTimeWindows.of(Time.milliseconds(500))).process(All())


class Twice(ProcessWindowFunction):
    """Counts the firings of a window, and of all windows of the key."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        states = [context.window_state(), context.global_state()]
        counts = [state.get_state(ValueStateDescriptor("firings", Types.INT())) for state in states]
        for count in counts:
            count.update((count.value() or 0) + 1)
        yield counts[0].value(), sum(e[2] for e in elements)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(ValueStateDescriptor("firings", Types.INT())).clear()


@program(lambda events: [(1, sum(n for *_, n in many)) for many in tumbling(events, 100).values()])
def windows_with_state(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    return windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2]), Twice())


@program(
    lambda events: [
        sum(n for _, t, n in many if t > max(t for _, t, _ in many) - 40) * 1000
        + sum(t > max(t for _, t, _ in many) - 40 for _, t, _ in many)
        for many in tumbling(events, 100).values()
    ]
)
def evicted_by_time(env: Any, events: Events) -> Any:
    keyed = timed(source(env, events)).key_by(key, Types.STRING())
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).evictor(
        TimeEvictor.of(Duration.of_millis(40))
    )
    return windows.aggregate(Sum(), output_type=Types.LONG())


def _each_hundred(events: Events) -> list[Any]:
    """A window of 400 ms fires for each 100 ms that the watermark passes, with what had come until then."""
    made: list[Any] = []
    windows: dict[tuple[str, int], list[int]] = defaultdict(list)
    alarms: dict[tuple[str, int], int] = {}
    mark = -(1 << 63)
    for name, time, number in [*events, (None, 1 << 61, 0)]:
        if name is not None and time // 400 * 400 + 399 > mark:
            window = (name, time // 400 * 400)
            windows[window].append(number)
            alarms.setdefault(window, time - time % 100 + 100)
        if time - 100 <= mark:
            continue
        mark = time - 100
        for window in sorted(windows):
            end = window[1] + 399
            while alarms[window] <= min(mark, end):
                made.append((*window, sorted(windows[window])))
                alarms[window] += 100
            if end <= mark:
                made.append((*window, sorted(windows.pop(window))))
    return made


@program(_each_hundred)
def continuous_trigger(env: Any, events: Events) -> Any:
    keyed = strict(source(env, events)).key_by(key, Types.STRING())
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(400)))
    return windows.trigger(ContinuousEventTimeTrigger.of(Time.milliseconds(100))).process(Contents())

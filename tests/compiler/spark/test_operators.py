"""Operators against plain Python, whatever the epoch size and the parallelism."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from compat.compiler.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from compat.compiler.datastream.output_tag import OutputTag
from compat.compiler.spark.driver.failures import JobFailed
from compat.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from compat.state.rows import Row
from compat.state.types import Types

WORDS = [f"w{(i * i) % 17}" for i in range(500)]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
SHAPES = pytest.mark.parametrize(("parallelism", "epoch_records"), [(1, None), (2, 37), (5, 200)])


@SHAPES
def test_map_filter_flat_map(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    numbers = env.from_collection(list(range(100)), Types.INT())
    made = numbers.map(lambda x: x * 2).filter(lambda x: x % 3 == 0).flat_map(lambda x: [x, x + 1])
    assert sorted(made.execute_and_collect()) == sorted(
        y for x in range(100) if 2 * x % 3 == 0 for y in (2 * x, 2 * x + 1)
    )


@SHAPES
def test_running_sum(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    stream = env.from_collection([(word, 1) for word in WORDS], PAIR)
    found = list(stream.key_by(lambda p: p[0], Types.STRING()).sum(1).execute_and_collect())
    seen: Counter[str] = Counter()
    expected = []
    for word in WORDS:
        seen[word] += 1
        expected.append((word, seen[word]))
    assert sorted(found) == sorted(expected)


class CountAndRemember(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", Types.INT()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.items.add(value[1])
        self.seen.put(value[1] % 3, value[1])
        yield ctx.get_current_key(), count, list(self.items.get()), dict(self.seen.items())
        if count % 5 == 0:
            self.items.clear()
            self.seen.remove(0)


@SHAPES
def test_keyed_state(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    data = [(word, number) for number, word in enumerate(WORDS[:150])]
    stream = env.from_collection(data, PAIR)
    found = list(stream.key_by(lambda p: p[0]).process(CountAndRemember()).execute_and_collect())
    states: dict[str, Any] = {}
    expected = []
    for word, number in data:
        count, items, seen = states.get(word, (0, [], {}))
        count, items = count + 1, [*items, number]
        seen = {**seen, number % 3: number}
        expected.append((word, count, items, seen))
        if count % 5 == 0:
            items, seen = [], {k: v for k, v in seen.items() if k != 0}
        states[word] = (count, items, seen)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Forget(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_aggregating_state(AggregatingStateDescriptor("count", Count(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.add(value[0])
        yield self.count.get()


@pytest.mark.parametrize("epoch_records", [None, 1])
def test_none_empties_what_is_aggregated(cluster: Any, epoch_records: int | None) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    numbers = env.from_collection([(1,), (2,), (None,), (4,)], Types.TUPLE([Types.INT()]))
    found = list(numbers.key_by(lambda number: 0).process(Forget()).execute_and_collect())
    assert found == [1, 2, None, 1]


class Split(ProcessFunction):
    odd = OutputTag("odd", Types.INT())

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value % 2:
            yield self.odd, value
        else:
            yield value


@SHAPES
def test_side_output_and_union(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    main = env.from_collection(list(range(50)), Types.INT()).process(Split(), Types.INT())
    odd = main.get_side_output(Split.odd).map(lambda x: -x, Types.INT())
    assert sorted(main.union(odd).execute_and_collect()) == sorted(x if x % 2 == 0 else -x for x in range(50))


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return f"a{value}"

    def map2(self, value: Any) -> Any:
        return f"b{value}" if value != 2 else None


def test_connect(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=3)
    left, right = env.from_collection([1, 2, 3], Types.INT()), env.from_collection([1, 2, 3, 4], Types.INT())
    assert sorted(left.connect(right).map(Both()).execute_and_collect()) == ["a1", "a2", "a3", "b1", "b3", "b4"]


class Enrich(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + value[1])
        return []

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.total.update((self.total.value() or 0) + value[1])
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.total.value()


def test_keyed_connect_with_timers(cluster: Any) -> None:
    env = cluster.environment(3, epoch_records=7)
    left = env.from_collection([(w, 1) for w in WORDS[:60]], PAIR)
    right = env.from_collection([(w, 10) for w in WORDS[:30]], PAIR)
    stream = left.connect(right).key_by(lambda p: p[0], lambda p: p[0], Types.STRING()).process(Enrich())
    expected = Counter(WORDS[:60])
    for word in WORDS[:30]:
        expected[word] += 10
    assert dict(stream.execute_and_collect()) == {word: expected[word] for word in set(WORDS[:30])}


class Rules(BroadcastProcessFunction):
    descriptor = MapStateDescriptor("rules", Types.STRING(), Types.INT())

    def process_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(self.descriptor)
        yield value, rules.get("factor")

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(self.descriptor).put(value[0], value[1])


def test_broadcast_state(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=1)
    rules = env.from_collection([("factor", 3)], PAIR).broadcast(Rules.descriptor)
    values = env.from_collection([1, 2, 3, 4], Types.INT()).rebalance()
    found = list(values.connect(rules).process(Rules()).execute_and_collect())
    assert sorted(value for value, _ in found) == [1, 2, 3, 4]
    assert all(factor == 3 for value, factor in found if value > 1)


@pytest.mark.parametrize("how", ["rebalance", "rescale", "shuffle", "broadcast", "custom"])
def test_partitioners(cluster: Any, how: str) -> None:
    env = cluster.environment(3, epoch_records=10)
    numbers = env.from_collection(list(range(40)), Types.INT()).map(lambda x: x, Types.INT())
    spread = numbers.partition_custom(lambda k, n: k % n, lambda x: x) if how == "custom" else getattr(numbers, how)()
    times = 3 if how == "broadcast" else 1
    assert sorted(spread.map(lambda x: x).execute_and_collect()) == sorted(list(range(40)) * times)


def test_print(cluster: Any) -> None:
    env = cluster.environment(1)
    env.from_collection([1, 2], Types.INT()).print()
    env.execute("printing")
    assert cluster.lines == ["1", "2"]


class Tagging(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield OutputTag("read", Types.INT()), value
        yield OutputTag("unread", Types.INT()), "no number"
        yield value


def test_a_tag_that_nobody_reads(cluster: Any) -> None:
    """As in PyFlink 2.3, in process and in thread mode: beside a side output that is read, its records are dropped.

    Without any, pairs with a tag are records of the main stream, which a declared type refuses.
    """
    env = cluster.environment(1)
    made = env.from_collection([1, 2], Types.INT()).process(Tagging(), Types.INT())
    side = made.get_side_output(OutputTag("read", Types.INT())).map(lambda value: -value, Types.INT())
    assert sorted(made.union(side).execute_and_collect()) == [-2, -1, 1, 2]
    made = env.from_collection([1], Types.INT()).process(Tagging())
    first, second, third = made.execute_and_collect()
    assert [(first[0].tag_id, first[1]), (second[0].tag_id, second[1]), third] == [
        ("read", 1),
        ("unread", "no number"),
        1,
    ]
    env.from_collection([1], Types.INT()).process(Tagging(), Types.INT()).print()
    with pytest.raises(JobFailed, match="is no value of the declared type INT"):
        env.execute()


class OwnKey(KeyedProcessFunction):
    """Gives the key of each record, and how many it has had."""

    def open(self, runtime_context: Any) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self._count.update((self._count.value() or 0) + 1)
        yield repr(ctx.get_current_key()), self._count.value()


@pytest.mark.parametrize(
    ("key", "type_info", "expected"),
    [
        (lambda v: v[0], Types.DOUBLE(), ["1.0", "1.0", "2.0"]),
        (lambda v: v[1], Types.INT(), ["1", "2", "1"]),
        (lambda v: v[1] + 0.1, Types.FLOAT(), ["1.600000023841858", "2.0999999046325684", "1.2999999523162842"]),
        (lambda v: v[0] == 1, Types.INT(), ["1", "1", "0"]),
        (lambda v: (v[0], v[0]), Types.TUPLE([Types.DOUBLE(), Types.INT()]), ["(1.0, 1)", "(1.0, 1)", "(2.0, 2)"]),
        (lambda v: Row(v[0], "x"), Types.TUPLE([Types.INT(), Types.STRING()]), ["(1, 'x')", "(1, 'x')", "(2, 'x')"]),
    ],
    ids=["double", "int", "float", "truth", "tuple", "row"],
)
def test_keys_have_the_form_of_their_type(cluster: Any, key: Any, type_info: Any, expected: list[str]) -> None:
    """As PyFlink 2.3 has them, in process mode; the last one in thread mode."""
    env = cluster.environment(1, epoch_records=1)
    pairs = env.from_collection([(1, 1.5), (1, 2.0), (2, 1.2)], Types.TUPLE([Types.INT(), Types.DOUBLE()]))
    found = list(pairs.key_by(key, type_info).process(OwnKey()).execute_and_collect())
    assert sorted(found) == sorted((each, expected[:place].count(each) + 1) for place, each in enumerate(expected))


def test_records_have_the_form_of_their_type_behind_a_key_by_that_is_merged_with_what_made_them(cluster: Any) -> None:
    env = cluster.environment(1)
    named = Types.ROW_NAMED(["n", "half"], [Types.INT(), Types.DOUBLE()])
    rows = env.from_collection([1], Types.INT()).map(lambda n: Row(n + 0.5, n), named)
    shown = rows.key_by(lambda row: row[0], Types.DOUBLE()).map(lambda row: repr(row), Types.STRING())
    assert list(shown.execute_and_collect()) == ["Row(n=1, half=1.0)"]


def test_a_key_that_is_none_of_its_type_fails_with_its_record(cluster: Any) -> None:
    env = cluster.environment(1)
    stream = env.from_collection([1, 2], Types.INT()).key_by(lambda n: n if n < 2 else "two", Types.INT())
    with pytest.raises(JobFailed, match=r"The record: 2\n"):
        list(stream.process(OwnKey()).execute_and_collect())

"""Recipes that give a job on Spark other keys, kinds of state and values: what the next records find is what migrate writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.time import Time
from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.functions import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
)
from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.window import (
    EventTimeSessionWindows,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from compat.compiler.spark.driver import restore
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.execution.snapshots import checker
from compat.migration.on_spark import SparkRecipe
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    MoveState,
    Recipe,
    RenameState,
    Step,
)
from compat.state.delta import slices
from compat.state.delta.errors import StoreError
from compat.state.descriptors import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
)
from compat.state.time import Duration
from compat.state.ttl import StateTtlConfig
from compat.state.types import TypeInformation, Types
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.test_migration import plan_of
from tests.compiler.spark.test_moving import Keep, Make, count, told

L, S, P, D = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY(), Types.DOUBLE()
NUMBERS = list(range(24))
HALF = 12
"""So many numbers are read before the savepoint."""

States = list[tuple[StateDescriptor, Make]]
Keys = tuple[Callable[[int], Any], TypeInformation]
THIRDS: Keys = (lambda n: n % 3, L)
TEXTS: Keys = (lambda n: str(n % 3), S)
HALVES: Keys = (lambda n: n % 3 // 2, L)
"""The keys 0 and 1 of the thirds are one."""


def listed(type: TypeInformation = L, make: Make = lambda n: n, name: str = "s") -> tuple[StateDescriptor, Make]:
    return ListStateDescriptor(name, type), make


def mapped(
    key: TypeInformation = L, type: TypeInformation = L, make: Make = lambda n: n, name: str = "s"
) -> tuple[StateDescriptor, Make]:
    return MapStateDescriptor(name, key, type), make


def run(env: Any, states: States, keys: Keys, function: Callable[[States], Any] | None = None) -> dict[Any, Any]:
    """What was held for each key when its first record came."""
    keep = Keep("keep", {descriptor.name: (descriptor, make) for descriptor, make in states})
    stream = env.from_collection(NUMBERS, L).uid("numbers").key_by(*keys).process(keep, P).uid("keep")
    first: dict[Any, Any] = {}
    for _, key, held in stream.execute_and_collect():
        first.setdefault(key, held)
    return first


def saved(cluster: Any, states: States, keys: Keys = THIRDS) -> str:
    """Half of the numbers, and a savepoint."""
    run(cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of), states, keys)
    return str(cluster.last.master.job.savepoint)


def restored(
    cluster: Any, path: str, states: States, *steps: Step, keys: Keys = THIRDS, **options: Any
) -> dict[Any, Any]:
    """The state of NEW for each key when its first record comes; NEW is checked, as a command does."""
    given = {"check": checker("new.py", pytest.fail, allow_unknown=False), "parallelism": 3, **options}
    parallelism = given.pop("parallelism")
    recipe = SparkRecipe(Recipe(steps=steps))
    env = cluster.environment(parallelism, savepoint=path, recipe=recipe, plan_of=plan_of, **given)
    return run(env, states, keys)


@pytest.fixture
def functions(tmp_path: Path) -> Callable[[str, str], str]:
    """Writes a function, and gives how a recipe names it."""

    def write(name: str, text: str) -> str:
        file = tmp_path / f"of {name}.py"
        file.write_text(text)
        return f"{file}:{name}"

    return write


# ---- other kinds of state ----


def kinds() -> Iterable[tuple[Any, Any, dict[str, Any], dict[int, Any]]]:
    last = {key: 9 + key for key in range(3)}
    every = {key: list(range(key, HALF, 3)) for key in range(3)}
    yield count("s"), listed(), {}, {key: [n] for key, n in last.items()}
    yield count("s"), listed(S, str), {}, {key: [str(n)] for key, n in last.items()}
    yield count("s"), mapped(S, L, lambda n: n), {"entry": "all"}, {key: {"all": n} for key, n in last.items()}
    yield mapped(L, L), mapped(S, L), {}, {key: {str(n): n for n in ns} for key, ns in every.items()}
    yield (
        mapped(L, L, lambda n: n or None),
        mapped(L, S, str),
        {},
        {key: {n: str(n) if n else None for n in ns} for key, ns in every.items()},
    )
    yield (
        listed(),
        listed(Types.TUPLE([L, S]), lambda n: (n, "")),
        {"single": "f0", "constants": {"f1": "x"}},
        {key: [(n, "x") for n in ns] for key, ns in every.items()},
    )
    yield (
        listed(P, lambda n: {"n": n}),
        listed(P, lambda n: n),
        {},
        {key: [{"n": n} for n in ns] for key, ns in every.items()},
    )


@pytest.mark.parametrize(("old", "new", "step", "held"), list(kinds()))
def test_a_state_is_of_another_kind(
    cluster: Any, old: Any, new: Any, step: dict[str, Any], held: dict[int, Any]
) -> None:
    path = saved(cluster, [old])
    found = restored(cluster, path, [new], ConvertState(operator="keep", state="s", **step))
    assert found == {key: {"s": one} for key, one in held.items()}
    assert told(cluster)["dropped"] == 0


def test_a_list_of_one_element_becomes_a_value_and_one_of_several_does_not(cluster: Any) -> None:
    own: Keys = (lambda n: n % HALF, L)
    path = saved(cluster, [listed()], own)
    step = ConvertState(operator="keep", state="s")
    assert restored(cluster, path, [count("s")], step, keys=own) == {n: {"s": n} for n in range(HALF)}
    several = saved(cluster, [listed()])
    with pytest.raises(StoreError, match="'s' of 'keep' cannot be converted: a list of 4 elements is no single value"):
        restored(cluster, several, [count("s")], step)


def test_what_had_no_time_was_last_used_at_the_restore(cluster: Any) -> None:
    path = saved(cluster, [count("s"), listed(name="l")])

    def living() -> States:
        states = [count("s"), listed(name="l")]
        for descriptor, _ in states:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
        return states

    steps = [ConvertState(operator="keep", state=name) for name in ("s", "l")]
    found = restored(cluster, path, living(), *steps, epochs=1, epoch_records=1)
    assert all(held == {"s": 9 + key, "l": list(range(key, HALF, 3))} for key, held in found.items())
    again = str(cluster.last.master.job.savepoint)
    times = {row["timestamp"] for row in state_rows(again, "keep") if row["state"] in ("s", "l")}
    assert None not in times
    off = restored(cluster, again, [count("s"), listed(name="l")], *steps)
    assert off[2] == {"s": 11, "l": [2, 5, 8, 11]}


# ---- functions ----


def through() -> Iterable[tuple[Any, Any, str, dict[str, Any], dict[int, Any]]]:
    every = {key: list(range(key, HALF, 3)) for key in range(3)}
    yield count("s"), count("s", S, str), "return f'{v}!'", {}, {k: f"{9 + k}!" for k in every}
    yield (
        count("s", P, lambda n: {"n": n}),
        count("s", P, lambda n: {}),
        "return {'count': v['n'], 'unit': 'piece'}",
        {},
        {k: {"count": 9 + k, "unit": "piece"} for k in every},
    )
    yield (
        listed(),
        listed(S, str),
        "return str(v) if v > 5 else None",
        {"drops": True},
        {k: [str(n) for n in ns if n > 5] for k, ns in every.items()},
    )
    yield listed(), count("s"), "return sum(v)", {}, {k: sum(ns) for k, ns in every.items()}
    yield count("s"), mapped(S, L), "return {'a': v, 'b': -v}", {}, {k: {"a": 9 + k, "b": -9 - k} for k in every}
    yield (
        mapped(L, S, str),
        listed(S, str),
        "return sorted(v.values())",
        {},
        {k: sorted(map(str, ns)) for k, ns in every.items()},
    )
    yield mapped(L, L), mapped(L, L), "return v * 10", {}, {k: {n: 10 * n for n in ns} for k, ns in every.items()}


@pytest.mark.parametrize(("old", "new", "body", "step", "held"), list(through()))
def test_values_go_through_a_function(
    cluster: Any, functions: Any, old: Any, new: Any, body: str, step: dict[str, Any], held: dict[int, Any]
) -> None:
    path = saved(cluster, [old])
    named = functions("made", f"def made(v):\n    {body}\n")
    found = restored(cluster, path, [new], ConvertState(operator="keep", state="s", function=named, **step))
    assert found == {key: {"s": one} for key, one in held.items()}


def test_entries_of_a_map_go_through_a_function_of_two(cluster: Any, functions: Any) -> None:
    path = saved(cluster, [mapped(L, L)])
    step = ConvertState(
        operator="keep", state="s", function=functions("pair", "def pair(k, v):\n    return str(k), v + 1\n")
    )
    assert restored(cluster, path, [mapped(S, L)], step)[0] == {"s": {str(n): n + 1 for n in (0, 3, 6, 9)}}


def test_a_function_that_fails_is_told_and_its_process_ends(cluster: Any, functions: Any) -> None:
    path = saved(cluster, [count("s")])
    step = ConvertState(
        operator="keep", state="s", function=functions("fails", "def fails(v):\n    return 1 // (v - 9)\n")
    )
    with pytest.raises(StoreError, match=r"it fails for 9: ZeroDivisionError"):
        restored(cluster, path, [count("s")], step)


def test_a_function_that_is_not_there_is_refused_before_anything_runs(cluster: Any, tmp_path: Path) -> None:
    path = saved(cluster, [count("s")])
    step = ConvertState(operator="keep", state="s", function=f"{tmp_path}/none.py:f")
    with pytest.raises(RestoreRefused, match=r"no function .*none.py:f on this machine"):
        restored(cluster, path, [count("s")], step)


def test_a_time_finer_than_pyflink_keeps_does_not_go_through_a_function(cluster: Any, functions: Any) -> None:
    from datetime import datetime

    moment = Types.SQL_TIMESTAMP()
    path = saved(cluster, [count("s", moment, lambda n: datetime(2026, 1, 1, 0, 0, 0, 1))])
    step = ConvertState(operator="keep", state="s", function=functions("same", "def same(v):\n    return v\n"))
    with pytest.raises(StoreError, match="does not keep it as it is"):
        restored(cluster, path, [count("s", moment)], step)


# ---- keys ----

EVERY: States = [count("s"), listed(name="l"), mapped(name="m")]


def held_by(*thirds: int) -> dict[str, Any]:
    """What the states of `EVERY` have for the numbers of some thirds."""
    numbers = [n for third in thirds for n in range(third, HALF, 3)]
    return {"s": 9 + thirds[-1], "l": numbers, "m": {n: n for n in numbers}}


def test_keys_have_another_type(cluster: Any) -> None:
    path = saved(cluster, EVERY)
    found = restored(cluster, path, EVERY, ConvertKey(operator="keep"), keys=TEXTS)
    assert found == {str(third): held_by(third) for third in range(3)}


def test_what_has_other_keys_is_saved_as_it_is_now(cluster: Any) -> None:
    """The next savepoint is restored without a recipe, at another parallelism."""
    path = saved(cluster, EVERY)
    restored(cluster, path, EVERY, ConvertKey(operator="keep"), keys=TEXTS, epochs=1, epoch_records=1)
    again = str(cluster.last.master.job.savepoint)
    found = restored(cluster, again, EVERY, keys=TEXTS, parallelism=1)
    assert sum(held == held_by(int(third)) for third, held in found.items()) == 2


def test_keys_of_many_slices(cluster: Any, monkeypatch: pytest.MonkeyPatch, functions: Any) -> None:
    """Keys that become one come from several slices, and go to others."""
    monkeypatch.setattr(slices, "SLICE_BYTES", 500)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    own: Keys = (lambda n: n % HALF, L)
    path = saved(cluster, EVERY, own)
    half = functions("half", "def half(key):\n    return key // 2\n")
    largest = functions("largest", "def largest(values):\n    return max(values)\n")
    step = ConvertKey(operator="keep", function=half, merge={"s": largest, "l": "all"})
    found = restored(cluster, path, EVERY, step, keys=(lambda n: n % HALF // 2, L))
    assert {key: (held["s"], sorted(held["l"]), held["m"]) for key, held in found.items()} == {
        key: (2 * key + 1, [2 * key, 2 * key + 1], {n: n for n in (2 * key, 2 * key + 1)}) for key in range(HALF // 2)
    }


class Clock(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class Told(KeyedBroadcastProcessFunction):
    """Gives what a broadcast state holds, once for each number."""

    def __init__(self, told: MapStateDescriptor, key: Any, value: Any) -> None:
        self.told, self.key, self.value = told, key, value

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, dict(ctx.get_broadcast_state(self.told).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        if value < HALF:
            ctx.get_broadcast_state(self.told).put(self.key(value), self.value(value))


def test_broadcast_state_is_converted(cluster: Any, functions: Any) -> None:
    def results(env: Any, told: MapStateDescriptor, key: Any, value: Any) -> dict[Any, Any]:
        numbers = env.from_collection(NUMBERS, L).uid("numbers")
        rules = env.from_collection(NUMBERS, L).uid("rules").broadcast(told)
        keyed = numbers.key_by(lambda n: n % 2, L).connect(rules)
        return dict(keyed.process(Told(told, key, value), P).uid("keep").execute_and_collect())

    old = MapStateDescriptor("rules", L, L)
    results(cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of), old, int, int)
    path = str(cluster.last.master.job.savepoint)
    pair = functions("pair", "def pair(k, v):\n    return str(k), float(v)\n")
    for step in (
        ConvertState(operator="keep", state="rules"),
        ConvertState(operator="keep", state="rules", function=pair),
    ):
        type = S if step.function is None else D
        new = MapStateDescriptor("rules", L if step.function is None else S, type)
        env = cluster.environment(3, savepoint=path, recipe=SparkRecipe(Recipe(steps=(step,))), plan_of=plan_of)
        found = results(env, new, int, int)[HALF]
        expected = (
            {n: str(n) for n in range(HALF)} if step.function is None else {str(n): float(n) for n in range(HALF)}
        )
        assert found == expected


def test_a_sum_becomes_a_list(cluster: Any) -> None:
    class Add(Keep):
        def open(self, runtime_context: Any) -> None:
            self.opened = {"s": runtime_context.get_reducing_state(self.states["s"][0])}

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.opened["s"].add(value)
            yield value

    env = cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of)
    summed = ReducingStateDescriptor("s", lambda a, b: a + b, L)
    numbers = env.from_collection(NUMBERS, L).uid("numbers").key_by(*THIRDS)
    list(numbers.process(Add("keep", {"s": (summed, int)}), P).uid("keep").execute_and_collect())
    found = restored(
        cluster, str(cluster.last.master.job.savepoint), [listed()], ConvertState(operator="keep", state="s")
    )
    assert found == {third: {"s": [sum(range(third, HALF, 3))]} for third in range(3)}


def test_windows_stay_with_their_keys(cluster: Any) -> None:
    """What open windows hold, and the timers that end them, is under the new keys."""

    def windows(env: Any, keys: Keys) -> list[Any]:
        timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Clock())
        numbers = env.from_collection(NUMBERS, L).uid("numbers").assign_timestamps_and_watermarks(timed)
        counted = numbers.key_by(*keys).window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
        return sorted(counted.reduce(lambda a, b: a + b, output_type=L).uid("keep").execute_and_collect())

    windows(cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of), THIRDS)
    path = str(cluster.last.master.job.savepoint)
    recipe = SparkRecipe(Recipe(steps=(ConvertKey(operator="keep"),)))
    found = windows(cluster.environment(3, savepoint=path, recipe=recipe, plan_of=plan_of), TEXTS)
    assert found == sorted(sum(range(third, 24, 3)) for third in range(3))


class Collected(ProcessWindowFunction[Any, Any, Any, Any]):
    """Gives what a window has, and where it is."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().start, context.window().end, sorted(elements)


def in_windows(env: Any, assigner: Any, *, folded: bool) -> list[Any]:
    """The results of windows that are all open until the end."""
    late = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1000))
    numbers = env.from_collection(NUMBERS, L).uid("numbers")
    timed = numbers.assign_timestamps_and_watermarks(late.with_timestamp_assigner(Clock()))
    windows = timed.key_by(*THIRDS).window(assigner)
    if folded:
        results = windows.reduce(lambda a, b: a + b, output_type=L)
    else:
        results = windows.process(Collected(), P)
    return sorted(results.uid("keep").execute_and_collect())


def tumbling(size: int, offset: int = 0) -> Any:
    return TumblingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(offset))


LONGER = [(begin, begin + 12, list(range(begin + third, begin + 12, 3))) for begin in (0, 12) for third in range(3)]
"""What windows of 12 milliseconds have."""


@pytest.mark.parametrize("folded", [False, True])
def test_open_windows_become_part_of_longer_ones(cluster: Any, functions: Any, folded: bool) -> None:
    """Each has what its parts had, and ends once: as if NEW had read all records."""
    in_windows(cluster.environment(2, epochs=2, epoch_records=4, plan_of=plan_of), tumbling(3), folded=folded)
    path = str(cluster.last.master.job.savepoint)
    added = functions("added", "def added(values):\n    return sum(values)\n") if folded else "all"
    step = ConvertWindows(operator="keep", size="12 ms", merge={"window-contents": added})
    recipe = SparkRecipe(Recipe(steps=(step,)))
    env = cluster.environment(3, savepoint=path, recipe=recipe, plan_of=plan_of)
    found = in_windows(env, tumbling(12), folded=folded)
    assert found == sorted([sum(numbers) for _, _, numbers in LONGER] if folded else LONGER)


@pytest.mark.parametrize(
    ("new", "fields", "told"),
    [
        (tumbling(12), {"size": "6 ms"}, "write size: 12 ms, offset: 0 ms, or change NEW"),
        (tumbling(4), {"size": "4 ms"}, r"a window from \d+ to \d+ is no part of one of 4 milliseconds"),
        (tumbling(12), {"size": "12 ms"}, "two keys or windows become one, and both have a value of 'window-contents'"),
        (tumbling(12), {"size": "0 ms"}, "their size is 0 ms"),
        (tumbling(12), {"size": "twelve"}, "twelve"),
        (
            SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3)),
            {"size": "6 ms"},
            "only tumbling windows",
        ),
    ],
)
def test_windows_that_do_not_fit_are_refused(cluster: Any, new: Any, fields: dict[str, str], told: str) -> None:
    in_windows(cluster.environment(2, epochs=2, epoch_records=4, plan_of=plan_of), tumbling(3), folded=False)
    path = str(cluster.last.master.job.savepoint)
    recipe = SparkRecipe(Recipe(steps=(ConvertWindows(operator="keep", **fields),)))
    with pytest.raises((RestoreRefused, StoreError), match=told):
        in_windows(cluster.environment(3, savepoint=path, recipe=recipe, plan_of=plan_of), new, folded=False)


@pytest.mark.parametrize(
    ("old", "told"),
    [
        (EventTimeSessionWindows.with_gap(Time.milliseconds(6)), "sessions and other windows that merge"),
        (GlobalWindows.create(), "windows of another sort than time"),
    ],
)
def test_other_windows_do_not_become_part_of_longer_ones(cluster: Any, old: Any, told: str) -> None:
    in_windows(cluster.environment(2, epochs=2, epoch_records=4, plan_of=plan_of), old, folded=True)
    path = str(cluster.last.master.job.savepoint)
    recipe = SparkRecipe(Recipe(steps=(ConvertWindows(operator="keep", size="12 ms"),)))
    with pytest.raises((RestoreRefused, StoreError), match=told):
        in_windows(cluster.environment(3, savepoint=path, recipe=recipe, plan_of=plan_of), tumbling(12), folded=True)


def test_keys_are_converted_with_the_values_and_the_name_of_a_state(cluster: Any) -> None:
    path = saved(cluster, EVERY)
    steps = (
        ConvertKey(operator="keep", single="f0", constants={"f1": "eu"}),
        RenameState(operator="keep", state="s", to="t"),
        ConvertState(operator="keep", state="s"),
        ConvertState(operator="keep", state="m"),
    )
    new: States = [count("t", S, str), listed(name="l"), mapped(S, L, name="m")]
    pairs: Keys = (lambda n: (n % 3, "eu"), Types.TUPLE([L, S]))
    found = restored(cluster, path, new, *steps, keys=pairs)
    assert found[1, "eu"] == {"t": "10", "l": [1, 4, 7, 10], "m": {str(n): n for n in (1, 4, 7, 10)}}
    assert len(found) == 3


def test_a_field_of_a_key_becomes_the_key(cluster: Any) -> None:
    pairs: Keys = (lambda n: (n % 3, "x"), Types.TUPLE([L, S]))
    path = saved(cluster, EVERY, pairs)
    found = restored(cluster, path, EVERY, ConvertKey(operator="keep", single="f0", without=("f1",)))
    assert found == {third: held_by(third) for third in range(3)}


def test_keys_that_become_one_are_refused_unless_they_merge(cluster: Any, functions: Any) -> None:
    path = saved(cluster, EVERY)
    half = functions("half", "def half(key):\n    return key // 2\n")
    largest = functions("largest", "def largest(values):\n    return max(values)\n")
    with pytest.raises(StoreError, match=r"two keys become one, and both have a value of '[sl]': say how they `merge`"):
        restored(cluster, path, EVERY, ConvertKey(operator="keep", function=half), keys=HALVES)
    step = ConvertKey(operator="keep", function=half, merge={"s": largest, "l": "all"})
    found = restored(cluster, path, EVERY, step, keys=HALVES)
    assert found[1] == held_by(2)
    both = held_by(0, 1)
    assert found[0]["s"] == both["s"]
    assert sorted(found[0]["l"]) == sorted(both["l"])
    assert found[0]["m"] == both["m"]


class Same(Keep):
    """Puts all numbers of a key under one key of its map."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        held = dict(self.opened["s"].items())
        self.opened["s"].put(0, held.get(0, 0) + value)
        yield "keep", ctx.get_current_key(), held


def test_values_under_one_key_in_a_map_merge_through_a_function(cluster: Any, functions: Any) -> None:
    def sums(env: Any, keys: Keys) -> dict[Any, Any]:
        keep = Same("keep", {"s": mapped()})
        stream = env.from_collection(NUMBERS, L).uid("numbers").key_by(*keys).process(keep, P).uid("keep")
        first: dict[Any, Any] = {}
        for _, key, held in stream.execute_and_collect():
            first.setdefault(key, held)
        return first

    sums(cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of), THIRDS)
    path = str(cluster.last.master.job.savepoint)
    half = functions("half", "def half(key):\n    return key // 2\n")
    with pytest.raises(StoreError, match="two keys become one, and both have a value of 's'"):
        restored(cluster, path, [mapped()], ConvertKey(operator="keep", function=half), keys=HALVES)
    added = functions("added", "def added(values):\n    return sum(values)\n")
    step = ConvertKey(operator="keep", function=half, merge={"s": added})
    thirds = [sum(range(third, HALF, 3)) for third in range(3)]
    found = restored(cluster, path, [mapped()], step, keys=HALVES)
    assert found == {0: {"s": {0: thirds[0] + thirds[1]}}, 1: {"s": {0: thirds[2]}}}


def test_pickled_keys_go_through_a_function(cluster: Any, functions: Any) -> None:
    pickled: Keys = (lambda n: (n % 3, 0.5), P)
    path = saved(cluster, EVERY, pickled)
    first = functions("first", "def first(key):\n    return key[0]\n")
    found = restored(cluster, path, EVERY, ConvertKey(operator="keep", function=first))
    assert found == {third: held_by(third) for third in range(3)}
    back = functions("back", "def back(key):\n    return key[0], key[1] + 1\n")
    more: Keys = (lambda n: (n % 3, 1.5), P)
    assert restored(cluster, path, EVERY, ConvertKey(operator="keep", function=back), keys=more)[1, 1.5] == held_by(1)


@pytest.mark.parametrize("by", ["keys", "fields", "function"])
def test_keys_go(cluster: Any, functions: Any, by: str) -> None:
    keys: Keys = (lambda n: (n % 3, "x"), Types.TUPLE([L, S])) if by == "fields" else THIRDS
    path = saved(cluster, EVERY, keys)
    steps = {
        "keys": DropKeys(operator="keep", keys=(1,)),
        "fields": DropKeys(operator="keep", fields={"f0": 1}),
        "function": DropKeys(operator="keep", function=functions("one", "def one(key):\n    return key == 1\n")),
    }
    found = restored(cluster, path, EVERY, steps[by], keys=keys)
    none = {"s": None, "l": [], "m": {}}
    assert found == {keys[0](third): none if third == 1 else held_by(third) for third in range(3)}
    assert told(cluster)["dropped"] >= 6


class Alarm(KeyedProcessFunction):
    """Sets a timer far away for each key, and tells of each that fires."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value < HALF:
            ctx.timer_service().register_event_time_timer(1_000_000)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


def test_timers_fire_for_the_keys_as_they_are_now(cluster: Any, functions: Any) -> None:
    keep: States = [count("s")]

    class Both(Alarm):
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(keep[0][0])

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.state.update(value)
            yield from super().process_element(value, ctx)

    def fired(env: Any, keys: Keys) -> list[Any]:
        stream = env.from_collection(NUMBERS, L).uid("numbers").key_by(*keys).process(Both(), P).uid("keep")
        return sorted(stream.execute_and_collect())

    fired(cluster.environment(2, epochs=2, epoch_records=HALF // 2, plan_of=plan_of), THIRDS)
    path = str(cluster.last.master.job.savepoint)
    steps = (ConvertKey(operator="keep"), DropKeys(operator="keep", keys=(2,)))
    env = cluster.environment(3, savepoint=path, recipe=SparkRecipe(Recipe(steps=steps)), plan_of=plan_of)
    assert fired(env, TEXTS) == [("0", 1_000_000), ("1", 1_000_000)]


def refusals() -> Iterable[tuple[States, tuple[Step, ...], Keys, str]]:
    yield EVERY, (ConvertKey(operator="keep"),) * 2, TEXTS, "says twice what happens to the keys"
    yield EVERY, (DropKeys(operator="keep", keys=(1,)),) * 2, THIRDS, "says twice which keys"
    yield EVERY, (DropKeys(operator="keep"),), THIRDS, "Say which keys"
    yield EVERY, (ConvertKey(operator="keep", merge={"s": "sum"}),), TEXTS, "`sum` is not known of 's'"
    yield EVERY, (ConvertKey(operator="keep", merge={"x": "all"}),), TEXTS, "has no state 'x'"
    yield EVERY, (ConvertKey(operator="numbers"),), TEXTS, "has no state of keys"
    moved = (ConvertKey(operator="keep"), MoveState(operator="keep", state="s", to="other"))
    yield (
        EVERY,
        (*moved, ConvertState(operator="keep", state="l", drops=True)),
        TEXTS,
        "`drops` is about what a function",
    )
    yield [count("s"), mapped(name="l")], (ConvertState(operator="keep", state="l"),), THIRDS, "a value no entry"


@pytest.mark.parametrize(("new", "steps", "keys", "why"), list(refusals()))
def test_what_does_not_fit_is_refused_before_anything_runs(
    cluster: Any, new: States, steps: tuple[Step, ...], keys: Keys, why: str
) -> None:
    path = saved(cluster, EVERY)
    with pytest.raises(RestoreRefused, match=why):
        restored(cluster, path, new, *steps, keys=keys)


@pytest.mark.spark
def test_tasks_of_spark_do_it_where_it_is_much_and_functions_run_beside_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, functions: Any
) -> None:
    cluster = Cluster(tmp_path, SparkExecutor)
    try:
        path = saved(cluster, EVERY)
        monkeypatch.setattr(restore, "is_large", lambda size: True)
        steps = (ConvertKey(operator="keep"), ConvertState(operator="keep", state="s"))
        found = restored(
            cluster, path, [listed(), *EVERY[1:]], *steps, DropKeys(operator="keep", keys=(2,)), keys=TEXTS
        )
        for third in range(2):
            assert found[str(third)] == {**held_by(third), "s": [9 + third]}
        assert found["2"]["s"] == []
        first = functions("doubled", "def doubled(v):\n    return 2 * v\n")
        found = restored(cluster, path, EVERY, ConvertState(operator="keep", state="s", function=first))
        assert found[2] == {**held_by(2), "s": 22}
    finally:
        start(Program())
        assert cluster.executor is not None
        cluster.executor.close()

"""State that moves by a recipe while it is restored: values are where the program looks for them, or nothing is restored."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.execution.failures import Refused
from compat.execution.snapshots import checker
from compat.migration.on_spark import SparkRecipe
from compat.migration.recipe import (
    ConvertState,
    ConvertWindows,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Open,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.state.delta.errors import StoreError
from compat.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor, ValueStateDescriptor
from compat.state.types import TypeInformation, Types
from tests.compiler.spark.test_migration import plan_of

L, S, P = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()
AB = Types.ROW_NAMED(["a", "b"], [L, S])
NUMBERS = list(range(24))
Make = Callable[[int], Any]


class Keep(KeyedProcessFunction):
    """Gives what its states held before each record, and writes to them."""

    def __init__(self, uid: str, states: dict[str, tuple[StateDescriptor, Make]]) -> None:
        self.uid = uid
        self.states = states

    def open(self, runtime_context: Any) -> None:
        ask = {
            "VALUE": runtime_context.get_state,
            "LIST": runtime_context.get_list_state,
            "MAP": runtime_context.get_map_state,
        }
        self.opened = {name: ask[one.kind](one) for name, (one, _) in self.states.items()}

    def process_element(self, value: Any, ctx: Any) -> Any:
        held: dict[str, Any] = {}
        for name, state in self.opened.items():
            descriptor, make = self.states[name]
            if descriptor.kind == "VALUE":
                held[name] = state.value()
                state.update(make(value))
            elif descriptor.kind == "LIST":
                held[name] = list(state.get())
                state.add(make(value))
            else:
                held[name] = dict(state.items())
                state.put(str(value) if descriptor.type_info.key_type == S else value, make(value))
        yield self.uid, ctx.get_current_key(), held


Operators = dict[str, list[tuple[StateDescriptor, Make]]]
"""The states of operators, by their uids."""


def run(env: Any, operators: Operators) -> dict[str, dict[Any, Any]]:
    """What each operator held for each key when its first record came."""
    numbers = env.from_collection(NUMBERS, L).uid("numbers")
    parts = []
    for uid, states in operators.items():
        keep = Keep(uid, {descriptor.name: (descriptor, make) for descriptor, make in states})
        parts.append(numbers.key_by(lambda n: n % 2, L).process(keep, P).uid(uid))
    first: dict[str, dict[Any, Any]] = {}
    for uid, key, held in (parts[0].union(*parts[1:]) if parts[1:] else parts[0]).execute_and_collect():
        first.setdefault(uid, {}).setdefault(key, held)
    return first


def saved(cluster: Any, operators: Operators) -> str:
    """Half of the numbers, and a savepoint."""
    run(cluster.environment(2, epochs=2, epoch_records=6, plan_of=plan_of), operators)
    return str(cluster.last.master.job.savepoint)


def restored(cluster: Any, path: str, operators: Operators, *steps: Step, **options: Any) -> dict[str, dict[Any, Any]]:
    """The state of NEW for each key when its first record comes; NEW is checked, as a command does."""
    given = {"check": checker("new.py", pytest.fail, allow_unknown=False), **options}
    recipe = SparkRecipe(Recipe(steps=steps))
    env = cluster.environment(2, savepoint=path, recipe=recipe, plan_of=plan_of, **given)
    return run(env, operators)


def told(cluster: Any) -> dict[str, Any]:
    """What became of the state, as the job tells it."""
    return next(event["restored"] for event in reversed(cluster.events) if event.get("restored"))


def count(name: str, type: TypeInformation = L, make: Make = lambda n: n) -> tuple[StateDescriptor, Make]:
    return ValueStateDescriptor(name, type), make


HELD = {0: {"total": 10}, 1: {"total": 11}}


def test_a_state_has_its_values_under_another_name(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("count")]})
    step = RenameState(operator="keep", state="count", to="total")
    assert restored(cluster, path, {"keep": [count("total")]}, step) == {"keep": HELD}
    assert told(cluster)["dropped"] == 0


def test_without_a_recipe_it_would_be_lost(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("count")]})
    with pytest.raises(Refused, match="cannot restore"):
        restored(cluster, path, {"keep": [count("total")]})


@pytest.mark.parametrize("called", ["keep", "KEYED PROCESS"])
def test_an_operator_has_another_id(cluster: Any, called: str) -> None:
    path = saved(cluster, {"keep": [count("total")]})
    step = RenameOperator(operator=called, to="kept")
    assert restored(cluster, path, {"kept": [count("total")]}, step) == {"kept": HELD}


def test_two_operators_and_their_states_change_places(cluster: Any) -> None:
    path = saved(cluster, {"a": [count("x")], "b": [count("y", S, str)]})
    steps = (
        RenameOperator(operator="a", to="b"),
        RenameOperator(operator="b", to="a"),
        RenameState(operator="a", state="x", to="y"),
        RenameState(operator="b", state="y", to="x"),
    )
    found = restored(cluster, path, {"a": [count("x", S, str)], "b": [count("y")]}, *steps, check=None)
    assert found == {"a": {0: {"x": "10"}, 1: {"x": "11"}}, "b": {0: {"y": 10}, 1: {"y": 11}}}


@pytest.mark.parametrize("there", [True, False])
def test_a_state_moves_to_another_operator(cluster: Any, there: bool) -> None:
    others = {"b": [count("z")]} if there else {}
    path = saved(cluster, {"a": [count("x"), count("y", S, str)], **others})
    step = MoveState(operator="a", state="y", to="b", name="taken")
    new = {"a": [count("x")], "b": [*others.get("b", []), count("taken", S, str)]}
    found = restored(cluster, path, new, step, allow_non_restored=True)  # the sink that collects has another id
    assert found["a"] == {0: {"x": 10}, 1: {"x": 11}}
    assert {key: held["taken"] for key, held in found["b"].items()} == {0: "10", 1: "11"}
    assert {held.get("z") for held in found["b"].values()} == ({10, 11} if there else {None})


def test_an_operator_goes_whose_state_another_one_has(cluster: Any) -> None:
    path = saved(cluster, {"a": [count("x"), count("y", S, str)], "b": [count("z")]})
    steps = (DropOperator(operator="a"), MoveState(operator="a", state="y", to="b"))
    found = restored(cluster, path, {"b": [count("z"), count("y", S, str)]}, *steps, allow_non_restored=True)
    assert found == {"b": {0: {"z": 10, "y": "10"}, 1: {"z": 11, "y": "11"}}}
    assert told(cluster)["dropped"] == 2


def test_a_state_goes_by_name(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("x"), count("y")]})
    step = DropState(operator="keep", state="y")
    found = restored(cluster, path, {"keep": [count("x")]}, step, epochs=1, epoch_records=4)
    assert found == {"keep": {0: {"x": 10}, 1: {"x": 11}}}
    assert told(cluster)["dropped"] == 2
    rows = state_rows(cluster.last.master.job.savepoint, "keep")
    assert {row["state"] for row in rows} == {"x"}


def number(n: int) -> Row:
    return Row(a=n, b=str(n))


@pytest.mark.parametrize(
    ("old", "new", "fields", "held"),
    [
        (count("s", L), count("s", S, str), {}, "10"),
        (count("s", S, str), count("s", L), {}, 10),
        (count("s", L), count("s", Types.DOUBLE(), float), {}, 10.0),
        (
            count("s", AB, number),
            count("s", Types.ROW_NAMED(["n", "c"], [S, L]), lambda n: Row(n="", c=n)),
            {"fields": {"n": "a"}, "constants": {"c": 7}, "without": ("b",)},
            Row(n="10", c=7),
        ),
        (count("s", AB, number), count("s", L), {"single": "a", "without": ("b",)}, 10),
        (
            count("s", Types.TUPLE([L, S]), lambda n: (n, "")),
            count("s", Types.TUPLE([S, S]), lambda n: ("", "")),
            {},
            ("10", ""),
        ),
    ],
)
def test_values_are_converted(cluster: Any, old: Any, new: Any, fields: dict[str, Any], held: Any) -> None:
    path = saved(cluster, {"keep": [old]})
    step = ConvertState(operator="keep", state="s", **fields)
    assert restored(cluster, path, {"keep": [new]}, step)["keep"][0] == {"s": held}


def test_lists_and_maps_are_converted_under_another_name(cluster: Any) -> None:
    old = {"keep": [(ListStateDescriptor("l", L), lambda n: n), (MapStateDescriptor("m", L, L), lambda n: n or None)]}
    path = saved(cluster, old)
    new = {"keep": [(ListStateDescriptor("l", S), str), (MapStateDescriptor("n", L, S), lambda n: str(n))]}
    steps = [ConvertState(operator="keep", state=name) for name in ("l", "m")]
    found = restored(cluster, path, new, *steps, RenameState(operator="keep", state="m", to="n"))
    assert found["keep"][0] == {
        "l": [str(n) for n in range(0, 12, 2)],
        "n": {n: str(n) if n else None for n in range(0, 12, 2)},
    }


def test_what_was_moved_is_saved_as_it_is_now(cluster: Any) -> None:
    """The next savepoint describes the states as the program has them: it is restored without a recipe."""
    path = saved(cluster, {"keep": [count("count")]})
    steps = (RenameState(operator="keep", state="count", to="total"), ConvertState(operator="keep", state="count"))
    new = {"keep": [count("total", S, str)]}
    restored(cluster, path, new, *steps, epochs=1, epoch_records=2)
    again = cluster.last.master.job.savepoint
    assert restored(cluster, again, new)["keep"].keys() <= {0, 1}
    assert told(cluster)["migrated"] == 0


def refusals() -> Iterable[tuple[Operators, tuple[Step, ...], str]]:
    keep: Operators = {"keep": [count("count")]}
    text: Operators = {"keep": [count("count", S, str)]}
    yield keep, (Open(question="May it go?", operator="keep", state="count"),), "open questions"
    yield keep, (RenameClass(name="A", to="B"),), "have no step rename-class: nothing is restored. Serializers of Java"
    yield keep, (RenameField(owner="A", name="a", to="b"),), "have no step rename-field"
    yield keep, (ConvertWindows(operator="keep", size="1 h"),), "of 'keep' cannot become others: there are no windows"
    yield (
        keep,
        (MoveOffsets(operator="keep", topics={"a": "b"}),),
        "have no step move-offsets: nothing is restored. It moves",
    )
    yield keep, (DropState(operator="kept", state="count"),), "has no operator 'kept'. It has: 'keep'"
    yield keep, (DropState(operator="keep", state="n"),), "has no state 'n'. It has count"
    yield keep, (DropState(operator="keep", state="count"),) * 2, "says twice what happens to the state 'count'"
    yield keep, (DropOperator(operator="keep"), RenameOperator(operator="keep", to="x")), "says twice"
    yield keep, (ConvertState(operator="keep", state="count"),) * 2, "two steps for that"
    yield (
        text,
        (ConvertState(operator="keep", state="count", fields={"a": "b"}),),
        "LONG does not become|does not become",
    )
    gone = (ConvertState(operator="keep", state="count"), DropState(operator="keep", state="count"))
    yield keep, gone, "another step drops it"


@pytest.mark.parametrize(("new", "steps", "told"), list(refusals()))
def test_what_cannot_be_done_is_refused_before_anything_runs(
    cluster: Any, new: Operators, steps: tuple[Step, ...], told: str
) -> None:
    path = saved(cluster, {"keep": [count("count")]})
    with pytest.raises(RestoreRefused, match=told):
        restored(cluster, path, new, *steps)


def test_a_value_that_does_not_fit_is_told_and_nothing_is_left(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("count", S, lambda n: "x" * n)]})
    with pytest.raises(StoreError, match="The values of the state 'count' of 'keep' cannot be converted: "):
        restored(cluster, path, {"keep": [count("count")]}, ConvertState(operator="keep", state="count"))


def test_two_states_are_not_made_one(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("x"), count("y")]})
    with pytest.raises(RestoreRefused, match="Two states would be 'y' of "):
        restored(cluster, path, {"keep": [count("y")]}, RenameState(operator="keep", state="x", to="y"))


def test_a_recipe_with_nothing_in_it_changes_nothing(cluster: Any) -> None:
    path = saved(cluster, {"keep": [count("total")]})
    assert restored(cluster, path, {"keep": [count("total")]}) == {"keep": HELD}
    assert told(cluster)["migrated"] == told(cluster)["dropped"] == 0

"""Recipes for a savepoint: names become operators, states and ids of it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from compat.compiler.streamgraph.hashing import uid_hash
from compat.loader.inputs import LoadOptions
from compat.migration.functions import Functions
from compat.migration.recipe import (
    DropOperator,
    DropState,
    MoveState,
    Open,
    Recipe,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    Step,
)
from compat.migration.resolving import Resolved, resolve
from compat.savepoint.names import Names
from compat.savepoint.operators import RequestError
from compat.state.flink import NewId, read_metadata
from compat.state.flink.header_parts import Field, StateKey
from compat.state.flink.transfer import StateTarget

SAVED = Path(__file__).parents[2] / "golden" / "savepoints" / "small_uid_p2_canonical"
COUNT = uid_hash("count")
KEY = StateKey(COUNT, "python-state-count", keyed=True)


def resolved(*steps: Step) -> Resolved:
    with ExitStack() as stack:
        return resolve(Recipe(steps=steps), read_metadata(SAVED), Names(), Functions(LoadOptions(), stack))


@pytest.mark.parametrize("operator", ["count", "Count", COUNT, COUNT.upper()])
@pytest.mark.parametrize("state", ["count", "python-state-count"])
def test_operators_and_states_are_found_by_all_that_they_are_called(operator: str, state: str) -> None:
    found = resolved(RenameState(operator=operator, state=state, to="n")).transfer
    assert found.states == {KEY: StateTarget(COUNT, "python-state-n")}


def test_a_state_moves_to_an_operator_that_is_there_or_to_a_new_one() -> None:
    there = resolved(MoveState(operator="count", state="count", to="Source: n")).transfer
    (source,) = {operator.id for operator in read_metadata(SAVED).operators if operator.name == "Source: n"}
    assert (there.states, there.added) == ({KEY: StateTarget(source, "python-state-count")}, {})
    found = resolved(MoveState(operator="count", state="count", to="new", name="n"))
    new = NewId(uid_hash("new"), "new")
    assert found.transfer.states == {KEY: StateTarget(new.id, "python-state-n")}
    assert found.transfer.added == {new.id: new}
    assert found.labels[new.id] == f"'new' ({new.id})"


def test_states_and_operators_are_dropped_by_name() -> None:
    found = resolved(DropState(operator="count", state="count"), DropOperator(operator="Source: n")).transfer
    assert found.states == {KEY: None}
    assert len(found.dropped) == 1


def test_operators_have_other_ids_and_types_other_names() -> None:
    found = resolved(
        RenameOperator(operator="count", to="counter"),
        RenameClass(name="A", to="B"),
        RenameField(owner="A", name="f", to="g"),
    ).transfer
    assert found.ids == {COUNT: NewId(uid_hash("counter"), "counter")}
    assert (found.types.classes, found.types.fields) == ({"A": "B"}, {Field("A", "f"): "g"})


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ([DropOperator(operator="cuont")], "has no operator 'cuont'. Nearest: 'count'"),
        ([DropState(operator="count", state="n")], "has no state 'n'. It has count, "),
        ([DropOperator(operator="count")] * 2, "says twice what happens to 'Count'"),
        (
            [DropOperator(operator="count"), RenameOperator(operator="Count", to="x")],
            "says twice what happens to 'Count'",
        ),
        (
            [DropState(operator="count", state="count"), RenameState(operator="count", state="count", to="n")],
            "says twice what happens to the state 'count'",
        ),
        ([RenameClass(name="A", to="B"), RenameClass(name="A", to="C")], "two names to the class A"),
        (
            [RenameField(owner="A", name="f", to="g"), RenameField(owner="A", name="f", to="h")],
            "two names to the field f of A",
        ),
        (
            [Open(question="May it go?", operator="count", state="count")],
            "open questions: put a step for each.\n  count of count: May it go?",
        ),
    ],
)
def test_what_does_not_fit_is_refused(steps: list[Step], told: str) -> None:
    with pytest.raises(RequestError) as refused:
        resolved(*steps)
    assert told in str(refused.value)

"""Recipes from reports: what is certain is a step, the rest are questions with the steps that could answer them."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Finding, Level, RowHeir
from compat.migration.proposing import Proposal, offered, propose, written
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    DropOperator,
    DropState,
    MoveState,
    Open,
    Recipe,
    RenameOperator,
    RenameState,
)
from compat.state.model.operators import Operator
from compat.state.model.states import Serializers, State
from tests.compat.builders import operator, program, value_state

MOVED = CheckOptions(moving="compat migrate sp new out --recipe r.yaml")


def proposed(old: list[Operator], new: list[Operator]) -> list[Proposal]:
    return list(propose(check(program("old", *old), program("new", *new))))


def counter(*states: State, uid: str = "count", name: str = "Count") -> Operator:
    return operator(name, uid=uid, states=states)


def named(name: str, type: str = "Long") -> State:
    return value_state(name, type)


def test_nothing_is_asked_of_what_is_restored() -> None:
    assert proposed([counter(named("n"))], [counter(named("n"))]) == []


def test_a_state_of_another_name_is_a_question() -> None:
    (one,) = proposed([counter(named("n"))], [counter(named("total"))])
    assert one.step == Open(operator="count", state="n", question="Is it 'total' now, or may it go?")
    assert one.instead == (
        RenameState(operator="count", state="n", to="total"),
        DropState(operator="count", state="n"),
    )
    assert "CMP402" in one.because


def test_a_state_of_the_same_name_in_another_operator_moves() -> None:
    old = [counter(named("n"), named("sum"))]
    new = [counter(named("n")), counter(named("sum"), uid="add", name="Add")]
    (one,) = proposed(old, new)
    assert one.step == MoveState(operator="count", state="sum", to="add")


def test_keys_of_another_type_may_be_converted() -> None:
    old, new = named("n"), replace(named("n"), key_type="Long")
    (one,) = proposed([counter(old)], [counter(new)])
    assert one.step == Open(operator="count", question="Can its keys be converted, or may all of its state go?")
    assert one.instead == (ConvertKey(operator="count"), DropOperator(operator="count"))
    assert "CMP406" in one.because


def test_values_of_another_type_may_be_converted() -> None:
    (one,) = proposed([counter(named("n"))], [counter(named("n", "String"))])
    assert one.step == Open(operator="count", state="n", question="Can its values be converted, or may it go?")
    assert one.instead == (ConvertState(operator="count", state="n"), DropState(operator="count", state="n"))


def test_a_state_that_is_gone_may_go() -> None:
    (one,) = proposed([counter(named("n"), named("old"))], [counter(named("n"))])
    assert (one.step, one.instead) == (
        Open(operator="count", state="old", question="May it go?"),
        (DropState(operator="count", state="old"),),
    )


def test_an_operator_that_is_gone_is_one_question() -> None:
    gone = counter(named("a"), named("b"), uid="gone", name="Gone")
    (one,) = proposed([counter(named("n")), gone], [counter(named("n"))])
    assert one.step == Open(operator="gone", question="Which operator of NEW has its state now, or may it go?")
    assert one.instead == (DropOperator(operator="gone"),)
    assert one.because.startswith("'Gone' (uid 'gone'): ")


def test_an_operator_of_another_uid_has_its_new_one() -> None:
    (one,) = proposed([counter(named("n"))], [counter(named("n"), uid="counter")])
    assert one.step == RenameOperator(operator="count", to="counter")


def test_the_file_is_the_recipe_with_reasons_and_answers_as_comments() -> None:
    text = written(proposed([counter(named("n"))], [counter(named("total"))]), "old", "new")
    assert msgspec.yaml.decode(text, type=Recipe).questions
    answer = text.partition("  #   - ")[2].partition("  #   - ")[0].replace("  #     ", "    ")
    assert msgspec.yaml.decode(f"steps:\n  - {answer}", type=Recipe).steps == (
        RenameState(operator="count", state="n", to="total"),
    )


def test_nothing_to_do_is_a_recipe_without_steps() -> None:
    assert msgspec.yaml.decode(written((), "old", "new"), type=Recipe) == Recipe()


def test_names_of_a_savepoint_write_no_steps() -> None:
    """A savepoint is not trusted: its names stay within comments and texts."""
    evil = "n\n  - {step: drop-operator, operator: count}\n  #"
    old = [counter(named(evil)), counter(named("x"), uid="gone", name=evil)]
    text = written(proposed(old, [counter(named("total"))]), f"old{evil}", f"new{evil}")
    steps = msgspec.yaml.decode(text, type=Recipe).steps
    assert [type(step) for step in steps] == [Open, Open]


def test_a_recipe_is_offered_with_the_command_that_a_finding_names() -> None:
    report = check(program("old", counter(named("n"))), program("new", counter(named("total"))), MOVED)
    recipe = offered(report)
    assert recipe is not None
    assert recipe.run == MOVED.moving
    assert recipe.text == written(propose(report), "old", "new", recipe.run)
    assert f"#   {recipe.run}\n" in recipe.text


def test_no_recipe_is_offered_where_nothing_is_to_be_moved() -> None:
    same = program("old", counter(named("n")))
    assert offered(check(same, replace(same, name="new"))) is None


@pytest.mark.parametrize("sent", [b"", b"\x00", bytes(range(60))])
def test_serializers_that_are_none_are_told_no_fields(sent: bytes) -> None:
    """Plans can be sent by anybody."""
    rows = replace(named("accState"), serializers=Serializers(value=sent))
    heir = RowHeir(places=(1, 0), begins={}, zero=frozenset(), gone={})
    old, new = counter(named("accState")), counter(rows)
    finding = Finding(
        rule="CMP701", level=Level.ERROR, title="t", consequence="c", reason="r", old=old, new=new, heirs=(heir,)
    )
    report = check(program("old", old), program("new", new))
    assert propose(replace(report, findings=(finding,))) == propose(report)

"""Recipes from reports: what is certain is a step, the rest are questions with the steps that could answer them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import CountHeir, Finding, Heir, Level, OperatorHeir, Report, RowHeir
from compat.migration.proposing import Proposal, offered, perhaps, propose, written
from compat.migration.python_proposals import conversions
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
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
from tests.state.flink import writer as w

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


def test_values_of_another_type_under_other_keys_are_asked_for_besides() -> None:
    old = [named("m"), named("n")]
    new = [replace(named("m"), key_type="Long"), replace(named("n", "String"), key_type="Long")]
    keys, values = proposed([counter(*old)], [counter(*new)])
    assert keys.step == Open(operator="count", question="Can its keys be converted, or may all of its state go?")
    assert values.step == Open(operator="count", state="n", question="Can its values be converted, or may it go?")


def test_pickles_are_told_of_although_nothing_is_asked() -> None:
    pickled = named("n", "PickledByteArrayTypeInfo")
    report = check(program("old", counter(pickled, named("m"))), program("new", counter(pickled, named("m"))))
    assert propose(report) == ()
    step = ConvertState(operator="count", state="n", function="functions.py:convert")
    assert [one.step for one in perhaps(report)] == [step]
    text = written((), "old", "new", others=perhaps(report))
    assert msgspec.yaml.decode(text, type=Recipe) == Recipe()
    assert "# The state 'n' of 'Count' (uid 'count') is pickled. Where NEW's code takes other objects:\n" in text
    assert "  #   - step: convert-state\n  #     operator: count\n" in text


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        ("Long", "String", True),
        ("Long", "PickledByteArrayTypeInfo", False),
        ("Java Tuple2<Long, Long>", "Long", False),
        ("Row(a: Long)", "Row(a: Long, b: Long)", True),
    ],
)
def test_what_no_rule_converts_goes_through_a_function(old: str, new: str, plain: bool) -> None:
    (one,) = proposed([counter(named("n", old))], [counter(named("n", new))])
    steps = [step for step in one.instead if isinstance(step, ConvertState)]
    assert [step.function for step in steps] == [*([None] if plain else []), "functions.py:convert"]


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        ("Row(f0: Long)", "Row(f0: String)", True),
        ("Row(f0: Long)", "Row(f0: PickledByteArrayTypeInfo)", False),
        ("Row(f0: Long)", "Row(f0: Java Tuple1<Long>)", True),
    ],
)
def test_keys_that_no_rule_converts_go_through_a_function(old: str, new: str, plain: bool) -> None:
    (one,) = proposed([counter(replace(named("n"), key_type=old))], [counter(replace(named("n"), key_type=new))])
    steps = [step for step in one.instead if isinstance(step, ConvertKey)]
    assert [step.function for step in steps] == [*([None] if plain else []), "functions.py:convert"]


def test_a_time_to_live_alone_needs_no_function() -> None:
    lives = replace(named("n", "PickledByteArrayTypeInfo"), ttl=1000)
    steps = conversions("count", named("n", "PickledByteArrayTypeInfo"), lives)
    assert ConvertState(operator="count", state="n") in steps


def test_values_of_another_type_may_be_converted() -> None:
    (one,) = proposed([counter(named("n"))], [counter(named("n", "String"))])
    assert one.step == Open(operator="count", state="n", question="Can its values be converted, or may it go?")
    assert one.instead == (
        ConvertState(operator="count", state="n"),
        ConvertState(operator="count", state="n", function="functions.py:convert"),
        DropState(operator="count", state="n"),
    )


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
    old, new = counter(named("accState")), counter(rows)
    nothing = {"begins": {}, "zero": frozenset(), "gone": {}, "renamed": {}}
    heir = RowHeir(old=old, new=new, state="accState", places=(1, 0), of_rows=False, **nothing)
    finding = Finding(
        rule="CMP701", level=Level.ERROR, title="t", consequence="c", reason="r", old=old, new=new, heirs=(heir,)
    )
    report = check(program("old", old), program("new", new))
    assert propose(replace(report, findings=(finding,))) == propose(report)


@pytest.mark.parametrize(("function", "merge"), [("process", {"window-contents": "all"}), ("reduce", {}), (None, {})])
def test_windows_that_grew_are_a_step_that_may_be_wanted(function: str | None, merge: dict[str, str]) -> None:
    detail: Any = {"window_function": function}
    sizes = ("TumblingEventTimeWindows(1000)", "TumblingEventTimeWindows(5000)")
    old, new = (operator("w", uid="w", kind="window", states=(), detail={"window": one, **detail}) for one in sizes)
    report = check(program("old", old), program("new", new))
    step = ConvertWindows(operator="w", size="5000 ms", offset="0 ms", merge=merge)
    assert [one.step for one in perhaps(report)] == [step]
    assert propose(report) == ()


def of_query(name: str, id: str, *, places: int) -> Operator:
    """An operator of a query that keeps rows of so many fields."""
    rows = replace(named("accState"), serializers=Serializers(value=rows_of(places)))
    told = f"[6]:{name}(groupBy=[k], select=[k, COUNT(*) AS n])"
    return operator(f"{name}[6]", id=id, description=told, states=(rows,), detail={"unnamed": True})


def rows_of(fields: int) -> bytes:
    """The snapshot of a serializer of rows of SQL with fields of whole numbers."""
    table = "org.apache.flink.table.runtime.typeutils.RowDataSerializer$RowDataSerializerSnapshot"
    number = w.JAVA_STREAM + w.java_object(w.java_class("org.apache.flink.table.types.logical.IntType"))
    body = w.listed([number] * fields) + w.integer(1333245, 1) + w.listed([w.simple("Int")] * fields)
    return w.snapshot(table, 3, body)


def heired(old: Operator, new: Operator, *heirs: Heir) -> Report:
    """A report on a query that changed, whose operator may have another id besides."""
    changed = Finding(
        rule="CMP701", level=Level.ERROR, title="t", consequence="c", reason="r", old=old, new=new, heirs=heirs
    )
    report = check(program("old", old), program("new", new))
    return replace(report, findings=(*report.findings, changed))


def row_heir(old: Operator, new: Operator, **more: object) -> RowHeir:
    told: dict[str, Any] = {"begins": {}, "zero": frozenset(), "gone": {}, "renamed": {}, "of_rows": False, **more}
    return RowHeir(old=old, new=new, state="accState", **told)


def test_another_id_and_another_place_are_two_steps() -> None:
    old, new = of_query("GroupAggregate", "a" * 32, places=2), of_query("GroupAggregate", "b" * 32, places=2)
    steps = [one.step for one in propose(heired(old, new, row_heir(old, new, places=(1, 0))))]
    assert steps == [
        RenameOperator(operator=old.id, to=new.id),
        ConvertState(operator=old.id, state="accState", fields={"f0": "f1", "f1": "f0"}),
    ]


def test_what_would_be_wrong_under_any_id_is_asked() -> None:
    old, new = of_query("GroupAggregate", "a" * 32, places=2), of_query("GroupAggregate", "b" * 32, places=2)
    (one,) = propose(heired(old, new))
    assert one.step == Open(operator=old.id, question="May all of its state go?")
    assert (one.because, one.instead) == ("CMP701: t.", (DropOperator(operator=old.id),))


def test_what_begins_with_others_and_what_is_filled_is_told() -> None:
    old, new = of_query("GroupAggregate", "a" * 32, places=2), of_query("GroupAggregate", "a" * 32, places=3)
    begins = {0: "COUNT(v)", 1: "SUM0(v)"}
    heir = row_heir(
        old, new, places=(None, None, 1), begins=begins, zero=frozenset({0, 1}), along=frozenset({0}),
        gone={0: "COUNT(v)"}, filled=frozenset({2}),
    )  # fmt: skip
    (one,) = propose(heired(old, new, heir))
    assert isinstance(one.step, Open)
    assert one.step.question == (
        "COUNT(v), SUM0(v) would start anew (COUNT(v) as well, as results are made of both), the rest goes on. "
        "May it be so, or may all of its state go?"
    )
    assert one.instead[0] == ConvertState(
        operator=old.id,
        state="accState",
        fields={"f2": "f1"},
        constants={"f0": 0, "f1": 0, "f2": 0},
        without=("f0",),
    )


def test_numbers_that_nobody_asks_for_go() -> None:
    old, new = of_query("Join", "a" * 32, places=2), of_query("Join", "a" * 32, places=2)
    (one,) = propose(heired(old, new, CountHeir(old=old, new=new, state="left-records", field="f0")))
    assert one.step == ConvertState(operator=old.id, state="left-records", single="f0", without=("f1",))


def test_operators_that_do_each_others_work_exchange_their_ids() -> None:
    one, two = (of_query("GroupAggregate", id * 32, places=1) for id in "ab")
    finding = Finding(
        rule="CMP709", level=Level.ERROR, title="t", consequence="c", reason="r", old=one, new=one,
        heirs=(OperatorHeir(two, one), OperatorHeir(one, two)),
    )  # fmt: skip
    report = check(program("old", one, two), program("new", one, two))
    assert [one.step for one in propose(replace(report, findings=(finding,)))] == [
        RenameOperator(operator=two.id, to=one.id),
        RenameOperator(operator=one.id, to=two.id),
    ]


def test_what_kryo_of_flink_1_wrote_is_converted_and_the_rest_of_the_operator_stays() -> None:
    states = tuple(named(name) for name in "abc")
    detail: Any = {"kryo_states": ["a", "b"]}
    kept = operator("Count", uid="count", states=states, detail=detail)
    sides = program("v1.jar", kept, flink="1.20"), program("v2.jar", operator("Count", uid="count", states=states))
    report = check(*sides)
    assert [finding.rule for finding in report.findings if finding.heirs] == ["CMP604"]
    assert [one.step for one in propose(report)] == [ConvertState(operator="count", state=name) for name in "ab"]

"""Which operator may have left a state behind: a table of what is recorded, and of what it may and may not be."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compat.check.decision import check
from compat.loader.inputs import LoadOptions, load, opened
from compat.plan.facts import Program, facts_of
from compat.plan.recorded_states import RecordedState
from compat.plan.shapes import Shape
from compat.savepoint import facts
from compat.savepoint.recorded import Recorded, RecordedOperator
from compat.state import names as framework
from compat.state.model.job import Plan
from compat.state.model.states import StateKind, StateScope

LONG = Shape("Long")
OWN = RecordedState("s", StateKind.VALUE, StateScope.KEYED, LONG)
LISTED = RecordedState("s", StateKind.LIST, StateScope.OPERATOR, LONG)
BROADCAST = RecordedState("s", StateKind.MAP, StateScope.BROADCAST, Shape("Map", (LONG, LONG)))
TIMERS = RecordedState("_timer_state/processing_user-timers", StateKind.TIMERS, StateScope.KEYED)
ROLLING = RecordedState(framework.REDUCE, StateKind.VALUE, StateScope.KEYED, LONG)
WINDOW = RecordedState(framework.WINDOW_CONTENTS, StateKind.LIST, StateScope.KEYED, LONG, Shape("TimeWindow"))


def topology(kind: str, states: tuple[RecordedState, ...], tmp_path, **fields: str) -> Program:
    """A job without uids: an operator that declares the states, behind a key or as the source."""
    declared = [
        {"name": state.name, "kind": state.kind.value, "scope": state.scope.value}
        for state in states
        if state.name == "s" and state.kind is not None
    ]
    states_field = f', "states": {declared}'.replace("'", '"') if declared else ""
    sources = kind == "legacy_source"
    inputs = "" if sources else ', "inputs": ["k"]'
    more = "".join(f', "{field}": "{value}"' for field, value in fields.items())
    tested = f'{{"id": "x", "kind": "{kind}"{inputs}{states_field}{more}}}'
    before = '{"id": "a", "kind": "source"}, {"id": "k", "kind": "key_by", "inputs": ["a"], "keyType": "long"}'
    path = tmp_path / f"{kind}.json"
    ops = f'{tested}, {{"id": "end", "kind": "print", "inputs": ["x"]}}' if sources else f"{before}, {tested}"
    path.write_text(f'{{"name": "job", "ops": [{ops}]}}', encoding="utf-8")
    with opened(str(path)) as given:
        (plan,) = load(given, LoadOptions())
    assert isinstance(plan, Plan)
    return facts_of(plan, name=path.name, kind="topology")


def recorded(program: Program, states: tuple[RecordedState, ...]) -> Recorded:
    """A savepoint in which the operator that may declare states holds these."""
    place = 0 if program.operators[0].kind == "legacy_source" else -1
    operator = RecordedOperator(
        id=program.operators[place].id,
        name=None,
        uid=None,
        parallelism=1,
        max_parallelism=128,
        has_state=True,
        coordinated=False,
        key=LONG if any(state.scope is StateScope.KEYED for state in states) else None,
        states=states,
        unreadable=(),
        finished=None,
        channels=(False, False),
        format=None,
        bytes=1,
    )
    return Recorded("savepoint/_metadata", 6, True, (operator,), ())


def rules(kind: str, declared: tuple[RecordedState, ...], held: tuple[RecordedState, ...], tmp_path) -> set[str]:
    new = topology(kind, declared, tmp_path)
    old = facts.program(recorded(new, held), "savepoint", new)
    return {finding.rule for finding in check(old, new).findings}


@pytest.mark.parametrize(
    ("kind", "states"),
    [
        *((kind, (OWN,)) for kind in ("map", "flat_map", "filter", "process", "legacy_sink")),
        *((kind, (LISTED,)) for kind in ("map", "flat_map", "process", "legacy_sink", "legacy_source")),
        *((kind, (BROADCAST,)) for kind in ("map", "process", "legacy_sink", "legacy_source")),
        ("keyed_process", (OWN, LISTED, TIMERS)),
        ("process", (OWN, TIMERS)),
        ("reduce", (ROLLING,)),
        ("sum", (ROLLING,)),
        ("window", (WINDOW,)),
        ("window_all", (WINDOW,)),
    ],
)
def test_an_operator_finds_its_own_state(kind, states, tmp_path):
    assert "CMP103" not in rules(kind, states, states, tmp_path)


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        ("reduce", (OWN, TIMERS)),
        ("sum", (OWN,)),
        ("window", (OWN, TIMERS)),
        ("map", (OWN, TIMERS)),
        ("map", (ROLLING,)),
        ("keyed_process", (ROLLING,)),
        ("keyed_process", (WINDOW,)),
        ("assign_timestamps", (LISTED,)),
    ],
)
def test_an_operator_that_keeps_no_such_state_is_another_one(kind, held, tmp_path):
    assert "CMP103" in rules(kind, (), held, tmp_path)


def test_an_unnamed_operator_of_the_declared_state_is_found_elsewhere(tmp_path):
    """A map that declares nothing takes the id, while the one that declares the state has a new id."""
    path = tmp_path / "job.json"
    path.write_text(
        '{"name": "job", "ops": [{"id": "a", "kind": "source"}, {"id": "m", "kind": "map", "inputs": ["a"]},'
        ' {"id": "n", "kind": "process", "inputs": ["m"],'
        ' "states": [{"name": "s", "kind": "list", "scope": "operator"}]}]}',
        encoding="utf-8",
    )
    with opened(str(path)) as given:
        (plan,) = load(given, LoadOptions())
    assert isinstance(plan, Plan)
    new = facts_of(plan, name="job.json", kind="topology")
    saved = recorded(new, (LISTED,))
    at_map = replace(saved, operators=(replace(saved.operators[0], id=new.operators[1].id),))
    found = check(facts.program(at_map, "savepoint", new), new).findings
    assert "CMP103" in {finding.rule for finding in found}


@pytest.mark.parametrize(("key_type", "held", "differs"), [("long", "Long", False), ("long", "String", True)])
def test_a_key_type_that_is_told_is_compared(key_type, held, differs, tmp_path):
    new = topology("map", (OWN,), tmp_path)
    saved = recorded(new, (OWN,))
    other = replace(saved, operators=(replace(saved.operators[0], key=Shape(held)),))
    found = {finding.rule for finding in check(facts.program(other, "savepoint", new), new).findings}
    assert ("CMP406" in found) == differs


def test_a_key_type_that_is_not_told_is_held_against_nothing(tmp_path):
    path = tmp_path / "job.json"
    path.write_text(
        '{"name": "job", "ops": [{"id": "a", "kind": "source"}, {"id": "k", "kind": "key_by", "inputs": ["a"]},'
        ' {"id": "m", "kind": "map", "inputs": ["k"], "states": [{"name": "s"}]}]}',
        encoding="utf-8",
    )
    with opened(str(path)) as given:
        (plan,) = load(given, LoadOptions())
    assert isinstance(plan, Plan)
    new = facts_of(plan, name="job.json", kind="topology")
    saved = recorded(new, (OWN,))
    other = replace(saved, operators=(replace(saved.operators[0], key=Shape("String")),))
    assert "CMP406" not in {finding.rule for finding in check(facts.program(other, "savepoint", new), new).findings}


MERGED = RecordedState(framework.MERGING_WINDOWS, StateKind.LIST, StateScope.KEYED)


@pytest.mark.parametrize(("held", "tumbling"), [((WINDOW, MERGED), False), ((WINDOW,), True)])
def test_whether_windows_melt_into_each_other_is_seen_by_what_flink_keeps_of_it(held, tumbling, tmp_path):
    """Both sorts have windows of one class; a tumbling window is not found under a session's, and the other way round."""
    for assigner in ("tumbling_processing_time", "session_processing_time"):
        new = topology("window", (), tmp_path, window=assigner, function="process")
        found = check(facts.program(recorded(new, held), "savepoint", new), new).findings
        assert ("CMP407" in {finding.rule for finding in found}) == (tumbling != assigner.startswith("tumbling"))

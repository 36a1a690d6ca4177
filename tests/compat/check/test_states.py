"""The rules about states, on facts alone: operators in Java, snapshots in a store, versions of Flink, amounts."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from compat.check import amounts
from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Finding, Level, Verdict
from compat.plan.as_run import KEPT_BY, STORE
from compat.plan.facts import Snapshot
from compat.state.model.operators import Operator
from compat.state.model.states import More, State, StateKind, StateScope
from tests.compat.builders import operator, program, value_state

PYTHON = {"detail": {"python": "keyed_process"}}
IN_STORE = {"settings": {KEPT_BY: STORE}}


def findings(
    old: State,
    new: State | None,
    *,
    flink: str = "2.3",
    detail: dict[str, Any] | None = None,
    backend: str | None = None,
    **of_old: Any,
) -> dict[str, Finding]:
    """The findings, above notes about ids, of one operator whose state changed."""
    sides = [(old,), () if new is None else (new,)]
    before, after = (operator("Count", uid="count", states=states, **(detail or {})) for states in sides)
    after_it = program("new", after, settings={"state.backend.type": backend} if backend else {})
    report = check(program("old", before, **of_old), after_it, CheckOptions(flink=flink))
    return {finding.rule: finding for finding in report.findings}


def state(
    type: str | None, kind: StateKind = StateKind.VALUE, scope: StateScope = StateScope.KEYED, **more: Any
) -> State:
    return State(name="s", kind=kind, scope=scope, type=type, key_type="Long", **more)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        (state("Long"), state("Long"), set()),
        (state("Long"), state("Integer"), {"CMP404"}),
        (state("Row(a: Long)"), state("Row(a: Long, b: Long)"), {"CMP404"}),
        (state("Row(a: Long)"), state("Row(x: Long)"), {"CMP404"}),
        (state("org.example.Point"), state("org.example.Point"), set()),
        (state("org.example.Point"), state("org.example.Place"), {"CMP404"}),
        (state("Long"), state(None), {"CMP431"}),
        (state("Long"), state("Long", StateKind.REDUCING), {"CMP403"}),
        (state("List<Long>", StateKind.LIST), state("Long"), {"CMP403"}),
        (
            state("Long", StateKind.LIST, StateScope.OPERATOR),
            state("Long", StateKind.LIST, StateScope.UNION),
            {"CMP409"},
        ),
        (state("Long"), None, {"CMP401"}),
        (state("Long"), state("Long", StateKind.LIST, StateScope.OPERATOR), {"CMP402"}),
        (state("Long", StateKind.LIST, StateScope.OPERATOR), state("Long"), {"CMP402"}),
        (
            state("Map<Long, Long>", StateKind.MAP),
            state("Map<Long, Long>", StateKind.MAP, StateScope.BROADCAST),
            {"CMP402"},
        ),
    ],
)
def test_operators_in_java(old: State, new: State | None, rules: set[str]) -> None:
    assert set(findings(old, new)) == rules


def test_keyed_state_that_became_operator_state_is_said_to_start_empty() -> None:
    found = findings(state("Long"), state("Long", StateKind.LIST, StateScope.OPERATOR))["CMP402"]
    assert found.title == "the state 's' of 'Count' (uid 'count') was keyed state and is operator state"
    assert found.silent
    assert "'s' starts empty" in found.consequence


TOTAL = replace(state("Long"), name="total")
"""A state that is taken out of an operator."""


def of_a_split(*others: Operator, before: tuple[Operator, ...] = ()) -> dict[str, Finding]:
    """The findings on an operator that keeps one state of two, among other operators."""
    old = operator("Count", uid="count", states=(state("Long"), TOTAL))
    new = operator("Count", uid="count", states=(state("Long"),))
    return {one.rule: one for one in check(program("old", old, *before), program("new", new, *others)).findings}


@pytest.mark.parametrize(
    ("other", "rules"),
    [
        (TOTAL, {"CMP402", "CMP107"}),
        (replace(TOTAL, type="Integer"), {"CMP401", "CMP107"}),
        (replace(TOTAL, name="sum"), {"CMP401", "CMP107"}),
        (replace(TOTAL, kind=StateKind.REDUCING), {"CMP401", "CMP107"}),
    ],
    ids=["it", "another type", "another name", "another kind"],
)
def test_a_state_that_a_new_operator_declares_is_left_behind(other: State, rules: set[str]) -> None:
    found = of_a_split(operator("Sum", uid="sum", states=(other,)))
    assert found.keys() == rules
    if "CMP402" in rules:
        assert found["CMP402"].title == "the state 'total' of 'Count' (uid 'count') is in 'Sum' (uid 'sum') now"
        assert found["CMP402"].level is Level.ERROR


def test_a_state_that_another_operator_declares_besides_is_left_behind() -> None:
    other = operator("Sum", uid="sum", states=(state("Long"),))
    added = operator("Sum", uid="sum", states=(state("Long"), TOTAL))
    assert of_a_split(added, before=(other,)).keys() == {"CMP402"}


def test_what_an_operator_may_still_ask_for_has_not_moved() -> None:
    """That it is not known is told by another rule."""
    old = operator("Count", uid="count", states=(state("Long"), TOTAL))
    new = operator("Count", uid="count", states=(state("Long"),), more=More(why="late"))
    sides = program("old", old), program("new", new, operator("Sum", uid="sum", states=(TOTAL,)))
    report = check(*sides)
    assert not {one.rule for one in report.findings} & {"CMP401", "CMP402"}
    assert report.verdict is Verdict.UNKNOWN


def test_what_another_operator_had_already_is_not_taken_from_the_first() -> None:
    other = operator("Sum", uid="sum", states=(TOTAL,))
    assert of_a_split(other, before=(other,)).keys() == {"CMP401"}
    moved = operator("Sum", uid="sums", states=(TOTAL,))
    assert of_a_split(moved, before=(other,)).keys() == {"CMP401", "CMP102"}


def test_of_several_states_the_one_of_the_same_name_follows() -> None:
    """The order in which they are declared does not matter."""
    other = replace(state("Long"), name="t")
    moved = state("Long", StateKind.LIST, StateScope.OPERATOR)
    for added in ((other, moved), (moved, other)):
        before = operator("Count", uid="count", states=(state("Long"),))
        after = operator("Count", uid="count", states=added)
        found = [one for one in check(program("old", before), program("new", after)).findings if one.rule == "CMP402"]
        assert ["was keyed state" in one.title for one in found] == [True]


@pytest.mark.parametrize(
    ("old", "new", "rule", "level"),
    [
        (state("Row(a: Long)"), state("Row(a: Long, b: Long)"), "CMP405", Level.MIGRATE),
        (state("Long"), state("BigInteger"), "CMP405", Level.MIGRATE),
        (state("Long"), state("String"), "CMP404", Level.ERROR),
        (state("Long"), state("List<Long>", StateKind.LIST), "CMP403", Level.ERROR),
        (
            state("Map<Long, Row(a: Long)>", StateKind.MAP),
            state("Map<Long, Row(b: Long, a: Long)>", StateKind.MAP),
            "CMP405",
            Level.MIGRATE,
        ),
        (
            state("Map<Row(a: Long), Long>", StateKind.MAP),
            state("Map<Row(a: Long, b: Long), Long>", StateKind.MAP),
            "CMP404",
            Level.ERROR,
        ),
    ],
)
def test_a_snapshot_in_a_store(old: State, new: State, rule: str, level: Level) -> None:
    assert findings(old, new, detail=PYTHON, **IN_STORE)[rule].level is level


@pytest.mark.parametrize(
    ("flink", "backend", "level"),
    [
        ("1.20", None, Level.ERROR),
        ("2.0", "rocksdb", Level.ERROR),
        ("2.1", "rocksdb", Level.NOTE),
        ("2.1", "hashmap", Level.ERROR),
        ("2.1", None, Level.UNKNOWN),
        ("2.2", "hashmap", Level.NOTE),
        ("2.3", None, Level.NOTE),
        ("2.3", "forst", Level.ERROR),
        ("2.3", "org.example.Backend", Level.UNKNOWN),
    ],
)
@pytest.mark.parametrize(("before", "after"), [(None, 1000), (1000, None)])
def test_time_to_live_by_version_and_backend(
    flink: str, backend: str | None, level: Level, before: int | None, after: int | None
) -> None:
    found = findings(state("Long", ttl=before), state("Long", ttl=after), flink=flink, backend=backend)
    assert found["CMP408"].level is level


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (1000, 2000, None),
        (2000, 1000, "was 2 seconds and is 1 second"),
        (172_800_000, 5_400_000, "2 days and is 90 minutes"),
    ],
)
def test_only_a_shorter_time_to_live_is_told(before: int, after: int, told: str | None) -> None:
    found = findings(state("Long", ttl=before), state("Long", ttl=after), flink="1.20")
    assert found.keys() == ({"CMP417"} if told else set())
    assert told is None or told in found["CMP417"].title


def test_a_time_to_live_that_a_savepoint_does_not_tell_is_not_compared() -> None:
    assert findings(state("Long", ttl=0), state("Long", ttl=1000), flink="1.20") == {}


def test_the_mode_of_python_decides() -> None:
    """An Integer is a Long to Java in thread mode; in process mode it is 4 bytes."""
    found = {}
    for mode in ("process", "thread"):
        sides = [operator("Count", uid="count", states=(state(type),), **PYTHON) for type in ("Integer", "Long")]
        old, new = (
            program(name, side, settings={"python.execution-mode": mode})
            for name, side in zip("on", sides, strict=True)
        )
        found[mode] = check(old, new).verdict
    assert found == {"process": Verdict.INCOMPATIBLE, "thread": Verdict.COMPATIBLE}


def test_keys_are_named() -> None:
    assert "'s' (12,408 keys)" in findings(state("Long", keys=12408), None)["CMP401"].title
    assert "'s' (1 key)" in findings(state("Long", keys=1), None)["CMP401"].title
    assert "'s' (3,000 bytes)" in findings(state("Long", bytes=3000), None)["CMP401"].title


def test_what_an_operator_would_lose() -> None:
    old = operator("Count", uid="count", states=(value_state(keys=12408),))
    (finding,) = (each for each in check(program("old", old), program("new")).findings if each.rule == "CMP101")
    assert "12,408 keys would be lost." in finding.consequence


def test_nothing_is_said_of_nothing() -> None:
    assert amounts.lost(operator("Count", states=(value_state(keys=0),))) == ""
    assert amounts.of(value_state()) == ""


def test_bytes_of_another_type_are_not_told_where_it_is_open_who_gets_the_state() -> None:
    """Two operators of NEW claim one state, by its uid and by a user hash; only one of them reads it."""
    detail = {"recorded": True, "contradicted_types": {"s": "3 bytes"}}
    old = operator("Count", uid="count", states=(state(None), value_state("other")), detail=detail)
    reads = operator("Sum", uid="sum", user_hash=old.id, states=(state("Long"),))
    other = operator("Count", uid="count", states=(value_state("other"),))
    snapshot = Snapshot(path="s", format_version=4, files=(), formats={}, types_known=False)
    report = check(program("s", old, kind="savepoint", snapshot=snapshot), program("new", reads, other))
    assert {finding.rule for finding in report.findings if finding.level is Level.ERROR} == {"CMP111"}


POINT, PLACE = "org.example.Point", "org.example.Place"


@pytest.mark.parametrize(
    ("old", "new", "detail", "rule"),
    [
        (state(None), state("Long", StateKind.MAP), {}, "CMP403"),
        (state(POINT), state(PLACE), {}, "CMP404"),
        (state(POINT), state("Long"), {}, "CMP404"),
        (replace(state("Long"), key_type=POINT), state("Long"), {}, "CMP406"),
        (state("Long"), state("Long"), {"window": "Mine(1)", "window_merging": True}, "CMP407"),
    ],
    ids=["kind", "types", "type", "key", "windows"],
)
def test_what_python_cannot_write_has_other_code(old: State, new: State, detail: dict[str, Any], rule: str) -> None:
    """Where the type is Java's, or not known, there is another way out, which can be written."""
    sides = [
        operator("Count", uid="count", states=(old,), detail=detail),
        operator(
            "Count", uid="count", states=(new,), detail=detail and {"window": "Other(1)", "window_merging": False}
        ),
    ]
    report = check(program("old", sides[0]), program("new", sides[1]))
    (finding,) = [one for one in report.findings if one.rule == rule]
    assert finding.level is Level.ERROR
    assert finding.fixes
    assert all(fix.code is not None for fix in finding.fixes)


@pytest.mark.parametrize(("bytes", "level"), [(0, Level.WARNING), (8, Level.ERROR), (None, Level.ERROR)])
def test_a_renamed_state_that_is_empty_is_no_loss(bytes: int | None, level: Level) -> None:
    found = findings(state("Long", bytes=bytes), replace(state("Long"), name="renamed"))
    assert found["CMP402"].level is level


@pytest.mark.parametrize(("bytes", "level"), [(0, Level.WARNING), (8, Level.ERROR), (None, Level.ERROR)])
def test_an_empty_state_in_wrong_hands_is_no_loss(bytes: int | None, level: Level) -> None:
    old = operator("Count", uid="one", states=(state("Long", bytes=bytes),))
    new = operator("Lines", uid="one", kind="legacy_source", states=())
    (found,) = (each for each in check(program("old", old), program("new", new)).findings if each.rule == "CMP103")
    assert found.level is level

"""Whether two operators that share an id are the same one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.check.decision import check
from compat.check.findings import Fate, Level, Report, Verdict
from compat.comparison import Comparison, compare
from compat.plan.facts import Operator, State, StateKind, StateScope
from tests.compat.builders import operator, program, value_state

RESTORES = Path(__file__).parents[2] / "golden" / "differences"
TIMERS = State(name="timers", kind=StateKind.TIMERS, scope=StateScope.KEYED, built_in=True)
SPLITS = State(name="splits", kind=StateKind.COORDINATOR, scope=StateScope.OPERATOR, built_in=True)


def report_of(old: Path, new: Path, **options: str) -> Report:
    (outcome,) = compare(Comparison(str(old), str(new), **options)).outcomes
    assert isinstance(outcome, Report), outcome
    return outcome


def seen(folder: Path) -> dict[str, list[str]]:
    """What each state of NEW held after the real restore."""
    restore = json.loads((folder / "flink.txt").read_text(encoding="utf-8"))["false"]
    assert restore["outcome"] == "running"
    return restore["seen"]


def test_a_nameless_operator_that_gains_a_state_stays_the_same() -> None:
    folder = RESTORES / "topo_state_added_cmp103"
    assert seen(folder) == {"n3|more": ["EMPTY"], "n3|s0": ["3"]}
    for old in ("old.json", "savepoint"):
        assert report_of(folder / old, folder / "new.json").verdict is Verdict.COMPATIBLE


@pytest.mark.parametrize("kind", ["json", "py"])
def test_one_that_gains_or_loses_a_state_in_a_program(kind: str) -> None:
    folder = RESTORES / "cmp103_state_added"
    assert report_of(folder / f"old.{kind}", folder / f"new.{kind}").verdict is Verdict.COMPATIBLE
    assert report_of(folder / f"new.{kind}", folder / f"old.{kind}").verdict is Verdict.COMPATIBLE


def test_a_uid_that_another_kind_of_operator_has_now() -> None:
    folder = RESTORES / "uid_swap"
    assert seen(folder)["n4|s0"] == ["EMPTY"]
    report = report_of(folder / "old.json", folder / "new.json")
    assert report.verdict is Verdict.INCOMPATIBLE
    (row,) = [row for row in report.mapping if row.old is not None and row.old.uid == "u-n4"]
    assert row.fate is Fate.WRONG_HANDS
    (finding,) = [finding for finding in report.findings if finding.rule == "CMP103"]
    assert [fix.call for fix in finding.fixes] == [
        '.set_uid_hash("3387c62afeb14fb264b8b224e3754345")',
        '.uid("source-custom-source")',
    ]
    assert [fix.at and fix.at.line for fix in finding.fixes] == [44, 8]


def rules(old: Operator, new: Operator) -> set[str]:
    return {finding.rule for finding in check(program("old.py", old), program("new.py", new)).findings}


STATELESS = {"states": (), "has_state": False}


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ({"kind": "keyed_process"}, {"kind": "map", **STATELESS}, True),
        ({"kind": "map", **STATELESS}, {"kind": "keyed_process"}, False),
        ({"kind": "source", "states": (SPLITS,)}, {"kind": "legacy_source", **STATELESS}, True),
        ({"kind": "keyed_process", "states": (TIMERS,)}, {"kind": "map", **STATELESS}, False),
        ({"kind": "keyed_process"}, {"kind": "keyed_map", **STATELESS}, False),
        ({"kind": "keyed_process"}, {"kind": "keyed_co_process"}, False),
    ],
)
def test_one_uid_on_two_kinds_of_operators(old: dict[str, object], new: dict[str, object], other: bool) -> None:
    before, after = operator("one", uid="u", **old), operator("other", uid="u", **new)
    assert ("CMP103" in rules(before, after)) is other


KEYED = "KEYED PROCESS"
A, B = value_state("a"), value_state("b")


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ({"states": (A,)}, {"states": (A, B)}, False),
        ({"states": (A, B)}, {"states": (B,)}, False),
        ({"states": (A,)}, {"states": (B,)}, True),
        ({"states": (A,)}, {"states": (A, B), "detail": {"function": "m.Count"}}, False),
        (
            {"states": (A,), "detail": {"function": "m.Sum"}},
            {"states": (A, B), "detail": {"function": "m.Count"}},
            True,
        ),
    ],
)
def test_one_generated_id(old: dict[str, object], new: dict[str, object], other: bool) -> None:
    assert ("CMP103" in rules(operator(KEYED, id="0" * 32, **old), operator(KEYED, id="0" * 32, **new))) is other


def test_a_state_of_another_kind_is_told_as_that() -> None:
    listed = State(name="a", kind=StateKind.LIST, scope=StateScope.KEYED, type="long", key_type="string")
    found = rules(operator(KEYED, id="0" * 32, states=(A,)), operator(KEYED, id="0" * 32, states=(listed,)))
    assert "CMP403" in found
    assert "CMP103" not in found


def unnamed(kind: str, *names: str) -> Operator:
    """An operator in Java with a generated id, one for all, that declares states."""
    word = {"map": "Map", "flat_map": "Flat Map", "keyed_process": "KeyedProcess"}[kind]
    states = tuple(value_state(name) for name in names)
    return operator(word, id="4" * 32, kind=kind, states=states, has_state=bool(states))


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        pytest.param(unnamed("map", "s"), unnamed("flat_map", "s"), set(), id="another sort, the very same states"),
        pytest.param(unnamed("map", "s"), unnamed("flat_map", "t"), {"CMP103"}, id="another sort, another state"),
        pytest.param(unnamed("keyed_process", "s"), unnamed("keyed_process"), set(), id="no states any more"),
        pytest.param(unnamed("keyed_process", "s"), unnamed("keyed_process", "t", "u"), {"CMP103"}, id="other states"),
    ],
)
def test_an_operator_that_nothing_but_its_place_tells(old: Operator, new: Operator, rules: set[str]) -> None:
    report = check(program("old", old), program("new", new))
    assert {finding.rule for finding in report.findings if finding.level is Level.ERROR} == rules


def test_another_sort_is_another_operator_where_one_of_the_old_sort_is_left() -> None:
    elsewhere = operator("Map", id="5" * 32, kind="map", states=(value_state("s"),))
    report = check(program("old", unnamed("map", "s")), program("new", unnamed("flat_map", "s"), elsewhere))
    assert report.verdict is Verdict.INCOMPATIBLE

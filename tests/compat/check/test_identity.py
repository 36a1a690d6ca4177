"""Whether two operators that share an id are the same one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import msgspec
import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, Level, Report, Verdict
from compat.check.identity import (
    find_exchanged_values,
    find_rightful,
    find_wrong_hands,
    hidden,
    named_before,
    takes_user_hash,
)
from compat.check.mapping import BY_GENERATED_ID, Pair, map_state
from compat.comparison import Comparison, compare
from compat.plan.recorded_states import RecordedState
from compat.plan.shapes import Shape
from compat.savepoint import facts
from compat.savepoint.recorded import Recorded, RecordedOperator
from compat.state import names as framework
from compat.state.model.code import Captured, UserCode
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from tests.compat.builders import operator, program, value_state
from tests.compat.topologies.judging import Record, some, wrong
from tests.compat.topologies.judging import facts as facts_of_topology

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


@pytest.mark.parametrize("record", some(), ids=lambda record: str(record.seed))
def test_who_got_the_state_of_another_one_in_flink_is_told(record: Record) -> None:
    old, _ = facts_of_topology(record, record.old)
    for restored in record.restored:
        new, _ = facts_of_topology(record, restored.topology)
        report = check(old, new, CheckOptions(allow_non_restored=restored.allow))
        assert wrong(record, restored, report, from_savepoint=False) == "", (restored.edits, report.findings)


def rules(old: Operator, new: Operator) -> set[str]:
    return {finding.rule for finding in check(program("old.py", old), program("new.py", new)).findings}


KEPT_LIST = State(name="count", kind=StateKind.LIST, scope=StateScope.OPERATOR, type="long")
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
        ({"kind": "map", "states": (KEPT_LIST,)}, {"kind": "legacy_sink", "states": (KEPT_LIST,)}, False),
        ({"kind": "keyed_process"}, {"kind": "legacy_sink", "states": (KEPT_LIST,)}, True),
        ({"kind": "legacy_sink", "states": (KEPT_LIST,)}, {"kind": "keyed_process"}, True),
    ],
)
def test_one_uid_on_two_kinds_of_operators(old: dict[str, object], new: dict[str, object], other: bool) -> None:
    before, after = operator("one", uid="u", **old), operator("other", uid="u", **new)
    assert ("CMP103" in rules(before, after)) is other


COUNTING = {"kind": "map", "states": (value_state(),), "has_state": True}
PLAIN = {"kind": "map", **STATELESS}
OTHER = {"kind": "map", "states": (value_state("other"),), "has_state": True}


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ([("a", COUNTING), ("b", PLAIN)], [("b", COUNTING), ("a", PLAIN)], True),  # Flink restores, and `b` is empty
        ([("a", COUNTING), ("b", PLAIN)], [("c", COUNTING), ("a", PLAIN)], True),
        ([("a", COUNTING), ("b", PLAIN)], [("a", PLAIN), ("b", PLAIN)], False),  # the state is dropped
        ([("a", COUNTING), ("b", PLAIN)], [("a", PLAIN), ("b", OTHER)], False),
        ([("a", COUNTING), ("b", COUNTING)], [("a", PLAIN), ("b", COUNTING)], False),  # `b` has its own
        ([("a", COUNTING), ("b", PLAIN)], [("a", COUNTING), ("b", COUNTING)], False),
        ([("a", COUNTING), ("b", PLAIN)], [("a", PLAIN), ("b", COUNTING | {"kind": "flat_map"})], False),
    ],
)
def test_a_uid_that_another_operator_of_the_same_kind_has_now(
    old: list[tuple[str, dict[str, object]]], new: list[tuple[str, dict[str, object]]], other: bool
) -> None:
    before, after = ([operator("Map", uid=uid, **facts) for uid, facts in each] for each in (old, new))
    report = check(program("old.py", *before), program("new.py", *after))
    assert ("CMP103" in {finding.rule for finding in report.findings}) is other
    assert (report.verdict is Verdict.INCOMPATIBLE) is other


def test_a_name_that_stayed_with_its_uid_is_believed() -> None:
    """The operator lost its state; another one that declares a state of that name is another operator."""
    before = [operator("totals", uid="a", **COUNTING), operator("Map", uid="b", **PLAIN)]
    after = [operator("totals", uid="a", **PLAIN), operator("Map", uid="b", **COUNTING)]
    report = check(program("old.py", *before), program("new.py", *after))
    assert "CMP103" not in {finding.rule for finding in report.findings}


ROLLING = State(name=framework.REDUCE, kind=StateKind.VALUE, scope=StateScope.KEYED, key_type="string", built_in=True)
WINDOWS = State(
    name=framework.WINDOW_CONTENTS, kind=StateKind.LIST, scope=StateScope.KEYED, key_type="string", built_in=True
)
SORTS: dict[str, tuple[State, ...]] = {
    "map": (value_state("of a map"),),
    "flat_map": (KEPT_LIST,),
    "keyed_process": (value_state(), TIMERS),
    "reduce": (ROLLING,),
    "window": (WINDOWS, TIMERS),
    "source": (SPLITS,),
    "filter": (),
    "print": (),
}
"""Sorts of operators in Java, and what one of each keeps. No two keep the same."""

KEEPING = ("map", "flat_map", "keyed_process", "reduce", "window")
"""Those that leave states behind which a savepoint names."""


@pytest.mark.parametrize(("old", "new"), [*itertools.permutations(SORTS, 2)])
def test_a_uid_on_another_sort_of_operator_is_an_error_both_ways(old: str, new: str) -> None:
    before, after = (
        operator("one", uid="u", kind=kind, states=SORTS[kind], has_state=bool(SORTS[kind])) for kind in (old, new)
    )
    report = check(program("old.py", before), program("new.py", after))
    told = {finding.rule for finding in report.findings if finding.level is Level.ERROR}
    assert told == ({"CMP103"} if SORTS[old] else set())


@pytest.mark.parametrize(("held", "kind"), [(held, kind) for held in KEEPING for kind in SORTS if held != kind])
def test_a_savepoint_of_an_operator_whose_uid_another_sort_has_now(held: str, kind: str) -> None:
    """A function may be any function that lost its states: of it a savepoint tells only what is dropped."""
    after = operator("other", uid="u", kind=kind, states=SORTS[kind], has_state=bool(SORTS[kind]), inputs=("before",))
    new = program("new.json", after)
    report = check(facts.program(left_behind(after.id, SORTS[held]), "savepoint", new), new)
    by_level = {finding.rule: finding.level for finding in report.findings}
    functions = {"map", "flat_map", "keyed_process", "filter"}
    if held in functions and kind in functions:
        assert by_level.keys() & {"CMP401", "CMP402", "CMP103"}
    else:
        assert by_level["CMP103"] is Level.ERROR


def left_behind(id: str, states: tuple[State, ...]) -> Recorded:
    """A savepoint of one operator without a name, in which these states are."""
    stored = tuple(
        RecordedState(
            "_timer_state/processing_user-timers" if state.kind is StateKind.TIMERS else state.name,
            state.kind,
            state.scope,
            None if state.kind is StateKind.TIMERS else Shape("Long"),
            Shape("TimeWindow") if state.name == framework.WINDOW_CONTENTS else None,
        )
        for state in states
    )
    keyed = any(state.scope is StateScope.KEYED for state in states)
    one = RecordedOperator(
        id=id,
        name=None,
        uid=None,
        parallelism=1,
        max_parallelism=128,
        has_state=True,
        coordinated=False,
        key=Shape("String") if keyed else None,
        states=stored,
        unreadable=(),
        finished=None,
        channels=(False, False),
        format=None,
        bytes=1,
    )
    return Recorded("savepoint/_metadata", 6, True, (one,), ())


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


@pytest.mark.parametrize(
    ("known", "told"),
    [
        pytest.param({}, {"CMP103"}, id="nothing tells"),
        pytest.param({"name": "counts"}, set(), id="a name"),
        pytest.param({"uid": "counts"}, set(), id="a uid"),
        pytest.param({"detail": {"function": "m.Count"}}, set(), id="a function"),
    ],
)
def test_an_operator_whose_only_state_was_replaced(known: dict[str, object], told: set[str]) -> None:
    """Without anything that tells, it may be another one; Flink drops the old state in both cases, without a word."""
    before = msgspec.structs.replace(unnamed("keyed_process", "s"), **known)
    listed = State(name="t", kind=StateKind.LIST, scope=StateScope.KEYED, type="List<Long>", key_type="string")
    report = check(program("old", before), program("new", msgspec.structs.replace(before, states=(listed,))))
    assert {finding.rule for finding in report.findings if finding.level is Level.ERROR} == told
    assert told or "CMP401" in {finding.rule for finding in report.findings}


def test_another_sort_is_another_operator_where_one_of_the_old_sort_is_left() -> None:
    elsewhere = operator("Map", id="5" * 32, kind="map", states=(value_state("s"),))
    report = check(program("old", unnamed("map", "s")), program("new", unnamed("flat_map", "s"), elsewhere))
    assert report.verdict is Verdict.INCOMPATIBLE


@pytest.mark.parametrize(("name", "verdict"), [("the count", Verdict.COMPATIBLE), ("Map", Verdict.INCOMPATIBLE)])
def test_another_sort_with_more_states_is_the_same_operator_under_its_own_name(name: str, verdict: Verdict) -> None:
    before = msgspec.structs.replace(unnamed("keyed_process", "s"), name="the count")
    after = msgspec.structs.replace(unnamed("map", "s", "t"), name=name)
    report = check(program("old", before), program("new", after))
    assert report.verdict is verdict


CODE = UserCode(name="m.Count", digest="1")
HIDDEN = "_stream_key_by_map_operator"


@pytest.mark.parametrize(
    ("name", "kind", "is_hidden", "takes"),
    [
        ("Count", "keyed_process", False, True),
        (HIDDEN, "map", True, False),
        (f"{HIDDEN}, Count", "map", True, False),
        (f"Count, {HIDDEN}", "map", False, True),
        ("Sink: Writer", "sink_writer", False, False),
        ("Sink: Committer", "sink_committer", False, False),
        ("Monitor", "file_monitor", False, False),
    ],
)
def test_what_a_call_can_tie_to_an_id(name: str, kind: str, is_hidden: bool, takes: bool) -> None:
    one = operator(name, kind=kind)
    assert (hidden(one), takes_user_hash(one)) == (is_hidden, takes)


def test_what_is_hidden_hangs_on_what_can_be_named_before_it() -> None:
    first, fixed = operator("a"), operator("b", uid="b")
    second = operator(HIDDEN, id="1" * 32, inputs=(first.id,))
    third = operator(HIDDEN, id="2" * 32, inputs=(second.id,))
    behind_a_uid = operator(HIDDEN, id="3" * 32, inputs=(fixed.id,))
    alone, lost = operator(HIDDEN, id="4" * 32), operator(HIDDEN, id="5" * 32, inputs=("6" * 32,))
    job = program("job", first, fixed, second, third, behind_a_uid, alone, lost)
    assert [named_before(one, job) for one in (first, second, third)] == [first] * 3
    assert [named_before(one, job) for one in (behind_a_uid, alone, lost)] == [None] * 3
    assert named_before(fixed, job) == fixed


def java(name: str, limit: str = "1", digest: str = "1", function: str = "m.Count") -> Operator:
    captured = (Captured(name="limit", digest=limit),)
    return operator(name, id="1" * 32, function=UserCode(name=function, digest=digest, captured=captured))


@pytest.mark.parametrize(
    ("new", "other"),
    [
        (java("a", "2", "2"), False),
        (java("b"), False),
        (java("b", "2"), True),
        (java("b", digest="2"), False),
        (java("b", function="m.Other"), False),
        (java("b", function="m.Other", digest="2"), True),
        (java("Map", "2"), False),
        (operator("b", id="1" * 32), False),
    ],
)
def test_a_name_and_a_function_of_java_that_both_differ(new: Operator, other: bool) -> None:
    told = check(program("old", java("a")), program("new", new)).findings
    assert any("name and function both differ" in finding.reason for finding in told) is other


def wrong_hands(old: list[Operator], new: list[Operator]) -> dict[str, str]:
    """By the name of OLD's operator, what is said of it."""
    before, after = program("old", *old), program("new", *new)
    return {before.by_id[id].name: why for id, why in find_wrong_hands(map_state(before, after), after).items()}


def at(place: int, name: str, **more: object) -> Operator:
    return operator(name, id=str(place) * 32, **more)


ELSEWHERE = "is still there, in another place, with another id"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ([at(1, "a")], [at(1, "b")], {}),
        ([at(1, "a")], [at(1, "b"), at(2, "a")], {"a": ELSEWHERE}),
        ([at(1, "a")], [at(1, "b"), at(2, "a", uid="u")], {}),
        ([at(1, "a"), at(2, "a")], [at(1, "b"), at(2, "a")], {}),
        ([at(1, "a"), at(2, "b")], [at(1, "b"), at(2, "a")], {"a": ELSEWHERE, "b": ELSEWHERE}),
        ([at(1, "a", uid="u"), at(2, "b", uid="v")], [at(1, "b", uid="u"), at(2, "a", uid="v")],
         {"a": "changed their ids with one another", "b": "changed their ids with one another"}),
        ([at(1, "a", uid="u"), at(2, "b", uid="v"), at(3, "c", uid="w")],
         [at(1, "d", uid="u"), at(2, "c", uid="v"), at(3, "b", uid="w")],
         {"b": "changed their ids with one another", "c": "changed their ids with one another"}),
        ([at(1, "a", uid="u", kind="map"), at(2, "b", uid="v")], [at(1, "b", uid="u", kind="map"), at(2, "a", uid="v")],
         {}),
        ([at(1, "a"), at(2, "b")], [at(3, "x", user_hash="1" * 32), at(4, "y", user_hash="1" * 32), at(2, "b")], {}),
        ([at(1, "a"), at(2, "b"), at(5, "c")],
         [at(3, "x", user_hash="1" * 32), at(4, "y", user_hash="1" * 32), at(2, "c"), at(5, "b")],
         {"b": ELSEWHERE, "c": ELSEWHERE}),
        ([at(1, "Map", detail={"recorded": True})], [at(1, "Map", states=(value_state("m"),))], {}),
        ([at(1, "a", detail={"recorded": True})], [at(1, "Map", states=(value_state("m"),))], {}),
        ([at(1, "a", detail={"recorded": True})], [at(1, "b", states=(value_state("m"),))],
         {"a": "name, function and declared states all differ"}),
        ([at(1, "a", kind="window")], [at(1, "a")], {}),
        ([at(1, "a", kind="window", states=(WINDOWS,))], [at(1, "a")], {"a": "OLD's is a window, NEW's is a keyed function"}),
        ([at(1, "a", kind="window")], [at(1, "a"), at(2, "b", kind="window")], {"a": "OLD's is a window"}),
        ([at(1, "a", **STATELESS)], [at(1, "a", kind="window")], {}),
        ([at(1, "a")], [at(1, "b", states=(value_state("m"),))], {"a": "name, function and declared states all differ"}),
        ([at(1, "Map")], [at(1, "Map", states=(value_state("m"),))],
         {"Map": "name, function and declared states all differ"}),
        ([at(1, "Map")], [at(1, "Map", states=(value_state("m"), value_state()))], {}),
        ([at(1, "Map")], [at(1, "Map", states=None)], {}),
        ([at(1, "Map")], [at(1, "Map", states=())], {}),
        ([at(1, "a")], [at(1, "b", states=())], {"a": "name, function and declared states all differ"}),
    ],
)  # fmt: skip
def test_whose_state_reaches_another_operator(old: list[Operator], new: list[Operator], told: dict[str, str]) -> None:
    found = wrong_hands(old, new)
    assert found.keys() == told.keys()
    assert all(said in found[name] for name, said in told.items())


def made(place: int, name: str, limit: str, **more: object) -> Operator:
    return at(place, name, detail={"function": "m.Count", "made_with": {"limit": limit}}, **more)


def fed(place: int, uid: str | None, feed: str | None, function: str = "m.Count") -> Operator:
    return at(place, "Map", uid=uid, detail={"function": function} | ({} if feed is None else {"fed": feed}))


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([fed(1, "u", "a"), fed(2, "v", "b")], [fed(1, "u", "b"), fed(2, "v", "a")], {"1": "2", "2": "1"}),
        ([fed(1, "u", "a"), fed(2, "v", "b")], [fed(1, "u", "a"), fed(2, "v", "b")], {}),
        ([fed(1, "u", "a"), fed(2, "v", "b")], [fed(1, "u", "c"), fed(2, "v", "d")], {}),
        ([fed(1, "u", "a"), fed(2, "v", "b")], [fed(1, "u", None), fed(2, "v", "a")], {}),
        ([fed(1, "u", None), fed(2, "v", "b")], [fed(1, "u", "b"), fed(2, "v", "a")], {"2": "1"}),
        ([fed(1, "u", "a")], [fed(1, "u", "b"), fed(2, "v", "a", "m.Other")], {}),
        ([fed(1, "u", "a")], [fed(1, "u", "b", "m.Other"), fed(2, "v", "a")], {}),
        ([fed(1, None, "a")], [fed(1, None, "b"), fed(2, "v", "a")], {}),
        ([fed(1, "u", "a"), fed(2, "v", "b", "m.Other")], [fed(1, "u", "b"), fed(2, "v", "a", "m.Other")],
         {"1": "2", "2": "1"}),
        ([fed(1, "u", "a"), fed(2, "v", "b", "m.Other")], [fed(1, "u", "b"), fed(2, "v", "c", "m.Other")], {}),
    ],
)  # fmt: skip
def test_feeds_that_changed_places(old: list[Operator], new: list[Operator], found: dict[str, str]) -> None:
    before, after = program("old", *old), program("new", *new)
    exchanged = find_exchanged_values(map_state(before, after), after)
    assert {id[0]: one.id[0] for id, one in exchanged.items()} == found


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([made(1, "Map", "1", uid="u")], [made(1, "Map", "2", uid="u"), made(2, "Map", "1", uid="v")], {"1": "2"}),
        ([made(1, "Map", "1", uid="u")], [made(1, "Map", "1", uid="u"), made(2, "Map", "1", uid="v")], {}),
        ([made(1, "Map", "1", uid="u")], [made(1, "Map", "2", uid="u"), made(2, "Map", "3", uid="v")], {}),
        ([made(1, "Map", "1")], [made(1, "Map", "2"), made(2, "Map", "1", uid="v")], {}),
        ([made(1, "a", "1", uid="u")], [made(1, "a", "2", uid="u"), made(2, "Map", "1", uid="v")], {}),
        ([made(1, "a", "1", uid="u")], [made(1, "b", "2", uid="u"), made(2, "Map", "1", uid="v")], {"1": "2"}),
        ([at(3, "Map", uid="w"), made(1, "Map", "1", uid="u"), made(2, "Map", "2", uid="v")],
         [at(3, "Map", uid="w"), made(1, "Map", "2", uid="u"), made(2, "Map", "1", uid="v")], {"1": "2", "2": "1"}),
    ],
)  # fmt: skip
def test_values_that_changed_places(old: list[Operator], new: list[Operator], found: dict[str, str]) -> None:
    before, after = program("old", *old), program("new", *new)
    exchanged = find_exchanged_values(map_state(before, after), after)
    assert {id[0]: one.id[0] for id, one in exchanged.items()} == found


@pytest.mark.parametrize(
    ("wrong_pairs", "settled", "new", "found"),
    [
        ([(at(1, "a"), at(1, "b"))], "", [at(1, "b"), at(2, "a")], {"1": "2"}),
        ([(at(1, "a"), at(1, "b"))], "2", [at(1, "b"), at(2, "a")], {}),
        ([(at(1, "a"), at(1, "b"))], "", [at(1, "b"), at(2, "c")], {}),
        ([(at(1, "a"), at(1, "a"))], "", [at(1, "a"), at(2, "a")], {}),
        ([(at(1, "a"), at(1, "b")), (at(3, "a"), at(3, "b"))], "", [at(1, "b"), at(2, "a")], {"1": "2"}),
        ([(at(1, "a", function=CODE), at(1, "b"))], "", [at(2, "a"), at(4, "a", function=CODE)], {"1": "4"}),
    ],
)
def test_who_state_in_wrong_hands_belongs_to(
    wrong_pairs: list[tuple[Operator, Operator]], settled: str, new: list[Operator], found: dict[str, str]
) -> None:
    pairs = [Pair(*both, BY_GENERATED_ID) for both in wrong_pairs]
    owners = find_rightful(pairs, [one * 32 for one in settled], program("new", *new))
    assert {id[0]: one.id[0] for id, one in owners.items()} == found


BACK = (
    "Give it its old uid back: 'counts' in place of 'count'; or keep the new one, and pin the old id with set_uid_hash."
)


@pytest.mark.parametrize(("uids", "told"), [(("counts", "count"), [BACK]), ((None, "count"), [])])
def test_an_operator_whose_uid_changed_may_have_it_back(uids: tuple[str | None, str], told: list[str]) -> None:
    old, new = (operator("count", uid=uid, id=None if uid else "0" * 32) for uid in uids)
    (moved,) = [one for one in check(program("old", old), program("new", new)).findings if one.rule == "CMP102"]
    assert [fix.text for fix in moved.fixes if "uid back" in fix.text] == told

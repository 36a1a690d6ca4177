"""Each state of OLD gets the fate that is told of it, and what was told of nothing is open."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check.context import Check, CheckOptions
from compat.check.findings import Account, Fate, Finding, Level, MappingRow, Verdict, Witness
from compat.check.ledger import ledger, verdict
from compat.check.mapping import map_state
from compat.loader.jvm.answers import Answer, Answers
from compat.loader.jvm.messages import Rehearsal
from compat.state.model.operators import Operator
from compat.state.model.states import More
from tests.compat.builders import finding, operator, program, value_state

A, B = value_state("a"), value_state("b")
OLD = operator("Count", uid="u", states=(A, B))
MORE = More(why="it asks late", code="1")
STATELESS = operator("Map", uid="u", states=(), has_state=True)
UNKNOWN = operator("Count", uid="u", states=None, states_unknown="it is not known")

REFUSED = finding("CMP102", old=OLD)
MIGRATED_A = finding("CMP405", Level.MIGRATE, old=OLD, state="a")
UNKNOWN_A = finding("CMP111", Level.UNKNOWN, old=OLD, state="a")
DROPPED_A = finding("CMP401", Level.WARNING, old=OLD, state="a")
OF_NEW = finding("CMP107", old=None, new=OLD)
LOST_JOB = finding("CMP112")
MIGRATED_JOB = finding("CMP405", Level.MIGRATE)
WARNED_JOB = finding("CMP304", Level.WARNING)
OF_ANOTHER = finding("CMP102", old=operator("other"))

RESTORED = (Fate.RESTORED, "")


def accounts(
    *findings: Finding, old: Operator = OLD, new: Operator | None = OLD, answers: Answers | None = None, **row: Any
) -> tuple[Account, ...]:
    """The accounts of one operator whose row says no more than who has its state."""
    programs = program("old.py", old), program("new.py", *([] if new is None else [new]))
    check = Check(*programs, map_state(*programs), CheckOptions(), {}, answers=answers)
    rows = [MappingRow(**{"old": old, "new": new, "fate": Fate.RESTORED, "by": "uid"} | row)]
    return ledger(check, rows, findings)


@pytest.mark.parametrize(
    ("findings", "of_a", "of_b"),
    [
        ([], RESTORED, RESTORED),
        ([REFUSED], (Fate.REFUSED, "CMP102"), (Fate.REFUSED, "CMP102")),
        ([MIGRATED_A], (Fate.MIGRATED, "CMP405"), RESTORED),
        ([UNKNOWN_A], (Fate.UNKNOWN, "CMP111"), RESTORED),
        ([finding("CMP402", Level.UNKNOWN, old=OLD)], (Fate.UNKNOWN, "CMP402"), (Fate.UNKNOWN, "CMP402")),
        ([DROPPED_A], RESTORED, RESTORED),
        ([LOST_JOB], (Fate.LOST, "CMP112"), (Fate.LOST, "CMP112")),
        ([MIGRATED_JOB], (Fate.MIGRATED, "CMP405"), (Fate.MIGRATED, "CMP405")),
        ([WARNED_JOB], RESTORED, RESTORED),
        ([WARNED_JOB, MIGRATED_JOB], (Fate.MIGRATED, "CMP405"), (Fate.MIGRATED, "CMP405")),
        ([LOST_JOB, MIGRATED_JOB], (Fate.LOST, "CMP112"), (Fate.LOST, "CMP112")),
        ([OF_NEW], RESTORED, RESTORED),
        ([OF_ANOTHER], RESTORED, RESTORED),
        ([REFUSED, MIGRATED_A], (Fate.REFUSED, "CMP102"), (Fate.REFUSED, "CMP102")),
        ([UNKNOWN_A, finding("CMP405", Level.MIGRATE, old=OLD)], (Fate.UNKNOWN, "CMP111"), (Fate.MIGRATED, "CMP405")),
        ([UNKNOWN_A, MIGRATED_A], (Fate.UNKNOWN, "CMP111"), RESTORED),
        ([UNKNOWN_A, MIGRATED_JOB], (Fate.UNKNOWN, "CMP111"), (Fate.MIGRATED, "CMP405")),
    ],
)
def test_a_state_has_the_fate_of_the_worst_that_is_told_of_it(
    findings: list[Finding], of_a: tuple[Fate, str], of_b: tuple[Fate, str]
) -> None:
    found = accounts(*findings)
    assert [(one.state, one.fate, one.rule) for one in found] == [(A, *of_a), (B, *of_b)]
    assert all(one.old == one.new == OLD for one in found)
    assert [one.evidence is not None for one in found] == [of_a == RESTORED, of_b == RESTORED]
    assert not any(one.gap or one.open for one in found)


@pytest.mark.parametrize(("findings", "fate", "rule"), [([], Fate.UNKNOWN, ""), ([DROPPED_A], Fate.DROPPED, "CMP401")])
def test_a_state_that_new_does_not_declare_is_dropped_where_a_rule_says_so(
    findings: list[Finding], fate: Fate, rule: str
) -> None:
    of_a, of_b = accounts(*findings, new=operator("Count", uid="u", states=(B,)))
    assert (of_a.fate, of_a.rule, of_a.evidence, of_a.open) == (fate, rule, None, not findings)
    assert of_b.fate is Fate.RESTORED


@pytest.mark.parametrize(("findings", "rule"), [([], ""), ([DROPPED_A], "CMP401")])
def test_a_state_with_a_gap_is_open_until_a_rule_tells_it(findings: list[Finding], rule: str) -> None:
    of_a, of_b = accounts(*findings, new=operator("Count", uid="u", states=(value_state("a", None), B)))
    assert (of_a.fate, of_a.rule, of_a.evidence) == (Fate.UNKNOWN, rule, None)
    assert of_a.gap == "the type of the state 'a' is not known for NEW"
    assert of_a.open is not bool(findings)
    assert of_b.fate is Fate.RESTORED


@pytest.mark.parametrize("fate", [Fate.WRONG_HANDS, Fate.REFUSED, Fate.DROPPED, Fate.LOST])
def test_what_goes_elsewhere_has_the_fate_of_its_row(fate: Fate) -> None:
    new = OLD if fate is Fate.WRONG_HANDS else None
    found = accounts(REFUSED, new=new, fate=fate, note="CMP106")
    assert [(one.state, one.new, one.fate, one.rule) for one in found] == [
        (each, new, fate, "CMP106") for each in (A, B)
    ]
    assert {one.gap for one in found} == {f"{'another' if new else 'no'} operator of NEW has its id"}


def test_what_starts_empty_has_no_account() -> None:
    programs = program("old.py"), program("new.py", OLD)
    check = Check(*programs, map_state(*programs), CheckOptions(), {})
    assert ledger(check, [MappingRow(old=None, new=OLD, fate=Fate.EMPTY, by="")], []) == ()


@pytest.mark.parametrize(
    ("old", "states"),
    [
        (OLD, [A, B]),
        (operator("Count", uid="u", states=(A,), more=MORE), [A, None]),
        (STATELESS, [None]),
        (UNKNOWN, [None]),
    ],
)
def test_what_an_operator_may_keep_besides_has_an_account(old: Operator, states: list[object]) -> None:
    for new in (old, None):
        assert [one.state for one in accounts(old=old, new=new)] == states


def test_states_that_are_not_known_are_open_unless_flink_read_them() -> None:
    (one,) = accounts(old=UNKNOWN, new=UNKNOWN)
    assert (one.fate, one.gap, one.open) == (Fate.UNKNOWN, "its states are not known", True)
    answers = Answers(operators={UNKNOWN.node: Answer(rehearsal=Rehearsal())})
    (one,) = accounts(old=UNKNOWN, new=UNKNOWN, answers=answers)
    assert one.fate is Fate.RESTORED
    assert one.evidence is not None
    assert (one.evidence.compared, one.evidence.witness) == (("id",), Witness.FLINK)


def test_what_may_be_kept_besides_is_restored_where_code_or_nothing_speaks_for_it() -> None:
    (of_nothing,) = accounts(old=STATELESS, new=STATELESS)
    assert of_nothing.evidence is not None
    assert (of_nothing.evidence.compared, of_nothing.evidence.witness) == (("id",), Witness.READERS)
    old = operator("Count", uid="u", states=(), more=MORE)
    (of_code,) = accounts(old=old, new=old)
    assert of_code.evidence is not None
    assert of_code.evidence.witness is Witness.CODE
    (other,) = accounts(old=old, new=operator("Count", uid="u", states=(), more=More(why="late", code="2")))
    assert other.open


OPEN = Account(old=OLD, state=A, new=OLD, fate=Fate.UNKNOWN)
TOLD = Account(old=OLD, state=A, new=OLD, fate=Fate.UNKNOWN, rule="CMP431")
LOST = Account(old=OLD, state=A, new=None, fate=Fate.LOST)


@pytest.mark.parametrize(
    ("levels", "found", "answer"),
    [
        ([], [], Verdict.COMPATIBLE),
        ([Level.NOTE, Level.WARNING], [TOLD, LOST], Verdict.COMPATIBLE),
        ([Level.MIGRATE], [TOLD], Verdict.MIGRATION),
        ([Level.MIGRATE], [LOST, OPEN], Verdict.UNKNOWN),
        ([], [OPEN], Verdict.UNKNOWN),
        ([Level.MIGRATE, Level.UNKNOWN], [], Verdict.UNKNOWN),
        ([Level.UNKNOWN, Level.ERROR], [OPEN], Verdict.INCOMPATIBLE),
        ([Level.ERROR], [], Verdict.INCOMPATIBLE),
    ],
)
def test_the_verdict_is_a_fold(levels: list[Level], found: list[Account], answer: Verdict) -> None:
    assert verdict([finding(level=level) for level in levels], found) is answer

"""The rows of a report: where the state of each operator goes, and by which id."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check import decision
from compat.check.context import CheckOptions
from compat.check.decision import check, with_findings, with_queries
from compat.check.findings import Account, Fate, Level, Report, Verdict
from compat.check.mapping import BY_GENERATED_ID, BY_UID, BY_USER_HASH, map_state
from compat.state.assignment import Refusal
from compat.state.model.operators import Operator
from tests.compat.builders import finding, hash_of, operator, program, value_state

STATELESS = {"states": (), "has_state": False}
COUNT = operator("Count", uid="u")
Row = tuple[str | None, str | None, Fate, str, str]


def checked(old: list[Operator], new: list[Operator], **options: Any) -> Report:
    return check(program("old.py", *old), program("new.py", *new), CheckOptions(**options))


def op(name: str, id: str, **more: Any) -> Operator:
    return operator(name, id=hash_of(id), **more)


def rows(report: Report) -> list[Row]:
    return [(row.old and row.old.name, row.new and row.new.name, row.fate, row.by, row.note) for row in report.mapping]


LONG = operator("Count", uid="u", states=(value_state("count", "string"),))
SHADOWED = [op("a", "1"), op("b", "2")]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ([COUNT], [COUNT], [("Count", "Count", Fate.RESTORED, BY_UID, "")]),
        ([op("a", "1")], [op("a", "1")], [("a", "a", Fate.RESTORED, BY_GENERATED_ID, "")]),
        ([op("a", "1")], [op("a", "2", user_hash=hash_of("1"))], [("a", "a", Fate.RESTORED, BY_USER_HASH, "")]),
        ([op("a", "1", **STATELESS)], [op("a", "1", **STATELESS)], []),
        ([COUNT], [LONG], [("Count", "Count", Fate.REFUSED, BY_UID, "CMP404")]),
        ([COUNT], [operator("Count", uid="u", states=())], [("Count", "Count", Fate.RESTORED, BY_UID, "")]),
        ([op("a", "1"), COUNT], [COUNT, op("b", "3")], [
            ("Count", "Count", Fate.RESTORED, BY_UID, ""),
            ("a", None, Fate.REFUSED, "", ""),
            (None, "b", Fate.EMPTY, "", ""),
        ]),
        ([COUNT], [COUNT, op("b", "3", **STATELESS)], [("Count", "Count", Fate.RESTORED, BY_UID, "")]),
        (SHADOWED, [op("a", "2", user_hash=hash_of("1"))], [
            ("a", "a", Fate.RESTORED, BY_USER_HASH, ""),
            ("b", None, Fate.LOST, BY_GENERATED_ID, "CMP106"),
        ]),
        ([op("a", "1"), op("b", "2", **STATELESS)], [op("a", "2", user_hash=hash_of("1"))],
         [("a", "a", Fate.RESTORED, BY_USER_HASH, "")]),
        ([op("a", "1"), op("b", "2")], [op("b", "1"), op("a", "2")], [
            ("a", "b", Fate.WRONG_HANDS, BY_GENERATED_ID, ""),
            ("b", "a", Fate.WRONG_HANDS, BY_GENERATED_ID, ""),
        ]),
    ],
)  # fmt: skip
def test_each_operator_with_state_has_a_row(old: list[Operator], new: list[Operator], found: list[Row]) -> None:
    assert rows(checked(old, new)) == found


def test_state_that_may_be_left_behind_is_dropped() -> None:
    (row,) = checked([COUNT], [], allow_non_restored=True).mapping
    assert row.fate is Fate.DROPPED


def test_rows_name_the_operator_that_state_belongs_to() -> None:
    (moved, _) = checked([op("a", "1")], [op("a", "2")]).mapping
    assert moved.successor == op("a", "2")
    swapped = checked(SHADOWED, [op("b", "1"), op("a", "2")]).mapping
    assert [row.successor and row.successor.name for row in swapped] == ["a", "b"]


def test_an_open_account_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Account(old=COUNT, state=None, new=COUNT, fate=Fate.UNKNOWN)
    assert checked([COUNT], [COUNT]).verdict is Verdict.COMPATIBLE
    monkeypatch.setattr(decision, "ledger", lambda *_: (account,))
    report = checked([COUNT], [COUNT])
    assert (report.verdict, report.accounts) == (Verdict.UNKNOWN, (account,))
    assert with_findings(report, [], []).verdict is Verdict.UNKNOWN


def test_other_findings_are_sorted_and_change_the_verdict() -> None:
    note, error = finding("CMP201", Level.NOTE), finding("CMP102")
    report = with_findings(checked([COUNT], [COUNT]), [note, error], [note])
    assert (report.findings, report.suppressed, report.verdict) == ((error, note), (note,), Verdict.INCOMPATIBLE)
    assert with_findings(report, [], []).verdict is Verdict.COMPATIBLE


def test_of_queries_the_writer_tells_and_of_state_the_savepoint() -> None:
    state, query = finding("CMP102"), finding("CMP701")
    kept = finding("CMP304", Level.WARNING)
    of_savepoint = with_findings(checked([COUNT], [COUNT]), [state, query], [kept])
    other = finding("CMP702")
    of_writer = with_findings(checked([COUNT], [COUNT]), [finding("CMP101"), other], [])
    report = with_queries(of_savepoint, of_writer)
    assert {one.rule for one in report.findings} == {"CMP102", "CMP702"}
    assert report.suppressed == (kept,)


def test_options_and_direction_are_kept() -> None:
    report = checked([COUNT], [COUNT], allow_non_restored=True, direction="rollback")
    assert (report.allow_non_restored, report.direction) == (True, "rollback")
    assert (report.old.name, report.new.name) == ("old.py", "new.py")


def test_a_conflict_says_which_pairs_are_at_odds() -> None:
    old = program("old", *(op(name, name, max_parallelism=most) for name, most in (("a", 64), ("b", 128))))
    new = program("new", *(op(name, name, vertex=hash_of("task")) for name in "ab"))
    (conflict,) = map_state(old, new).conflicts
    assert (conflict.refusal, conflict.pair.old.name) == (Refusal.MIXED, "b")
    assert conflict.other is not None
    assert conflict.other.old.name == "a"
    assert list(map_state(old, new).refused(Refusal.MIXED)) == [conflict]
    assert list(map_state(old, new).refused(Refusal.CONFIGURED)) == []


def test_edits_tie_operators_to_ids_and_move_others() -> None:
    old, new = program("old", op("a", "1"), op("b", "2")), program("new", op("a", "3"), op("b", "2"))
    tied = map_state(old, new, {hash_of("3"): hash_of("1")})
    assert [(pair.old.name, pair.new.name, pair.by) for pair in tied.pairs] == [
        ("a", "a", BY_USER_HASH),
        ("b", "b", BY_GENERATED_ID),
    ]
    moved = map_state(old, new, moved=frozenset({hash_of("2")}))
    assert (moved.pairs, [one.name for one in moved.lost]) == ((), ["a", "b"])
    hashed = program("new", op("a", "3", user_hash=hash_of("1")))
    assert len(map_state(old, hashed, {hash_of("9"): hash_of("2")}).pairs) == 1


def test_who_has_a_successor_is_not_guessed() -> None:
    old = program("old", op("a", "1"), op("Map", "2", states=(value_state("m"),)))
    new = program("new", op("a", "3"), op("Map", "4", states=(value_state("m"),)))
    mapping = map_state(old, new)
    assert {one.name for one in mapping.successors.values()} == {"a", "Map"}
    assert mapping.guessed == frozenset()
    assert [one.name for one in mapping.fresh] == ["a", "Map"]


def test_a_guess_is_told_as_one_and_has_no_row_of_a_successor() -> None:
    saved, fresh = op("Map", "1", states=(), detail={"recorded": True}), op("Count", "2")
    mapping = map_state(program("old", saved), program("new", fresh))
    assert mapping.guessed == mapping.successors.keys() == {saved.id}
    (row, _) = checked([saved], [fresh]).mapping
    assert row.successor is None


def test_who_serves_another_one_is_not_guessed() -> None:
    named, saved = op("a", "1"), op("Map", "2", states=(), detail={"recorded": True})
    mapping = map_state(program("old", named, saved), program("new", op("a", "3"), op("Count", "4")))
    assert {id: one.name for id, one in mapping.successors.items()} == {named.id: "a", saved.id: "Count"}
    assert mapping.guessed == {saved.id}

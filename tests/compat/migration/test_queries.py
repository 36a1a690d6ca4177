"""Queries of which a recipe moves what they keep, and what a real Flink read of that; `queries` records it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.check.findings import Fate, Report, Verdict
from compat.comparison import compare
from compat.loader.jvm.warm import WarmJvms
from compat.migration.proposing import propose
from compat.migration.recipe import ConvertState, DropOperator, Open, RenameState
from compat.state.flink import read_metadata
from compat.state.flink.states import read_states
from tests.compat.migration.queries import QUERIES, Asking, Record, first_answers, names, records

RECORDS = list(records())
GROUP = "f6dc7f4d2283f4605b127b9364e21148"

BEGUN = {
    "avg_added": {"0": "133, 3000", "1": "134, 3010", "2": "133, 3005"},
    "count_beside_distinct": {"0": "5, 67", "1": "5, 67", "2": "5, 66"},
    "join_both_sides": {"400": "7, null", "398": "14, dim 2"},
    "join_column_added": {"56": "14, null", "398": "14, 3980"},
    "over_added": {"0, 201": "68340, 1", "0, 204": "70380, 2"},
    "topn_column_added": {"0, 399": "name number 0"},
    "tumble_added": {},
}
"""The last rows of queries of which a part began at the savepoint, in the middle of 400 rows."""
INTERMEDIATE = {"two_phase_avg_moved", "left_join_column_removed"}
"""Queries whose rows on the way depend on when the rows come; the last ones do not."""


def begins(record: Record) -> bool:
    return any(isinstance(step, ConvertState) and step.constants for step in record.recipe.steps)


def named(record: Record) -> str:
    return record.name


@pytest.mark.parametrize("record", [one for one in RECORDS if not begins(one)], ids=named)
def test_what_only_moves_or_goes_ends_as_a_run_from_the_beginning_does(record: Record) -> None:
    assert set(record.read) == {"hashmap", "rocksdb"}
    assert record.whole
    for read in record.read.values():
        assert read.last == record.whole
        assert not read.strange or record.name in INTERMEDIATE


@pytest.mark.parametrize("record", [one for one in RECORDS if begins(one)], ids=named)
def test_what_begins_is_of_what_came_from_then_on(record: Record) -> None:
    for read in record.read.values():
        assert read.last.keys() == record.whole.keys()
        assert read.last | BEGUN[record.name] == read.last


def test_each_pair_was_restored_or_is_refused() -> None:
    assert {record.name for record in RECORDS} == set(names()) - REFUSED


REFUSED = {"sums_of_sums_added"}


@pytest.fixture(scope="module")
def asking(flink) -> Iterator[Asking]:
    with WarmJvms() as jvms:
        yield Asking(jvms, tuple(flink.classpath))


@pytest.mark.parametrize("name", [one for one in names() if one not in REFUSED])
def test_a_pair_is_migrated_by_what_its_check_proposes(name: str, asking: Asking, tmp_path: Path) -> None:
    (record,) = (one for one in RECORDS if one.name == name)
    report = asking.check(name)
    assert report.verdict is Verdict.INCOMPATIBLE
    steps = first_answers(report)
    assert steps == record.recipe.steps
    assert asking.migrate(name, tmp_path / "out", *steps).kept


def test_sums_behind_which_their_rows_are_kept_do_not_move_alone(asking: Asking, tmp_path: Path) -> None:
    """The join's rows have the same types and columns of the same numbers, and other sums in them."""
    report = asking.check("join_of_sums_moved")
    sums, rows = first_answers(report)
    assert propose(report)[1].because.endswith("Join[14] keeps that, too.")
    done = asking.migrate("join_of_sums_moved", tmp_path / "out", sums)
    assert not done.kept
    assert {account.rule for account in done.open} >= {"CMP701"}
    assert asking.migrate("join_of_sums_moved", tmp_path / "both", sums, rows).kept


def test_rows_that_become_one_are_told(asking: Asking, tmp_path: Path) -> None:
    done = asking.migrate(
        "join_rows_become_one", tmp_path / "out", *first_answers(asking.check("join_rows_become_one"))
    )
    ((state, merged),) = done.tally.merged.items()
    assert (state.name, done.kept) == ("left-records", True)
    assert merged + done.tally.written[state] > merged > done.tally.written[state]


def test_a_view_moves_with_its_aggregate(asking: Asking, tmp_path: Path) -> None:
    sums, view = first_answers(asking.check("over_moved"))
    assert isinstance(view, RenameState)
    assert (view.state, view.to) == ("agg2$map", "agg0$map")
    assert not asking.migrate("over_moved", tmp_path / "out", sums).kept


def test_rows_that_were_taken_back_before_cannot_begin(asking: Asking, tmp_path: Path) -> None:
    """A sum of what changes would take back rows that it never added: for good, and not for some time."""
    report = asking.check("sums_of_sums_added")
    second = next(one.old for one in report.findings if one.old is not None and one.old.name == "GroupAggregate[9]")
    asked = [one for one in propose(report) if isinstance(one.step, Open) and one.step.operator == second.id]
    assert [one.instead for one in asked] == [(DropOperator(operator=second.id),)]
    begun = ConvertState(operator=second.id, state="accState", constants={"f2": None, "f3": 0}, fields={"f4": "f2"})
    first = ConvertState(operator=GROUP, state="accState", constants={"f1": None})
    assert not asking.migrate("sums_of_sums_added", tmp_path / "out", first, begun).kept


def test_a_join_of_a_savepoint_keeps_both_of_its_sides(asking: Asking) -> None:
    """The program that is named tells which input is which: without that both would be one."""
    pair = QUERIES / "join_both_sides"
    check = replace(asking.comparison("join_both_sides"), new=str(pair / "old.sql"))
    (report,) = compare(check, jvms=asking.jvms).outcomes
    assert isinstance(report, Report)
    assert {account.fate for account in report.accounts} == {Fate.RESTORED}


@pytest.mark.parametrize(
    ("name", "operator", "states"),
    [
        ("distinct_moved", "GroupAggregate[6]", {"accState", "distinctAcc_0", "distinctAcc_0_null_state"}),
        ("topn_of_sums", "Rank[8]", {"data-state", "sorted-map"}),
    ],
)
def test_all_states_of_a_query_are_read(name: str, operator: str, states: set[str]) -> None:
    savepoint = read_metadata(QUERIES / name / "savepoint")
    (found,) = (one for one in savepoint.operators if one.name == operator)
    read = read_states(savepoint, found)
    assert not read.unreadable
    assert {state.name for state in read.keyed if state.type == "KEY_VALUE"} == states

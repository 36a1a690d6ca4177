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
from compat.migration.recipe import ConvertState, DropOperator, DropState, Open, RenameState
from compat.state.flink import read_metadata
from compat.state.flink.states import read_states
from tests.compat.loader.jvm.support import flink_of
from tests.compat.migration.queries import QUERIES, UPGRADE, VERSIONS, Asking, Record, first_answers, names, records

RECORDS = list(records())
GROUP = "f6dc7f4d2283f4605b127b9364e21148"

BEGUN = {
    "average_of_count": {"0, 201": "1, 2010", "1, 202": "1, 2020"},
    "avg_added": {"0": "133, 3000", "1": "134, 3010", "2": "133, 3005"},
    "count_beside_distinct": {"0": "5, 67", "1": "5, 67", "2": "5, 66"},
    "cumulate_added": {"2, 25": "17, 2030, 38080", "2, 30": "34, 2030, 84830"},
    "distinct_added": {"0": "133, 67", "1": "134, 67"},
    "distinct_beside_same": {"0": "50, 3675, 133", "1": "50, 3725, 134"},
    "distinct_filter_removed": {"0": "50, 133", "1": "50, 134"},
    "distinct_hop_added": {"0, 25": "67, 17", "0, 30": "66, 33"},
    "distinct_replaced": {"0": "10, 133", "1": "10, 134"},
    "distincts_swapped": {"0": "50, 5, 3990", "1": "50, 5, 4000"},
    "group_window_added": {"2, 1970-01-01 00:01:10.000": "30730, 2030, 14"},
    "hop_added": {"0, 25": "67, 2490, 225000", "0, 30": "66, 2970, 249000"},
    "interval_left_columns": {"201": "201000, 0, null", "101": "null, 14, dim 2"},
    "join_both_sides": {"400": "7, null", "398": "14, dim 2"},
    "join_column_added": {"56": "14, null", "398": "14, 3980"},
    "left_to_inner_column_added": {"100": "1000, null, 700", "51": "510, null, 357"},
    "minmax_added": {},
    "moved_ids_added": {"2": "133, 249500", "0": "133, 250500"},
    "moved_ids_dedup_group": {"2": "133, 249500", "0": "133, 250500"},
    "moved_ids_join_group": {"14": "133, 249700", "0": "133, 250500"},
    "moved_ids_union": {"121": "2, 363", "122": "2, 366"},
    "nested_columns": {"2": "+I[2, text 2], [2, 2], 14, null", "5": "+I[5, text 5], [5, 5], 14, null"},
    "over_added": {"0, 201": "68340, 1", "0, 204": "70380, 2"},
    "over_arrival_added": {"0, 201": "68340, 1", "1, 202": "69020, 2"},
    "rollup_added": {"2, 1": "38480, 26", "0, 2": "38610, 26"},
    "session_added": {"0, 43": "3990, 267330, 67", "1, 44": "4000, 268670, 67"},
    "temporal_join_columns": {"51": "0, null", "54": "0, null"},
    "topn_column_added": {"0, 399": "name number 0"},
    "topn_of_added": {},
    "tumble_added": {},
    "union_added": {"2": "134, 2503, 51", "0": "134, 2500, 50"},
    "avg_added 1.20.0": {"2": "133, 3005", "0": "133, 3000"},
    "avg_added 1.20.0:2.3.0": {"2": "133, 3005", "0": "133, 3000"},
    "count_beside_distinct 1.20.0": {"2": "5, 66", "0": "5, 67"},
    "join_column_added 1.20.0": {"1": "7, null", "4": "7, null"},
    "tumble_added 1.20.0": {},
}
"""The last rows of queries of which a part began at the savepoint, in the middle of 400 rows."""
INTERMEDIATE = {"two_phase_avg_moved", "left_join_column_removed", "materializer_moved"}
"""Queries whose rows on the way depend on when the rows come; the last ones do not."""
NOTHING_MORE = {"first_row_by_arrival", "first_rows_fewer"}
"""Queries that had put out all that there is before the savepoint: a row of theirs would be one too many."""


def begins(record: Record) -> bool:
    """Whether a part of a query begins, and is no field with a constant for nulls."""
    steps = (step for step in record.recipe.steps if isinstance(step, ConvertState))
    return any(step.constants.keys() - step.fields.keys() for step in steps)


def named(record: Record) -> str:
    return record.name if record.version == VERSIONS[0] else f"{record.name} {record.version}"


@pytest.mark.parametrize("record", [one for one in RECORDS if not begins(one)], ids=named)
def test_what_only_moves_or_goes_ends_as_a_run_from_the_beginning_does(record: Record) -> None:
    assert set(record.read) == {"hashmap", "rocksdb"}
    assert bool(record.whole) is (record.name not in NOTHING_MORE)
    for read in record.read.values():
        assert read.last == record.whole
        assert not read.strange or record.name in INTERMEDIATE


@pytest.mark.parametrize("record", [one for one in RECORDS if begins(one)], ids=named)
def test_what_begins_is_of_what_came_from_then_on(record: Record) -> None:
    for read in record.read.values():
        assert read.last.keys() == record.whole.keys()
        assert read.last | BEGUN[named(record)] == read.last


UPGRADED = {"avg_added", "avg_moved", "distinct_moved", "dedup_column_removed", "join_column_removed", "over_moved"}
"""Pairs whose savepoints of Flink 1 were read by Flink 2."""


def test_pairs_of_which_one_version_of_flink_reads_what_another_wrote() -> None:
    assert {one.name for one in RECORDS if one.version == UPGRADE} == UPGRADED


@pytest.mark.parametrize("version", VERSIONS)
def test_each_pair_was_restored_or_is_refused(version: str) -> None:
    assert [one.name for one in RECORDS if one.version == version] == [
        one for one in names(version) if one not in REFUSED
    ]


REFUSED = {
    "distinct_retract_added": "CMP701",
    "inner_to_left": "CMP704",
    "moved_ids_filter": "CMP702",
    "sums_of_sums_added": "CMP701",
    "topn_grows": "CMP705",
}
"""Pairs whose state would be wrong in NEW, with the rule that says why."""


@pytest.fixture(scope="module")
def asking(flink) -> Iterator[Asking]:
    with WarmJvms() as jvms:
        yield Asking(jvms, tuple(flink.classpath))


@pytest.fixture(scope="module")
def asking_of_another_version() -> Iterator[Asking]:
    with WarmJvms() as jvms:
        yield Asking(jvms, tuple(flink_of(VERSIONS[1]).classpath), VERSIONS[1])


def assert_migrated(record: Record, asking: Asking, out: Path) -> None:
    report = asking.check(record.name)
    steps = first_answers(report)
    assert steps == record.recipe.steps
    assert report.verdict is (Verdict.INCOMPATIBLE if steps else Verdict.COMPATIBLE)
    assert asking.migrate(record.name, out, *steps).kept


@pytest.mark.parametrize("record", [one for one in RECORDS if one.version == VERSIONS[0]], ids=named)
def test_a_pair_is_migrated_by_what_its_check_proposes(record: Record, asking: Asking, tmp_path: Path) -> None:
    assert_migrated(record, asking, tmp_path / "out")


@pytest.mark.parametrize("record", [one for one in RECORDS if one.version == UPGRADE], ids=named)
def test_a_savepoint_of_one_version_is_migrated_for_another(record: Record, asking: Asking, tmp_path: Path) -> None:
    upgrading = Asking(asking.jvms, asking.classpath, UPGRADE)
    assert_migrated(record, upgrading, tmp_path / "out")


@pytest.mark.parametrize("record", [one for one in RECORDS if one.version == VERSIONS[1]], ids=named)
def test_a_pair_of_another_version_is_migrated(
    record: Record, asking_of_another_version: Asking, tmp_path: Path
) -> None:
    assert_migrated(record, asking_of_another_version, tmp_path / "out")


@pytest.mark.parametrize("name", ["inner_to_left", "moved_ids_filter", "topn_grows"])
def test_what_would_be_wrong_can_only_go(name: str, asking: Asking) -> None:
    proposals = propose(asking.check(name))
    (asked,) = (one for one in proposals if isinstance(one.step, Open))
    assert REFUSED[name] in asked.because
    assert [type(one) for one in asked.instead] == [DropOperator]


def test_a_view_of_another_aggregate_is_refused(asking: Asking, tmp_path: Path) -> None:
    """The values that MAX takes back from are those of the third aggregate, whose field is the fifth one."""
    sums, view = first_answers(asking.check("retract_max_removed"))
    assert isinstance(view, RenameState)
    assert (view.state, view.to) == ("agg2$map", "agg0$map")
    gone = DropState(operator=view.operator, state=view.state)
    assert not asking.migrate("retract_max_removed", tmp_path / "out", sums, gone).kept


def test_a_part_of_a_result_does_not_begin_alone(asking: Asking, tmp_path: Path) -> None:
    """An average of a sum that begins and a count that goes on would be wrong for good."""
    (step,) = first_answers(asking.check("average_of_count"))
    assert isinstance(step, ConvertState)
    assert asking.migrate("average_of_count", tmp_path / "out", step).kept
    alone = ConvertState(operator=step.operator, state=step.state, constants={"f1": 0})
    assert not asking.migrate("average_of_count", tmp_path / "alone", alone).kept


def test_values_of_distinct_move_with_what_counts_them(asking: Asking, tmp_path: Path) -> None:
    """COUNT(DISTINCT d) would count anew what it finds among the values of k2, and among none."""
    steps = first_answers(asking.check("distinct_removed"))
    sums = [step for step in steps if isinstance(step, ConvertState)]
    assert asking.migrate("distinct_removed", tmp_path / "out", *steps).kept
    gone = [DropState(operator=step.operator, state=step.state) for step in steps if not isinstance(step, ConvertState)]
    assert not asking.migrate("distinct_removed", tmp_path / "stays", *sums).kept
    assert not asking.migrate("distinct_removed", tmp_path / "gone", *sums, *gone).kept


def test_values_of_distinct_go_where_what_counts_them_begins(asking: Asking, tmp_path: Path) -> None:
    """A sum that begins would never count the values that another aggregate had met."""
    sums, *gone = first_answers(asking.check("distinct_beside_same"))
    assert {step.state for step in gone if isinstance(step, DropState)} == {"distinctAcc_0", "distinctAcc_0_null_state"}
    assert not asking.migrate("distinct_beside_same", tmp_path / "stay", sums).kept
    assert isinstance(sums, ConvertState)
    on = replace(sums, fields={"f2": "f1", "f3": "f2"}, constants={"f1": None}, without=())
    assert not asking.migrate("distinct_beside_same", tmp_path / "on", on).kept


def test_what_counts_values_of_distinct_does_not_begin_without_them(asking: Asking, tmp_path: Path) -> None:
    """A count that begins would not count what was met before, and comes again."""
    (moved,) = first_answers(asking.check("distinct_moved"))
    assert isinstance(moved, ConvertState)
    alone = replace(moved, constants={"f1": 0}, fields={"f0": "f1", "f2": "f2"}, without=("f0",))
    assert not asking.migrate("distinct_moved", tmp_path / "alone", alone).kept


def test_marks_of_distinct_under_another_filter_are_no_ones(asking: Asking, tmp_path: Path) -> None:
    """The first aggregate marked those values alone that met its FILTER: the one that stays would count the others twice."""
    sums, *gone = first_answers(asking.check("distinct_filter_removed"))
    assert isinstance(sums, ConvertState)
    on = replace(sums, fields={"f0": "f1", "f1": "f2", "f2": "f3"}, constants={}, without=("f0",))
    assert gone
    assert not asking.migrate("distinct_filter_removed", tmp_path / "on", on).kept


def test_an_inner_join_takes_the_columns_that_it_needs(asking: Asking, tmp_path: Path) -> None:
    """Of types that are the same, others would be taken for them."""
    sums, rows = first_answers(asking.check("left_to_inner_columns_of_sums"))
    assert isinstance(rows, ConvertState)
    assert (rows.fields, rows.single, rows.without) == ({"f2": "row.f3"}, "f0", ("f1", "row.f2"))
    other = replace(rows, fields={}, without=("f1", "row.f3"))
    assert not asking.migrate("left_to_inner_columns_of_sums", tmp_path / "other", sums, other).kept


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

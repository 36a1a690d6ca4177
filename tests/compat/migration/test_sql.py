"""Savepoints of queries, migrated: what is kept of them goes on where the new query has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.migration.migrating import Migrated
from compat.migration.proposing import propose
from compat.migration.recipe import ConvertState, Open
from compat.state.flink import NotWritten
from tests.compat.migration.conftest import Pairs

GROUP = "f6dc7f4d2283f4605b127b9364e21148"


def migrated(pairs: Pairs, pair: str, folder: Path, state: str, **fields: object) -> Migrated:
    return pairs.migrate(pair, folder, ConvertState(operator=GROUP, state=state, **fields))  # type: ignore[arg-type]


def test_aggregates_in_another_order_are_a_step_and_go_on(pairs: Pairs, tmp_path: Path) -> None:
    (one,) = propose(pairs.check("q_agg_reordered"))
    assert one.step == ConvertState(operator=GROUP, state="accState", fields={"f0": "f1", "f1": "f0"})
    done = pairs.migrate("q_agg_reordered", tmp_path, one.step)
    assert (done.kept, set(done.entries.values())) == (True, {3})


@pytest.mark.parametrize(
    ("pair", "told", "step"),
    [
        ("q_agg_added", "SUM(v) would start anew, the rest goes on. ", {"constants": {"f1": None}}),
        (
            "q_agg_sum_max",
            "MAX(v) would start anew and SUM(v) would go. ",
            {"constants": {"f0": None}, "without": ("f0",)},
        ),
    ],
)
def test_what_begins_and_what_goes_is_asked(
    pair: str, told: str, step: dict[str, object], pairs: Pairs, tmp_path: Path
) -> None:
    (one,) = propose(pairs.check(pair))
    assert isinstance(one.step, Open)
    assert one.step.question.startswith(told)
    assert one.instead[0] == ConvertState(operator=GROUP, state="accState", **step)  # type: ignore[arg-type]
    assert migrated(pairs, pair, tmp_path, "accState", **step).kept


def test_a_column_that_was_added_is_null_in_rows_that_are_kept(pairs: Pairs, tmp_path: Path) -> None:
    fields, constants = {"f3": "f2"}, {"f2": None}
    assert migrated(pairs, "q_dedup_col_added", tmp_path, "deduplicate-state", fields=fields, constants=constants).kept


def test_a_part_that_is_begun_anew_is_settled_by_the_recipe(pairs: Pairs, tmp_path: Path) -> None:
    step = {"fields": {"f0": "f1"}, "constants": {"f1": 0}, "without": ("f0",)}
    assert migrated(pairs, "q_agg_reordered", tmp_path, "accState", **step).kept


@pytest.mark.parametrize("pair", ["q_agg_reordered", "q_agg_sum_max"])
def test_what_would_go_on_under_another_meaning_is_refused(pair: str, pairs: Pairs, tmp_path: Path) -> None:
    """The types fit; what the values are of is compared with what the two queries compute."""
    done = migrated(pairs, pair, tmp_path, "accState")
    assert {account.rule for account in done.open} == {"CMP701"}
    assert not done.kept
    assert not (tmp_path / "out").exists()


def test_fields_that_are_not_said_are_refused(pairs: Pairs, tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match="does not become BIGINT"):
        migrated(pairs, "q_dedup_col_added", tmp_path, "deduplicate-state")

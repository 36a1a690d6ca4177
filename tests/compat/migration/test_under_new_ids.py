"""Operators under other ids whose state has to become something else besides: both are in the recipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.check.decision import check
from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.jvm.errors import JvmError
from compat.loader.jvm.warm import WarmJvms
from compat.migration import under_new_ids
from compat.migration.proposing import propose
from compat.migration.recipe import ConvertState, MoveState, RenameClass, RenameOperator
from compat.migration.under_new_ids import propose_all
from tests import needs
from tests.compat.builders import operator, program, value_state
from tests.compat.migration.in_flink import UPGRADE, language_pairs, migrated
from tests.needs import Need

GOLDEN = Path(__file__).parents[2] / "golden"


def test_the_state_of_a_moved_operator_is_checked_under_its_new_id(java: object, tmp_path: Path) -> None:
    """Flink's classes answer for the operators that a savepoint has ids for: a second check has the new ones."""
    (pair,) = (one for one in language_pairs(UPGRADE) if one["name"] == "scala213_inserted_no_uid")
    try:
        with WarmJvms() as jvms:
            made = migrated(pair, str(tmp_path / "out"), jvms)
    except JvmError as error:
        needs.without(Need.MAVEN, error)
    assert made is not None
    assert [type(step) for step in made[0].steps] == [RenameOperator, ConvertState]
    assert made[1].kept


def test_programs_in_python_are_not_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = GOLDEN / "pyflink-2.3" / "programs" / "pairs" / "uids_added"
    saved = str(GOLDEN / "savepoints_of_pairs" / "uids_added")
    comparison = Comparison(old=saved, new=str(program / "new.py"), names=str(program / "old.py"))
    (report,) = compare(comparison).outcomes
    assert isinstance(report, Report)
    monkeypatch.delattr(under_new_ids, "compare")
    assert propose_all(report, comparison) == propose(report)
    assert any(isinstance(one.step, RenameOperator) for one in propose(report))


def test_without_its_files_a_savepoint_is_not_checked_again(tmp_path: Path) -> None:
    states = (value_state("n", type="Long"),)
    old = operator("Count", id="a" * 32, states=states, detail={"unnamed": True})
    new = operator("Count", id="b" * 32, states=states)
    sides = program("saved", old, kind="savepoint", language="java"), program("new.jar", new, language="java")
    report = check(*sides)
    report = replace(
        report, mapping=tuple(replace(row, successor=new) if row.old is old else row for row in report.mapping)
    )
    assert any(isinstance(one.step, RenameOperator) for one in propose(report))
    comparison = Comparison(old=str(tmp_path), new="new.jar")
    assert propose_all(report, comparison) == propose(report)


def test_steps_have_the_names_of_the_savepoint() -> None:
    called = {"new": "old", "ab" * 16: "old"}
    convert = ConvertState(operator="ab" * 16, state="s")
    assert under_new_ids._of(convert, called) == ConvertState(operator="old", state="s")
    moved = MoveState(operator="other", state="s", to="new")
    assert under_new_ids._of(moved, called) == MoveState(operator="other", state="s", to="old")
    renamed = RenameClass(name="new", to="newer")
    assert under_new_ids._of(renamed, called) is renamed

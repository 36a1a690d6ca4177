"""The command that moves state, as findings name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from compat.check.findings import Report
from compat.check.moving import Moving
from compat.comparison import Comparison, compare
from compat.migration.proposing import propose
from compat.migration.recipe import ConvertKey, DropOperator, DropState, Open

GOLDEN = Path(__file__).parents[2] / "golden"
SAVED = GOLDEN / "savepoints_of_pairs"
PROGRAMS = GOLDEN / "pyflink-2.3" / "programs" / "pairs"


def report(old: Path, new: Path, *, names: Path | None = None) -> Report:
    named = None if names is None else str(names)
    (found,) = compare(Comparison(old=str(old), new=str(new), names=named)).outcomes
    assert isinstance(found, Report)
    return found


def moves(found: Report) -> set[str | None]:
    return {fix.code for finding in found.findings for fix in finding.fixes if fix.moves}


def test_names_with_blanks_are_quoted_and_what_is_not_known_is_a_variable() -> None:
    moving = Moving(recipe="my recipe.yaml", out="out", options="-D a=b")
    assert moving.command("sp 1", "new.py", "old.py") == (
        "compat migrate 'sp 1' new.py out --names old.py --recipe 'my recipe.yaml' -D a=b"
    )
    assert Moving().command(None, "new.py", None) == 'compat migrate "$SAVEPOINT" new.py migrated --recipe recipe.yaml'


def test_a_snapshot_on_spark_is_moved_by_the_job_that_starts_from_it() -> None:
    moving = Moving(options="--main-class A", options_of_run="-D a=b")
    assert moving.restore("sp 1", "new.py") == "compat job run new.py -s 'sp 1' --recipe recipe.yaml -D a=b"


def test_a_savepoint_is_named_and_so_is_the_program_that_wrote_it() -> None:
    pair = PROGRAMS / "state_renamed"
    named = {Moving().command(str(SAVED / "state_renamed"), str(pair / "new.py"), str(pair / "old.py"))}
    assert moves(report(SAVED / "state_renamed", pair / "new.py", names=pair / "old.py")) == named


def test_of_two_programs_the_savepoint_is_a_variable() -> None:
    pair = PROGRAMS / "state_renamed"
    named = {Moving().command(None, str(pair / "new.py"), str(pair / "old.py"))}
    assert moves(report(pair / "old.py", pair / "new.py")) == named


def test_of_two_programs_an_id_that_moved_is_pinned_and_not_moved_in_a_savepoint() -> None:
    pair = PROGRAMS / "operator_inserted_no_uid"
    assert moves(report(SAVED / pair.name, pair / "new.py"))
    assert not moves(report(pair / "old.py", pair / "new.py"))


@pytest.mark.parametrize("pair", sorted(path.name for path in SAVED.iterdir()))
def test_every_step_that_keeps_state_is_named_by_a_finding(pair: str) -> None:
    """With the program that wrote it, what a recipe has a step for is told to be movable, and nothing else is.

    Keys have a step where NEW may tell how it writes them, and are told where it does.
    """
    found = report(SAVED / pair, PROGRAMS / pair / "new.py", names=PROGRAMS / pair / "old.py")
    steps = [step for one in propose(found) for step in (one.step, *one.instead)]
    keep = [step for step in steps if not isinstance(step, Open | DropState | DropOperator)]
    assert any(not isinstance(step, ConvertKey) for step in keep) <= bool(moves(found)) <= bool(keep)

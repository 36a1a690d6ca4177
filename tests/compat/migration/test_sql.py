"""Savepoints of queries, migrated: what is kept of them goes on where the new query has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"
GROUP = "f6dc7f4d2283f4605b127b9364e21148"


def run(command: str, pair: str, flink, *options: object, names: bool = True) -> Result:
    places = [str(JAVA / pair / "savepoint"), str(JAVA / pair / "new.sql")]
    told = ["--names", str(JAVA / pair / "old.sql")] if names else []
    result = CliRunner().invoke(
        main, [command, *places, *map(str, options), *told, "--classpath", ":".join(flink.classpath)]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def migrated(pair: str, flink, folder: Path, step: str) -> Result:
    recipe = folder / "recipe.yaml"
    recipe.write_text(f"steps: [{{step: convert-state, operator: {GROUP}, state: {step}}}]")
    return run("migrate", pair, flink, folder / "out", "--recipe", recipe)


def test_aggregates_in_another_order_are_a_step_and_go_on(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "asked.yaml"
    assert run("check", "q_agg_reordered", flink, "--write-recipe", recipe).exit_code == 1
    assert "  - step: convert-state\n" in recipe.read_text()
    assert "    fields:\n      f0: f1\n      f1: f0\n" in recipe.read_text()
    result = run("migrate", "q_agg_reordered", flink, tmp_path / "out", "--recipe", recipe)
    assert result.exit_code == 0, result.output
    assert "accState converted, 3 entries" in result.stdout


def test_what_begins_and_what_goes_is_asked(flink, tmp_path: Path) -> None:
    for pair, question in (
        ("q_agg_added", "question: SUM(v) would start anew, the rest goes on. May it be so, or may"),
        ("q_agg_sum_max", "question: MAX(v) would start anew and SUM(v) would go, the rest goes on."),
    ):
        recipe = tmp_path / f"{pair}.yaml"
        result = run("check", pair, flink, "--write-recipe", recipe)
        assert result.exit_code == 1
        assert "0 steps, 1 open question. Read it before compat migrate." in result.stderr
        assert question in recipe.read_text()
        assert "  #   - step: convert-state\n" in recipe.read_text()


def test_an_aggregate_that_was_added_begins_with_nothing(flink, tmp_path: Path) -> None:
    result = migrated("q_agg_added", flink, tmp_path, "accState, constants: {f1: null}")
    assert result.exit_code == 0, result.output


def test_a_column_that_was_added_is_null_in_rows_that_are_kept(flink, tmp_path: Path) -> None:
    step = "deduplicate-state, fields: {f3: f2}, constants: {f2: null}"
    result = migrated("q_dedup_col_added", flink, tmp_path, step)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("pair", "step"),
    [
        ("q_agg_reordered", "accState"),
        ("q_agg_sum_max", "accState"),
        ("q_dedup_col_added", "deduplicate-state, fields: {f2: f0, f3: f2}"),
    ],
)
def test_what_would_go_on_under_another_meaning_is_refused(pair: str, step: str, flink, tmp_path: Path) -> None:
    """The types fit; what the values are of is compared with what the two queries compute."""
    result = migrated(pair, flink, tmp_path, step)
    assert result.exit_code in (1, 2), result.output
    assert not (tmp_path / "out").exists()


def test_a_part_that_is_begun_anew_is_settled_by_the_recipe(flink, tmp_path: Path) -> None:
    step = "accState, fields: {f0: f1}, constants: {f1: 0}, without: [f0]"
    result = migrated("q_agg_reordered", flink, tmp_path, step)
    assert result.exit_code == 0, result.output

"""Savepoints of jobs in Java, migrated: Flink's own classes restore them into the new version, on each state backend."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.state.flink import entries, read_metadata

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"


def run(command: str, pair: str, flink, *options: object) -> Result:
    class_name = "".join(word.title() for word in pair.split("_"))
    places = [str(JAVA / pair / "savepoint"), str(JAVA / pair / "new.jar")]
    flags = ["--main-class", class_name, "--classpath", ":".join(flink.classpath)]
    result = CliRunner().invoke(main, [command, *places, *map(str, options), *flags])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def values(folder: Path, state: str = "st") -> dict[object, object]:
    return {entry.key: entry.value for entry in entries(read_metadata(folder)) if entry.state.name == state}


def test_a_renamed_field_is_a_loss_to_the_check_and_none_after_the_recipe(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    checked = run("check", "pojo_field_renamed", flink, "--write-recipe", recipe)
    assert checked.exit_code == 1
    assert "error CMP432 field-values-lost: the values of the field PojoFieldRenamed$P.score" in checked.stdout
    (step,) = [line for line in recipe.read_text().split("  - step: ") if line.startswith("open")]
    assert "Is score of PojoFieldRenamed$P points now?" in step
    recipe.write_text("steps: [{step: rename-field, class: PojoFieldRenamed$P, field: score, to: points}]")
    result = run("migrate", "pojo_field_renamed", flink, tmp_path / "out", "--recipe", recipe)
    assert result.exit_code == 0, result.output
    before, after = values(JAVA / "pojo_field_renamed" / "savepoint"), values(tmp_path / "out")
    assert {key: value.score for key, value in before.items()} == {key: value.points for key, value in after.items()}
    assert len(after) == 3


def test_a_tuple_becomes_a_pojo(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "steps: [{step: convert-state, operator: val, state: st, fields: {name: f0, n: f1}, constants: {last: 7}}]"
    )
    result = run("migrate", "tuple_to_pojo", flink, tmp_path / "out", "--recipe", recipe)
    assert result.exit_code == 0, result.output
    before, after = values(JAVA / "tuple_to_pojo" / "savepoint"), values(tmp_path / "out")
    assert before == {key: (value.name, value.n) for key, value in after.items()}
    assert {value.last for value in after.values()} == {7}


def test_what_kryo_wrote_is_read_by_the_old_class_and_written_by_the_new_one(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    pair, names = "kryo_field_removed", ("--names", JAVA / "kryo_field_removed" / "old.jar")
    assert run("check", pair, flink, *names, "--write-recipe", recipe).exit_code == 1
    assert "  #   - step: convert-state\n  #     operator: val\n  #     state: st\n" in recipe.read_text()
    for without, told in (("", "has no field for extra: name it, or drop it"), (", without: [extra]", "")):
        recipe.write_text(f"steps: [{{step: convert-state, operator: val, state: st{without}}}]")
        result = run("migrate", pair, flink, tmp_path / "out", "--recipe", recipe, *names)
        assert (result.exit_code, told in result.stderr) == (2 if told else 0, True), result.output
    assert "st converted, 3 entries" in result.stdout
    assert f"{JAVA / pair / 'new.jar'} restores all of it." in result.stdout


def test_the_old_class_is_needed_for_what_kryo_wrote(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("steps: [{step: convert-state, operator: val, state: st}]")
    result = run("migrate", "kryo_field_removed", flink, tmp_path / "out", "--recipe", recipe)
    assert result.exit_code == 2
    assert "only OLD's own class reads what Kryo wrote: name the jar that wrote it (--names OLD.jar)" in result.stderr


def test_a_renamed_subclass_is_renamed_in_the_values(flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    pair, names = "pojo_subclass_renamed", ("--names", JAVA / "pojo_subclass_renamed" / "old.jar")
    rename = "{step: rename-class, class: PojoSubclassRenamed$D, to: PojoSubclassRenamed$E}"
    recipe.write_text(f"steps: [{rename}, {{step: convert-state, operator: val, state: st}}]")
    result = run("migrate", pair, flink, tmp_path / "out", "--recipe", recipe, *names)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("pair", "more"),
    [
        ("key_pojo_field_removed", ", without: [region]"),
        ("key_pojo_hash_changed", ""),
        ("key_tuple_to_single", ", single: f0"),
    ],
)
def test_keys_are_where_the_new_class_looks_for_them(pair: str, more: str, flink, tmp_path: Path) -> None:
    """The hash code of a POJO is known to its class alone; the rehearsal tells keys that are in a wrong key group."""
    recipe = tmp_path / "recipe.yaml"
    assert run("check", pair, flink, "--write-recipe", recipe).exit_code == 1
    assert "  #   - step: convert-key\n  #     operator: count\n" in recipe.read_text()
    recipe.write_text(f"steps: [{{step: convert-key, operator: count{more}}}]")
    result = run("migrate", pair, flink, tmp_path / "out", "--recipe", recipe)
    assert result.exit_code == 0, result.output
    assert ": keys converted" in result.stdout
    before, after = (values(folder, "n") for folder in (JAVA / pair / "savepoint", tmp_path / "out"))
    assert sorted(before.values()) == sorted(after.values())
    assert len(after) == 3


@pytest.mark.parametrize(
    ("pair", "step", "told"),
    [
        ("tuple_arity", "{step: convert-state, operator: val, state: st}", "Tuple has no field f2"),
        (
            "pojo_field_renamed",
            "{step: rename-field, class: PojoFieldRenamed$P, field: scores, to: points}",
            "No serializer in the savepoint names the field or constant scores",
        ),
    ],
)
def test_a_recipe_that_does_not_fit_writes_nothing(pair: str, step: str, told: str, flink, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"steps: [{step}]")
    result = run("migrate", pair, flink, tmp_path / "out", "--recipe", recipe)
    assert (result.exit_code, told in result.stderr) == (2, True), result.output
    assert [path.name for path in tmp_path.iterdir()] == ["recipe.yaml"]


def test_the_program_that_wrote_it_tells_nothing_wrong_of_renamed_fields(flink, tmp_path: Path) -> None:
    """OLD's program says how its serializers call the fields, which those of OUT do not any more."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("steps: [{step: rename-field, class: PojoFieldRenamed$P, field: score, to: points}]")
    old = JAVA / "pojo_field_renamed" / "old.jar"
    result = run("migrate", "pojo_field_renamed", flink, tmp_path / "out", "--recipe", recipe, "--names", old)
    assert result.exit_code == 0, result.output

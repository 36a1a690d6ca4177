"""Savepoints of jobs in Java, migrated: Flink's own classes restore them into the new version, on each state backend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from compat.cli import main
from compat.migration.proposing import propose
from compat.migration.recipe import ConvertKey, ConvertState, DropKeys, RenameClass
from compat.state.flink import NotWritten, entries, read_metadata
from tests.compat.migration.conftest import Pairs

JAVA = Path(__file__).parents[2] / "golden" / "java" / "2.3.0"


def run(command: str, pair: str, flink, *options: object) -> Result:
    class_name = "".join(word.title() for word in pair.split("_"))
    places = [str(JAVA / pair / "savepoint"), str(JAVA / pair / "new.jar")]
    flags = ["--main-class", class_name, "--classpath", ":".join(flink.classpath)]
    result = CliRunner().invoke(main, [command, *places, *map(str, options), *flags])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def raw(folder: Path) -> list[tuple[object, ...]]:
    """All entries as they are written."""
    found = read_metadata(folder)
    return sorted((one.state.name, repr(one.key), repr(one.value)) for one in entries(found))


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


def test_a_function_makes_values_of_java_of_others(pairs: Pairs, tmp_path: Path) -> None:
    """It is given tuples, and rows for POJOs; what it gives is written by the form of NEW's serializer, and restored."""
    (tmp_path / "made.py").write_text(
        "def made(old):\n"
        "    return {'name': old[0].upper(), 'n': old[1], 'last': old[1] * 2}\n"
        "def lacking(old):\n"
        "    return {'name': old[0]}\n"
        "def ordered(old):\n"
        "    return old[0], old[1], 7\n"
    )
    step = ConvertState(operator="val", state="st", function=f"{tmp_path}/made.py:made")
    assert pairs.migrate("tuple_to_pojo", tmp_path, step).kept
    before, after = values(JAVA / "tuple_to_pojo" / "savepoint"), values(tmp_path / "out")
    assert before == {key: (value.name.lower(), value.n) for key, value in after.items()}
    assert all(value.last == value.n * 2 for value in after.values())
    for name, told in (("lacking", "its fields are last, n, name"), ("ordered", "give a dict of last, n, name")):
        with pytest.raises(NotWritten, match=f"{name}: .* {told}"):
            pairs.migrate("tuple_to_pojo", tmp_path / name, replace(step, function=f"{tmp_path}/made.py:{name}"))


def test_what_kryo_wrote_is_read_by_the_old_class_and_written_by_the_new_one(pairs: Pairs, tmp_path: Path) -> None:
    proposed = propose(pairs.check("kryo_field_removed", names=True))
    step = ConvertState(operator="val", state="st")
    assert [one.instead[0] for one in proposed] == [step]
    with pytest.raises(NotWritten, match="has no field for extra: name it, or drop it"):
        pairs.migrate("kryo_field_removed", tmp_path, step, names=True)
    with pytest.raises(NotWritten, match=r"name the jar that wrote it \(--names OLD.jar\)"):
        pairs.migrate("kryo_field_removed", tmp_path, step)
    done = pairs.migrate("kryo_field_removed", tmp_path, replace(step, without=("extra",)), names=True)
    assert (done.kept, set(done.entries.values())) == (True, {3})


def test_machines_share_the_values_that_classes_read(flink, tmp_path: Path) -> None:
    """Each of them has OLD's and NEW's classes, in a JVM of its own."""
    pair, recipe = JAVA / "kryo_field_removed", tmp_path / "recipe.yaml"
    recipe.write_text("steps: [{step: convert-state, operator: val, state: st, without: [extra]}]")
    flags = ("--main-class", "KryoFieldRemoved", "--classpath", ":".join(flink.classpath), "--recipe", str(recipe))
    places = [str(pair / "savepoint"), str(pair / "new.jar"), str(tmp_path / "out"), "--names", str(pair / "old.jar")]
    command = [sys.executable, "-m", "compat", "migrate", *places, *flags, "--machine"]
    with subprocess.Popen([*command, "2/2"], stdout=subprocess.PIPE, text=True) as helper:
        leader = subprocess.run([*command, "1/2"], capture_output=True, text=True, timeout=200, check=False)
        told = helper.communicate(timeout=60)[0]
    assert (leader.returncode, helper.returncode) == (0, 0), leader.stdout + leader.stderr + told
    alone = run(
        "migrate", "kryo_field_removed", flink, tmp_path / "alone", "--recipe", recipe, "--names", pair / "old.jar"
    )
    assert alone.exit_code == 0, alone.output
    assert raw(tmp_path / "out") == raw(tmp_path / "alone")


def test_a_renamed_subclass_is_renamed_in_the_values(pairs: Pairs, tmp_path: Path) -> None:
    rename = RenameClass(name="PojoSubclassRenamed$D", to="PojoSubclassRenamed$E")
    step = ConvertState(operator="val", state="st")
    assert pairs.migrate("pojo_subclass_renamed", tmp_path, rename, step, names=True).kept


@pytest.mark.parametrize(
    ("pair", "step"),
    [
        ("key_pojo_field_removed", ConvertKey(operator="count", without=("region",))),
        ("key_pojo_hash_changed", ConvertKey(operator="count")),
        ("key_tuple_to_single", ConvertKey(operator="count", single="f0")),
    ],
)
def test_keys_are_where_the_new_class_looks_for_them(pair: str, step: ConvertKey, pairs: Pairs, tmp_path: Path) -> None:
    """The hash code of a POJO is known to its class alone; the rehearsal tells keys that are in a wrong key group."""
    (one,) = propose(pairs.check(pair))
    assert one.instead[0] == ConvertKey(operator="count")
    assert pairs.migrate(pair, tmp_path, step).kept
    before, after = (values(folder, "n") for folder in (JAVA / pair / "savepoint", tmp_path / "out"))
    assert sorted(map(str, before.values())) == sorted(map(str, after.values()))
    assert len(after) == 3


def test_keys_of_java_go_and_the_others_become_others(pairs: Pairs, tmp_path: Path) -> None:
    steps = DropKeys(operator="count", fields={"f0": 1}), ConvertKey(operator="count", single="f0")
    done = pairs.migrate("key_tuple_to_single", tmp_path, *steps)
    assert (done.kept, sum(done.tally.dropped.values())) == (True, 1)
    assert values(tmp_path / "out", "n").keys() == {0, 2}


def test_a_function_makes_keys_of_java_of_others(pairs: Pairs, tmp_path: Path) -> None:
    """The rehearsal tells keys that are in a wrong key group: the hash codes are those of what the function gives."""
    (tmp_path / "keys.py").write_text("def moved(key): return 100 + key[0]\n")
    step = ConvertKey(operator="count", function=f"{tmp_path}/keys.py:moved")
    assert pairs.migrate("key_tuple_to_single", tmp_path, step).kept
    assert values(tmp_path / "out", "n").keys() == {100, 101, 102}


def test_a_function_chooses_among_keys_of_java(pairs: Pairs, tmp_path: Path) -> None:
    """It is given what the key is made of: here a POJO as a row."""
    (tmp_path / "keys.py").write_text("def old(key): return key.id == 1\n")
    steps = (
        DropKeys(operator="count", function=f"{tmp_path}/keys.py:old"),
        ConvertKey(operator="count", without=("region",)),
    )
    done = pairs.migrate("key_pojo_field_removed", tmp_path, *steps)
    assert (done.kept, sum(done.tally.dropped.values())) == (True, 1)
    assert sorted(key.id for key in values(tmp_path / "out", "n")) == [0, 2]  # type: ignore[attr-defined]


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

"""Recipes as files: what is read, and what a person is told of one that is wrong."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from compat.migration.recipe import (
    STEPS,
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    DropOperator,
    DropState,
    MoveOffsets,
    MoveState,
    Open,
    RenameClass,
    RenameField,
    RenameOperator,
    RenameState,
    read_recipe,
)
from compat.savepoint.operators import RequestError

EVERY = """
recipe: 1
steps:
  - {step: rename-operator, operator: a, to: b}
  - {step: drop-operator, operator: a}
  - {step: rename-state, operator: a, state: s, to: t}
  - {step: move-state, operator: a, state: s, to: b, as: t}
  - {step: move-state, operator: a, state: s, to: b}
  - {step: drop-state, operator: a, state: s}
  - {step: rename-class, class: acme.Old, to: acme.New}
  - {step: rename-field, class: acme.Old, field: f, to: g}
  - {step: convert-state, operator: a, state: s, fields: {n: f0}, constants: {note: "", rate: 0.5, gone: null}, without: [f1]}
  - {step: convert-state, operator: a, state: m, single: f0, entry: total}
  - {step: convert-state, operator: a, state: p, function: /f.py:convert, drops: true}
  - {step: convert-key, operator: a, fields: {id: f0}, constants: {region: 0}, without: [f1]}
  - {step: convert-key, operator: a, function: /f.py:key, merge: {s: sum, t: /f.py:both}}
  - {step: drop-keys, operator: a, keys: [1, b]}
  - {step: drop-keys, operator: a, fields: {region: eu}}
  - {step: drop-keys, operator: a, function: /f.py:old}
  - {step: convert-windows, operator: a, size: 5 min, offset: 1 min, merge: {window-contents: all}}
  - {step: move-offsets, operator: a, topics: {t: u}, partitions: {p-0: p-1}, offsets: {t-0: 5, t-1: latest}}
  - {step: open, question: What?, operator: a, state: s}
"""


def written(text: str, folder: Path) -> str:
    file = folder / "recipe.yaml"
    file.write_text(text)
    return str(file)


def test_every_step_is_read(tmp_path: Path) -> None:
    recipe = read_recipe(written(EVERY, tmp_path))
    assert recipe.steps == (
        RenameOperator(operator="a", to="b"),
        DropOperator(operator="a"),
        RenameState(operator="a", state="s", to="t"),
        MoveState(operator="a", state="s", to="b", name="t"),
        MoveState(operator="a", state="s", to="b"),
        DropState(operator="a", state="s"),
        RenameClass(name="acme.Old", to="acme.New"),
        RenameField(owner="acme.Old", name="f", to="g"),
        ConvertState(
            operator="a",
            state="s",
            fields={"n": "f0"},
            constants={"note": "", "rate": 0.5, "gone": None},
            without=("f1",),
        ),
        ConvertState(operator="a", state="m", single="f0", entry="total"),
        ConvertState(operator="a", state="p", function="/f.py:convert", drops=True),
        ConvertKey(operator="a", fields={"id": "f0"}, constants={"region": 0}, without=("f1",)),
        ConvertKey(operator="a", function="/f.py:key", merge={"s": "sum", "t": "/f.py:both"}),
        DropKeys(operator="a", keys=(1, "b")),
        DropKeys(operator="a", fields={"region": "eu"}),
        DropKeys(operator="a", function="/f.py:old"),
        ConvertWindows(operator="a", size="5 min", offset="1 min", merge={"window-contents": "all"}),
        MoveOffsets(operator="a", topics={"t": "u"}, partitions={"p-0": "p-1"}, offsets={"t-0": 5, "t-1": "latest"}),
        Open(question="What?", operator="a", state="s"),
    )
    assert recipe.questions == recipe.steps[-1:]
    assert {type(step) for step in recipe.steps} == set(STEPS)
    assert msgspec.yaml.decode(msgspec.yaml.encode(recipe), type=type(recipe)) == recipe


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("steps: [{step: rename-stat, operator: a, state: s, to: t}]", "no step is called 'rename-stat'. Did you mean"),
        ("steps: [{step: nonsense}]", "no step is called 'nonsense'. There are rename-operator, drop-operator,"),
        ("steps: [{step: drop-state, operator: a}]", "step 1: object missing required field `state`."),
        ("steps: [{step: drop-operator, operator: a}, {step: drop-state, operator: a, state: 3}]", "step 2: expected"),
        ("steps: [{step: drop-operator, operator: a, too: b}]", "step 1: object contains unknown field `too`."),
        ("steps: [{operator: a}]", "step 1: object missing required field `step`."),
        ("step: []", "the recipe: object contains unknown field `step`."),
        ("recipe: 2\nsteps: []", "recipes of format 2 are not known here"),
        ("steps: [", "this is no YAML"),
        ("- a", "the recipe: expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    file = written(text, tmp_path)
    with pytest.raises(RequestError) as refused:
        read_recipe(file)
    assert str(refused.value).startswith(f"{file}: {told}")


def test_a_merge_is_a_rule_or_a_function(tmp_path: Path) -> None:
    file = written("steps: [{step: convert-key, operator: a, merge: {s: all, t: f.py:both}}]", tmp_path)
    assert read_recipe(file).steps == (ConvertKey(operator="a", merge={"s": "all", "t": f"{tmp_path}/f.py:both"}),)
    file = written("steps: [{step: convert-key, operator: a, merge: {s: most}}]", tmp_path)
    with pytest.raises(RequestError, match="this is 'most'"):
        read_recipe(file)


def test_a_function_is_in_a_file_beside_the_recipe(tmp_path: Path) -> None:
    file = written("steps: [{step: convert-key, operator: a, function: more/f.py:key}]", tmp_path)
    assert read_recipe(file).steps == (ConvertKey(operator="a", function=f"{tmp_path}/more/f.py:key"),)


@pytest.mark.parametrize("named", ["f.py", "key", "f.py:", ":key", "f.py:a b"])
def test_what_names_no_function_is_refused(named: str, tmp_path: Path) -> None:
    file = written(f"steps: [{{step: drop-keys, operator: a, function: '{named}'}}]", tmp_path)
    with pytest.raises(RequestError, match=r"A function is named by its file and its name, FILE\.py:NAME"):
        read_recipe(file)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"recipe\.yaml: cannot be read: No such file"):
        read_recipe(str(tmp_path / "recipe.yaml"))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="a recipe of more than"):
        read_recipe(written("# " + "x" * (1 << 20), tmp_path))

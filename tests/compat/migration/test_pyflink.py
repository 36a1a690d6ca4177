"""Savepoints of PyFlink, migrated: what a real PyFlink read of them, as it was recorded, and what is read of them here.

`in_pyflink` records it anew.
"""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from compat.migration.migrating import Migration, migrate
from compat.migration.recipe import ConvertKey, ConvertState, DropKeys, Recipe, Step, read_recipe
from compat.savepoint.load import read_names
from compat.savepoint.operators import RequestError
from compat.state.flink import NotWritten, entries, read_draft, read_metadata
from tests.compat.migration.in_pyflink import (
    ANSWERS,
    PAIRS,
    RESULTS,
    TOLD,
    check_of,
    migrated,
    proposed,
    recipe_of,
    version_of_pair,
)

RECORDS: list[dict[str, Any]] = [json.loads(line) for line in RESULTS.read_text().splitlines()]
NAMES = sorted(ANSWERS)
PICKLES = ("pickled_dict", "pickled_list")
"""Pairs whose types do not tell that anything changed: nothing is asked."""


def held(folder: Path) -> Counter[str]:
    """All that a savepoint holds of keys, and of broadcast state."""
    return Counter(
        repr((one.state.name, one.key_group, one.key, one.namespace, one.map_key, one.value, one.last_used))
        for one in entries(read_metadata(folder))
    )


def test_every_pair_was_recorded() -> None:
    assert [record["name"] for record in RECORDS] == NAMES
    assert {path.name for path in PAIRS.iterdir()} == set(NAMES)
    assert [msgspec.convert(record["recipe"], Recipe).steps for record in RECORDS] == [ANSWERS[name] for name in NAMES]
    assert all(record["version"].startswith(version_of_pair(record["name"])) for record in RECORDS)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record["name"])
def test_the_new_version_read_what_the_recipe_says_on_each_backend(record: dict[str, Any]) -> None:
    before = json.loads((PAIRS / record["name"] / "before.json").read_text())
    told = TOLD[record["name"]](before)
    assert told
    assert record["read"].keys() == {"hashmap", "rocksdb"}
    for read in record["read"].values():
        assert read == told


@pytest.mark.parametrize("name", NAMES)
def test_the_savepoint_is_what_it_was_when_it_was_recorded(name: str, tmp_path: Path) -> None:
    done = migrated(name, tmp_path / "out", recipe_of(name, tmp_path))
    assert done.kept
    before, after = held(PAIRS / name / "savepoint"), held(tmp_path / "out")
    assert (after == before) is (name == "uid_renamed")
    gone = (
        sum((done.tally.dropped + done.tally.merged).values()) if name != "map_to_value" else len(before) - len(after)
    )
    assert sum(after.values()) + gone == sum(before.values())


@pytest.mark.parametrize("name", sorted({*NAMES} - {*PICKLES, "keys_dropped"}))
def test_the_step_is_among_those_that_the_check_proposes(name: str) -> None:
    """What a person adds is the name of a function, or what becomes of fields."""
    # The key of what becomes an entry of a map, nobody can tell.
    assert name == "value_to_map" or set(map(_kind, ANSWERS[name])) <= set(map(_kind, proposed(name)))


def _kind(step: Step) -> tuple[type[Step], bool]:
    return type(step), isinstance(step, ConvertKey | ConvertState) and step.function is not None


BACK: dict[str, tuple[Step, str]] = {
    "key_pickled": (ConvertKey(operator="keep", function="back.py:same"), "def same(key): return key\n"),
    "key_row_shrinks": (ConvertKey(operator="keep", single="f0", constants={"f1": "eu"}), ""),
    "key_to_pickled": (ConvertKey(operator="keep", function="back.py:number"), "def number(key): return key[1]\n"),
    "key_to_text": (ConvertKey(operator="keep"), ""),
    "key_to_tuple": (ConvertKey(operator="keep", single="f0", without=("f1",)), ""),
    "long_to_pickled": (
        ConvertState(operator="keep", state="s", function="back.py:number"),
        "def number(old): return old['n']\n",
    ),
    "map_key_type": (ConvertState(operator="keep", state="s"), ""),
    "pickled_dict": (
        ConvertState(operator="keep", state="s", function="back.py:n"),
        "def n(old): return {'n': old['count']}\n",
    ),
    "pickled_list": (
        ConvertState(operator="keep", state="s", function="back.py:pair"),
        "def pair(old): return old['n'], old['text']\n",
    ),
    "pickled_map": (
        ConvertState(operator="keep", state="s", function="back.py:pair"),
        "def pair(key, old): return f'k{key}', (old['n'],)\n",
    ),
    "pickled_to_long": (
        ConvertState(operator="keep", state="s", function="back.py:boxed"),
        "def boxed(old): return {'n': old}\n",
    ),
    "row_fields": (ConvertState(operator="keep", state="s", fields={"n": "count"}, without=("note",)), ""),
    "ttl_kept": (
        ConvertState(operator="keep", state="s", function="back.py:boxed"),
        "def boxed(old): return {'n': old}\n",
    ),
    "ttl_enabled": (ConvertState(operator="keep", state="s"), ""),
    "type_and_ttl": (ConvertState(operator="keep", state="s"), ""),
    "value_to_list": (ConvertState(operator="keep", state="s"), ""),
    "broadcast_type": (
        ConvertState(operator="keep", state="rules", function="back.py:n"),
        "def n(old): return old['n']\n",
    ),
}
"""The inverse of what becomes of each pair, where none is lost."""


@pytest.mark.parametrize("name", sorted(BACK))
def test_a_recipe_and_its_inverse_give_the_values_back(name: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    assert migrated(name, there, recipe_of(name, tmp_path)).kept
    step, text = BACK[name]
    (tmp_path / "back.py").write_text(text)
    (tmp_path / "back.yaml").write_bytes(msgspec.yaml.encode(Recipe(steps=(step,))))
    recipe = read_recipe(str(tmp_path / "back.yaml"))
    assert migrated(name, tmp_path / "back", recipe, there, back=True).kept
    assert held(tmp_path / "back") == held(PAIRS / name / "savepoint")


def of(name: str, folder: Path, step: Step, text: str = "", **options: Any) -> Any:
    """A pair, migrated by another step, whose function is in a file."""
    (folder / "f.py").write_text(text)
    (folder / "recipe.yaml").write_bytes(msgspec.yaml.encode(Recipe(steps=(step,))))
    return migrated(name, folder / "out", read_recipe(str(folder / "recipe.yaml")), **options)


@pytest.mark.parametrize(
    ("step", "left"),
    [
        (DropKeys(operator="keep", keys=(1, 3)), {0, 2}),
        (DropKeys(operator="keep", keys=(7,)), {0, 1, 2, 3}),
        (DropKeys(operator="keep", function="f.py:even"), {1, 3}),
    ],
)
def test_keys_go_with_their_timers(step: DropKeys, left: set[int], tmp_path: Path) -> None:
    done = of("keys_dropped", tmp_path, step, "def even(key): return key % 2 == 0\n")
    assert done.kept
    keyed = [one for one in entries(read_metadata(tmp_path / "out")) if one.key_group is not None]
    assert {(one.state.kind.timers, one.key[0]) for one in keyed} == {
        (timers, key) for timers in (True, False) for key in left
    }
    assert sum(done.tally.dropped.values()) == 2 * (4 - len(left))


def test_keys_go_by_fields_of_rows(tmp_path: Path) -> None:
    back = migrated(
        "key_row_shrinks", tmp_path / "out", Recipe(steps=(DropKeys(operator="keep", fields={"f0": 1}),)), same=True
    )
    assert back.kept
    assert {one.key[0][0] for one in entries(read_metadata(tmp_path / "out")) if one.key_group is not None} == {0, 2}


def test_what_was_pickled_and_is_still_needs_no_old_program(tmp_path: Path) -> None:
    step = ConvertState(operator="keep", state="s", function="f.py:counted")
    text = "def counted(old): return {'count': old['n'], 'unit': 'piece'}\n"
    assert of("pickled_dict", tmp_path, step, text, named=False).kept
    (value, *_) = (one.value for one in entries(read_metadata(tmp_path / "out")) if one.state.declared_name == "s")
    assert pickle.loads(value[0][4:]) == {"count": 83, "unit": "piece"}


def test_elements_that_a_function_gives_none_for_go(tmp_path: Path) -> None:
    step = ConvertState(operator="keep", state="s", function="f.py:few", drops=True)
    text = "def few(old): return None if old[0] in (3, 6, 9, 1) else {'n': old[0], 'text': old[1]}\n"
    done = of("pickled_list", tmp_path, step, text)
    assert (done.kept, list(done.entries.values()), list(done.tally.dropped.values())) == (True, [2], [1])


@pytest.mark.parametrize(
    ("name", "step", "text", "told"),
    [
        (
            "pickled_dict",
            ConvertState(operator="keep", state="s", function="f.py:f"),
            "def f(old): return old['count']\n",
            "the values of the state `python-state-s` cannot be converted (",
        ),
        (
            "pickled_dict",
            ConvertState(operator="keep", state="s", function="f.py:f"),
            "def f(old): return old['count']\n",
            "f.py:f: it fails for {'n': 83}: KeyError: 'count' (line 1 of f)",
        ),
        (
            "pickled_to_long",
            ConvertState(operator="keep", state="s", function="f.py:f"),
            "def f(old): return str(old['n'])\n",
            "f.py:f: '90' is not of the type Long",
        ),
        (
            "key_pickled",
            ConvertKey(operator="keep", function="f.py:f"),
            "def f(key): return 'one'\n",
            "two keys become one, and both have a value of `python-state-s`: say how they `merge`",
        ),
        (
            "pickled_map",
            ConvertState(operator="keep", state="s", function="f.py:f"),
            "def f(key, old): return 1, old\n",
            "two keys in a map of the state `python-state-s` become one",
        ),
        (
            "list_to_sum",
            ConvertState(operator="keep", state="s"),
            "",
            "a list of 3 elements is no single value",
        ),
        ("key_to_pickled", ConvertKey(operator="keep"), "", "Long does not become BytePrimitiveArray"),
        ("keys_dropped", DropKeys(operator="keep", keys=("a",)), "", "'a' is not a whole number"),
        ("keys_dropped", DropKeys(operator="keep", fields={"f1": 1}), "", "Long has no field f1; it has none"),
    ],
)
def test_what_does_not_become_others_writes_nothing(
    name: str, step: Step, text: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(NotWritten) as caught:
        of(name, tmp_path, step, text)
    assert told in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "step", "told"),
    [
        ("long_to_pickled", ConvertState(operator="keep", state="s"), "Long does not become PickledByteArray"),
        ("value_to_map", ConvertState(operator="keep", state="s"), "unless `entry` is its key, or a function says how"),
        ("keys_dropped", DropKeys(operator="keep"), "Say which keys of 'KEYED PROCESS'"),
        (
            "keys_dropped",
            DropKeys(operator="keep", keys=(1,), function="f.py:f"),
            "by keys, by fields, or by a function.",
        ),
        ("keys_dropped", DropKeys(operator="numbers", keys=(1,)), "has no state of keys."),
        (
            "keys_dropped",
            ConvertState(operator="numbers", state="SourceReaderState", function="f.py:f"),
            "NEW does not tell how it writes 'SourceReaderState'",
        ),
    ],
)
def test_what_a_step_cannot_mean_is_refused(name: str, step: Step, told: str, tmp_path: Path) -> None:
    with pytest.raises((RequestError, NotWritten)) as caught:
        of(name, tmp_path, step)
    assert told in str(caught.value)


def test_what_a_program_cannot_have_written_is_refused(tmp_path: Path) -> None:
    """A program that is named by mistake: its state of the same name is a map."""
    step = ConvertState(operator="keep", state="s", function=f"{tmp_path}/f.py:f")
    check = replace(check_of("pickled_dict", str(tmp_path / "out")), names=None)
    names = read_names(str(PAIRS / "pickled_map" / "old.py"), check.load, None)
    draft = read_draft(read_metadata(PAIRS / "pickled_dict" / "savepoint"))
    with pytest.raises(RequestError, match=r"another kind of state wrote it: name the program that did"):
        migrate(Migration(draft=draft, recipe=Recipe(steps=(step,)), names=names, check=check))


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("sum", "`sum` is not known of 's', which is bytes to Flink: name a function"),
        ("all", "`all` is not known of 's'"),
        ("f.py:f", "f.py:f: it fails for [43, 42]: ZeroDivisionError: division by zero"),
    ],
)
def test_what_does_not_merge_writes_nothing(how: str, told: str, tmp_path: Path) -> None:
    step = ConvertKey(operator="keep", single="f0", without=("f1",), merge={"s": how})
    with pytest.raises((RequestError, NotWritten)) as caught:
        of("keys_merged", tmp_path, step, "def f(values): return sorted(values)[0] / 0\n")
    assert told.partition("[")[0] in str(caught.value)
    assert told.rpartition("]")[2] in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_step_is_said_once(tmp_path: Path) -> None:
    for step, told in (
        (DropKeys(operator="keep", keys=(1,)), "says twice which keys of 'KEYED PROCESS'"),
        (ConvertKey(operator="keep"), "says twice what happens to the keys of 'KEYED PROCESS'"),
    ):
        with pytest.raises(RequestError, match=told):
            migrated("key_to_text", tmp_path / "out", Recipe(steps=(step, step)))


def test_keys_go_and_the_others_become_others_at_once(tmp_path: Path) -> None:
    steps = ConvertKey(operator="keep"), DropKeys(operator="keep", keys=(1,))
    assert migrated("key_to_text", tmp_path / "out", Recipe(steps=steps)).kept
    assert {one.key[0] for one in entries(read_metadata(tmp_path / "out")) if one.key_group is not None} == {"0", "2"}


def test_the_process_of_the_check_opens_no_pickle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a pickle was opened")

    for function in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, function, refuse)
    for name in ("pickled_to_long", "key_pickled"):
        (tmp_path / name).mkdir()
        assert migrated(name, tmp_path / name / "out", recipe_of(name, tmp_path / name)).kept

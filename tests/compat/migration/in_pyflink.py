"""Jobs in PyFlink and the savepoints of their old versions, migrated by recipes and restored in a real PyFlink.

``python -m tests.compat.migration.in_pyflink PYTHON [NAME…]``, with an interpreter that has PyFlink, runs the old version of
each pair that has no savepoint yet, migrates that by the answer to what the check proposes, and records what the new version
reads of each key, on each state backend.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from compat.check.findings import Report
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from compat.migration.migrating import Migrated, Migration, migrate
from compat.migration.proposing import perhaps, propose
from compat.migration.recipe import (
    ConvertKey,
    ConvertState,
    ConvertWindows,
    DropKeys,
    Open,
    Recipe,
    RenameOperator,
    RenameState,
    Step,
    read_recipe,
)
from compat.savepoint.load import read_names
from compat.state.flink import read_draft, read_metadata
from tests.compat.restores.record import Served, version_of

PAIRS = Path(__file__).parents[2] / "golden" / "migrations" / "pyflink"
RESULTS = PAIRS.parent / "pyflink_results.jsonl"
BACKENDS = ("hashmap", "rocksdb")
OF_1_20 = frozenset({"ttl_disabled", "ttl_enabled"})
"""Pairs of Flink 1.20, which does not convert the values itself; the others are of 2.3."""


def state(**fields: Any) -> ConvertState:
    """The step for the state of a pair."""
    return ConvertState(operator="keep", state="s", **fields)


def through(name: str, **fields: Any) -> ConvertState:
    """The same through a function of the pair."""
    return state(function=f"functions.py:{name}", **fields)


ANSWERS: dict[str, tuple[Step, ...]] = {
    "broadcast_type": (ConvertState(operator="keep", state="rules", function="functions.py:boxed"),),
    "key_of_window": (
        ConvertKey(operator="keep", function="functions.py:text"),
        ConvertState(operator="keep", state="window-contents", function="functions.py:by_text"),
    ),
    "key_pickled": (ConvertKey(operator="keep", function="functions.py:text"),),
    "key_row_shrinks": (ConvertKey(operator="keep", single="f0", without=("f1",)),),
    "key_to_pickled": (ConvertKey(operator="keep", function="functions.py:paired"),),
    "key_to_text": (ConvertKey(operator="keep"),),
    "key_to_tuple": (ConvertKey(operator="keep", single="f0", constants={"f1": "eu"}),),
    "keys_dropped": (DropKeys(operator="keep", function="functions.py:odd"),),
    "keys_merged": (ConvertKey(operator="keep", single="f0", without=("f1",), merge={"s": "functions.py:total"}),),
    "list_to_sum": (through("total"),),
    "long_to_pickled": (through("boxed"),),
    "map_to_value": (through("summed"),),
    "map_key_type": (state(),),
    "pickled_dict": (through("counted"),),
    "pickled_list": (through("named"),),
    "pickled_map": (through("by_number"),),
    "pickled_to_long": (through("number"),),
    "reducing_to_aggregating": (through("accumulated"),),
    "row_fields": (state(fields={"count": "n"}, constants={"note": "old"}),),
    "ttl_and_type": (state(),),
    "state_renamed": (RenameState(operator="keep", state="s", to="total"),),
    "ttl_disabled": (state(),),
    "ttl_enabled": (state(),),
    "ttl_kept": (through("number"),),
    "type_and_ttl": (state(),),
    "uid_renamed": (RenameOperator(operator="keep", to="kept"),),
    "value_to_list": (state(),),
    "value_to_map": (state(entry="n"),),
    "windows_longer": (ConvertWindows(operator="keep", size="20 s", merge={"window-contents": "functions.py:joined"}),),
}
"""What a person has to say of each pair."""

Read = Mapping[str, str]
"""What was read of each state and key, as a program printed it."""


def values(change: Callable[[str], str]) -> Callable[[Read], Read]:
    """What the recipe says of values that are printed so."""
    return lambda before: {label: change(value) for label, value in before.items()}


def keys(change: Callable[[str], str], *, timers: bool = False) -> Callable[[Read], Read]:
    """The same of keys; those that had timers have them still."""

    def told(before: Read) -> Read:
        changed = {change(label.removeprefix("c.s.")): value for label, value in before.items()}
        fired = {f"c.timer.{key}": "fired" for key in changed} if timers else {}
        return {f"c.s.{key}": value for key, value in changed.items()} | fired

    return told


TOLD: dict[str, Callable[[Read], Read]] = {
    "broadcast_type": lambda _: {"c.rules.0": "{'k0': {'n': 5}, 'k1': {'n': 6}}"},
    "key_of_window": lambda before: {label.replace("window.", "window.k"): value for label, value in before.items()},
    "key_pickled": keys(str, timers=True),
    "key_row_shrinks": keys(lambda key: key[len("Row(f0=")]),
    "key_to_pickled": keys(lambda key: f"('k', {key})"),
    "key_to_text": keys(str, timers=True),
    "key_to_tuple": keys(lambda key: f"({key}, 'eu')"),
    "keys_dropped": lambda before: {
        label: value for label, value in keys(str, timers=True)(before).items() if int(label[-1]) % 2 == 0
    },
    "keys_merged": lambda before: {
        f"c.s.{key}": str(sum(int(value) for label, value in before.items() if label.startswith(f"c.s.({key},")))
        for key in range(3)
    },
    "list_to_sum": values(lambda value: str(sum(json.loads(value)))),
    "long_to_pickled": values(lambda value: f"{{'n': {value}}}"),
    "map_to_value": values(lambda value: str(sum(_read(value).values()))),
    "map_key_type": values(lambda value: repr({str(key): str(one) for key, one in _read(value).items()})),
    "pickled_dict": values(lambda value: repr({"count": _read(value)["n"], "unit": "piece"})),
    "pickled_list": values(lambda value: repr([{"n": n, "text": text} for n, text in _read(value)])),
    "pickled_map": values(lambda value: repr({int(key[1:]): {"n": one[0]} for key, one in _read(value).items()})),
    "pickled_to_long": values(lambda value: str(_read(value)["n"])),
    "reducing_to_aggregating": values(lambda value: str(int(value) / 10)),
    "row_fields": values(
        lambda value: value.replace("n=", "count=").replace("last=", "last='")[:-1] + "', note='old')"
    ),
    "ttl_and_type": values(str),
    "state_renamed": values(str),
    "ttl_disabled": values(str),
    "ttl_enabled": values(str),
    "ttl_kept": values(lambda value: str(_read(value)["n"])),
    "type_and_ttl": values(str),
    "uid_renamed": keys(str, timers=True),
    "value_to_list": values(lambda value: f"[{value}]"),
    "value_to_map": values(lambda value: f"{{'n': {value}}}"),
    "windows_longer": lambda before: {
        f"c.window.{key}@{start}": str(sum(int(before[f"c.window.{key}@{begin}"]) for begin in (start, start + 10_000)))
        for key in range(3)
        for start in (0, 20_000)
    },
}
"""What the new version reads by what the recipe says, of what the old version had left."""


def _read(value: str) -> Any:
    from ast import literal_eval

    return literal_eval(value)


def version_of_pair(name: str) -> str:
    """The minor version of Flink that a pair is of."""
    return "1.20" if name in OF_1_20 else "2.3"


def check_of(name: str, old: str, *, back: bool = False) -> Comparison:
    """The check of a savepoint and the new version of a pair, whose old one tells names; ``back`` is the other way round."""
    versions = [str(PAIRS / name / f"{version}.py") for version in ("old", "new")]
    before, after = reversed(versions) if back else versions
    return Comparison(old=old, new=after, load=LoadOptions(flink=version_of_pair(name)), names=before)


def proposed(name: str) -> list[Step]:
    """All steps that the check of a pair proposes, and those that could answer its questions."""
    (report,) = compare(check_of(name, str(PAIRS / name / "savepoint"))).outcomes
    assert isinstance(report, Report)
    found = propose(report) or perhaps(report)
    return [step for one in found for step in (one.instead if isinstance(one.step, Open) else (one.step,))]


def recipe_of(name: str, folder: Path) -> Recipe:
    """The recipe of a pair, read from a file beside its function."""
    functions = PAIRS / name / "functions.py"
    if functions.exists():
        shutil.copy(functions, folder)
    file = folder / "recipe.yaml"
    file.write_bytes(msgspec.yaml.encode(Recipe(steps=ANSWERS[name])))
    return read_recipe(str(file))


def migrated(
    name: str,
    out: Path,
    recipe: Recipe,
    saved: Path | None = None,
    *,
    back: bool = False,
    named: bool = True,
    same: bool = False,
) -> Migrated:
    """The savepoint of a pair's old version, or another one, migrated.

    ``named`` says that its program tells names, ``same`` that this goes on with the savepoint.
    """
    check = check_of(name, str(out), back=back or same)
    old = (check.new if same else check.names) if named else None
    names = read_names(old, check.load, None)
    draft = read_draft(read_metadata(saved or PAIRS / name / "savepoint"))
    return migrate(Migration(draft=draft, recipe=recipe, names=names, check=replace(check, names=None), old=old))


def left(name: str, pyflink: Served, folder: str) -> None:
    """Run the old version of a pair, and keep its savepoint and what it had printed last."""
    asked = {"old": (PAIRS / name / "old.py").read_text(), "new": None, "told": [], "outputs": "", "folder": folder}
    found = pyflink.asked(asked)
    assert found["outcome"] == "left", found
    shutil.copytree(found["at"].removeprefix("file:"), PAIRS / name / "savepoint")
    text = json.dumps(found["before"], indent=1, sort_keys=True)
    (PAIRS / name / "before.json").write_text(f"{text}\n")


def read_in_pyflink(name: str, saved: Path, backend: str, told: Read, pyflink: Served, folder: str) -> dict[str, Any]:
    """What the new version reads first of each state and key, restored from a savepoint; or the errors."""
    leaving = {"savepoint": "", "files": {}, "before": {}, "read": {}, "labels": list(told), "numbers": [], "sinks": 0}
    asked = {
        "old": "",
        "new": (PAIRS / name / "new.py").read_text(),
        "left": leaving | {"at": saved.as_uri(), "outputs": folder},
        "told": sorted({label.rpartition(".")[0] for label in told}),
        "settings": {"state.backend.type": backend},
        "folder": folder,
    }
    did = pyflink.asked(asked)
    read = did.get("after", {})
    return {label: value for label, value in read.items() if value != "None"} or {"failed": did.get("errors")}


def main(python: str, names: Sequence[str]) -> None:
    """Record what PyFlink restored, a line a pair."""
    version, known = version_of(python), {}
    if RESULTS.exists():
        known = {record["name"]: record for record in map(json.loads, RESULTS.read_text().splitlines())}
    with ExitStack() as stack:
        pyflink = stack.enter_context(Served(python))
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        for name in names or sorted(name for name in ANSWERS if version.startswith(version_of_pair(name))):
            if not (PAIRS / name / "savepoint").exists():
                left(name, pyflink, folder)
            here = Path(folder, name)
            here.mkdir()
            done = migrated(name, here / "out", recipe_of(name, here))
            assert done.kept, done
            told = TOLD[name](json.loads((PAIRS / name / "before.json").read_text()))
            read = {one: read_in_pyflink(name, here / "out", one, told, pyflink, folder) for one in BACKENDS}
            print(name, [found.items() >= told.items() for found in read.values()], read, flush=True)
            known[name] = {
                "name": name,
                "version": version,
                "recipe": msgspec.to_builtins(Recipe(steps=ANSWERS[name])),
                "read": read,
            }
            lines = (json.dumps(known[one]) for one in sorted(known))
            RESULTS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

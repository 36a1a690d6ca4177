"""Broadcast state whose values Kryo wrote, converted by the classes of OLD and NEW; what real Flink read of it was recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.state.flink import read_metadata
from compat.state.flink.header_parts import TypeNames
from compat.state.flink.operator_transfer import operator_source
from compat.state.flink.states import HeaderReader

SAVED = Path(__file__).parents[2] / "golden" / "migrations" / "broadcast_kryo"
RECORDS = json.loads((SAVED / "restored.json").read_text())
OLD = {"new": ("old-1.20.0.jar", "savepoint-1.20.0", "1.20.0"), "renamed": ("old.jar", "savepoint", "2.3.0")}
STEPS = {"new": (), "renamed": ("{step: rename-class, class: Rules$Rule, to: Rules$Limit}",)}


def migrated(name: str, folder: Path) -> Path:
    old, savepoint, version = OLD[name]
    recipe, out = folder / "recipe.yaml", folder / "out"
    steps = (*STEPS[name], "{step: convert-state, operator: bc, state: rules}")
    recipe.write_text("\n".join(["recipe: 1", "steps:", *(f"  - {step}" for step in steps)]))
    given = ("migrate", SAVED / savepoint, SAVED / f"{name}.jar", out, "--recipe", recipe, "--names", SAVED / old)
    flink = ("--main-class", "Rules", "--flink-version", "2.3.0", "--old-flink-version", version, "--allow-unknown")
    result = CliRunner().invoke(main, [*map(str, given), *flink])
    assert result.exit_code == 0, result.output
    return out


def rules(folder: Path) -> set[str]:
    """The bytes of the broadcast state in each subtask."""
    savepoint = read_metadata(folder)
    headers, found = HeaderReader(savepoint), set()
    for operator in savepoint.operators:
        for subtask in operator.subtasks:
            source = operator_source(headers, operator, subtask, TypeNames(), {})
            for partition in () if source is None else source.handle.partitions:
                if source is not None and partition.name == "rules":
                    found |= {b"".join(source.element("rules", begin)).hex() for begin in partition.offsets}
    return found


@pytest.mark.parametrize("name", sorted(OLD))
def test_rules_are_written_as_flink_read_them(name: str, tmp_path: Path) -> None:
    """Keys stay, and each value is as NEW's Kryo writes it, with the object within it."""
    assert rules(migrated(name, tmp_path)) == {RECORDS[name]["state"]}


def test_real_flink_read_every_rule_that_old_had() -> None:
    expected = {"k0": "rule0 0", "k1": "rule1 100", "k2": "rule2 200 rule20 2000"}
    assert {name: record["read"] for name, record in RECORDS.items()} == {"new": expected, "renamed": expected}

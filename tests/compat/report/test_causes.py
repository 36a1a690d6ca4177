"""Findings of one cause are one for a person, who reads whom it concerns and what to do, and stay apart everywhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from tests.compat.fix.programs import INSERTED, program

COUNTERS = ("counts = stream.COUNTED.name('a').COUNTED.name('b').COUNTED.name('c')", "counts.COUNTED.name('d').print()")
OLD = program("stream = numbers.map(identity, L)", *COUNTERS)
MOVED = program(f"stream = {INSERTED}", *COUNTERS)
WIDE = program("env.set_parallelism(200)", "stream = numbers.map(identity, L)", *COUNTERS)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def checked(new: str, *options: str) -> Result:
    Path("old.py").write_text(OLD, encoding="utf-8")
    Path("new.py").write_text(new, encoding="utf-8")
    return CliRunner().invoke(main, ["check", "old.py", "new.py", *options])


def test_one_parallelism_for_all_is_one_finding_with_one_edit() -> None:
    lines = checked(WIDE).stdout.splitlines()
    assert [line.split(": ")[0] for line in lines if line.startswith("error")] == ["error CMP302 parallelism-above-max"]
    assert [line for line in lines if "env.set_parallelism(128)" in line] == ["    + env.set_parallelism(128)"]
    assert lines[-2].startswith("1 error, ")
    assert "Make the edits" in " ".join(lines[-4:-1])
    assert lines[-1] == "Next: compat check old.py new.py"
    repaired = checked(WIDE.replace("env.set_parallelism(200)", "env.set_parallelism(128)"))
    assert repaired.stdout.startswith("COMPATIBLE")


def test_a_parallelism_of_its_own_is_a_finding_of_its_own() -> None:
    both = WIDE.replace(".name('b')", ".name('b').set_parallelism(300)")
    lines = [line for line in checked(both).stdout.splitlines() if line.startswith("error")]
    assert len(lines) == 2
    assert "runs with parallelism 300" in checked(both, "--output", "concise").stdout


def test_ids_that_moved_for_one_reason_are_one_finding_with_all_edits() -> None:
    lines = checked(MOVED, "--output", "concise").stdout.splitlines()
    (moved,) = [line for line in lines if "CMP102" in line]
    assert "4 operators have other ids; it began at 'a" in moved
    assert checked(MOVED).stdout.count(" + |     .set_uid_hash(") == 4


def test_an_explanation_has_each_by_itself() -> None:
    told = checked(MOVED, "--explain").stdout.splitlines()
    assert sum(line.startswith("error CMP102") for line in told) == 4


def test_machines_read_each_with_its_own_fingerprint() -> None:
    findings = [
        one for one in json.loads(checked(MOVED, "--output", "json").stdout)["findings"] if one["level"] == "error"
    ]
    assert len({one["fingerprint"] for one in findings}) == 4
    assert len({one["cause"] for one in findings}) == 1


def test_what_lets_one_pass_lets_no_other_pass() -> None:
    ignored = checked(
        MOVED.replace(".name('d').print()", ".name('d').print()  # compat: ignore[CMP102] may start anew")
    )
    (line,) = [line for line in ignored.stdout.splitlines() if line.startswith("error")]
    assert "3 operators have other ids" in line
    assert ignored.exit_code == 1

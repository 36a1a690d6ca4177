"""Timers on the heap beside RocksDB: what Flink did with savepoints, and what the check says of them and of the programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Fate, Level, Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions

GOLDEN = Path(__file__).parents[2] / "golden" / "heap_timers"
JOB = GOLDEN / "job.py"
RESTORES: list[dict[str, Any]] = json.loads((GOLDEN / "restores.json").read_text(encoding="utf-8"))
NATIVE = [row for row in RESTORES if row["format"] == "native" and not row["incremental"]]
WAYS = sorted({(row["old"], row["new"]) for row in RESTORES})


def report(old: Path, before: str, after: str, *, names: bool = True, new: Path = JOB) -> Report:
    rocksdb = {"state.backend.type": "rocksdb"}
    given = Comparison(
        str(old),
        str(new),
        load=LoadOptions(options={**rocksdb, "state.backend.rocksdb.timer-service.factory": after}),
        load_old=LoadOptions(options={**rocksdb, "state.backend.rocksdb.timer-service.factory": before}),
        names=str(JOB) if names else None,
    )
    (outcome,) = compare(given).outcomes
    assert isinstance(outcome, Report)
    return outcome


def levels(outcome: Report) -> list[Level]:
    return [finding.level for finding in outcome.findings if finding.rule == "CMP506"]


@pytest.mark.parametrize("row", NATIVE, ids=lambda row: f"{row['old']}-{row['new']}")
def test_of_a_savepoint_it_is_told_whether_timers_fire(row: dict[str, Any]) -> None:
    outcome = report(GOLDEN / row["old"].lower(), row["old"], row["new"])
    assert row["restored"]
    assert outcome.verdict is (Verdict.COMPATIBLE if row["fired"] else Verdict.INCOMPATIBLE)
    assert levels(outcome) == [] if row["fired"] else [Level.ERROR]
    fates = {each.old.uid: each.fate for each in outcome.mapping if each.old is not None}
    assert (fates["a"] is Fate.LOST) is not row["fired"]


def test_without_names_it_is_open_whether_there_were_any(tmp_path: Path) -> None:
    assert levels(report(GOLDEN / "heap", "HEAP", "HEAP", names=False)) == [Level.WARNING]
    none = tmp_path / "none.py"
    none.write_text(
        JOB.read_text(encoding="utf-8").replace("ctx.timer_service().register_event_time_timer(900)", "pass")
    )
    assert levels(report(GOLDEN / "heap", "HEAP", "HEAP", names=False, new=none)) == []


@pytest.mark.parametrize(("before", "after"), WAYS)
def test_two_programs_are_told_where_a_native_savepoint_would_lose_them(before: str, after: str) -> None:
    lost = any((row["old"], row["new"]) == (before, after) and not row["fired"] for row in RESTORES)
    outcome = report(JOB, before, after, names=False)
    assert outcome.verdict is Verdict.COMPATIBLE
    assert levels(outcome) == ([Level.WARNING] if lost else [])

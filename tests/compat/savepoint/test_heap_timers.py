"""Timers on the heap beside RocksDB: what Flink did with savepoints, and what the check says of them and of the programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat.check.decision import check
from compat.check.findings import Fate, Level, Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions, load, opened
from compat.plan.facts import facts_of
from compat.plan.recorded_states import RecordedState
from compat.plan.shapes import Shape
from compat.savepoint import facts
from compat.savepoint.recorded import Recorded, RecordedOperator
from compat.state.flink.formats import KeyedFormat
from compat.state.model.job import Plan
from compat.state.model.states import StateKind, StateScope

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
    assert levels(report(GOLDEN / "heap", "HEAP", "HEAP", names=False)) == [Level.UNKNOWN]
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


QUEUE = RecordedState("_timer_state/event_user-timers", StateKind.TIMERS, StateScope.KEYED)
OWN = RecordedState("s", StateKind.VALUE, StateScope.KEYED, Shape("Long"))
JAVA = """{"ops": [
    {"id": "a", "kind": "source"}, {"id": "k", "kind": "key_by", "inputs": ["a"], "keyType": "long"},
    {"id": "x", "kind": "KIND", "inputs": ["k"], "uid": "x", "states": [{"name": "s", "scope": "keyed", "type": "Long"}]},
    {"id": "end", "kind": "print", "inputs": ["x"]}], "env": {"config": {"state.backend.type": "rocksdb"}}}"""


@pytest.mark.parametrize(
    ("kind", "format", "states", "expected"),
    [
        ("keyed_process", KeyedFormat.FILES, (OWN,), [Level.UNKNOWN]),  # each such function has a queue, be it empty
        ("keyed_process", KeyedFormat.FILES, (OWN, QUEUE), []),
        ("keyed_process", KeyedFormat.CHANGELOG_FILES, (OWN,), [Level.UNKNOWN]),
        ("keyed_process", KeyedFormat.CANONICAL, (OWN,), []),
        ("map", KeyedFormat.FILES, (OWN,), []),
    ],
)
def test_a_function_in_java_without_a_queue_had_it_on_the_heap(
    kind: str, format: KeyedFormat, states: tuple[RecordedState, ...], expected: list[Level], tmp_path: Path
) -> None:
    path = tmp_path / "job.json"
    path.write_text(JAVA.replace("KIND", kind), encoding="utf-8")
    with opened(str(path)) as given:
        (plan,) = load(given, LoadOptions())
    assert isinstance(plan, Plan)
    new = facts_of(plan, name="job.json", kind="topology")
    operator = RecordedOperator(
        id=new.operators[1].id,
        name=None,
        uid=None,
        parallelism=1,
        max_parallelism=128,
        has_state=True,
        coordinated=False,
        key=Shape("Long"),
        states=states,
        unreadable=(),
        finished=None,
        channels=(False, False),
        format=format,
        bytes=1,
    )
    saved = Recorded("savepoint/_metadata", 6, True, (operator,), ())
    assert levels(check(facts.program(saved, "savepoint", new), new)) == expected

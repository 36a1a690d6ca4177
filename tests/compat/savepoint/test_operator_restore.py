"""Flink's own cases of jobs that change around their state, with the savepoints and the expectations of its tests.

The jobs of `AbstractOperatorRestoreTestBase` in flink-tests: each takes a savepoint that an older Flink wrote, restores it
in the job that wrote it, and then, with non-restored state allowed, in a changed one; every restore succeeds.
"""

from __future__ import annotations

import json

import pytest

from compat.check.findings import Fate, Level, Report, Verdict
from compat.comparison import Comparison, compare
from compat.loader.inputs import LoadOptions
from tests.compat.savepoint.conftest import GOLDEN

VERSIONS = ("1.8", pytest.param("1.13", marks=pytest.mark.slow), pytest.param("1.20", marks=pytest.mark.slow), "2.2")
LIST_STATE = {"name": "_default_", "kind": "list", "scope": "operator"}


def job(*calls):
    """A topology file: each call reads the one before it."""
    ops = []
    for number, call in enumerate(calls):
        inputs = {"inputs": [f"n{number - 1}"]} if number else {}
        ops.append({"id": f"n{number}", **inputs, **call})
    return {"name": "job", "env": {"parallelism": 4}, "ops": ops}


def stateful(uid, **more):
    return {"kind": "map", "uid": uid, "parallelism": 4, "states": [LIST_STATE], **more}


SOURCE = {"kind": "legacy_source", "parallelSource": True, "parallelism": 4}
STATELESS = {"kind": "map", "parallelism": 4}
NEW_CHAIN = {"chaining": "new_chain"}
KEYED_SOURCE = {"kind": "legacy_source"}
KEY_BY = {"kind": "key_by"}
WINDOW = {"kind": "window", "window": "count", "function": "process", "uid": "window", "parallelism": 4}

FIRST, SECOND, THIRD = (stateful(uid) for uid in ("first", "second", "third"))

UNKEYED = {
    "as written": (SOURCE, FIRST | NEW_CHAIN, SECOND | NEW_CHAIN, STATELESS, THIRD),
    "chain break": (SOURCE, FIRST | NEW_CHAIN, SECOND | NEW_CHAIN, STATELESS, THIRD | NEW_CHAIN),
    "chain order": (SOURCE, FIRST | NEW_CHAIN, THIRD | NEW_CHAIN, STATELESS, SECOND),
    "chain union": (SOURCE, FIRST | NEW_CHAIN, SECOND, STATELESS, THIRD),
    "chain length increase": (SOURCE, FIRST | NEW_CHAIN, SECOND | NEW_CHAIN, STATELESS, STATELESS, THIRD),
    "chain length stateless decrease": (SOURCE, FIRST | NEW_CHAIN, SECOND | NEW_CHAIN, THIRD),
    "chain length decrease": (SOURCE, FIRST | NEW_CHAIN, STATELESS | NEW_CHAIN, THIRD),
}
KEYED = {
    "as written": (KEYED_SOURCE, KEY_BY, WINDOW, FIRST, SECOND),
    "keyed complex chain": (KEYED_SOURCE, KEY_BY, WINDOW, SECOND, FIRST | NEW_CHAIN),
}
DROPS = {"chain length decrease": {"second"}}
CASES = [("nonKeyed", name, calls) for name, calls in UNKEYED.items()]
CASES += [("complexKeyed", name, calls) for name, calls in KEYED.items()]


def verdict_of(savepoint, calls, tmp_path, **options):
    path = tmp_path / "job.json"
    path.write_text(json.dumps(job(*calls)), encoding="utf-8")
    folder = GOLDEN / "flink_tests" / savepoint
    (report,) = compare(Comparison(str(folder), str(path), load=LoadOptions(), **options)).outcomes
    assert isinstance(report, Report), report
    return report


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("savepoint", "name", "calls"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_agrees_with_flinks_own_expectation(version, savepoint, name, calls, tmp_path):
    report = verdict_of(f"{savepoint}-flink{version}", calls, tmp_path, allow_non_restored=name != "as written")
    assert report.verdict is Verdict.COMPATIBLE, report.findings
    restored = {row.new.uid for row in report.mapping if row.fate is Fate.RESTORED}
    written = {call["uid"] for call in calls if "uid" in call}
    assert restored == written


@pytest.mark.parametrize(("savepoint", "name", "calls"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES])
def test_without_allowing_it_dropped_state_is_refused(savepoint, name, calls, tmp_path):
    report = verdict_of(f"{savepoint}-flink2.2", calls, tmp_path)
    dropped = {row.old.uid for row in report.mapping if row.fate is Fate.REFUSED}
    assert dropped == DROPS.get(name, set())
    assert (report.verdict is Verdict.INCOMPATIBLE) == bool(dropped)
    assert {f.old.uid for f in report.findings if f.level is Level.ERROR} == dropped

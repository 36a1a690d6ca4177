"""Every pair of the table: the verdict and the findings, and that they agree with what a real restore did."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from compat.check.findings import Level, Report
from compat.comparison import Comparison, decide
from compat.loader.process import finish, start
from compat.loader.request import Request
from tests.compat.pairs.record import RECORDS, digest
from tests.compat.pairs.table import PAIRS, Pair

RESTORES = json.loads(RECORDS.read_text(encoding="utf-8"))
AT_ONCE = 16
CASES = pytest.mark.parametrize("pair", [pytest.param(pair, id=pair.name) for pair in PAIRS])


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The plan of every program by its text."""
    folder = tmp_path_factory.mktemp("programs")
    scripts = list(dict.fromkeys(script for pair in PAIRS for script in (pair.old, pair.new)))
    found: dict[str, dict[str, Any]] = {}
    for first in range(0, len(scripts), AT_ONCE):
        batch = scripts[first : first + AT_ONCE]
        requests = [_request(folder / f"{first + place}.py", script) for place, script in enumerate(batch)]
        for script, outcome in zip(batch, finish(start(requests)), strict=True):
            (found[script],) = outcome.plans  # type: ignore[union-attr]
    return found


def _request(file: Path, script: str) -> Request:
    file.write_text(script, encoding="utf-8")
    return Request(path=str(file), shown="job.py", options={"parallelism.default": "2"})


def _report(pair: Pair, plans: dict[str, dict[str, Any]]) -> Report:
    return decide(plans[pair.old], plans[pair.new], Comparison("old.py", "new.py"), {})


@CASES
def test_verdict_and_findings(pair: Pair, plans: dict[str, dict[str, Any]]) -> None:
    report = _report(pair, plans)
    rules = {finding.rule for finding in report.findings if finding.level is not Level.NOTE}
    assert (report.verdict.value, rules) == (pair.verdict, pair.rules), [finding.title for finding in report.findings]


@CASES
def test_every_finding_has_a_place_and_a_fix(pair: Pair, plans: dict[str, dict[str, Any]]) -> None:
    for finding in _report(pair, plans).findings:
        assert finding.old_line is not None, finding
        assert finding.new_line is not None, finding
        assert finding.fixes or finding.level is Level.NOTE, finding


@pytest.mark.parametrize("name", sorted(RESTORES))
def test_the_verdict_agrees_with_the_real_restore(name: str) -> None:
    (pair,) = (pair for pair in PAIRS if pair.name == name)
    record = RESTORES[name]
    assert record["programs"] == digest(pair), "the programs changed: record the restore again"
    kept = record["outcome"] == "restored" and record["state"] == "kept"
    dropped = "CMP401" in pair.rules and record["state"] == "lost"  # as the program says
    assert (kept or dropped) == (pair.verdict != "incompatible"), record


def test_every_pair_is_recorded_that_says_so() -> None:
    assert set(RESTORES) == {pair.name for pair in PAIRS if pair.flink}

"""Restores that a check could miss: it tells them, from the old program and from the savepoint that Flink wrote of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.check.findings import Fate, Report
from compat.check.undecided import Undecided
from compat.comparison import Comparison, compare

DIFFERENCES = Path(__file__).parents[1] / "golden" / "differences"
TOLD_BY = {"batch_mode": ("CMP112", Fate.LOST)}
"""By folder, the rule that says what Flink did, and what becomes of the state."""


REFUSED = {"maxpar_zero": "The maximum parallelism must be greater than 0."}
"""By folder, what Flink says of a program that it does not take."""


def test_every_folder_is_a_case() -> None:
    assert {path.name for path in DIFFERENCES.iterdir() if path.is_dir()} == TOLD_BY.keys() | REFUSED.keys()


@pytest.mark.parametrize("old", ["old.json", "savepoint"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_program_that_flink_refuses_is_no_success(name: str, old: str) -> None:
    folder = DIFFERENCES / name
    did = json.loads((folder / "flink.json").read_text(encoding="utf-8"))["false"]
    assert did["outcome"] == "build"
    assert REFUSED[name] in did["error"]
    (outcome,) = compare(Comparison(str(folder / old), str(folder / "new.json"))).outcomes
    assert isinstance(outcome, Undecided)
    (failure,) = outcome.failures
    assert failure.rule == "CMP901"
    assert REFUSED[name] in failure.message


@pytest.mark.parametrize("old", ["old.json", "savepoint"])
@pytest.mark.parametrize("name", TOLD_BY)
def test_what_flink_did_is_told(name: str, old: str) -> None:
    folder = DIFFERENCES / name
    did = json.loads((folder / "flink.json").read_text(encoding="utf-8"))["false"]
    assert did["outcome"] == "failed" or did["seen"] == {"n2|o0": ["EMPTY"]}
    (report,) = compare(Comparison(str(folder / old), str(folder / "new.json"))).outcomes
    assert isinstance(report, Report)
    rule, fate = TOLD_BY[name]
    assert report.verdict.value == "incompatible"
    assert rule in {finding.rule for finding in report.findings}
    assert {row.fate for row in report.mapping if row.note == rule} == {fate}
    (again,) = compare(Comparison(str(folder / old), str(folder / "old.json"))).outcomes
    assert rule not in {finding.rule for finding in getattr(again, "findings", ())}

"""Batch mode, of which Flink says nothing at a restore."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from compat.check.decision import check
from compat.check.findings import Fate, Finding, Verdict
from compat.check.story import explained
from compat.plan.as_run import KEPT_BY, STORE
from tests.compat.builders import operator, program

COUNT = operator("Count", uid="count")
STREAM, BATCH = program("v1.py", COUNT), program("v2.py", COUNT, batch=True, settings={"mode": "BATCH"})


def of_batch(*sides: Any) -> list[Finding]:
    """The findings about batch mode."""
    return [finding for finding in check(*sides).findings if finding.rule == "CMP112"]


def test_no_operator_of_a_batch_gets_its_state() -> None:
    report = explained(check(STREAM, BATCH))
    assert report.verdict is Verdict.INCOMPATIBLE
    assert [(row.fate, row.note) for row in report.mapping] == [(Fate.LOST, "CMP112")]
    assert any("ignores the savepoint" in sentence for passage in report.story for sentence in passage.sentences)


def test_each_side_in_batch_mode_is_told() -> None:
    assert [finding.subject for finding in of_batch(BATCH, STREAM)] == ["OLD"]
    (both,) = of_batch(BATCH, BATCH)  # of one thing there is one finding
    assert both.subject == "NEW"
    assert "OLD does so too, and Flink takes no savepoint of it" in both.reason
    assert of_batch(STREAM, STREAM) == []


def test_the_reason_is_the_mode_that_was_set() -> None:
    automatic = replace(BATCH, settings={"mode": "AUTOMATIC"})
    assert [finding.reason for finding in of_batch(STREAM, automatic)] == [
        "execution.runtime-mode is AUTOMATIC, and all sources are bounded."
    ]


def test_what_a_store_of_ours_keeps_is_restored_in_both_modes() -> None:
    kept = replace(STREAM, settings={KEPT_BY: STORE})
    assert of_batch(kept, BATCH) == []


def test_without_state_nothing_is_lost() -> None:
    stateless = program("v1.py", operator("Map", states=(), has_state=False))
    assert of_batch(stateless, BATCH) == []
    assert check(stateless, BATCH).verdict is Verdict.COMPATIBLE

"""State that Flink drops because it was told so, and sinks that publish at checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, Finding, Level, Verdict
from compat.plan.facts import Snapshot
from compat.state.model.connectors import DeliveryGuarantee, KafkaOffsets, KafkaSink, KafkaSource, OffsetRule
from tests.compat.builders import operator, program

IGNORING = {"execution.state-recovery.ignore-unclaimed-state": True}
GONE = operator("Count", uid="count")
WRITER = operator("out: Writer", uid="out", kind="sink_writer")
EXACTLY, AT_LEAST = (
    KafkaSink(guarantee=guarantee) for guarantee in (DeliveryGuarantee.EXACTLY_ONCE, DeliveryGuarantee.AT_LEAST_ONCE)
)


def committer(sink: KafkaSink | None = None) -> Any:
    """The committer behind the writer, of a sink of files unless it is Kafka's."""
    return operator(
        "out: Committer", uid="Sink Committer: out", kind="sink_committer", inputs=(WRITER.id,), connector=sink
    )


def told(rule: str, *sides: Any) -> list[Finding]:
    """The findings of a rule."""
    return [finding for finding in check(*sides).findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("settings", "allowed", "level", "words", "fate"),
    [
        ({}, False, Level.ERROR, "Flink refuses the restore", Fate.REFUSED),
        ({}, True, Level.WARNING, "as -n allows", Fate.DROPPED),
        (IGNORING, False, Level.ERROR, "as NEW sets execution.state-recovery.ignore-unclaimed-state", Fate.DROPPED),
        (IGNORING, True, Level.WARNING, "as -n allows", Fate.DROPPED),
    ],
)
def test_who_lets_state_go(settings: Any, allowed: bool, level: Level, words: str, fate: Fate) -> None:
    report = check(
        program("v1.py", GONE), program("v2.py", settings=settings), CheckOptions(allow_non_restored=allowed)
    )
    (finding,) = report.findings
    assert (finding.rule, finding.level, report.mapping[0].fate) == ("CMP101", level, fate)
    assert words in finding.consequence
    assert finding.silent == (fate is Fate.DROPPED)


def test_an_operator_that_moved_loses_its_state_without_a_word() -> None:
    moved = program("v2.py", operator("Count", uid="moved"), settings=IGNORING)
    (finding,) = told("CMP102", program("v1.py", GONE), moved)
    assert finding.level is Level.ERROR
    assert "starts without its state" in finding.consequence


def test_a_source_that_moved_tells_which_records_are_skipped() -> None:
    latest = KafkaSource(starting=KafkaOffsets(rule=OffsetRule.LATEST))
    old = program("v1.py", operator("orders", uid="orders", kind="source", connector=latest))
    new = program("v2.py", operator("orders", uid="others", kind="source", connector=latest))
    (finding,) = told("CMP102", old, new, CheckOptions(allow_non_restored=True))
    assert finding.consequence.endswith("the records that came since the savepoint are skipped.")


@pytest.mark.parametrize(
    ("sink", "words"),
    [(None, "stays there unfinished"), (EXACTLY, "transactions stay open"), (AT_LEAST, None)],
)
def test_a_sink_that_is_left_behind_publishes_nothing_more(sink: KafkaSink | None, words: str | None) -> None:
    old, new = program("v1.py", WRITER, committer(sink)), program("v2.py")
    assert told("CMP807", old, new) == []
    found = told("CMP807", old, new, CheckOptions(allow_non_restored=True))
    assert len(found) == (words is not None)
    assert words is None or words in found[0].consequence


@pytest.mark.parametrize(("sink", "speaks"), [(None, True), (EXACTLY, True), (AT_LEAST, False)])
@pytest.mark.parametrize("newer", ["chk-9", None])
def test_an_older_snapshot_publishes_again(sink: KafkaSink | None, speaks: bool, newer: str | None) -> None:
    snapshot = Snapshot(path="chk-7/_metadata", format_version=6, newer=newer)
    old = program("chk-7", WRITER, committer(sink), kind="savepoint", snapshot=snapshot)
    report = check(old, program("v2.py", WRITER, committer(sink)))
    assert [finding.rule for finding in report.findings if finding.level is Level.WARNING] == ["CMP807"] * (
        speaks and newer is not None
    )
    assert report.verdict is Verdict.COMPATIBLE

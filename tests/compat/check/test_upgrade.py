"""From one version of Flink to another: what breaks, held against restores of savepoints of 1.20.0 in 2.3.0."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, Finding, KeyHeir, ValueHeir
from compat.loader.jvm.answers import Answer, Answers, RestoreProblem, StateChange
from compat.loader.jvm.messages import Rehearsal, RestoreFailure
from compat.plan.as_run import KEPT_BY, STORE
from compat.plan.facts import Program, Snapshot
from compat.savepoint import facts
from compat.savepoint.recorded import read
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from tests.compat.builders import operator, program

JAVA = Path(__file__).parents[2] / "golden" / "java"
UPGRADE = "1.20.0-to-2.3.0"
WITH_KRYO = {"enum_in_kryo_reordered", "kryo_field_renamed_longs", "kryo_same"}


@cache
def restored() -> dict[str, set[str]]:
    """What Flink 2.3.0 did with each savepoint of 1.20.0."""
    with gzip.open(JAVA / "results.jsonl.gz") as file:
        records = [json.loads(line) for line in file]
    return {
        one["name"]: {attempt["outcome"] for attempt in one["attempts"].values()}
        for one in records
        if one["version"] == UPGRADE and (JAVA / "1.20.0" / one["name"] / "savepoint" / "_metadata").exists()
    }


def upgraded(name: str, flink: str = "2.3") -> list[Finding]:
    """The findings about the upgrade of a savepoint, whose operators NEW has just so."""
    recorded = read(str(JAVA / "1.20.0" / name / "savepoint"))
    new = program("new.jar", *(_same(one.id) for one in recorded.operators), flink=flink)
    old = facts.program(recorded, "savepoint", new)
    return [finding for finding in check(old, new).findings if finding.rule == "CMP604"]


def _same(id: str) -> Operator:
    return operator("fn", id=id, states=None, states_unknown="not asked")


def test_there_are_upgrades_with_kryo_and_without() -> None:
    assert restored().keys() > WITH_KRYO


@pytest.mark.parametrize("name", sorted(restored()))
def test_flink_refuses_what_kryo_wrote(name: str) -> None:
    told = upgraded(name)
    assert bool(told) == (name in WITH_KRYO)
    if told:
        assert restored()[name] == {"restore-failed"}
        assert [(finding.state, finding.heirs) for finding in told] == [("st", (ValueHeir("st"),))]
    assert upgraded(name, flink="1.20") == []


FAILURE = RestoreFailure(type="java.lang.IllegalStateException", message="Missing value for the key")


@pytest.mark.parametrize(
    ("name", "other_kryo", "rule", "heirs"),
    [
        ("a", True, "CMP604", (ValueHeir("a"),)),
        ("a", False, "CMP404", ()),
        ("", True, "CMP604", (KeyHeir(),)),
        ("", False, "CMP406", (KeyHeir(),)),
    ],
)
def test_a_restore_that_fails_for_kryo_is_told_of_what_kryo_wrote(
    name: str, other_kryo: bool, rule: str, heirs: tuple[Any, ...]
) -> None:
    """What has another type is told as that, under each Flink; of the operator's other state nothing is."""
    kept = [State(name=one, kind=StateKind.VALUE, scope=StateScope.KEYED, type="P", key_type="Long") for one in "ab"]
    fn = operator("fn", uid="fn", states=kept)
    change = StateChange(name=name, scope="keyed", fails=True, reasons=("It differs.",), other_kryo=other_kryo)
    problem = RestoreProblem(
        node=fn.node,
        operator_id=fn.id,
        backends=("any",),
        failure=FAILURE,
        at_first_read=False,
        changes=(change,),
    )
    answers = Answers(operators={fn.node: Answer(problems=(problem,), rehearsal=Rehearsal())})
    sides = program("old.jar", fn, flink="1.20"), program("new.jar", fn, flink="2.3")
    report = check(*sides, CheckOptions(flink="2.3"), {}, answers)
    found = [one for one in report.findings if one.old is not None]
    assert [(one.rule, one.state, one.heirs) for one in found] == [(rule, name or None, heirs)]
    if name:
        assert [one.fate for one in report.accounts if one.state is not None] == [Fate.REFUSED, Fate.RESTORED]


def told(old: Program, new: Program) -> list[str]:
    """The titles of the findings about the upgrade."""
    return [finding.title for finding in check(old, new).findings if finding.rule == "CMP604"]


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("1.20", "1.20", False),
        ("1.20", "2.3", False),
        ("2.0", "2.3", False),
        ("2.3", "2.1", False),
        ("2.1", "2.0", True),
        ("2.0", "1.20", True),
        ("2.3", "1.20", True),
        ("", "1.20", False),
        ("2.3", "x", False),
    ],
)
def test_no_version_reads_the_metadata_of_later_ones(old: str, new: str, refused: bool) -> None:
    count = operator("Count", uid="count")
    titles = told(program("v1.py", count, flink=old), program("v2.py", count, flink=new))
    assert bool(titles) == refused


@pytest.mark.parametrize(
    ("format", "flink", "refused"), [(4, "1.20", False), (5, "1.20", True), (6, "2.0", True), (6, "2.1", False)]
)
def test_a_savepoint_tells_its_format(format: int, flink: str, refused: bool) -> None:
    count = operator("Count", uid="count")
    snapshot = Snapshot(path="s/_metadata", format_version=format)
    old = program("s", count, kind="savepoint", flink=flink, snapshot=snapshot)
    assert bool(told(old, program("v2.py", count, flink=flink))) == refused


@pytest.mark.parametrize(("format", "refused"), [(4, True), (5, False)])
def test_a_savepoint_that_was_migrated_is_not_of_the_flink_of_its_names(format: int, refused: bool) -> None:
    detail: Any = {"kryo_states": ["s"]}
    count = operator("Count", uid="count", states=None, states_unknown="not asked", detail=detail)
    snapshot = Snapshot(path="s/_metadata", format_version=format)
    old = program("s", count, kind="savepoint", flink="1.20", snapshot=snapshot)
    assert bool(told(old, program("v2.jar", count, flink="2.3"))) == refused


def test_sources_of_the_old_kind_are_gone() -> None:
    consumer: Any = operator("orders", uid="orders", kind="legacy_source", detail={"class": "FlinkKafkaConsumer"})
    old, new = program("v1.py", consumer, flink="1.20"), program("v2.py", consumer)
    assert "is a FlinkKafkaConsumer" in told(old, new)[0]
    assert told(old, replace(new, flink="1.20")) == []


def test_a_store_of_ours_is_read_by_its_own_rules() -> None:
    count = operator("Count", uid="count")
    kept = program("v1.py", count, flink="2.3", settings={KEPT_BY: STORE})
    assert told(kept, program("v2.py", count, flink="1.20")) == []

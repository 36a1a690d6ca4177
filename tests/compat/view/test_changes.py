"""Which boxes a reader has to look at."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, Level, MappingRow, Verdict
from compat.loader.topology import plan_of
from compat.plan.facts import facts_of
from compat.report import ReportContext
from compat.report.json_report import as_dict
from compat.state.model.job import Plan
from compat.view.changes import changed_boxes
from compat.view.layers import Side, joint_layers
from compat.view.page_values import check_section, plan_section
from tests.compat.builders import finding, operator, program, report, value_state
from tests.compat.report.cases import CONTEXT


def job(*operators: tuple[str, str, dict[str, Any]]) -> Plan:
    """A job in which each operator, by name, is fed by another one; all have uids, and the first is a source."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "in", "name": "in"}]
    for name, before, more in operators:
        ops.append({"id": f"key {name}", "kind": "key_by", "inputs": [before]})
        ops.append({"id": name, "kind": "keyed_process", "name": name, "uid": name, "inputs": [f"key {name}"], **more})
    found = plan_of({"name": "job", "ops": ops}, "2.3", {})
    assert isinstance(found, Plan), found.error
    return found


def names(old: Plan, new: Plan) -> set[str]:
    """The names of the boxes that a reader is shown."""
    programs = [facts_of(each, name=name, kind="program") for each, name in ((old, "old"), (new, "new"))]
    section = check_section(check(*programs, CheckOptions()), ReportContext(sources={}), (old, new))
    boxes = section["layers"]["stream"]["boxes"]
    found = set()
    for place in section["changed"]:
        side = "new" if boxes[place]["new"] is not None else "old"
        found.add(section["sides"][side]["operators"][boxes[place][side]]["name"])
    return found


CHAIN = (("a", "in", {}), ("b", "a", {}), ("c", "b", {}))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (CHAIN, set()),
        ((*CHAIN, ("d", "c", {})), {"d"}),
        (CHAIN[:2], {"c"}),
        ((CHAIN[0], ("between", "a", {}), ("b", "between", {}), CHAIN[2]), {"between"}),
        ((CHAIN[0], ("b", "a", {"uid": "other"}), CHAIN[2]), {"b"}),
        ((CHAIN[0], ("b", "a", {"parallelism": 7}), CHAIN[2]), {"b"}),
        ((CHAIN[0], CHAIN[1], ("c", "a", {})), {"a", "b", "c"}),
    ],
    ids=["nothing", "added", "removed", "put between", "uid", "parallelism", "fed by another"],
)
def test_what_changed(new, expected):
    assert names(job(*CHAIN), job(*new)) == expected


def test_an_edge_of_another_kind_changes_what_it_feeds():
    old, new = job(*CHAIN), job(*CHAIN)
    edges = list(new.stream_graph.edges)
    edges[-1] = replace(edges[-1], partitioner="REBALANCE")
    new = replace(new, stream_graph=replace(new.stream_graph, edges=tuple(edges)))
    assert names(old, new) == {"c"}


def changed(outcome: Any) -> list[str]:
    """The names of the operators in the boxes that are shown, of OLD where there is one."""
    old, new = Side(outcome.old, None), Side(outcome.new, None)
    stream = joint_layers(old, new)["stream"]
    boxes = [stream["boxes"][place] for place in changed_boxes(as_dict(outcome), stream, old, new)]
    return [
        (outcome.new.operators[box["new"]] if box["old"] is None else outcome.old.operators[box["old"]]).name
        for box in boxes
    ]


@pytest.mark.parametrize(
    ("level", "shown"), [("error", ["b"]), ("unknown", ["b"]), ("migrate", ["b"]), ("warning", [])]
)
def test_what_a_serious_finding_is_about(level, shown):
    operators = operator("a"), operator("b")
    found = report(
        Verdict.UNKNOWN,
        finding(level=Level(level), old=operators[1], new=operators[1]),
        old=program("old", *operators),
        new=program("new", *operators),
    )
    assert changed(found) == shown


def test_a_state_of_another_type_and_no_generated_id():
    old = operator("a", id="0" * 32), operator("b")
    new = operator("a", id="1" * 32, has_state=True), operator("b", states=(value_state(type="string"),))
    found = report(Verdict.COMPATIBLE, old=program("old", *old), new=program("new", *new))
    assert changed(found) == ["b"]


def test_against_a_savepoint_only_what_the_check_found_counts():
    old = program("sp", operator("a", kind="unknown"), operator("b"), kind="savepoint")
    new = program("new", operator("a"), operator("b"), operator("stateless", has_state=False))
    rows = (
        MappingRow(old=old.operators[0], new=new.operators[0], fate=Fate.RESTORED, by="uid"),
        MappingRow(old=old.operators[1], new=None, fate=Fate.DROPPED, by=""),
    )
    assert changed(report(Verdict.COMPATIBLE, mapping=rows, old=old, new=new)) == ["b"]


def test_a_plan_alone_has_no_changes():
    assert plan_section(program("p", operator("a")), None, CONTEXT)["changed"] == []

"""Pages to look at: made of topologies, checked as the command does, written to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from compat.check.context import CheckOptions
from compat.check.decision import check
from compat.check.findings import Fate, MappingRow, Report, Verdict
from compat.loader.topology import plan_of
from compat.plan.facts import facts_of
from compat.report import ReportContext, render
from compat.report.html import render_plans
from compat.state.model.job import Plan
from tests.compat.builders import operator, program, report

OLD = ("count", "sum")
NEW = ("filtered", "count", "sum")
"""With an operator before the others, so that generated ids move."""


def plan(*names: str, parallelism: int = 2) -> Plan:
    """A chain of keyed operators of these names, then a print, as a plan."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "the source", "name": "words"}]
    for name in names:
        ops.append({"id": f"key {name}", "kind": "key_by", "inputs": [ops[-1]["id"]]})
        ops.append({"id": name, "kind": "keyed_process", "name": name, "inputs": [f"key {name}"]})
    ops.append({"id": "out", "kind": "print", "inputs": [ops[-1]["id"]]})
    found = plan_of({"name": "words", "ops": ops}, "2.3", {"parallelism.default": str(parallelism)})
    assert isinstance(found, Plan), found.error
    return found


def wide_plan(branches: int) -> Plan:
    """A source that feeds many keyed operators: twice as many operators and a source, in as many vertices and one."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "the source"}]
    for number in range(branches):
        ops.append({"id": f"key {number}", "kind": "key_by", "inputs": ["in"]})
        ops.append(
            {"id": f"p{number}", "kind": "keyed_process", "name": f"count {number}", "inputs": [f"key {number}"]}
        )
        ops.append({"id": f"s{number}", "kind": "print", "inputs": [f"p{number}"]})
    found = plan_of({"name": "wide", "ops": ops}, "2.3", {})
    assert isinstance(found, Plan), found.error
    return found


def branches(
    number: int, length: int = 3, *, moved: Sequence[tuple[int, int]] = (), uids: Mapping[int, str] | None = None
) -> Plan:
    """Chains of keyed operators beside each other, all with uids; those of ``moved`` (branch, place) have another one, and
    those of ``uids``, by their number, have that."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "the source", "name": "orders"}]
    for branch in range(number):
        before = "in"
        for place in range(length):
            count = branch * length + place
            name = f"count {count}"
            uid = (uids or {}).get(count, f"uid of {name}") + (" now" if (branch, place) in moved else "")
            ops.append({"id": f"key {name}", "kind": "key_by", "inputs": [before]})
            ops.append({"id": name, "kind": "keyed_process", "name": name, "uid": uid, "inputs": [f"key {name}"]})
            before = name
        ops.append({"id": f"out {branch}", "kind": "print", "inputs": [before]})
    found = plan_of({"name": "branches", "ops": ops}, "2.3", {})
    assert isinstance(found, Plan), found.error
    return found


def chained(number: int) -> Plan:
    """A source and so many operators with state behind it, all in one vertex."""
    ops: list[dict[str, Any]] = [{"id": "in", "kind": "source", "uid": "the source"}]
    for place in range(number):
        ops.append({"id": f"w{place}", "kind": "async_wait", "uid": f"wait {place}", "inputs": [ops[-1]["id"]]})
    found = plan_of({"name": "chained", "ops": ops}, "2.3", {})
    assert isinstance(found, Plan), found.error
    return found


def joined(number: int) -> Plan:
    """Three sources that come together before so many keyed operators, two sinks, and a way around them."""
    ops: list[dict[str, Any]] = [{"id": f"in {n}", "kind": "source", "uid": f"in {n}"} for n in range(3)]
    ops.append({"id": "all", "kind": "union", "inputs": [each["id"] for each in ops]})
    ops.append({"id": "first", "kind": "map", "uid": "first", "inputs": ["all"]})
    for place in range(number):
        ops.append({"id": f"key {place}", "kind": "key_by", "inputs": [ops[-1]["id"]]})
        ops.append({"id": f"k{place}", "kind": "keyed_process", "uid": f"k{place}", "inputs": [f"key {place}"]})
    ops.append({"id": "both", "kind": "union", "inputs": [ops[-1]["id"], "first"]})
    ops += [{"id": f"out {n}", "kind": "print", "inputs": ["both"]} for n in range(2)]
    found = plan_of({"name": "joined", "ops": ops}, "2.3", {})
    assert isinstance(found, Plan), found.error
    return found


def swapped(number: int, length: int, swaps: Sequence[tuple[int, int]]) -> tuple[Plan, Plan]:
    """Branches, and the same in which pairs of operators have one another's uids: their state goes to other boxes."""
    old = branches(number, length)
    uids = {name: f"uid of count {other}" for one, two in swaps for name, other in ((one, two), (two, one))}
    return old, branches(number, length, uids=uids)


def check_page(
    folder: Path, old: Plan, new: Plan, *, allow_non_restored: bool = False, names: Sequence[str] = ("old.py", "new.py")
) -> str:
    """The address of the page of a check."""
    outcome = check(
        facts_of(old, name=names[0], kind="program"),
        facts_of(new, name=names[1], kind="program"),
        CheckOptions(allow_non_restored),
    )
    return report_page(folder, outcome, plans=[(old, new)])


def report_page(folder: Path, *outcomes: Any, plans: Sequence[Any] = ()) -> str:
    """The address of a page of outcomes."""
    return _written(folder, render("html", outcomes, ReportContext(sources={}, plans=plans)))


def plan_page(folder: Path, *plans: Any) -> str:
    """The address of the page of plans."""
    return _written(folder, render_plans(plans, "job.py", ReportContext(sources={})))


def all_fates() -> Report:
    """A report in which state meets every fate that there is, an operator each."""
    olds = [operator(f"old {fate.name.lower()}") for fate in Fate if fate is not Fate.EMPTY]
    news = [operator(f"new {fate.name.lower()}") for fate in Fate]
    gone = (Fate.DROPPED, Fate.REFUSED, Fate.LOST)
    rows = [
        MappingRow(
            old=None if fate is Fate.EMPTY else olds[index],
            new=None if fate in gone else news[index],
            fate=fate,
            by="uid",
        )
        for index, fate in enumerate(Fate)
    ]
    return report(
        Verdict.INCOMPATIBLE,
        mapping=tuple(rows),
        old=program("old.py", *(_at(each, index) for index, each in enumerate(olds))),
        new=program("new.py", *(_at(each, index) for index, each in enumerate(news))),
    )


def _at(each: Any, place: int) -> Any:
    return replace(each, node=place + 1, position=place)


def _written(folder: Path, text: str) -> str:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path.as_uri()

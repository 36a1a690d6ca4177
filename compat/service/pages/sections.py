"""Pages with graphs, rendered in a worker process: large plans must not hold up other requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from compat.check.findings import Fix
from compat.plan.facts import Program, facts_of
from compat.plan.reading import PlanError
from compat.report import summary
from compat.report.context import ReportContext
from compat.service import worker
from compat.service.pages.rendering import render
from compat.service.records import Check, CheckSide, Version
from compat.service.registry import NotFound, Registry
from compat.service.snapshots import accepted, snapshot_program
from compat.state.model.job import Settings
from compat.state.model.source_line import SourceLine
from compat.view.layers import Side
from compat.view.page_values import document_section, failure_section, plan_section

CONTEXT = ReportContext(sources={})
"""The context of shown programs: the service holds plans, not programs, and shows only the lines that the plans contain."""


def version_page(version: Version, logged_in: bool) -> str:
    """The page of a version's plan."""
    plan = accepted(worker.registry().plans.document(version.plan.digest))
    program = facts_of(plan, name=version.label, kind="plan")
    return render("version.html", logged_in=logged_in, version=version, sections=[plan_section(program, plan, CONTEXT)])


def compare_page(old: Version, new: Version, versions: Sequence[Version], logged_in: bool) -> str:
    """The page of a check of two versions that is made now; ``versions`` are the choices."""
    checked = worker.check_versions(new.job, old.number, new.number, new.plan.flink)
    section = _section(worker.registry(), checked, json.loads(checked.report))
    return render("compare.html", logged_in=logged_in, old=old, new=new, versions=versions, sections=[section])


def check_view(check: Check) -> str:
    """The contents of a check's page, from its report and plans, made in a worker process."""
    return view_of(worker.registry(), check)


def view_of(registry: Registry, check: Check) -> str:
    """The contents of a check's page, from a registry: the report, and the plans that are still stored."""
    report = registry.checks.report(check.id)
    return render("view.html", sections=[_section(registry, check, report)])


def _section(registry: Registry, check: Check | worker.Checked, report: dict[str, Any]) -> dict[str, Any]:
    if report["failures"]:
        return failure_section(report, "")
    new = _side(registry, check.new, report["new"])
    old = _side(registry, check.old, report["old"], new.program)
    return document_section(report, old, new, CONTEXT, _next_step(report, new.program))


def _side(registry: Registry, side: CheckSide, told: dict[str, Any], new: Program | None = None) -> Side:
    """The program of one side; where it is not kept any more, an empty one of that name."""
    try:
        if side.digest is not None:
            plan = accepted(registry.plans.document(side.digest))
            return Side(facts_of(plan, name=side.label, kind=told["kind"]), plan)
        if side.savepoint is not None and new is not None:
            savepoint = registry.savepoints.get(side.savepoint)
            return Side(snapshot_program(registry, savepoint, side.label, new), None)
    except (NotFound, PlanError):
        pass
    return Side(_missing(side.label, told), None)


def _missing(name: str, told: dict[str, Any]) -> Program:
    settings: Settings = told["settings"]
    return Program(
        name=name,
        kind=told["kind"] or "plan",
        job_name=told["job_name"] or "",
        flink=told["flink"] or "",
        operators=(),
        vertices=(),
        settings=settings or {},
    )


def _next_step(report: dict[str, Any], new: Program) -> str:
    """All edits that repair what blocks."""
    blocking = [finding["fixes"] for finding in report["findings"] if finding["level"] in ("error", "unknown")]
    return "; ".join(summary.repairs([[_fix(fix) for fix in fixes] for fixes in blocking], new))


def _fix(told: dict[str, Any]) -> Fix:
    place = told["at"]
    at = None if place is None else SourceLine(place["file"], place["line"] or 0)
    return Fix(text=told["text"], call=told["call"], at=at, operator_id=told["operator_id"])

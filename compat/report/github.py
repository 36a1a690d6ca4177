"""Workflow commands, which GitHub shows as annotations beside the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from compat.check.findings import Finding, Level, Report, Verdict
from compat.check.undecided import Undecided
from compat.escaping import github_data, github_property
from compat.report import summary
from compat.report.context import ReportContext
from compat.report.locations import in_work_tree
from compat.state.model.source_line import SourceLine

COMMANDS = {
    Level.ERROR: "error",
    Level.UNKNOWN: "error",
    Level.MIGRATE: "notice",
    Level.WARNING: "warning",
    Level.NOTE: "notice",
}


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """``::error file=…,line=…,title=…::message``, one line a finding; nothing for a check without findings."""
    lines: list[str] = []
    for outcome, tag in zip(outcomes, summary.tags(outcomes), strict=True):
        lines += _failures(outcome, context) if isinstance(outcome, Undecided) else _findings(outcome, tag, context)
    return "".join(f"{line}\n" for line in lines)


def _findings(report: Report, tag: str, context: ReportContext) -> list[str]:
    lines = []
    for finding in summary.by_cause(report):
        level = "warning" if finding.level is Level.UNKNOWN and context.allow_unknown else COMMANDS[finding.level]
        title = f"{finding.rule} {summary.rule_name(finding.rule)}".strip()
        lines.append(_command(level, summary.place(finding), title, _message(finding) + tag, context))
    if not lines and report.verdict in (Verdict.INCOMPATIBLE, Verdict.UNKNOWN):
        lines.append(_command("error", None, "compat", summary.sentence(report), context))
    return lines


def _message(finding: Finding) -> str:
    parts = [finding.title, finding.consequence]
    old, new = summary.old_place(finding), summary.new_place(finding)
    if old is not None and new is not None:
        parts.append(f"In OLD: {old}")
    for fix in finding.fixes[:1]:
        parts.append(summary.fix_line(fix))
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def _failures(outcome: Undecided, context: ReportContext) -> list[str]:
    lines = []
    for failure in outcome.failures:
        title = f"{failure.rule} {summary.rule_name(failure.rule)}".strip()
        if outcome.unchecked is not None:
            return [_command("notice", None, title, summary.reason(outcome), context)]
        message = " ".join([summary.sentence(outcome), summary.said(f"{failure.message} {failure.hint or ''}")])
        lines.append(_command("error", failure.source, title, message, context))
    return lines


def _command(level: str, place: SourceLine | None, title: str, message: str, context: ReportContext) -> str:
    properties = []
    if place is not None:
        file = in_work_tree(place.file, context)
        if file is None:
            message = f"{place}: {message}"
        else:
            properties.append(f"file={github_property(file)}")
            properties += [f"line={place.line}"] if place.line else []
    properties.append(f"title={github_property(title)}")
    return f"::{level} {','.join(properties)}::{github_data(message)}"

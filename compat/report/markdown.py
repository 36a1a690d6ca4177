"""A comment for a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from compat.check.findings import Fate, Finding, MappingRow, Report, Verdict
from compat.check.undecided import Undecided
from compat.escaping import code_line, fence, markdown, markdown_code, no_command
from compat.loader.failure import Failure
from compat.report import following, summary
from compat.report.context import ReportContext
from compat.report.frames import Addition, addition, frame, plain
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine

SIGNS = {
    Verdict.COMPATIBLE: "✅",
    Verdict.MIGRATION: "✅",
    Verdict.INCOMPATIBLE: "❌",
    Verdict.UNKNOWN: "❓",
}
MOST_ROWS = 100
"""The most rows of the mapping that are listed; the rest is counted, as comments have a maximum size."""
MOST_DETAILS = 25
"""Findings beyond this many are listed without details."""


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """The number of outcomes by verdict, then all outcomes, each under its own heading."""
    pages = [[f"**{markdown(summary.together(outcomes))}**"]] if len(outcomes) > 1 else []
    pages += [
        _undecided(outcome, context) if isinstance(outcome, Undecided) else _report(outcome, context)
        for outcome in outcomes
    ]
    return "\n\n".join("\n".join(map(no_command, page)) for page in pages) + "\n"


def _report(report: Report, context: ReportContext) -> list[str]:
    lines = [f"### {SIGNS[report.verdict]} {markdown(summary.sentence(report))}", "", markdown(summary.tally(report))]
    roles = summary.roles(report)
    lines += [] if roles is None else ["", markdown(roles)]
    findings = summary.by_cause(report)
    if findings:
        lines += ["", "| level | rule | what | where |", "| --- | --- | --- | --- |"]
        for finding in findings:
            place = summary.place(finding)
            where = markdown_code(str(place)) if place is not None else ""
            rule = f"{finding.rule} {summary.rule_name(finding.rule)}".strip()
            lines.append(f"| {finding.level.value} | {markdown(rule)} | {markdown(finding.title)} | {where} |")
        for finding in findings[:MOST_DETAILS]:
            lines += ["", *_details(finding, report, context)]
        if len(findings) > MOST_DETAILS:
            lines += ["", f"Details of {len(findings) - MOST_DETAILS} more findings are left out."]
    if report.mapping:
        lines += ["", *_mapping(report)]
    lines += _story(report)
    if report.suppressed:
        lines += ["", f"Suppressed ({len(report.suppressed)}):", ""]
        for finding in report.suppressed:
            lines.append(
                f"- {finding.rule} {markdown(finding.title)} ({markdown(finding.ignored or 'no reason given')})"
            )
    for note in report.notes:
        lines += ["", f"Note: {markdown(note)}"]
    if report.accounts:
        lines += ["", markdown(summary.looked_at(report.accounts))]
    first = following.instruction(report, context)
    return [*lines, "", f"{markdown(first)} **{markdown(following.next_step(report, context))}**".lstrip()]


def _story(report: Report) -> list[str]:
    lines = []
    for passage in report.story:
        head = f"{_operator(passage.old)}: {summary.FATE_WORDS[passage.fate]}"
        lines += ["", f"**{head}**", "", " ".join(map(markdown, passage.sentences))]
        lines += ["", *(f"1. {markdown(step)}" for step in passage.way)] if passage.way else []
    if report.difference is not None:
        for title, texts in summary.differences(report.difference):
            lines += ["", f"**{markdown(title)}**", "", *(f"- {markdown(text)}" for text in texts)]
    return lines


def _details(finding: Finding, report: Report, context: ReportContext) -> list[str]:
    lines = ["<details>", f"<summary>{finding.rule} {markdown(finding.title)}</summary>"]
    for title, operator in (("OLD", finding.old), ("NEW", finding.new)):
        if operator is not None:
            lines += ["", f"Operator of {title}: {_operator(operator)}, id {markdown_code(summary.ids(operator))}"]
    for title, place in (("OLD", summary.old_place(finding)), ("NEW", summary.new_place(finding))):
        lines += _source(f"In {title}", place, context)
    for text, place in finding.related:
        lines += ["", f"{markdown(text)} {markdown_code(str(place))}"]
    if finding.consequence:
        lines += ["", f"**At restore:** {markdown(finding.consequence)}"]
    if finding.reason:
        lines += ["", f"**Why:** {markdown(finding.reason)}"]
    if finding.silent:
        lines += ["", f"**{summary.SILENT}**"]
    for fix in finding.fixes[: summary.MOST_FIXES]:
        lines += ["", f"**Fix:** {markdown(fix.text)}"]
        if fix.call is not None:
            lines += [*_source("At", fix.at, context, fix.call)]
        elif (command := following.command_of(fix, report, context)) is not None:
            lines += ["", "Run:", "", *fence([code_line(command.removeprefix("Run: "))])]
        elif fix.code is not None:
            lines += ["", *fence([code_line(fix.code)])]
    more = summary.further(finding)
    lines += [] if more is None else ["", more]
    return [*lines, "", "</details>"]


def _source(title: str, place: SourceLine | None, context: ReportContext, added: str | None = None) -> list[str]:
    if added is None:
        code = plain(frame(context, place))
    else:
        code = plain(addition(context, Addition(place, (added,)))) or [code_line(added)]
    lines = ["", f"{title} {markdown_code(str(place))}"] if place is not None else []
    return [*lines, "", *fence(code)] if code else lines


def _mapping(report: Report) -> list[str]:
    rows = list(report.mapping)
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row.fate is not Fate.RESTORED][:MOST_ROWS]
    old, new = markdown(report.old.name), markdown(report.new.name)
    lines = [f"| state of {old} | becomes | in {new} | matched by |", "| --- | --- | --- | --- |"]
    lines += [_row(row) for row in rows]
    if len(rows) < len(report.mapping):
        lines += ["", f"{len(report.mapping) - len(rows)} more operators are left out."]
    return lines


def _row(row: MappingRow) -> str:
    note = " ".join(markdown(text) for text in (row.by, row.note) if text)
    old = _operator(row.old) if row.old is not None else "-"
    new = _operator(row.new) if row.new is not None else "-"
    return f"| {old} | {summary.FATE_WORDS[row.fate]} | {new} | {note} |"


def _operator(operator: Operator) -> str:
    uid = f" (uid {markdown_code(operator.uid)})" if operator.uid is not None else ""
    return markdown(operator.name) + uid


def _undecided(outcome: Undecided, context: ReportContext) -> list[str]:
    if outcome.unchecked is not None:
        return [f"### ➖ {markdown(summary.sentence(outcome))}"]
    lines = [f"### ❗ {markdown(summary.sentence(outcome))}"]
    for failures in summary.alike(outcome.failures):
        lines += ["", *_failure(failures, following.mending(outcome, failures[-1], context))]
    return lines


def _failure(failures: Sequence[Failure], command: str | None) -> list[str]:
    failure = failures[-1]
    rule = f"{failure.rule} {summary.rule_name(failure.rule)}".strip()
    lines = [
        f"**{markdown(rule)}** in {markdown_code(summary.whose(failures))}: {markdown(summary.said(failure.message))}"
    ]
    if failure.source is not None:
        lines += ["", f"At {markdown_code(str(failure.source))}"]
    if failure.traceback:
        lines += ["", *fence([code_line(line) for line in failure.traceback.splitlines()])]
    if command is not None:
        lines += ["", "What to do: Run:", "", *fence([code_line(command.removeprefix("Run: "))])]
    if failure.hint:
        told = markdown(summary.said(failure.hint))
        lines += ["", told if command is not None else f"What to do: {told}"]
    return lines

"""Findings and failures for a terminal: as one paragraph, with everything known, and the edits that they ask for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from compat.check.findings import Finding, Fix, Level, Report
from compat.check.rules.identity import cmp104_stateful_without_uid as cmp104
from compat.check.undecided import Undecided
from compat.escaping import code_line
from compat.loader.failure import SAID, Failure
from compat.report import following, summary
from compat.report.frames import Addition, addition, frame
from compat.report.page import Page
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine

LEVEL_STYLES = {
    Level.ERROR: "bold red",
    Level.UNKNOWN: "bold magenta",
    Level.MIGRATE: "bold blue",
    Level.WARNING: "bold yellow",
    Level.NOTE: "bold cyan",
}


def is_compact(page: Page, report: Report) -> bool:
    """Whether paragraphs have no blank lines between them: when there is nothing to do."""
    return not page.context.verbose and following.accepted(report, page.context)


def write_paragraph(page: Page, finding: Finding, consequent: Sequence[Finding], report: Report) -> None:
    """A finding in short: what, and in one paragraph where, its consequence, and what to do by hand."""
    if not is_compact(page, report):
        page.line()
    _head(page, finding)
    if finding.level is Level.NOTE or (finding.rule == cmp104.RULE.id and not page.context.fails(finding.level)):
        return
    told = [summary.consequence(finding), summary.short_reason(finding)]
    told += [f"So {one.rule}, too: {one.title}." for one in consequent]
    place = summary.where(finding)
    paragraph = Text(page.shown(" ".join(filter(None, [f"{place}:" if place else "", *told]))))
    for fix in summary.advice(finding, page.context):
        paragraph.append(" Fix: ", style="green")
        paragraph.append(page.shown(fix))
    if paragraph:
        page.wrapped(paragraph, 2)


def write_finding(page: Page, finding: Finding, report: Report) -> None:
    """A finding with everything known about it."""
    page.line()
    _head(page, finding)
    old, new = finding.old, finding.new
    if old is not None and new is not None and old.label == new.label:
        _operator(page, "operator", old, new)
    else:
        _operator(page, "operator of OLD", old)
        _operator(page, "operator of NEW", new)
    if finding.state is not None:
        page.line(f"state: {finding.state}", 2)
    _source(page, "OLD", summary.old_place(finding))
    _source(page, "NEW", summary.new_place(finding))
    for text, place in finding.related:
        _source(page, text, place, with_frame=len(finding.related) <= 5)
    page.labelled("At restore", finding.consequence)
    page.labelled("Why", finding.reason)
    for fix in finding.fixes[: summary.MOST_FIXES]:
        page.labelled("Fix", fix.text, "green")
        if fix.call is not None and fix.at is not None:
            page.line(f"add {fix.call} at {fix.at}:", 4)
            _additions(page, [Addition(fix.at, (fix.field or fix.call,))])
        elif fix.call is not None:
            page.line(fix.call, 4)
        elif (command := following.command_of(fix, report, page.context)) is not None:
            page.whole(f"    {command}", "")
        elif fix.code is not None:
            page.line(fix.code, 4)
    more = summary.further(finding)
    if more is not None:
        page.line(more, 2)
    if finding.silent:
        page.line(summary.SILENT, 2, "bold")


def write_edits(page: Page, edits: Sequence[Fix], report: Report) -> None:
    """The calls to add, file by file, in the order of the lines."""
    shown = edits[: summary.MOST_EDITS]
    for file, fixes in summary.by_file(shown):
        page.line()
        page.line(f"Add to {file}:" if file is not None else "Add to the program:", style="green")
        for row in summary.by_place(fixes, report.new):
            _additions(page, row)
    if len(edits) > len(shown):
        page.line(f"and {len(edits) - len(shown)} edits more")


def write_failure(page: Page, failures: Sequence[Failure], outcome: Undecided) -> None:
    """A failure, reported once for all programs that had it."""
    failure = failures[-1]
    page.line()
    head = Text(f"failure {failure.rule}", style="bold red")
    head.append(f" {summary.rule_name(failure.rule)}: ", style="bold")
    head.append(page.shown(summary.said(failure.message)), style="not bold default")
    page.wrapped(head)
    page.line(f"program: {summary.whose(failures)}", 2)
    for place in dict.fromkeys(one.source for one in failures):
        _source(page, "source", place)
    traceback = (failure.traceback or "").splitlines() if page.context.verbose else summary.traceback(failure)
    if traceback:
        label, traceback = ("it said:", traceback[1:]) if traceback[0] == SAID else ("its traceback:", traceback)
        page.line(label, 2)
    for line in traceback:
        page.line(f"| {code_line(line)}", 4)
    command = following.mending(outcome, failure, page.context)
    if command is not None:
        page.whole(f"  What to do: {command}", "green")
        for line in (failure.hint or "").splitlines():
            page.line(line, 4)
    elif failure.hint:
        page.labelled("What to do", failure.hint, "green")


def _head(page: Page, finding: Finding) -> None:
    """The first line of a finding."""
    head = Text()
    head.append(f"{finding.level.value} {finding.rule}", style=LEVEL_STYLES[finding.level])
    name = summary.rule_name(finding.rule)
    head.append(f" {name}: " if name else ": ", style="bold")
    head.append(page.shown(finding.title))
    page.wrapped(head)


def _operator(page: Page, title: str, operator: Operator | None, moved: Operator | None = None) -> None:
    if operator is None:
        return
    text = Text(f"{title}: ")
    text.append(page.shown(operator.label), style="bold")
    hashes = summary.ids(operator)
    if moved is not None and summary.ids(moved) != hashes:
        hashes += f" in OLD, {summary.ids(moved)} in NEW"
    text.append(page.shown(f"  [id {hashes}]"), style="dim")
    page.wrapped(text, 2)


def _source(page: Page, title: str, place: SourceLine | None, with_frame: bool = True) -> None:
    if place is None:
        return
    page.line(f"{title}: {place}", 2)
    if with_frame:
        page.numbered(frame(page.context, place))


def _additions(page: Page, row: Sequence[Addition]) -> None:
    """A row of the program with the calls that it needs; only the calls if the source is missing."""
    lines = addition(page.context, *row)
    page.numbered(lines)
    for one in () if lines else row:
        where = f"{one.place.line} | " if one.place is not None and one.place.line else ""
        for call in one.calls:
            page.line(f"{where}+ {code_line(call)}", 4, "green")

"""The report for a person at a terminal: short, or complete.

In the short report, a finding is one paragraph: what, where, its consequence, what to do. The edits that belong
together follow once, and
the command to run next is the last line. ``--verbose`` adds source lines, reasons, ids and the table of states.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from msgspec.structs import replace
from rich.console import Console

from compat.check.findings import (
    Difference,
    Finding,
    Passage,
    Report,
    Verdict,
)
from compat.check.undecided import Undecided
from compat.escaping import no_command
from compat.loader.revisions import revision_prefix, short_revisions
from compat.report import following, summary
from compat.report.context import ReportContext
from compat.report.page import Page
from compat.report.paragraphs import is_compact, write_edits, write_failure, write_finding, write_paragraph
from compat.report.tables import write_accounts, write_assumptions, write_mapping, write_rehearsal

VERDICT_STYLES = {
    Verdict.COMPATIBLE: "bold green",
    Verdict.MIGRATION: "bold blue",
    Verdict.INCOMPATIBLE: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """All outcomes, one after the other."""
    buffer = StringIO()
    console = Console(
        file=buffer,
        width=max(40, context.width),
        force_terminal=context.color,
        color_system="standard" if context.color else None,
        no_color=not context.color,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    if any(isinstance(outcome, Report) and outcome.story for outcome in outcomes):
        context = replace(context, verbose=True)
    page = Page(console, context)
    one = len(outcomes) == 1
    for before, outcome in zip([None, *outcomes], outcomes, strict=False):
        if before is not None and not (_is_one_line(before, context) and _is_one_line(outcome, context)):
            console.print()
        if isinstance(outcome, Report):
            _report(page, outcome, last=one)
        else:
            _undecided(page, outcome, last=one)
    if len(outcomes) > 1:
        _together(page, outcomes)
    return "".join(no_command(line.rstrip()) + "\n" for line in buffer.getvalue().splitlines())


def _is_one_line(outcome: Report | Undecided, context: ReportContext) -> bool:
    """Whether the verdict is all that there is to say."""
    if isinstance(outcome, Undecided):
        return outcome.unchecked is not None
    return not (context.verbose or outcome.findings or outcome.suppressed or outcome.notes or outcome.rehearsal)


def _report(page: Page, report: Report, *, last: bool = True) -> None:
    """One outcome; ``last`` is False if the command to run next comes once for several."""
    page.sides = {}
    page.whole(short_revisions(summary.sentence(report)), VERDICT_STYLES[report.verdict])
    roles = summary.roles(report)
    if roles is not None and not _is_one_line(report, page.context):
        page.line(roles)
    page.sides = _revisions(report.old.name, report.new.name)
    if page.context.verbose:
        _whole_report(page, report)
    else:
        _short_report(page, report)
    _notes(page, report.notes)
    _ending(page, report, last=last)


def _whole_report(page: Page, report: Report) -> None:
    """The complete report, before the last lines."""
    for finding in summary.by_cause(report):
        write_finding(page, finding, report)
    if report.mapping:
        write_mapping(page, report)
    if report.accounts:
        write_accounts(page, report.accounts)
    write_assumptions(page, report.assumptions)
    if report.rehearsal is not None:
        write_rehearsal(page, report.rehearsal)
    if report.story:
        _story(page, report.story)
    if report.difference is not None:
        _differences(page, report.difference)
    if report.suppressed:
        _suppressed(page, report.suppressed)


def _short_report(page: Page, report: Report) -> None:
    """One paragraph per finding, and the edits."""
    for finding, consequent in summary.with_consequences(summary.by_cause(report)):
        write_paragraph(page, finding, consequent, report)
    write_edits(page, following.edits(report, page.context), report)
    if report.rehearsal is not None:
        write_rehearsal(page, report.rehearsal)


def _notes(page: Page, notes: Sequence[str]) -> None:
    if notes:
        page.line()
    for note in notes:
        page.line(f"note: {note}")


def _ending(page: Page, report: Report, *, last: bool) -> None:
    """The number of findings, and the command to run next."""
    first = following.instruction(report, page.context)
    more = "" if page.context.verbose else "--verbose shows the rest."
    if first or page.context.verbose or report.suppressed or len(report.findings) > 1:
        if not is_compact(page, report):
            page.line()
        page.line(" ".join(part for part in (f"{summary.tally(report)}.", first, more) if part))
    if last:
        if report.accounts:
            page.line(summary.looked_at(report.accounts))
        _next(page, report)


def _next(page: Page, report: Report) -> None:
    """The command to run next, and its alternatives elsewhere."""
    page.whole(following.next_step(report, page.context), "bold")
    for other in following.others(report, page.context):
        page.whole(f"  or: {other}", "bold")


def _together(page: Page, outcomes: Sequence[Report | Undecided]) -> None:
    """The number of checks, and the command to run next: the same check if any failed, else the start of NEW."""
    page.line()
    page.line(summary.together(outcomes))
    reports = [one for one in outcomes if isinstance(one, Report)]
    failed = [one for one in reports if not following.accepted(one, page.context)]
    undecided = [one for one in outcomes if isinstance(one, Undecided) and one.unchecked is None]
    forward = [one for one in reports if one.direction == "forward"]
    if failed:
        page.whole(following.next_step(failed[0], page.context, alone=False), "bold")
    elif undecided:
        page.whole(following.next_step_undecided(undecided[0], page.context), "bold")
    elif forward and len({one.new.name for one in forward}) == 1:
        _next(page, forward[-1])


def _undecided(page: Page, outcome: Undecided, *, last: bool = True) -> None:
    if outcome.unchecked is not None:
        page.whole(summary.sentence(outcome), "cyan")
        return
    page.sides = {}
    page.whole(short_revisions(summary.sentence(outcome)), "bold red")
    page.sides = _revisions(outcome.old, outcome.new)
    for failures in summary.alike(outcome.failures):
        write_failure(page, failures, outcome)
    if last:
        page.line()
        page.whole(following.next_step_undecided(outcome, page.context), "bold")


def _story(page: Page, passages: Sequence[Passage]) -> None:
    page.line()
    page.line("Where the state goes, and why:", style="bold")
    for passage in passages:
        place = f" ({passage.old.source})" if passage.old.source is not None else ""
        page.line()
        page.line(f"{passage.old.label}{place}: {summary.FATE_WORDS[passage.fate]}", 2, "bold")
        for sentence in passage.sentences:
            page.line(sentence, 4)
        for step in passage.way:
            page.line(f"- {step}", 6)


def _differences(page: Page, difference: Difference) -> None:
    page.line()
    blocks = summary.differences(difference)
    page.line("What is different:" if blocks else "Nothing else is different.", style="bold")
    for title, lines in blocks:
        page.line(title, 2)
        for line in lines:
            page.line(line, 4)


def _suppressed(page: Page, findings: Sequence[Finding]) -> None:
    page.line()
    page.line(f"Suppressed ({len(findings)}):")
    for finding in findings:
        place = summary.place(finding)
        where = f"{place}: " if place is not None else ""
        page.line(f"{where}{finding.rule} {finding.title} [{finding.ignored or 'no reason given'}]", 2)


def _revisions(old: str | None, new: str | None) -> dict[str, str]:
    """The short names for the revisions of OLD and NEW; none if both are the same revision, as a name would not
    distinguish them.
    """
    prefixes = [revision_prefix(name or "") for name in (old, new)]
    if prefixes[0] == prefixes[1]:
        return {}
    return {prefix: f"{side}:" for prefix, side in zip(prefixes, ("OLD", "NEW"), strict=True) if prefix}

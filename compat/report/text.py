"""The report for a person at a terminal: short, or complete.

In the short report, a finding is one paragraph: what, where, its consequence, what to do. The edits that belong
together follow once, and
the command to run next is the last line. ``--verbose`` adds source lines, reasons, ids and the table of states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from msgspec.structs import replace
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from compat.check.findings import (
    Account,
    Assumption,
    Difference,
    Fate,
    Finding,
    Fix,
    Level,
    MappingRow,
    Passage,
    RehearsedOperator,
    Report,
    Verdict,
)
from compat.check.rules.identity import cmp104_stateful_without_uid as cmp104
from compat.check.undecided import Undecided
from compat.escaping import code_line, no_command, visible
from compat.loader.failure import SAID, Failure
from compat.loader.revisions import revision_prefix, short_revisions
from compat.report import following, summary
from compat.report.context import ReportContext
from compat.report.frames import Addition, FrameLine, addition, frame
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine

LEVEL_STYLES = {
    Level.ERROR: "bold red",
    Level.UNKNOWN: "bold magenta",
    Level.MIGRATE: "bold blue",
    Level.WARNING: "bold yellow",
    Level.NOTE: "bold cyan",
}
VERDICT_STYLES = {
    Verdict.COMPATIBLE: "bold green",
    Verdict.MIGRATION: "bold blue",
    Verdict.INCOMPATIBLE: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}
FATE_STYLES = {
    Fate.RESTORED: "green",
    Fate.MIGRATED: "blue",
    Fate.EMPTY: "yellow",
    Fate.DROPPED: "yellow",
    Fate.UNKNOWN: "magenta",
}
MOST_ROWS = 100
"""With more rows than this, the table leaves out the operators whose state is simply restored."""


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
    page = _Page(console, context)
    one = len(outcomes) == 1
    for before, outcome in zip([None, *outcomes], outcomes, strict=False):
        if before is not None and not (_is_one_line(before, context) and _is_one_line(outcome, context)):
            console.print()
        if isinstance(outcome, Report):
            page.report(outcome, last=one)
        else:
            page.undecided(outcome, last=one)
    if len(outcomes) > 1:
        page.together(outcomes)
    return "".join(no_command(line.rstrip()) + "\n" for line in buffer.getvalue().splitlines())


def _is_one_line(outcome: Report | Undecided, context: ReportContext) -> bool:
    """Whether the verdict is all that there is to say."""
    if isinstance(outcome, Undecided):
        return outcome.unchecked is not None
    return not (context.verbose or outcome.findings or outcome.suppressed or outcome.notes or outcome.rehearsal)


def _broken(text: Text, width: int) -> Iterator[Text]:
    """The lines of a paragraph, each at most ``width`` columns wide, or a single word."""
    breaks, used = [], 0
    for word in re.finditer(r"\s*\S+\s*", text.plain):
        if used and used + cell_len(word[0].rstrip()) > width:
            breaks.append(word.start())
            used = 0
        used += cell_len(word[0])
    for line in text.divide(breaks):
        line.rstrip()
        yield line


class _Page:
    """Writes outcomes to a console."""

    def __init__(self, console: Console, context: ReportContext) -> None:
        self.console = console
        self.context = context
        self.sides: Mapping[str, str] = {}

    def shown(self, text: str) -> str:
        """``text``, made visible; a revision that the first line names is called OLD or NEW from then on."""
        for prefix, side in self.sides.items():
            for before in (f"{side} ", f"{side[:-1]}, "):
                text = text.replace(f"{before}{prefix}", before)
            text = text.replace(prefix, side)
        return visible(short_revisions(text))

    def report(self, report: Report, *, last: bool = True) -> None:
        """One outcome; ``last`` is False if the command to run next comes once for several."""
        self.sides = {}
        self.whole(short_revisions(summary.sentence(report)), VERDICT_STYLES[report.verdict])
        roles = summary.roles(report)
        if roles is not None and not _is_one_line(report, self.context):
            self.line(roles)
        self.sides = _revisions(report.old.name, report.new.name)
        if self.context.verbose:
            self.whole_report(report)
        else:
            self.short_report(report)
        self.notes(report.notes)
        self.ending(report, last=last)

    def whole_report(self, report: Report) -> None:
        """The complete report, before the last lines."""
        for finding in summary.by_cause(report):
            self.finding(finding, report)
        if report.mapping:
            self.mapping(report)
        if report.accounts:
            self.accounts(report.accounts)
        self.assumptions(report.assumptions)
        if report.rehearsal is not None:
            self.rehearsal(report.rehearsal)
        if report.story:
            self.story(report.story)
        if report.difference is not None:
            self.differences(report.difference)
        if report.suppressed:
            self.suppressed(report.suppressed)

    def short_report(self, report: Report) -> None:
        """One paragraph per finding, and the edits."""
        for finding, consequent in summary.with_consequences(summary.by_cause(report)):
            self.paragraph(finding, consequent, report)
        self.edits(following.edits(report, self.context), report)
        if report.rehearsal is not None:
            self.rehearsal(report.rehearsal)

    def is_compact(self, report: Report) -> bool:
        """Whether paragraphs have no blank lines between them: when there is nothing to do."""
        return not self.context.verbose and following.accepted(report, self.context)

    def notes(self, notes: Sequence[str]) -> None:
        if notes:
            self.line()
        for note in notes:
            self.line(f"note: {note}")

    def ending(self, report: Report, *, last: bool) -> None:
        """The number of findings, and the command to run next."""
        first = following.instruction(report, self.context)
        more = "" if self.context.verbose else "--verbose shows the rest."
        if first or self.context.verbose or report.suppressed or len(report.findings) > 1:
            if not self.is_compact(report):
                self.line()
            self.line(" ".join(part for part in (f"{summary.tally(report)}.", first, more) if part))
        if last:
            if report.accounts:
                self.line(summary.looked_at(report.accounts))
            self.next(report)

    def next(self, report: Report) -> None:
        """The command to run next, and its alternatives elsewhere."""
        self.whole(following.next_step(report, self.context), "bold")
        for other in following.others(report, self.context):
            self.whole(f"  or: {other}", "bold")

    def together(self, outcomes: Sequence[Report | Undecided]) -> None:
        """The number of checks, and the command to run next: the same check if any failed, else the start of NEW."""
        self.line()
        self.line(summary.together(outcomes))
        reports = [one for one in outcomes if isinstance(one, Report)]
        failed = [one for one in reports if not following.accepted(one, self.context)]
        undecided = [one for one in outcomes if isinstance(one, Undecided) and one.unchecked is None]
        forward = [one for one in reports if one.direction == "forward"]
        if failed:
            self.whole(following.next_step(failed[0], self.context, alone=False), "bold")
        elif undecided:
            self.whole(following.next_step_undecided(undecided[0], self.context), "bold")
        elif forward and len({one.new.name for one in forward}) == 1:
            self.next(forward[-1])

    def undecided(self, outcome: Undecided, *, last: bool = True) -> None:
        if outcome.unchecked is not None:
            self.whole(summary.sentence(outcome), "cyan")
            return
        self.sides = {}
        self.whole(short_revisions(summary.sentence(outcome)), "bold red")
        self.sides = _revisions(outcome.old, outcome.new)
        for failures in summary.alike(outcome.failures):
            self.failure(failures, outcome)
        if last:
            self.line()
            self.whole(following.next_step_undecided(outcome, self.context), "bold")

    def paragraph(self, finding: Finding, consequent: Sequence[Finding], report: Report) -> None:
        """A finding in short: what, and in one paragraph where, its consequence, and what to do by hand."""
        if not self.is_compact(report):
            self.line()
        self.head(finding)
        if finding.level is Level.NOTE or (finding.rule == cmp104.RULE.id and not self.context.fails(finding.level)):
            return
        told = [summary.consequence(finding), summary.short_reason(finding)]
        told += [f"So {one.rule}, too: {one.title}." for one in consequent]
        place = summary.where(finding)
        paragraph = Text(self.shown(" ".join(filter(None, [f"{place}:" if place else "", *told]))))
        for fix in summary.advice(finding, self.context):
            paragraph.append(" Fix: ", style="green")
            paragraph.append(self.shown(fix))
        if paragraph:
            self.wrapped(paragraph, 2)

    def edits(self, edits: Sequence[Fix], report: Report) -> None:
        """The calls to add, file by file, in the order of the lines."""
        shown = edits[: summary.MOST_EDITS]
        for file, fixes in summary.by_file(shown):
            self.line()
            self.line(f"Add to {file}:" if file is not None else "Add to the program:", style="green")
            for row in summary.by_place(fixes, report.new):
                self.additions(row)
        if len(edits) > len(shown):
            self.line(f"and {len(edits) - len(shown)} edits more")

    def additions(self, row: Sequence[Addition]) -> None:
        """A row of the program with the calls that it needs; only the calls if the source is missing."""
        lines = addition(self.context, *row)
        self.numbered(lines)
        for one in () if lines else row:
            where = f"{one.place.line} | " if one.place is not None and one.place.line else ""
            for call in one.calls:
                self.line(f"{where}+ {code_line(call)}", 4, "green")

    def line(self, text: str = "", indent: int = 0, style: str = "") -> None:
        """One paragraph, wrapped, every line of it indented."""
        if not text:
            self.console.print()
            return
        self.wrapped(Text(self.shown(text), style=style), indent)

    def wrapped(self, text: Text, indent: int = 0) -> None:
        """Text, broken between words only: a path that is longer than a line can still be copied."""
        for line in _broken(text, self.console.width - indent):
            self.console.print(Text(" " * indent).append_text(line), soft_wrap=True)

    def whole(self, text: str, style: str) -> None:
        """One line, however long: scripts read the first and last lines of a report, and people copy them."""
        self.console.print(Text(visible(text), style=style), soft_wrap=True)

    def head(self, finding: Finding) -> None:
        """The first line of a finding."""
        head = Text()
        head.append(f"{finding.level.value} {finding.rule}", style=LEVEL_STYLES[finding.level])
        name = summary.rule_name(finding.rule)
        head.append(f" {name}: " if name else ": ", style="bold")
        head.append(self.shown(finding.title))
        self.wrapped(head)

    def finding(self, finding: Finding, report: Report) -> None:
        """A finding with everything known about it."""
        self.line()
        self.head(finding)
        old, new = finding.old, finding.new
        if old is not None and new is not None and old.label == new.label:
            self.operator("operator", old, new)
        else:
            self.operator("operator of OLD", old)
            self.operator("operator of NEW", new)
        if finding.state is not None:
            self.line(f"state: {finding.state}", 2)
        self.source("OLD", summary.old_place(finding))
        self.source("NEW", summary.new_place(finding))
        for text, place in finding.related:
            self.source(text, place, with_frame=len(finding.related) <= 5)
        self.labelled("At restore", finding.consequence)
        self.labelled("Why", finding.reason)
        for fix in finding.fixes[: summary.MOST_FIXES]:
            self.labelled("Fix", fix.text, "green")
            if fix.call is not None and fix.at is not None:
                self.line(f"add {fix.call} at {fix.at}:", 4)
                self.additions([Addition(fix.at, (fix.field or fix.call,))])
            elif fix.call is not None:
                self.line(fix.call, 4)
            elif (command := following.command_of(fix, report, self.context)) is not None:
                self.whole(f"    {command}", "")
            elif fix.code is not None:
                self.line(fix.code, 4)
        more = summary.further(finding)
        if more is not None:
            self.line(more, 2)
        if finding.silent:
            self.line(summary.SILENT, 2, "bold")

    def operator(self, title: str, operator: Operator | None, moved: Operator | None = None) -> None:
        if operator is None:
            return
        text = Text(f"{title}: ")
        text.append(self.shown(operator.label), style="bold")
        hashes = summary.ids(operator)
        if moved is not None and summary.ids(moved) != hashes:
            hashes += f" in OLD, {summary.ids(moved)} in NEW"
        text.append(self.shown(f"  [id {hashes}]"), style="dim")
        self.wrapped(text, 2)

    def source(self, title: str, place: SourceLine | None, with_frame: bool = True) -> None:
        if place is None:
            return
        self.line(f"{title}: {place}", 2)
        if with_frame:
            self.numbered(frame(self.context, place))

    def numbered(self, lines: Sequence[FrameLine]) -> None:
        """Lines of a program behind their numbers."""
        margin = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
        for line in lines:
            number = str(line.number) if line.number is not None else "+" if line.added else ""
            text = Text(f"    {number:>{margin}} | ", style="dim")
            text.append(line.text, style="green" if line.added else "bold red" if line.mark else "not dim")
            # What is added can be pasted: a terminal breaks it, and nothing is cut off.
            if line.added:
                self.console.print(text, soft_wrap=True)
            else:
                self.console.print(text, overflow="ellipsis", no_wrap=True)

    def labelled(self, title: str, text: str, style: str = "bold") -> None:
        if not text:
            return
        line = Text(f"{title}: ", style=style)
        first, *more = text.splitlines()
        line.append(self.shown(first), style="not bold default")
        self.wrapped(line, 2)
        for other in more:
            self.line(other, 4)

    def mapping(self, report: Report) -> None:
        rows = list(report.mapping)
        left_out = 0
        if len(rows) > MOST_ROWS:
            rows = [row for row in rows if row.fate is not Fate.RESTORED]
            left_out = len(report.mapping) - len(rows)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
        table.add_column(f"State of {self.shown(report.old.name)}", overflow="fold", ratio=None)
        table.add_column("Becomes", overflow="fold")
        table.add_column(f"In {self.shown(report.new.name)}", overflow="fold")
        table.add_column("Matched by", overflow="fold")
        for row in rows:
            table.add_row(*_cells(row))
        self.line()
        if rows:
            self.console.print(table)
        if left_out:
            self.line(f"and {left_out} operators whose state is restored")

    def accounts(self, accounts: Sequence[Account]) -> None:
        """The ledger: each state of OLD, its fate, and the evidence for that."""
        rows = list(accounts)
        if len(rows) > MOST_ROWS:
            rows = [one for one in rows if one.evidence is None][:MOST_ROWS]
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
        for title in ("State", "Of", "Becomes", "Evidence"):
            table.add_column(title, overflow="fold")
        for one in rows:
            name = summary.BESIDES if one.state is None else one.state.name
            fate = Text(summary.FATE_WORDS[one.fate], style=FATE_STYLES.get(one.fate, "red"))
            table.add_row(
                Text(self.shown(name)), Text(self.shown(one.old.label)), fate, Text(self.shown(summary.evidence(one)))
            )
        if rows:
            self.line()
            self.console.print(table)
        if left_out := len(accounts) - len(rows):
            self.line(f"and {left_out:,} state{'s' if left_out > 1 else ''} more; --format json has all")

    def assumptions(self, assumptions: Sequence[Assumption]) -> None:
        """The inputs that were not given, which the check assumed or tried."""
        if assumptions:
            self.line()
            self.line("Assumed, because it was not given:", style="bold")
        for one in assumptions:
            self.line(f"  {summary.assumed(one)}")

    def rehearsal(self, operators: Sequence[RehearsedOperator]) -> None:
        self.line()
        if not operators:
            self.line("Rehearsal: no operator of NEW finds state that could be restored here.", style="bold")
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
        for title in ("Real state, restored into", "State", "On the heap", "On RocksDB"):
            table.add_column(title, overflow="fold")
        for row in summary.rehearsal_rows(operators):
            table.add_row(*(Text(self.shown(cell)) for cell in row))
        self.console.print(table)
        for sentence in summary.rehearsal_amounts(operators):
            self.line(sentence)

    def story(self, passages: Sequence[Passage]) -> None:
        self.line()
        self.line("Where the state goes, and why:", style="bold")
        for passage in passages:
            place = f" ({passage.old.source})" if passage.old.source is not None else ""
            self.line()
            self.line(f"{passage.old.label}{place}: {summary.FATE_WORDS[passage.fate]}", 2, "bold")
            for sentence in passage.sentences:
                self.line(sentence, 4)
            for step in passage.way:
                self.line(f"- {step}", 6)

    def differences(self, difference: Difference) -> None:
        self.line()
        blocks = summary.differences(difference)
        self.line("What is different:" if blocks else "Nothing else is different.", style="bold")
        for title, lines in blocks:
            self.line(title, 2)
            for line in lines:
                self.line(line, 4)

    def suppressed(self, findings: Sequence[Finding]) -> None:
        self.line()
        self.line(f"Suppressed ({len(findings)}):")
        for finding in findings:
            place = summary.place(finding)
            where = f"{place}: " if place is not None else ""
            self.line(f"{where}{finding.rule} {finding.title} [{finding.ignored or 'no reason given'}]", 2)

    def failure(self, failures: Sequence[Failure], outcome: Undecided) -> None:
        """A failure, reported once for all programs that had it."""
        failure = failures[-1]
        self.line()
        head = Text(f"failure {failure.rule}", style="bold red")
        head.append(f" {summary.rule_name(failure.rule)}: ", style="bold")
        head.append(self.shown(summary.said(failure.message)), style="not bold default")
        self.wrapped(head)
        self.line(f"program: {summary.whose(failures)}", 2)
        for place in dict.fromkeys(one.source for one in failures):
            self.source("source", place)
        traceback = (failure.traceback or "").splitlines() if self.context.verbose else summary.traceback(failure)
        if traceback:
            label, traceback = ("it said:", traceback[1:]) if traceback[0] == SAID else ("its traceback:", traceback)
            self.line(label, 2)
        for line in traceback:
            self.line(f"| {code_line(line)}", 4)
        command = following.mending(outcome, failure, self.context)
        if command is not None:
            self.whole(f"  What to do: {command}", "green")
            for line in (failure.hint or "").splitlines():
                self.line(line, 4)
        elif failure.hint:
            self.labelled("What to do", failure.hint, "green")


def _revisions(old: str | None, new: str | None) -> dict[str, str]:
    """The short names for the revisions of OLD and NEW; none if both are the same revision, as a name would not
    distinguish them.
    """
    prefixes = [revision_prefix(name or "") for name in (old, new)]
    if prefixes[0] == prefixes[1]:
        return {}
    return {prefix: f"{side}:" for prefix, side in zip(prefixes, ("OLD", "NEW"), strict=True) if prefix}


def _cells(row: MappingRow) -> tuple[Text, Text, Text, Text]:
    fate = Text(summary.FATE_WORDS[row.fate], style=FATE_STYLES.get(row.fate, "red"))
    note = Text(visible(row.by))
    if row.note:
        note.append(visible(f" ({row.note})" if row.by else row.note), style="dim")
    return _operator_cell(row.old), fate, _operator_cell(row.new), note


def _operator_cell(operator: Operator | None) -> Text:
    if operator is None:
        return Text("-", style="dim")
    text = Text(visible(operator.label))
    if operator.source is not None:
        text.append(visible(f" :{operator.source.line}"), style="dim")
    return text

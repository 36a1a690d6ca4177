"""The report for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from compat.check.findings import (
    Difference,
    Fate,
    Finding,
    Level,
    MappingRow,
    Passage,
    RehearsedOperator,
    Report,
    Verdict,
)
from compat.check.undecided import Undecided
from compat.escaping import code_line, no_command, visible
from compat.loader.failure import Failure
from compat.plan.facts import Operator, SourceLine
from compat.report import summary
from compat.report.context import ReportContext
from compat.report.frames import frame

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
"""Beyond this many rows, the table leaves out the operators whose state is simply restored."""


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """All outcomes, one below the other."""
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
    for number, outcome in enumerate(outcomes):
        if number:
            console.print()
        page = _Page(console, context)
        if isinstance(outcome, Report):
            page.report(outcome)
        else:
            page.undecided(outcome)
    return "".join(no_command(line.rstrip()) + "\n" for line in buffer.getvalue().splitlines())


class _Page:
    """Writes one outcome to a console."""

    def __init__(self, console: Console, context: ReportContext) -> None:
        self.console = console
        self.context = context

    def report(self, report: Report) -> None:
        self.whole(summary.sentence(report), VERDICT_STYLES[report.verdict])
        roles = summary.roles(report)
        if roles is not None:
            self.line(roles)
        for finding in summary.by_cause(report):
            self.finding(finding)
        if report.mapping:
            self.mapping(report)
        if report.rehearsal is not None:
            self.rehearsal(report.rehearsal)
        if report.story:
            self.story(report.story)
        if report.difference is not None:
            self.differences(report.difference)
        if report.suppressed:
            self.suppressed(report.suppressed)
        if report.notes:
            self.line()
            for note in report.notes:
                self.line(f"note: {note}")
        self.line()
        self.line(summary.tally(report))
        self.whole(summary.next_step(report, self.context), "bold")

    def undecided(self, outcome: Undecided) -> None:
        self.whole(summary.sentence(outcome), "bold red")
        for failure in outcome.failures:
            self.failure(failure)
        self.line()
        self.whole(summary.next_step_undecided(outcome), "bold")

    def line(self, text: str = "", indent: int = 0, style: str = "") -> None:
        """One paragraph, wrapped, every line of it indented."""
        if not text:
            self.console.print()
            return
        self.console.print(Padding(Text(visible(text), style=style), (0, 0, 0, indent), expand=False))

    def whole(self, text: str, style: str) -> None:
        """One line, however long: the first and the last of a report are read by scripts and copied by people."""
        self.console.print(Text(visible(text), style=style), soft_wrap=True)

    def finding(self, finding: Finding) -> None:
        self.line()
        head = Text()
        head.append(f"{finding.level.value} {finding.rule}", style=LEVEL_STYLES[finding.level])
        name = summary.rule_name(finding.rule)
        head.append(f" {name}: " if name else ": ", style="bold")
        head.append(visible(finding.title))
        self.console.print(head)
        old, new = finding.old, finding.new
        if old is not None and new is not None and summary.label(old) == summary.label(new):
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
                self.frame(fix.at, fix.call)
            elif fix.call is not None:
                self.line(fix.call, 4)
            elif fix.code is not None:
                self.line(fix.code, 4)
        more = summary.further(finding)
        if more is not None:
            self.line(more, 2)
        if finding.silent:
            self.line("Flink restores this without an error.", 2, "bold")

    def operator(self, title: str, operator: Operator | None, moved: Operator | None = None) -> None:
        if operator is None:
            return
        text = Text(f"{title}: ")
        text.append(visible(summary.label(operator)), style="bold")
        hashes = summary.ids(operator)
        if moved is not None and summary.ids(moved) != hashes:
            hashes += f" in OLD, {summary.ids(moved)} in NEW"
        text.append(visible(f"  [id {hashes}]"), style="dim")
        self.console.print(Padding(text, (0, 0, 0, 2), expand=False))

    def source(self, title: str, place: SourceLine | None, with_frame: bool = True) -> None:
        if place is None:
            return
        self.line(f"{title}: {place}", 2)
        if with_frame:
            self.frame(place)

    def frame(self, place: SourceLine, added: str | None = None) -> None:
        lines = frame(self.context, place, added)
        margin = max((len(str(line.number)) for line in lines if line.number is not None), default=1)
        for line in lines:
            number = "+" if line.added else "" if line.number is None else str(line.number)
            text = Text(f"    {number:>{margin}} | ", style="dim")
            text.append(line.text, style="green" if line.added else "bold red" if line.mark else "not dim")
            self.console.print(text, overflow="ellipsis", no_wrap=True)
        if not lines and added is not None:
            self.line(f"+ {code_line(added)}", 4, "green")

    def labelled(self, title: str, text: str, style: str = "bold") -> None:
        if not text:
            return
        line = Text(f"{title}: ", style=style)
        line.append(visible(text), style="not bold default")
        self.console.print(Padding(line, (0, 0, 0, 2), expand=False))

    def mapping(self, report: Report) -> None:
        rows = list(report.mapping)
        left_out = 0
        if len(rows) > MOST_ROWS:
            rows = [row for row in rows if row.fate is not Fate.RESTORED]
            left_out = len(report.mapping) - len(rows)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
        table.add_column(f"State of {visible(report.old.name)}", overflow="fold", ratio=None)
        table.add_column("Becomes", overflow="fold")
        table.add_column(f"In {visible(report.new.name)}", overflow="fold")
        table.add_column("Matched by", overflow="fold")
        for row in rows:
            table.add_row(*_cells(row))
        self.line()
        if rows:
            self.console.print(table)
        if left_out:
            self.line(f"and {left_out} operators whose state is restored")

    def rehearsal(self, operators: Sequence[RehearsedOperator]) -> None:
        self.line()
        if not operators:
            self.line("Rehearsal: no operator of NEW finds state that could be restored here.", style="bold")
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
        for title in ("Real state, restored into", "State", "On the heap", "On RocksDB"):
            table.add_column(title, overflow="fold")
        for row in summary.rehearsal_rows(operators):
            table.add_row(*(Text(visible(cell)) for cell in row))
        self.console.print(table)
        for sentence in summary.rehearsal_amounts(operators):
            self.line(sentence)

    def story(self, passages: Sequence[Passage]) -> None:
        self.line()
        self.line("Where the state goes, and why:", style="bold")
        for passage in passages:
            place = f" ({passage.old.source})" if passage.old.source is not None else ""
            self.line()
            self.line(f"{summary.label(passage.old)}{place}: {summary.FATE_WORDS[passage.fate]}", 2, "bold")
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

    def failure(self, failure: Failure) -> None:
        self.line()
        head = Text(f"failure {failure.rule}", style="bold red")
        head.append(f" {summary.rule_name(failure.rule)}: ", style="bold")
        head.append(visible(failure.message), style="not bold default")
        self.console.print(head)
        side = f"{failure.side.name}, " if failure.side is not None else ""
        self.line(f"program: {side}{failure.name}", 2)
        self.source("source", failure.source)
        if failure.traceback:
            self.line("its traceback:", 2)
            for line in failure.traceback.splitlines():
                self.line(f"| {code_line(line)}", 4)
        if failure.hint:
            self.labelled("What to do", failure.hint, "green")


def _cells(row: MappingRow) -> tuple[Text, Text, Text, Text]:
    fate = Text(summary.FATE_WORDS[row.fate], style=FATE_STYLES.get(row.fate, "red"))
    note = Text(visible(row.by))
    if row.note:
        note.append(visible(f" ({row.note})" if row.by else row.note), style="dim")
    return _operator_cell(row.old), fate, _operator_cell(row.new), note


def _operator_cell(operator: Operator | None) -> Text:
    if operator is None:
        return Text("-", style="dim")
    text = Text(visible(operator.name))
    if operator.uid is not None:
        text.append(visible(f" (uid {operator.uid})"), style="dim")
    if operator.source is not None:
        text.append(visible(f" :{operator.source.line}"), style="dim")
    return text

"""The tables of a complete report: where state goes, what was assumed, what was restored here."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from compat.check.findings import Account, Assumption, Fate, MappingRow, RehearsedOperator, Report
from compat.escaping import visible
from compat.report import summary
from compat.report.page import Page
from compat.state.model.operators import Operator

FATE_STYLES = {
    Fate.RESTORED: "green",
    Fate.MIGRATED: "blue",
    Fate.EMPTY: "yellow",
    Fate.DROPPED: "yellow",
    Fate.UNKNOWN: "magenta",
}
MOST_ROWS = 100
"""With more rows than this, the table leaves out the operators whose state is simply restored."""


def write_mapping(page: Page, report: Report) -> None:
    """The operators of OLD, where their state goes, and why."""
    rows = list(report.mapping)
    left_out = 0
    if len(rows) > MOST_ROWS:
        rows = [row for row in rows if row.fate is not Fate.RESTORED]
        left_out = len(report.mapping) - len(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
    table.add_column(f"State of {page.shown(report.old.name)}", overflow="fold", ratio=None)
    table.add_column("Becomes", overflow="fold")
    table.add_column(f"In {page.shown(report.new.name)}", overflow="fold")
    table.add_column("Matched by", overflow="fold")
    for row in rows:
        table.add_row(*_cells(row))
    page.line()
    if rows:
        page.console.print(table)
    if left_out:
        page.line(f"and {left_out} operators whose state is restored")


def write_accounts(page: Page, accounts: Sequence[Account]) -> None:
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
            Text(page.shown(name)), Text(page.shown(one.old.label)), fate, Text(page.shown(summary.evidence(one)))
        )
    if rows:
        page.line()
        page.console.print(table)
    if left_out := len(accounts) - len(rows):
        page.line(f"and {left_out:,} state{'s' if left_out > 1 else ''} more; --format json has all")


def write_assumptions(page: Page, assumptions: Sequence[Assumption]) -> None:
    """The inputs that were not given, which the check assumed or tried."""
    if assumptions:
        page.line()
        page.line("Assumed, because it was not given:", style="bold")
    for one in assumptions:
        page.line(f"  {summary.assumed(one)}")


def write_rehearsal(page: Page, operators: Sequence[RehearsedOperator]) -> None:
    """The states that were restored here, on each state backend."""
    page.line()
    if not operators:
        page.line("Rehearsal: no operator of NEW finds state that could be restored here.", style="bold")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left", show_edge=False)
    for title in ("Real state, restored into", "State", "On the heap", "On RocksDB"):
        table.add_column(title, overflow="fold")
    for row in summary.rehearsal_rows(operators):
        table.add_row(*(Text(page.shown(cell)) for cell in row))
    page.console.print(table)
    for sentence in summary.rehearsal_amounts(operators):
        page.line(sentence)


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

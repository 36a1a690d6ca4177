"""One line per finding, in the form of compiler messages that editors read."""

from __future__ import annotations

from collections.abc import Sequence

from compat.check.findings import Report, Verdict
from compat.check.undecided import Undecided
from compat.escaping import no_command, visible
from compat.report import summary
from compat.report.context import ReportContext


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """``file:line: CMP102 error message``, worst first; nothing for a check without findings."""
    lines: list[str] = []
    for outcome, tag in zip(outcomes, summary.tags(outcomes), strict=True):
        own = _failures(outcome) if isinstance(outcome, Undecided) else _findings(outcome)
        lines += [line + tag for line in own]
    return "".join(no_command(visible(line)) + "\n" for line in lines)


def _findings(report: Report) -> list[str]:
    lines = []
    for finding in summary.by_cause(report):
        where = summary.place(finding) or report.new.name
        lines.append(f"{where}: {finding.rule} {finding.level.value} {finding.title}")
    if not lines and report.verdict in (Verdict.INCOMPATIBLE, Verdict.UNKNOWN):
        lines.append(f"{report.new.name}: error {summary.sentence(report)}")
    return lines


def _failures(outcome: Undecided) -> list[str]:
    if outcome.unchecked is not None:
        first = outcome.failures[0]
        return [f"{first.name}: {first.rule} note {summary.reason(outcome)}"]
    return [
        f"{failure.source or failure.name}: {failure.rule} failure {summary.said(failure.message)}"
        for failure in outcome.failures
    ]

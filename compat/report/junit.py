"""JUnit's XML, which CI servers show as tests: one for each operator of OLD that has state."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from compat.check.findings import Finding, Level, MappingRow, Report, Verdict
from compat.check.undecided import Undecided
from compat.escaping import code_line, visible
from compat.report import summary
from compat.report.context import ReportContext
from compat.report.locations import path_of
from compat.state.model.operators import Operator
from compat.state.model.source_line import SourceLine


def render(outcomes: Sequence[Report | Undecided], context: ReportContext) -> str:
    """One test suite per outcome. A suite whose check fails has one failure, or one error for open questions: CI
    servers count these, and a broken job should count once. It is in the case of the first finding that fails the
    check, or in the verdict's.
    """
    root = Element("testsuites", name="compat")
    for outcome in outcomes:
        suite = SubElement(root, "testsuite", name=visible(_name(outcome)))
        if isinstance(outcome, Report):
            _report(suite, outcome, context)
        else:
            _undecided(suite, outcome, context)
        _count(suite)
    for total in ("tests", "failures", "errors", "skipped"):
        root.set(total, str(sum(int(suite.get(total, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _name(outcome: Report | Undecided) -> str:
    return summary.pair(outcome) if any(summary.names(outcome)) else "compat"


def _report(suite: Element, report: Report, context: ReportContext) -> None:
    findings = _ByOperator(summary.ordered(report.findings))
    suppressed = _ByOperator(report.suppressed)
    for operator, rows in summary.by_old_operator(report.mapping):
        successors = [row.new for row in rows if row.new is not None]
        own = findings.take(operator, successors)
        name = f"{summary.label(operator)} [{operator.id}]"
        case = SubElement(suite, "testcase", classname=visible(report.new.name), name=visible(name))
        _place(case, next((one.source for one in successors if one.source is not None), operator.source), context)
        hidden = suppressed.take(operator, successors)
        _outcome(case, own, context)
        _output(case, [*map(_mapped, rows), *map(_suppressed, hidden)], own, context)
    for finding in findings.left():
        name = f"{finding.rule} {summary.rule_name(finding.rule)}: {finding.title}"
        case = SubElement(suite, "testcase", classname=visible(report.new.name), name=visible(name))
        _place(case, summary.place(finding), context)
        _outcome(case, [finding], context)
        _output(case, [], [finding], context)
    for finding in suppressed.left():
        case = SubElement(suite, "testcase", classname=visible(report.new.name), name=visible(_title(finding)))
        SubElement(case, "skipped", message=visible(finding.ignored or "no reason given"))
    _verdict(suite, report, context)
    _one_failure(suite)


def _one_failure(suite: Element) -> None:
    """Keep only the first failure or error of a job, with the texts of all: failures first."""
    marked = [(case, mark) for tag in ("failure", "error") for case in suite for mark in case.findall(tag)]
    for case, mark in marked[1:]:
        case.remove(mark)
        texts = (marked[0][1].text, mark.text)
        marked[0][1].text = "\n\n".join(filter(None, texts)) or None


def _place(case: Element, place: SourceLine | None, context: ReportContext) -> None:
    """The file of a test case for editors: a path of the working tree, also for a line of another revision."""
    if place is not None:
        case.set("file", visible(path_of(place.file, context)))
        case.set("line", str(place.line))


class _ByOperator:
    """Findings by the operator they are about: OLD's, or NEW's if OLD has none. Each is used once."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.groups: dict[tuple[str, str], list[Finding]] = {}
        for finding in findings:
            side, operator = ("old", finding.old) if finding.old is not None else ("new", finding.new)
            self.groups.setdefault((side, "" if operator is None else operator.id), []).append(finding)

    def take(self, old: Operator, successors: Sequence[Operator]) -> list[Finding]:
        keys = [("old", old.id), *(("new", operator.id) for operator in successors)]
        return [finding for key in keys for finding in self.groups.pop(key, [])]

    def left(self) -> list[Finding]:
        return [finding for group in self.groups.values() for finding in group]


def _outcome(case: Element, findings: Sequence[Finding], context: ReportContext) -> None:
    """Marks a test case by the findings that make the check fail; one element of each kind, as JUnit readers expect."""
    failing = [finding for finding in findings if context.fails(finding.level)]
    for tag, unknown in (("failure", False), ("error", True)):
        chosen = [finding for finding in failing if (finding.level is Level.UNKNOWN) is unknown]
        if chosen:
            first = chosen[0]
            element = SubElement(case, tag, type=first.rule, message=visible(_title(first)))
            element.text = "\n\n".join(_text(finding) for finding in chosen)
            return


def _output(case: Element, lines: Sequence[str], findings: Sequence[Finding], context: ReportContext) -> None:
    """The output apart from failures."""
    harmless = [finding for finding in findings if not context.fails(finding.level)]
    text = "\n".join([*map(visible, lines), *(_text(finding) for finding in harmless)])
    if text:
        SubElement(case, "system-out").text = text


def _verdict(suite: Element, report: Report, context: ReportContext) -> None:
    """A separate test case for the verdict: red when the verdict is no success, even if no operator's case is."""
    case = SubElement(suite, "testcase", classname=visible(report.new.name), name="verdict")
    if report.verdict is Verdict.INCOMPATIBLE:
        SubElement(case, "failure", type=report.verdict.value, message=visible(summary.sentence(report)))
    elif report.verdict is Verdict.UNKNOWN and not context.allow_unknown:
        SubElement(case, "error", type=report.verdict.value, message=visible(summary.sentence(report)))
    SubElement(case, "system-out").text = visible(summary.sentence(report))


def _undecided(suite: Element, outcome: Undecided, context: ReportContext) -> None:
    for failure in outcome.failures:
        name = f"{failure.rule} {summary.rule_name(failure.rule)}"
        case = SubElement(suite, "testcase", classname=visible(failure.name), name=visible(name))
        _place(case, failure.source or SourceLine(failure.name, 1), context)
        if outcome.unchecked is not None:
            SubElement(case, "skipped", message=visible(summary.said(failure.message)))
            continue
        message = f"{summary.sentence(outcome)} {summary.said(failure.message)}"
        error = SubElement(case, "error", type=failure.rule, message=visible(message))
        lines = [
            *failure.message.splitlines(),
            *(failure.traceback or "").splitlines(),
            *(failure.hint or "").splitlines(),
        ]
        error.text = "\n".join(code_line(line) for line in lines if line)
    _one_failure(suite)


def _count(suite: Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))


def _title(finding: Finding) -> str:
    return f"{finding.rule} {finding.title}"


def _mapped(row: MappingRow) -> str:
    target = f" ({summary.label(row.new)})" if row.new is not None else ""
    return f"state: {summary.FATE_WORDS[row.fate]}{target}" + (f", matched by {row.by}" if row.by else "")


def _suppressed(finding: Finding) -> str:
    return f"suppressed: {_title(finding)} [{finding.ignored or 'no reason given'}]"


def _text(finding: Finding) -> str:
    old, new = summary.old_place(finding), summary.new_place(finding)
    lines = [f"{finding.level.value} {finding.rule} {summary.rule_name(finding.rule)}: {finding.title}"]
    lines += [f"OLD: {old}"] if old is not None else []
    lines += [f"NEW: {new}"] if new is not None else []
    lines += [f"At restore: {finding.consequence}"] if finding.consequence else []
    lines += [f"Why: {finding.reason}"] if finding.reason else []
    for fix in finding.fixes:
        lines.append(summary.fix_line(fix))
    return "\n".join(visible(line) for line in lines)

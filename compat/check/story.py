"""The state mapping in words: for each stateful operator of OLD, where its state goes, and why its id moved."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from compat.check.catalogue import RULES
from compat.check.difference import difference
from compat.check.explain import Step, steps
from compat.check.findings import Fate, Finding, Level, MappingRow, Passage, Report
from compat.check.mapping import BY_GENERATED_ID, BY_UID, map_state
from compat.check.rule import Family
from compat.check.rules.identity import cmp103_state_to_another_operator as cmp103
from compat.state.model.operators import Operator

_FOUND = {
    BY_UID: "by its uid, which no edit moves",
    BY_GENERATED_ID: "by its generated id, which came out the same",
}

_ABOUT_STATES = frozenset({Family.SCALING, Family.STATES, Family.SETTINGS})


def explained(report: Report) -> Report:
    """The report with its story and the differences; unchanged if NEW is refused as a job."""
    if not report.new.operators:
        return report
    return replace(report, story=tell(report), difference=difference(report))


def tell(report: Report) -> tuple[Passage, ...]:
    """A passage for each row of the mapping that is about state of OLD, in the order of the mapping."""
    successors, problems = _successors(report), _problems(report)
    return tuple(
        _passage(row, successors.get(row.old.id), problems.get(row.old.id, []), report)
        for row in report.mapping
        if row.old is not None
    )


def _successors(report: Report) -> dict[str, Operator]:
    """The operators of NEW that do the work of OLD's operators whose state does not reach them, by OLD's id."""
    found = dict(map_state(report.old, report.new).successors)
    for finding in (*report.findings, *report.suppressed):
        ids = [fix.operator_id for fix in finding.fixes[:1] if fix.operator_id is not None]
        if finding.old is not None and finding.rule == cmp103.RULE.id and ids:
            found[finding.old.id] = report.new.by_id[ids[0]]
    return found


def _passage(row: MappingRow, successor: Operator | None, problems: list[str], report: Report) -> Passage:
    assert row.old is not None
    sentences = [*_where(row, successor), *problems]
    way: list[str] = []
    if successor is not None and successor.id != row.old.id:
        sentences.append(f"The id moved from {row.old.id} to {successor.id}:")
        way = [_step(step) for step in steps(row.old, successor, report.old, report.new)]
    return Passage(old=row.old, new=row.new or successor, fate=row.fate, sentences=tuple(sentences), way=tuple(way))


def _where(row: MappingRow, successor: Operator | None) -> Iterator[str]:
    if row.new is None:
        if row.fate is Fate.LOST:
            yield "The operator of this id takes other state, by its user hash, and ignores this one."
        elif successor is None:
            yield "No operator of NEW has its id, and no successor was found."
        else:
            yield f"No operator of NEW has its id. Its work is done by {_called(successor)} now."
    elif row.fate is Fate.WRONG_HANDS:
        yield f"Its state goes to {_called(row.new)}, which has the id now and is another operator."
        if successor is not None:
            yield f"Its work is done by {_called(successor)} now."
    else:
        assert row.old is not None
        found = _FOUND.get(row.by, f"by its {row.by}, {row.old.id}")
        renamed = "" if row.new.name == row.old.name else " It has another name now, which does not affect its state."
        yield f"Its state goes to {_called(row.new)}, found {found}.{renamed}"


def _problems(report: Report) -> dict[str, list[str]]:
    """The problems of the states themselves, from the findings, by the operator's id in OLD."""
    of_the_job = [
        _problem(finding)
        for finding in report.findings
        if finding.old is None and finding.new is None and finding.level is Level.ERROR
    ]
    found = {row.old.id: list(of_the_job) for row in report.mapping if row.old is not None}
    for finding in report.findings:
        if finding.old is not None and RULES[finding.rule].family in _ABOUT_STATES:
            found.setdefault(finding.old.id, []).append(_problem(finding))
    return found


def _problem(finding: Finding) -> str:
    return f"{finding.rule}: {finding.title}. {finding.consequence}"


def _step(step: Step) -> str:
    what = "; ".join(step.differences) or "nothing of its own differs"
    return f"{_called(step.new)}: {what}"


def _called(operator: Operator) -> str:
    return operator.label + (f" ({operator.source})" if operator.source is not None else "")

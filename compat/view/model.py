"""Reports and plans as the plain values that the page shows: everything in them can be written as JSON.

Names, paths and texts of users are passed through :func:`~compat.report.escaping.visible` here, once, so that no template
or script has to think of control characters; markup is escaped where it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compat.check.findings import Fate, Finding, Fix, Level, MappingRow, Report, Verdict
from compat.plan.facts import Program
from compat.report import summary
from compat.report.context import ReportContext
from compat.report.escaping import code_line, no_command, visible
from compat.report.failure import Undecided
from compat.view.layers import Side, joint_layers
from compat.view.sides import Json, side_values, source_values

Plan = Mapping[str, Any]

VERDICT_WORDS = {
    Verdict.COMPATIBLE: "Compatible",
    Verdict.MIGRATION: "Compatible with migration",
    Verdict.INCOMPATIBLE: "Incompatible",
    Verdict.UNKNOWN: "Not known",
}
LEVEL_WORDS = {Level.UNKNOWN: "open question", Level.MIGRATE: "migration"}
FATE_KEYS = {
    Fate.RESTORED: "restored",
    Fate.MIGRATED: "migrated",
    Fate.DROPPED: "dropped",
    Fate.REFUSED: "refused",
    Fate.WRONG_HANDS: "wrong-hands",
    Fate.LOST: "lost",
    Fate.UNKNOWN: "unknown",
    Fate.EMPTY: "empty",
}


def check_section(
    outcome: Report | Undecided, context: ReportContext, plans: tuple[Plan | None, Plan | None] = (None, None)
) -> Json:
    """One check as the page shows it. Without the plans, graphs are drawn from what the programs' facts tell."""
    if isinstance(outcome, Undecided):
        return _undecided(outcome)
    old = Side(outcome.old, plans[0] or {})
    new = Side(outcome.new, plans[1] or {})
    findings = summary.ordered(outcome.findings)
    places = (_places(outcome.old), _places(outcome.new))
    mapping = [_row(row, places) for row in outcome.mapping]
    return {
        "kind": "check",
        "verdict": outcome.verdict.value,
        "verdict_words": VERDICT_WORDS[outcome.verdict],
        "title": visible(f"{outcome.old.name} → {outcome.new.name}"),
        "sentence": visible(summary.sentence(outcome).partition(": ")[2]),
        "tally": summary.tally(outcome),
        "next": visible(summary.next_step(outcome, context).removeprefix("Next: ")),
        "notes": [visible(note) for note in outcome.notes],
        "sides": {"old": side_values(old, context), "new": side_values(new, context)},
        "layers": joint_layers(old, new),
        "findings": [_finding(finding, context, places) for finding in findings],
        "suppressed": [
            {"rule": finding.rule, "title": visible(finding.title), "reason": visible(finding.ignored or "")}
            for finding in outcome.suppressed
        ],
        "mapping": mapping,
        "failures": [],
    }


def plan_section(program: Program, plan: Plan, context: ReportContext) -> Json:
    """One program as the page shows it: the same layers, one side."""
    side = Side(program, plan)
    vertices, operators = len(program.vertices), len(program.operators)
    return {
        "kind": "plan",
        "verdict": None,
        "verdict_words": "Plan",
        "title": visible(program.name),
        "sentence": visible(
            f"{program.job_name}: {operators} operators in {vertices} vertices, for Flink {program.flink}"
        ),
        "tally": "",
        "next": "",
        "notes": [],
        "sides": {"old": None, "new": side_values(side, context)},
        "layers": joint_layers(None, side),
        "findings": [],
        "suppressed": [],
        "mapping": [],
        "failures": [],
    }


def _undecided(outcome: Undecided) -> Json:
    names = " → ".join(name for name in (outcome.old, outcome.new) if name)
    return {
        "kind": "failure",
        "verdict": "failed",
        "verdict_words": "Not decided",
        "title": visible(names or outcome.failures[0].name),
        "sentence": visible(summary.sentence(outcome).partition(": ")[2]),
        "tally": "",
        "next": visible(summary.next_step_undecided(outcome).removeprefix("Next: ")),
        "notes": [],
        "sides": {"old": None, "new": None},
        "layers": {},
        "findings": [],
        "suppressed": [],
        "mapping": [],
        "failures": [
            {
                "rule": failure.rule,
                "name": summary.rule_name(failure.rule),
                "program": visible(failure.name),
                "side": None if failure.side is None else failure.side.value,
                "message": [visible(line) for line in failure.message.splitlines()],
                "place": None if failure.source is None else visible(str(failure.source)),
                "traceback": [no_command(code_line(line)) for line in (failure.traceback or "").splitlines()],
                "hint": visible(failure.hint or ""),
            }
            for failure in outcome.failures
        ],
    }


def _places(program: Program) -> Mapping[str, int]:
    return {operator.id: index for index, operator in enumerate(program.operators)}


def _row(row: MappingRow, places: Sequence[Mapping[str, int]]) -> Json:
    return {
        "old": None if row.old is None else places[0].get(row.old.id),
        "new": None if row.new is None else places[1].get(row.new.id),
        "fate": FATE_KEYS[row.fate],
        "words": summary.FATE_WORDS[row.fate],
        "by": visible(row.by),
        "note": visible(row.note),
    }


def _finding(finding: Finding, context: ReportContext, places: Sequence[Mapping[str, int]]) -> Json:
    return {
        "rule": finding.rule,
        "name": summary.rule_name(finding.rule),
        "level": finding.level.value,
        "level_words": LEVEL_WORDS.get(finding.level, finding.level.value),
        "title": visible(finding.title),
        "consequence": visible(finding.consequence),
        "reason": [visible(line) for line in finding.reason.splitlines()],
        "silent": finding.silent,
        "state": None if finding.state is None else visible(finding.state),
        "old": None if finding.old is None else places[0].get(finding.old.id),
        "new": None if finding.new is None else places[1].get(finding.new.id),
        "old_source": source_values(summary.old_place(finding), context),
        "new_source": source_values(summary.new_place(finding), context),
        "related": [{"text": visible(text), "place": visible(str(line))} for text, line in finding.related],
        "fixes": [_fix(fix, context) for fix in finding.fixes],
    }


def _fix(fix: Fix, context: ReportContext) -> Json:
    return {
        "text": visible(fix.text),
        "call": None if fix.call is None else visible(fix.call),
        "source": source_values(fix.at, context, fix.call),
    }

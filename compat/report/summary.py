"""Sentences that all formats share: the verdict, the counts, what to do next."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from compat.check.catalogue import RULES
from compat.check.findings import Change, Difference, Fate, Finding, Fix, Level, MappingRow, Report, Verdict
from compat.check.undecided import Undecided
from compat.plan.facts import Operator, SourceLine
from compat.report.context import ReportContext

LOSSES = (Fate.REFUSED, Fate.DROPPED, Fate.LOST)
FATE_WORDS = {
    Fate.RESTORED: "restored",
    Fate.MIGRATED: "restored after migration",
    Fate.DROPPED: "dropped",
    Fate.REFUSED: "refused: nobody takes it",
    Fate.WRONG_HANDS: "handed to another operator",
    Fate.LOST: "lost",
    Fate.UNKNOWN: "not known",
    Fate.EMPTY: "starts empty",
}


def sentence(outcome: Report | Undecided) -> str:
    """The verdict in one sentence that names both programs. Names are as the user wrote them, not escaped."""
    if isinstance(outcome, Undecided):
        failed = " and ".join(dict.fromkeys(failure.name for failure in outcome.failures))
        if outcome.old is None or outcome.new is None:
            return f"FAILED: {failed} could not be read as a job ({_number(len(outcome.failures), 'failure')})."
        return (
            f"UNDECIDED: {outcome.new} could not be checked against {outcome.old}{_back(outcome)} "
            f"({_number(len(outcome.failures), 'failure')}, in {failed})."
        )
    after = _back(outcome)
    old, new = outcome.old.name, outcome.new.name
    match outcome.verdict:
        case Verdict.COMPATIBLE:
            text = f"COMPATIBLE: {new} restores the state of {old}{after}"
        case Verdict.MIGRATION:
            text = f"COMPATIBLE WITH MIGRATION: {new} restores the state of {old}{after}, converting some of it"
        case Verdict.INCOMPATIBLE:
            text = f"INCOMPATIBLE: {new} cannot restore the state of {old}{after}"
        case Verdict.UNKNOWN:
            text = f"UNKNOWN: whether {new} can restore the state of {old}{after} could not be decided"
    detail = _detail(outcome)
    return text + (f" ({detail})." if detail else ".")


def _back(outcome: Report | Undecided) -> str:
    return " after a rollback" if outcome.direction == "rollback" else ""


def pair(outcome: Report | Undecided) -> str:
    """Which check it is, among several: the state that is restored, and the program that restores it."""
    old, new = (outcome.old.name, outcome.new.name) if isinstance(outcome, Report) else (outcome.old, outcome.new)
    way = "rollback: " if outcome.direction == "rollback" else ""
    return f"{way}{old} -> {new}"


def tags(outcomes: Sequence[Report | Undecided]) -> list[str]:
    """For each outcome, what a line about it has to say so that it is not taken for one of another pair."""
    pairs = [pair(outcome) for outcome in outcomes]
    return [f" [{text}]" for text in pairs] if len(set(pairs)) > 1 else [""] * len(pairs)


def roles(outcome: Report | Undecided) -> str | None:
    """In a rollback, which program is meant by OLD and by NEW."""
    if outcome.direction == "forward" or not isinstance(outcome, Report):
        return None
    return (
        f"Going back: here OLD is {outcome.old.name}, whose state {outcome.new.name}, here NEW, would have to restore."
    )


def _detail(report: Report) -> str:
    losing = len({id(row.old) for row in report.mapping if row.old is not None and row.fate in LOSSES})
    strays = len({id(row.old) for row in report.mapping if row.old is not None and row.fate is Fate.WRONG_HANDS})
    parts = []
    if losing:
        parts.append(f"{_number(losing, 'operator')} {'loses its' if losing == 1 else 'lose their'} state")
    if strays:
        parts.append(f"{_number(strays, 'operator')} {'hands its' if strays == 1 else 'hand their'} state to another")
    if report.verdict is Verdict.INCOMPATIBLE and not parts:
        parts.append(_number(sum(f.level is Level.ERROR for f in by_cause(report)), "error"))
    if report.verdict is Verdict.UNKNOWN:
        parts.append(f"{_number(sum(f.level is Level.UNKNOWN for f in report.findings), 'open question')}")
    if report.verdict is Verdict.COMPATIBLE and not parts:
        kept = sum(row.fate is Fate.RESTORED and row.old is not None for row in report.mapping)
        if kept:
            parts.append(f"{_number(kept, 'operator')} {'keeps its' if kept == 1 else 'keep their'} state")
    return ", ".join(parts)


def by_cause(report: Report) -> list[Finding]:
    """The findings as a person reads them, worst first: those of one cause are one, which lists whom it concerns.

    Where an explanation was asked for, each stands for itself.
    """
    findings = ordered(report.findings)
    groups: dict[object, list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = finding.cause is None or bool(report.story)
        groups.setdefault(number if alone else (finding.rule, finding.level, finding.cause), []).append(finding)
    return [_as_one(group) for group in groups.values()]


def _as_one(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    concerned = tuple(
        (finding.new.label if finding.new is not None else finding.title, line)
        for finding in others
        if (line := place(finding)) is not None
    )
    return replace(
        first,
        title=f"{len(group)} operators {first.cause}",
        fixes=tuple(dict.fromkeys(fix for finding in group for fix in finding.fixes)),
        related=(*first.related, *concerned),
    )


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings there are of each level, worst first, levels without any included."""
    tally = dict.fromkeys(Level, 0)
    for finding in findings:
        tally[finding.level] += 1
    return {level.value: number for level, number in tally.items()}


def tally(report: Report) -> str:
    """The counts in words: ``2 errors, 1 warning``."""
    words = {"unknown": "open question", "migrate": "migration"}
    found = counts(by_cause(report))
    parts = [_number(number, words.get(level, level)) for level, number in found.items() if number]
    if report.suppressed:
        parts.append(f"{len(report.suppressed)} suppressed")
    return ", ".join(parts) if parts else "no findings"


def rule_name(rule: str) -> str:
    """The rule's short name, or an empty string if the catalogue does not have it."""
    return RULES[rule].name if rule in RULES else ""


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first; the order given is kept among equals."""
    return sorted(findings, key=lambda finding: finding.level.rank)


def place(finding: Finding) -> SourceLine | None:
    """Where an editor should go: the line in NEW, or else the one in OLD."""
    return new_place(finding) or old_place(finding)


def old_place(finding: Finding) -> SourceLine | None:
    """The line of OLD that a finding is about."""
    return finding.old_line or (finding.old.source if finding.old is not None else None)


def new_place(finding: Finding) -> SourceLine | None:
    """The line of NEW that a finding is about."""
    return finding.new_line or (finding.new.source if finding.new is not None else None)


def label(operator: Operator) -> str:
    """An operator's name, and its uid if it has one."""
    return operator.name + (f" (uid {operator.uid})" if operator.uid is not None else "")


def ids(operator: Operator) -> str:
    """The hashes by which Flink knows an operator."""
    return operator.id + (f", user hash {operator.user_hash}" if operator.user_hash is not None else "")


def change_words(change: Change) -> str:
    """A difference in words: ``states.count.type: LONG -> STRING``."""
    path = ".".join(change.path)
    match change.kind:
        case "added":
            return f"{path}: new, {_value(change.now)}"
        case "removed":
            return f"{path}: gone, was {_value(change.was)}"
        case _:
            return f"{path}: {_value(change.was)} -> {_value(change.now)}"


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def differences(difference: Difference) -> list[tuple[str, list[str]]]:
    """The differences in words, under headings."""
    blocks = [("Settings", [change_words(change) for change in difference.settings])]
    for item in difference.operators:
        blocks.append((label(item.new), [change_words(change) for change in item.changes]))
    blocks.append(("Only in OLD", [label(operator) for operator in difference.removed]))
    blocks.append(("Only in NEW", [label(operator) for operator in difference.added]))
    return [(title, lines) for title, lines in blocks if lines]


def by_old_operator(mapping: Iterable[MappingRow]) -> list[tuple[Operator, list[MappingRow]]]:
    """The rows of each operator of OLD, in the mapping's order."""
    groups: dict[str, tuple[Operator, list[MappingRow]]] = {}
    for row in mapping:
        if row.old is not None:
            groups.setdefault(row.old.id, (row.old, []))[1].append(row)
    return list(groups.values())


_RESTORE_OPTIONS = ("execution.state-recovery.path", "execution.state-recovery.ignore-unclaimed-state")
"""What SQL is restored from, and whether state may be left behind: Flink's options since 1.20."""


def next_step(report: Report, context: ReportContext) -> str:
    """The last line of a report: the command to run, or the edit to make."""
    old = context.old_argument or report.old.name
    new = context.new_argument or report.new.name
    again = " ".join(["compat check", shlex.quote(old), shlex.quote(new), *context.options])
    if report.direction == "rollback":
        again = " ".join(["compat check", shlex.quote(new), shlex.quote(old), *context.options, "--rollback"])
    if report.verdict in (Verdict.COMPATIBLE, Verdict.MIGRATION):
        snapshot = shlex.quote(old) if report.old.kind in ("savepoint", "snapshot") else "<savepoint>"
        if report.direction == "rollback":
            return f"Next: nothing to change; a savepoint of {report.old.name} can be taken back to {report.new.name}."
        flag = " -n" if report.allow_non_restored else ""
        if report.new.language == "java":
            return f"Next: flink run -s {snapshot}{flag} {shlex.quote(new)}"
        if report.new.language == "sql":
            path, ignored = _RESTORE_OPTIONS
            allowed = f" -D {ignored}=true" if flag else ""
            return f"Next: sql-client.sh -D {path}={snapshot}{allowed} -f {shlex.quote(new)}"
        if report.old.kind == "savepoint" and report.new.kind == "program":
            return f"Next: flink run -s {snapshot}{flag} -py {shlex.quote(new)}"
        if report.new.kind != "program":
            return f"Next: start {report.new.name} from {snapshot}{flag and ' with -n'}."
        return f"Next: compat run {shlex.quote(new)} -s {snapshot}{flag}"
    edits = _edits(report)
    if edits:
        more = len(edits) - MOST_EDITS
        named = edits if more <= 0 else [*edits[:MOST_EDITS], f"{_number(more, 'more edit')} (--fix writes all)"]
        return f"Next: add {' and '.join(filter(None, (', '.join(named[:-1]), named[-1])))}, then: {again}"
    words = [fix.text for finding in ordered(report.findings) if _blocks(finding) for fix in finding.fixes]
    if words:
        return f"Next: {_uncapitalized(words[0]).rstrip('.')}, then: {again}"
    if report.verdict is Verdict.UNKNOWN:
        return f"Next: settle what is not known, or accept it: {again} --allow-unknown"
    return f"Next: repair what is listed above, then: {again}"


def next_step_undecided(outcome: Undecided) -> str:
    """The last line of a report on a check that failed."""
    hint = next((failure.hint for failure in outcome.failures if failure.hint), None)
    return f"Next: {_uncapitalized(hint or 'repair what failed above, then run the same command again.')}"


def fix_line(fix: Fix) -> str:
    """A fix on one line, with what is to be written behind it."""
    code = f" ({fix.call} at {fix.at})" if fix.call and fix.at else f" ({fix.code})" if fix.code else ""
    return f"Fix: {fix.text}{code}"


MOST_EDITS = 6
"""Edits that the last line of a report names."""

MOST_FIXES = 5
"""Edits of one finding that are shown."""


def further(finding: Finding) -> str | None:
    """A sentence about the edits of a finding that are not shown."""
    more = len(finding.fixes) - MOST_FIXES
    command = "compat check --fix" + ("" if _blocks(finding) else " --fail-on warning")
    return None if more <= 0 else f"And {_number(more, 'more edit')} of this kind, which {command} writes."


def _edits(report: Report) -> list[str]:
    """The calls to add and where, of all findings that block: they belong together, one alone can make things worse."""
    blocking = [finding for finding in ordered(report.findings) if _blocks(finding)]
    fixes = [fix for finding in blocking for fix in finding.fixes if fix.call is not None]
    return list(dict.fromkeys(f"{fix.call} at {fix.at}" if fix.at is not None else str(fix.call) for fix in fixes))


def _blocks(finding: Finding) -> bool:
    return finding.level in (Level.ERROR, Level.UNKNOWN)


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

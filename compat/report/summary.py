"""Sentences that all formats share: the verdict, the counts, what to do next."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from compat.check.catalogue import RULES
from compat.check.findings import (
    Account,
    Assumption,
    Change,
    Difference,
    Fate,
    Finding,
    Fix,
    Level,
    MappingRow,
    ReadState,
    RehearsedOperator,
    Report,
    Verdict,
    Witness,
)
from compat.check.identity import hidden
from compat.check.rule import Family
from compat.check.rules.identity import cmp107_state_starts_empty as cmp107
from compat.check.rules.types import cmp404_state_type as cmp404
from compat.check.rules.types import cmp406_key_type as cmp406
from compat.check.undecided import Unchecked, Undecided
from compat.loader.failure import SAID, Failure, Undecidable
from compat.plan.facts import Program
from compat.report.context import ReportContext
from compat.report.frames import Addition, own_call
from compat.state.model.operators import Operator
from compat.state.model.source_line import Call, End, SourceLine
from compat.state.names import EVENT_TIMERS, PROCESSING_TIMERS

T = TypeVar("T")

SILENT = "Flink restores this without an error."
LOSSES = (Fate.REFUSED, Fate.DROPPED, Fate.LOST)
FATE_WORDS = {
    Fate.RESTORED: "restored",
    Fate.MIGRATED: "restored after migration",
    Fate.DROPPED: "dropped",
    Fate.REFUSED: "not restored",
    Fate.WRONG_HANDS: "handed to another operator",
    Fate.LOST: "lost",
    Fate.UNKNOWN: "not known",
    Fate.EMPTY: "starts empty",
}


def sentence(outcome: Report | Undecided) -> str:
    """The verdict in one sentence that names both programs. Names are as the user wrote them, not escaped."""
    if isinstance(outcome, Undecided):
        if outcome.unchecked is not None:
            return f"NOT CHECKED: {reason(outcome)}"
        failed = " and ".join(dict.fromkeys(failure.name for failure in outcome.failures))
        if outcome.old is None or outcome.new is None:
            return f"FAILED: {failed} could not be read as a job ({_number(len(alike(outcome.failures)), 'failure')})."
        return (
            f"UNDECIDED: {outcome.new} could not be checked against {outcome.old}{_back(outcome)} "
            f"({_number(len(alike(outcome.failures)), 'failure')}, in {failed})."
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


def reason(outcome: Undecided) -> str:
    """Why nothing had to be compared, in one sentence for all jobs."""
    first, *more = outcome.failures
    if not more:
        return first.message
    named = ", ".join(failure.name for failure in outcome.failures[:MOST_NAMED])
    rest = len(outcome.failures) - MOST_NAMED
    what = _OF_SEVERAL[outcome.unchecked or Unchecked.NOT_CONCERNED]
    return f"{len(outcome.failures)} jobs {what}: {named}{f' and {rest} more' if rest > 0 else ''}."


_OF_SEVERAL = {
    Unchecked.NOT_CONCERNED: "use no file that changed",
    Unchecked.NOT_NAMED: "are not among those that the settings name",
}


_NUMBER = re.compile(r"\d+")


def said(text: str) -> str:
    """A message on one line: those of Flink, Java and programs have several."""
    return " ".join(text.split())


def alike(failures: Iterable[Failure]) -> list[list[Failure]]:
    """The failures, with those of OLD and NEW merged that have the same words: times and other numbers are no difference."""
    return of_one_cause(failures, lambda one: (one.rule, _NUMBER.sub("", one.message)))


def whose(failures: Sequence[Failure]) -> str:
    """The programs of failures with the same words: ``OLD, a.py; NEW, b.py``."""
    sides = (f"{one.side.name}, {one.name}" if one.side is not None else one.name for one in failures)
    return "; ".join(dict.fromkeys(sides))


def traceback(failure: Failure) -> list[str]:
    """The traceback of a failure; empty if its message and its line say the same."""
    lines = (failure.traceback or "").splitlines()
    frames = sum(line.startswith(('  File "', "    at ")) for line in lines)
    told = failure.source is not None and frames <= 1 and SAID not in lines
    return [] if told else lines


def _back(outcome: Report | Undecided) -> str:
    return " after a rollback" if outcome.direction == "rollback" else ""


def names(outcome: Report | Undecided) -> tuple[str | None, str | None]:
    """The names of the two sides."""
    return (outcome.old.name, outcome.new.name) if isinstance(outcome, Report) else (outcome.old, outcome.new)


def pair(outcome: Report | Undecided) -> str:
    """The label of one check among several: the state that is restored, and the program that restores it."""
    old, new = names(outcome)
    if old is None or new is None:
        return str(old or new or outcome.failures[0].name if isinstance(outcome, Undecided) else new)
    way = "rollback: " if outcome.direction == "rollback" else ""
    return f"{way}{old} -> {new}"


def tags(outcomes: Sequence[Report | Undecided]) -> list[str]:
    """For each outcome, the label that distinguishes it from other pairs."""
    pairs = [None if _passed_over(outcome) else pair(outcome) for outcome in outcomes]
    several = len(set(pairs)) > 1
    return [f" [{text}]" if several and text is not None else "" for text in pairs]


def roles(outcome: Report | Undecided) -> str | None:
    """In a rollback, which program OLD and NEW stand for."""
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
        parts.append(f"{_number(sum(f.level is Level.UNKNOWN for f in by_cause(report)), 'open question')}")
    if report.verdict is Verdict.COMPATIBLE and not parts:
        kept = sum(row.fate is Fate.RESTORED and row.old is not None for row in report.mapping)
        if kept:
            parts.append(f"{_number(kept, 'operator')} {'keeps its' if kept == 1 else 'keep their'} state")
    return ", ".join(parts)


def by_cause(report: Report) -> list[Finding]:
    """The findings for people, worst first: those with the same cause become one, which lists the operators concerned.
    With an explanation, each stays separate.
    """
    groups = of_one_cause(
        ordered(_of_edits(report.findings)), lambda one: None if report.story else (one.rule, one.level, one.cause)
    )
    return [_as_one(group) for group in groups]


def _of_edits(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those on types that follow from another one of the same operator: one edit is reported once.
    The verdict considers all of them: if the other one is ignored, these are reported.
    """
    errors = [finding for finding in findings if finding.level is Level.ERROR and finding.old is not None]
    queries = {one.old.id for one in errors if one.old is not None and RULES[one.rule].family is Family.SQL}
    keys = {one.old.id for one in errors if one.old is not None and one.rule == cmp406.RULE.id}

    def follows(finding: Finding) -> bool:
        if finding.old is None or finding.rule not in (cmp404.RULE.id, cmp406.RULE.id):
            return False
        of_timers = (finding.state or "").startswith((EVENT_TIMERS, PROCESSING_TIMERS))
        return finding.old.id in queries or (of_timers and finding.old.id in keys)

    return [finding for finding in findings if not follows(finding)]


def of_one_cause(findings: Iterable[T], cause: Callable[[T], tuple[object, ...] | None]) -> list[list[T]]:
    """The findings by cause, in the given order: the last part of the cause is None for a finding that stays separate."""
    groups: dict[object, list[T]] = {}
    for number, finding in enumerate(findings):
        key = cause(finding)
        groups.setdefault(number if key is None or key[-1] is None else key, []).append(finding)
    return list(groups.values())


def _as_one(group: list[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    concerned = tuple((_whom(finding), line) for finding in others if (line := place(finding)) is not None)
    return replace(
        first,
        title=group_title(len(group), str(first.cause)),
        fixes=tuple(dict.fromkeys(fix for finding in group for fix in finding.fixes)),
        related=(*first.related, *concerned),
    )


def group_title(count: int, cause: str) -> str:
    """The title of findings of one cause."""
    return f"{count} operators {cause}"


def _whom(finding: Finding) -> str:
    """The operator that a finding of a group is about; its whole title if it has two."""
    old, new = finding.old, finding.new
    return new.label if new is not None and (old is None or old.label == new.label) else finding.title


BESIDES = "further states"
"""The name of the account of states that are not known by name."""


def looked_at(accounts: Sequence[Account]) -> str:
    """The extent of the check: ``12 states of 7 operators: all accounted for, 3 by Flink's serializers``. Empty if OLD
    has no state."""
    if not accounts:
        return ""
    operators = len({account.old.id for account in accounts})
    tally = Counter(_ACCOUNTED.get(account.fate, "lost") for account in accounts)
    if set(tally) == {"accounted for"}:
        words = ["all accounted for"]
    else:
        words = [f"{tally[word]} {word}" for word in ("accounted for", "dropped", "lost", "open") if tally[word]]
    by = Counter(account.evidence.witness for account in accounts if account.evidence is not None)
    words += [
        f"{by[witness]} by {witness.value}" for witness in Witness if witness is not Witness.READERS and by[witness]
    ]
    return f"{_number(len(accounts), 'state')} of {_number(operators, 'operator')}: {', '.join(words)}."


_ACCOUNTED = {
    Fate.RESTORED: "accounted for",
    Fate.MIGRATED: "accounted for",
    Fate.DROPPED: "dropped",
    Fate.UNKNOWN: "open",
}


def assumed(one: Assumption) -> str:
    """The assumption, and whether the verdict depends on it."""
    if not one.tried:
        return f"{one.name}: {one.value}. Change it by {one.settle}."
    tried = " and ".join(one.tried)
    if one.differs:
        return f"{one.name}: the answer with {one.value} differs from that with {tried}. Give it by {one.settle}."
    return f"{one.name}: {one.value}. With {tried} the answer is the same."


def evidence(account: Account) -> str:
    """The evidence for the fate of a state, in a few words."""
    if account.evidence is not None:
        return proof(account.evidence.compared, account.evidence.witness)
    return account.rule or account.gap


def proof(compared: Iterable[str], witness: Witness) -> str:
    """What was compared, and by which witness."""
    return f"{', '.join(compared)}, by {witness.value}"


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """The number of findings of each level, worst first, levels without any included."""
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


def together(outcomes: Sequence[Report | Undecided]) -> str:
    """The number of checks by verdict, and what was not checked: ``1 check: 1 compatible. Not checked: 1 new.``"""
    passed = [one for one in outcomes if isinstance(one, Undecided)]
    reasons = [one.unchecked for one in passed if one.unchecked is not None for _ in one.failures]
    words = [_verdict_word(one) for one in outcomes if not _passed_over(one)]
    checks = f"{_number(len(words), 'check')}: {_tallied(words)}." if words else "No checks."
    return checks + (f" Not checked: {_tallied(reasons)}." if reasons else "")


def _tallied(words: Sequence[str]) -> str:
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _verdict_word(outcome: Report | Undecided) -> str:
    if isinstance(outcome, Report):
        return _VERDICT_WORDS[outcome.verdict]
    gone = any(failure.rule is Undecidable.REMOVED_JOB for failure in outcome.failures)
    return "removed" if gone else "not decided"


def verdict_of(outcome: Report | Undecided) -> str:
    """The verdict in the form that programs read; an unneeded comparison has none of the four verdicts."""
    return "not-checked" if _passed_over(outcome) else outcome.verdict.value


def _passed_over(outcome: Report | Undecided) -> bool:
    return isinstance(outcome, Undecided) and outcome.unchecked is not None


_VERDICT_WORDS = {
    Verdict.COMPATIBLE: "compatible",
    Verdict.MIGRATION: "compatible with migration",
    Verdict.INCOMPATIBLE: "incompatible",
    Verdict.UNKNOWN: "not known",
}


def rule_name(rule: str) -> str:
    """The rule's short name, or an empty string if the catalogue does not have it."""
    return RULES[rule].name if rule in RULES else ""


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, within a level those that cost more state first; otherwise the given order is kept."""
    return sorted(
        findings, key=lambda finding: (finding.level.rank, _WEIGHTS.index(finding.fate or _fate(finding.rule)))
    )


_WEIGHTS = (
    Fate.WRONG_HANDS,
    Fate.LOST,
    Fate.REFUSED,
    Fate.DROPPED,
    Fate.EMPTY,
    Fate.UNKNOWN,
    Fate.MIGRATED,
    Fate.RESTORED,
)


def _fate(rule: str) -> Fate:
    """The fate of the state in most findings of a rule."""
    return RULES[rule].fate if rule in RULES else Fate.RESTORED


def place(finding: Finding) -> SourceLine | None:
    """The place for an editor: the line in NEW, or else the one in OLD."""
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
    """One difference in words: ``states.count.type: LONG -> STRING``."""
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
        blocks.append((item.new.label, [change_words(change) for change in item.changes]))
    blocks.append(("Only in OLD", [operator.label for operator in difference.removed]))
    blocks.append(("Only in NEW", [operator.label for operator in difference.added]))
    return [(title, lines) for title, lines in blocks if lines]


def by_old_operator(mapping: Iterable[MappingRow]) -> list[tuple[Operator, list[MappingRow]]]:
    """The rows of each operator of OLD, in the mapping's order."""
    groups: dict[str, tuple[Operator, list[MappingRow]]] = {}
    for row in mapping:
        if row.old is not None:
            groups.setdefault(row.old.id, (row.old, []))[1].append(row)
    return list(groups.values())


def fix_line(fix: Fix) -> str:
    """A fix on one line, followed by the code to write."""
    code = f" ({fix.call} at {fix.at})" if fix.call and fix.at else f" ({fix.code})" if fix.code else ""
    return f"Fix: {fix.text}{code}"


MOST_FIXES = 5
"""The most edits of one finding that are shown."""

MOST_EDITS = 12
"""The most edits of all findings together that the short report shows."""

MOST_NAMED = 6
"""The most edits, or repairs by hand, that one line names."""

MOST_PLACES = 4
"""The most further places of a finding that the short report names."""


def with_consequences(findings: Iterable[Finding]) -> list[tuple[Finding, list[Finding]]]:
    """Findings, worst first, each with those that only follow from it: an operator that its edits repair starts empty."""
    told: list[tuple[Finding, list[Finding]]] = []
    for finding in findings:
        cause = next((one for one in told if _follows(finding, one[0])), None)
        if cause is None:
            told.append((finding, []))
        else:
            cause[1].append(finding)
    return told


def _follows(finding: Finding, cause: Finding) -> bool:
    return (
        finding.rule == cmp107.RULE.id
        and finding.level is Level.WARNING
        and cause.level is Level.ERROR
        and finding.new is not None
        and not finding.related
        and any(fix.operator_id == finding.new.id for fix in cause.fixes)
    )


def consequence(finding: Finding) -> str:
    """The consequence at the restore, and, if Flink gives no error, that it does not."""
    if not finding.silent or finding.consequence.startswith(SILENT.rstrip(".")):
        return finding.consequence
    return f"{finding.consequence} {SILENT}"


def short_reason(finding: Finding) -> str:
    """The first line of the reason of a finding that blocks the deployment, unless the title says it already."""
    reason = finding.reason.partition("\n")[0]
    said = finding.title in reason or reason.rstrip(".").lower() in finding.title.lower()
    return "" if said or finding.level not in (Level.ERROR, Level.UNKNOWN) else reason


def where(finding: Finding) -> str:
    """The places of a finding on one line."""
    old, new = old_place(finding), new_place(finding)
    ends = dict.fromkeys(str(one) for one in (old, new) if one is not None)
    places = [" -> ".join(ends)] if ends else []
    places += [f"{text} {line}" for text, line in finding.related[:MOST_PLACES]]
    more = len(finding.related) - MOST_PLACES
    return "; ".join(places) + (f"; and {_number(more, 'place')} more" if more > 0 else "")


def advice(finding: Finding, context: ReportContext) -> list[str]:
    """What to do about a finding, in words; the calls of a finding that fails the check are shown with those of the others."""
    shown = context.fails(finding.level)
    chosen = [fix for fix in finding.fixes if fix.call is None] or ([] if shown else list(finding.fixes[:1]))
    texts = [_with_code(fix) for fix in chosen[:MOST_FIXES]]
    written = context.typed is not None and context.typed.fixable and any(fix.safe for fix in finding.fixes)
    if written and not shown and finding.level is Level.WARNING:
        texts.append("--fix --fail-on warning writes it.")
    return [" ".join(texts)] if texts else []


def _with_code(fix: Fix) -> str:
    if fix.code is None or fix.moves or fix.code in fix.text:
        return fix.text
    return f"{fix.text} ({fix.code})"


def by_file(fixes: Iterable[Fix]) -> list[tuple[str | None, list[Fix]]]:
    """Fixes by the file that they change; None for those of the environment."""
    groups: dict[str | None, list[Fix]] = {}
    for fix in fixes:
        groups.setdefault(fix.at.file if fix.at is not None else None, []).append(fix)
    return list(groups.items())


def by_place(fixes: Iterable[Fix], new: Program) -> list[list[Addition]]:
    """The calls to add to a file, those of one row together, in the order of rows. If one call creates several
    operators, each addition names its operator."""
    several = crowded(new)
    names = {operator.id: operator.label for operator in new.operators}
    texts: dict[Call | None, list[str]] = {}
    places: dict[Call | None, SourceLine | None] = {}
    for fix in fixes:
        if fix.call is not None:
            at, text = fix.at, fix.field or fix.call
            call = at.call if at is not None else None
            whose = names.get(fix.operator_id or "") if call in several else None
            places[call] = at
            texts.setdefault(call, []).append(text if whose is None or at is None else own_call(at, text, whose))
    rows: dict[tuple[int, End | None], list[Addition]] = {}
    for call, at in places.items():
        one = Addition(at, tuple(texts[call]), shared=call in several)
        entry = at.end if at is not None and at.file.endswith(".json") else None
        rows.setdefault((one.row, entry), []).append(one)
    return [rows[row] for row in sorted(rows, key=lambda row: (row[0], row[1] or (0, 0)))]


def further(finding: Finding) -> str | None:
    """A sentence about the edits of a finding that are not shown."""
    more = len(finding.fixes) - MOST_FIXES
    command = "compat check --fix" + ("" if finding.level in (Level.ERROR, Level.UNKNOWN) else " --fail-on warning")
    return None if more <= 0 else f"And {_number(more, 'more edit')} of this kind, which {command} writes."


def repairs(findings: Iterable[Sequence[Fix]], new: Program) -> list[str]:
    """The repairs of all blocking findings, given the fixes of each: the calls to add to NEW, then repairs without a
    call. They belong together, as one alone can make things worse. For a finding that no call repairs, the first fix is
    named.
    """
    several = crowded(new)
    names = {operator.id: operator.label for operator in new.operators}
    calls: dict[Fix, str] = {}
    words: list[str] = []
    for fixes in findings:
        edits = [fix for fix in fixes if fix.call is not None]
        for fix in edits:
            whose = (
                f" to {names[fix.operator_id]}"
                if fix.at is not None and fix.at.call in several and fix.operator_id in names
                else ""
            )
            calls[fix] = f"{fix.call}{whose} at {fix.at}" if fix.at is not None else str(fix.call)
        if not edits and fixes:
            words.append(_uncapitalized(fixes[0].text).rstrip("."))
    named = list(dict.fromkeys(calls.values()))
    if len(named) > MOST_NAMED:
        named = [*named[:MOST_NAMED], f"{_number(len(named) - MOST_NAMED, 'more edit')} (--fix writes all)"]
    by_hand = list(dict.fromkeys(words))
    if len(by_hand) > MOST_NAMED:
        by_hand = [*by_hand[:MOST_NAMED], f"{_number(len(by_hand) - MOST_NAMED, 'more repair')} (listed above)"]
    return [*([f"add {_listed(named)}"] if named else []), *by_hand]


def crowded(program: Program) -> set[Call]:
    """The calls that create more than one operator that a program can name."""
    named = (one for one in program.operators if not hidden(one))
    calls = Counter(one.source.call for one in named if one.source is not None)
    return {call for call, number in calls.items() if number > 1}


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))


def _uncapitalized(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_BACKENDS = ("hashmap", "rocksdb")
_FAILS = {
    "restore": "fails at the restore",
    "first-read": "fails at the first read",
    "checkpoint": "fails at a checkpoint",
    "moved": "gets other values in some fields",
    "unfit": "holds what its class does not declare",
}


def rehearsal_rows(operators: Sequence[RehearsedOperator]) -> list[tuple[str, str, str, str]]:
    """The rows of the table of a rehearsal: the operator, the state, and the result on each backend."""
    rows = []
    for operator in operators:
        states = list(dict.fromkeys((state.scope, state.name) for state in operator.states))
        for scope, name in states:
            cells = [
                "; ".join(
                    _fate_of_values(one)
                    for one in operator.states
                    if (one.scope, one.name) == (scope, name) and one.backend in (backend, "any")
                )
                for backend in _BACKENDS
            ]
            rows.append((operator.operator.label, name or "(all)", *(cell or "-" for cell in cells)))
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def _fate_of_values(state: ReadState) -> str:
    if state.at is None:
        return f"{state.read:,} {'migrated' if state.migrated else 'restored'}"
    places = [] if state.key_group is None else [f"key group {state.key_group}"]
    places += [f"key {state.key}"] if state.key else []
    before = f"{state.read:,} restored, then " if state.read else ""
    return f"{before}{_FAILS[state.at]}{': ' if places else ''}{', '.join(places)}"


def rehearsal_amounts(operators: Sequence[RehearsedOperator]) -> list[str]:
    """Sentences on how much of the keyed state was read, and what was left out."""
    sentences = []
    groups, read = sum(one.key_groups for one in operators), sum(one.key_groups_read for one in operators)
    size, size_read = sum(one.bytes for one in operators), sum(one.bytes_read for one in operators)
    if groups:
        sentences.append(f"{read:,} of {groups:,} key groups were read, {size_read:,} of {size:,} bytes.")
    for one in operators:
        if one.key_groups_read < one.key_groups:
            left = one.key_groups - one.key_groups_read
            sentences.append(
                f"Left out of {one.operator.label}: {left:,} key groups; a larger --limit reads more of them."
            )
        sentences += [f"Of {one.operator.label}: {note}." for note in one.notes]
    return sentences

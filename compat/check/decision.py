"""The check itself: takes facts of two programs, gives a report. Pure: nothing is read, run or written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from compat.check.assumptions import under_assumptions
from compat.check.catalogue import RULES, fate_of
from compat.check.context import Asked, Check, CheckOptions
from compat.check.findings import Fate, Finding, Level, MappingRow, Report
from compat.check.identity import find_wrong_hands
from compat.check.ledger import ledger, verdict
from compat.check.mapping import StateMapping, map_state
from compat.check.rule import Family
from compat.check.rules.identity import cmp106_user_hash_shadows as cmp106
from compat.check.rules.types import cmp431_state_not_proven as cmp431
from compat.check.spelling import spelled
from compat.plan.facts import Program

if TYPE_CHECKING:
    from compat.loader.jvm.answers import Answers


def check(
    old: Program,
    new: Program,
    options: CheckOptions | None = None,
    rebuilt: Mapping[str, Program] | None = None,
    answers: Answers | None = None,
) -> Report:
    """Whether NEW can restore the state of OLD: the verdict, all findings at once, and where each state goes.

    ``rebuilt`` are the programs from a second build, by side, to find unstable ids; ``answers`` are Flink's results of
    restoring OLD's state in NEW.
    """

    def judge(old: Program, new: Program, options: CheckOptions) -> tuple[Report, frozenset[Asked]]:
        return _judged(old, new, options, rebuilt or {}, answers)

    return under_assumptions(old, new, options or CheckOptions(), judge)


def _judged(
    old: Program,
    new: Program,
    options: CheckOptions,
    rebuilt: Mapping[str, Program],
    answers: Answers | None,
) -> tuple[Report, frozenset[Asked]]:
    """The report under the given settings, with what it may depend on."""
    mapping = map_state(old, new)
    context = Check(old, new, mapping, options, find_wrong_hands(mapping, new), rebuilt, answers)
    found = [
        finding
        for rule in RULES.values()
        if rule.find is not None and (context.in_flink or not rule.only_in_flink)
        for finding in rule.find(context)
    ]
    found += cmp431.find_unproven(context, found, [one for one in found if _speaks_of_states(one)])
    findings = sorted(
        spelled(found, new),
        key=lambda finding: (finding.level.rank, finding.rule),
    )
    rows = tuple(_rows(context, findings))
    accounts = ledger(context, rows, findings)
    report = Report(
        old=old,
        new=new,
        verdict=verdict(findings, accounts),
        findings=tuple(findings),
        mapping=rows,
        accounts=accounts,
        allow_non_restored=options.allow_non_restored,
        direction=options.direction,
    )
    return report, frozenset(context.asked)


_OF_STATES = (Family.STATES, Family.SNAPSHOTS, Family.SQL, Family.CONNECTORS)


def _speaks_of_states(finding: Finding) -> bool:
    """Whether a finding is about the fate of states; one about another chain, for example, is not."""
    return finding.state is not None or RULES[finding.rule].family in _OF_STATES


def with_queries(report: Report, of_writer: Report) -> Report:
    """The report on a savepoint, with the queries of the program that wrote it, as a savepoint has none."""
    of_state = [finding for finding in report.findings if RULES[finding.rule].family is not Family.SQL]
    of_queries = [finding for finding in of_writer.findings if RULES[finding.rule].family is Family.SQL]
    return with_findings(report, [*of_state, *of_queries], report.suppressed)


def with_findings(report: Report, findings: Iterable[Finding], suppressed: Iterable[Finding]) -> Report:
    """The same report with other findings, for instance after some were ignored."""
    kept = tuple(sorted(findings, key=lambda finding: (finding.level.rank, finding.rule)))
    return replace(report, findings=kept, suppressed=tuple(suppressed), verdict=verdict(kept, report.accounts))


def _rows(context: Check, findings: Iterable[Finding]) -> Iterable[MappingRow]:
    worst: dict[str, Finding] = {}
    of_the_job: Finding | None = None
    for finding in findings:
        if finding.old is not None:
            worst.setdefault(finding.old.id, finding)
        elif finding.new is None and finding.level.rank <= Level.MIGRATE.rank:
            of_the_job = of_the_job or finding
    mapping: StateMapping = context.mapping
    for pair in mapping.stateful_pairs():
        found = of_the_job or worst.get(pair.old.id)
        if of_the_job is None and pair.old.id in context.wrong_hands:
            rightful = context.rightful.get(pair.old.id)
            yield MappingRow(old=pair.old, new=pair.new, fate=Fate.WRONG_HANDS, by=pair.by, successor=rightful)
        elif found is None or found.level.rank > Level.MIGRATE.rank:
            yield MappingRow(old=pair.old, new=pair.new, fate=Fate.RESTORED, by=pair.by)
        else:
            yield MappingRow(old=pair.old, new=pair.new, fate=fate_of(found), by=pair.by, note=found.rule)
    for pair in mapping.shadowed:
        if pair.old.has_state:
            yield MappingRow(
                old=pair.old,
                new=None,
                fate=cmp106.RULE.fate,
                by=pair.by,
                note=cmp106.RULE.id,
            )
    for old in mapping.lost:
        fate = Fate.DROPPED if context.left_behind is not None else Fate.REFUSED
        successor = None if old.id in mapping.guessed else context.successor(old)
        yield MappingRow(old=old, new=None, fate=fate, by="", successor=successor)
    for new in mapping.fresh:
        if new.has_state:
            yield MappingRow(old=None, new=new, fate=Fate.EMPTY, by="")

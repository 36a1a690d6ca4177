"""A check under assumptions: missing inputs are tried with several values, and the verdict stands if it is always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from compat.check.context import Asked, CheckOptions
from compat.check.findings import Account, Assumption, Fate, Finding, Level, Report, Verdict
from compat.check.rules.scaling import cmp306_hangs_on_parallelism as cmp306
from compat.check.rules.settings import cmp608_hangs_on_setting as cmp608
from compat.compiler.configuration import DEFAULT_PARALLELISM, PARALLELISM
from compat.compiler.versions import FLINK_VERSIONS
from compat.plan.facts import Program
from compat.state.flink.formats import HEAP, ROCKSDB, Restores, restores
from compat.state.model.job import PYTHON_EXECUTION_MODE, STATE_BACKEND, Assumed, Settings

Judge = Callable[[Program, Program, CheckOptions], tuple[Report, frozenset[Asked]]]
"""Makes the report on two programs under the given settings, and records what the rules asked for."""


def under_assumptions(old: Program, new: Program, options: CheckOptions, judge: Judge) -> Report:
    """The report on two programs, judged again under each value of the inputs that rules asked for and that were not given.

    If the value decides whether a state is restored, the verdict is unknown. A loss under Flink's own default stands,
    even if another mode or version would avoid it. No state backend counts as a default, since every cluster sets one.
    """
    usual, asked = judge(old, new, options)
    made = _named(old, new)
    for one in Asked:
        values = list(_under(one, old, new, options)) if one in asked else []
        if not values:
            continue
        reports = {value: usual if inputs == (old, new, options) else judge(*inputs)[0] for value, inputs in values}
        fine = {value for value, report in reports.items() if report.verdict.restores}
        differs = 0 < len(fine) < len(reports) and (one is Asked.BACKEND or values[0][0] in fine)
        made.append(_assumption(one, tuple(reports), differs=differs))
        if differs:
            usual = _hanging(usual, tuple(reports.values()), cmp608.finding(usual, one, reports))
        elif one is Asked.BACKEND and bool(fine) is not usual.verdict.restores:
            usual = next(iter(reports.values()))
    return replace(usual, assumptions=tuple(made))


_Inputs = tuple[Program, Program, CheckOptions]


def _under(asked: Asked, old: Program, new: Program, options: CheckOptions) -> Iterator[tuple[str, _Inputs]]:
    """The inputs of the check with each value that a cluster may have, the usual one first; none if the value was given."""
    match asked:
        case Asked.BACKEND if new.settings.get(STATE_BACKEND) is None:
            for value in _backends(old):
                of_old: Settings = {STATE_BACKEND: old.settings.get(STATE_BACKEND) or value}
                yield value, (_with(old, of_old), _with(new, {STATE_BACKEND: value}), options)
        case Asked.EXECUTION_MODE if all(_assumes_mode(one) for one in (old, new)):
            thread: Settings = {PYTHON_EXECUTION_MODE: "thread"}
            yield "process", (old, new, options)
            yield "thread", (_with(old, thread), _with(new, thread), options)
        case Asked.FLINK if options.flink_assumed:
            for value in sorted(FLINK_VERSIONS, key=lambda one: one != options.flink):
                yield value, (old, new, replace(options, flink=value))


def _backends(old: Program) -> tuple[str, ...]:
    """The backends that the cluster may have; for a snapshot, those that can restore it."""
    formats = () if old.snapshot is None else old.snapshot.formats.values()
    fit = (one for one in (HEAP, ROCKSDB) if all(restores(format, one) is not Restores.NO for format in formats))
    return tuple(fit) or (HEAP, ROCKSDB)


def _with(program: Program, settings: Settings) -> Program:
    return replace(program, settings={**program.settings, **settings})


def _assumes_mode(program: Program) -> bool:
    return any(one.name == PYTHON_EXECUTION_MODE for one in program.assumed)


def _assumption(asked: Asked, values: tuple[str, ...], *, differs: bool) -> Assumption:
    return Assumption(
        name=asked.value, value=values[0], tried=values[1:], differs=differs, settle=cmp608.settle(asked, values[-1])
    )


def _named(old: Program, new: Program) -> list[Assumption]:
    """The facts of their surroundings that the programs read while they were built, each once."""
    read = dict.fromkeys(one for one in (*old.assumed, *new.assumed) if one.what != "option")
    return [_read(one) for one in read]


def _read(one: Assumed) -> Assumption:
    match one.what:
        case "arguments":
            return Assumption(name="arguments", value="none", settle="--args '...'")
        case "settings":
            return Assumption(name=one.name, value="an address alone", settle="--classpath FOLDER")
        case "connector":
            return Assumption(name="connector", value=one.name, settle="--connector NAME:RELEASE or --classpath JAR")
        case _:
            return Assumption(name=f"${one.name}", value="as it is here", settle=f"--env {one.name}='...'")


def _hanging(usual: Report, reports: Sequence[Report], hangs: Finding) -> Report:
    """The undecided report: the findings under each value, and the accounts that are the same under all."""
    told = [{(one.rule, one.fingerprint) for one in report.findings} for report in reports]
    both = [
        one
        for one in usual.findings
        if one.level is not Level.ERROR and all((one.rule, one.fingerprint) in found for found in told)
    ]
    fates = [{_key(account): account.fate for account in report.accounts} for report in reports]
    accounts = tuple(
        one
        if all(found.get(_key(one)) is one.fate for found in fates)
        else replace(one, fate=Fate.UNKNOWN, evidence=None, rule=hangs.rule, gap="")
        for one in usual.accounts
    )
    findings = tuple(sorted((hangs, *both), key=lambda finding: (finding.level.rank, finding.rule)))
    return replace(usual, verdict=Verdict.UNKNOWN, findings=findings, accounts=accounts)


def under_both(usual: Report, other: Report) -> Report:
    """The report under both values of the default parallelism: under Flink's, if the other one gives the same verdict.

    If the verdicts differ, the one with the parallelism of a snapshot's job stands. For two programs the verdict is
    then unknown, and findings under only one value are reported as depending on it. Ids that hold under only one value
    are not offered as fixes.
    """
    assumed = Assumption(
        name=PARALLELISM,
        value=str(DEFAULT_PARALLELISM),
        tried=("another",),
        differs=_answer(usual) != _answer(other),
        settle=f"-D {PARALLELISM}=4",
    )
    usual, other = (replace(one, assumptions=(assumed, *one.assumptions)) for one in (usual, other))
    if not assumed.differs:
        return usual if _fixes(usual) == _fixes(other) else replace(usual, findings=_without_ids(usual))
    settled = _of_the_snapshot(usual, other) or _of_pinned_ids(usual, other)
    if settled is not None:
        report, why = settled
        return replace(report, findings=(*report.findings, cmp306.settled(report, why)))
    return _hanging(usual, (usual, other), cmp306.finding(usual, other))


def _of_the_snapshot(usual: Report, other: Report) -> tuple[Report, str] | None:
    """The report under the default parallelism of a snapshot's job: that of operators for which NEW sets none.

    None if they had several, or one that fits neither of the two reports.
    """
    if usual.old.snapshot is None:
        return None
    ran = {operator.id: operator.parallelism for operator in usual.old.operators}
    news = [*usual.new.operators, *other.new.operators]
    followers = (one for one in news if not one.parallelism_configured)
    defaults = {ran[id] for one in followers for id in (one.user_hash, one.id) if id in ran}
    if len(defaults) != 1:
        return None
    (found,) = defaults
    if found == DEFAULT_PARALLELISM:
        return usual, f"its snapshot has operators with {found}"
    named = {one.parallelism for one in news if one.parallelism_configured}
    return None if found in named else (other, f"its snapshot has operators with {found}")


def _of_pinned_ids(usual: Report, other: Report) -> tuple[Report, str] | None:
    """The report under the default parallelism that yields more of the ids that NEW pins as hashes: those ids existed once."""
    pinned = {operator.user_hash for operator in usual.new.operators}
    first, second = (pinned & report.old.by_id.keys() for report in (usual, other))
    if first == second or not (first >= second or second >= first):
        return None
    report, of = (usual, "1") if first > second else (other, "another than 1")
    return report, f"hashes that NEW sets are ids of OLD with {of}"


def _answer(report: Report) -> str:
    return "fine" if report.verdict.restores else report.verdict.value


def _fixes(report: Report) -> set[str]:
    return {fix.call for finding in report.findings for fix in finding.fixes if fix.call is not None}


def _without_ids(report: Report) -> tuple[Finding, ...]:
    """The findings without edits that name an id, as the id differs under the other value."""
    return tuple(
        replace(
            finding, fixes=tuple(fix for fix in finding.fixes if fix.call is None or "set_uid_hash" not in fix.call)
        )
        for finding in report.findings
    )


def _key(account: Account) -> tuple[int, str | None]:
    return account.old.node, None if account.state is None else account.state.name

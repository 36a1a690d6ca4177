"""A check under assumptions: what the input does not say is tried, and the verdict stands where it is the same each time."""

from __future__ import annotations

from msgspec.structs import replace

from compat.check.findings import Account, Fate, Finding, Level, Report, Verdict
from compat.check.rules.scaling import cmp306_hangs_on_parallelism as cmp306
from compat.compiler.configuration import DEFAULT_PARALLELISM

_FINE = (Verdict.COMPATIBLE, Verdict.MIGRATION)


def under_both(usual: Report, other: Report) -> Report:
    """The report on both values of the default parallelism: as with Flink's, if the other one gives the same verdict.

    Where they differ the one stands that has the value with which a snapshot's job ran. From two programs nothing is decided
    then, and what only one of them finds is told as what it hangs on. Ids that hold under one value are not offered as fixes.
    """
    if _answer(usual) == _answer(other):
        return usual if _fixes(usual) == _fixes(other) else replace(usual, findings=_without_ids(usual))
    settled = _of_the_snapshot(usual, other) or _of_pinned_ids(usual, other)
    if settled is not None:
        report, why = settled
        return replace(report, findings=(*report.findings, cmp306.settled(report, why)))
    told = {(finding.rule, finding.fingerprint) for finding in other.findings}
    both = [one for one in usual.findings if (one.rule, one.fingerprint) in told and one.level is not Level.ERROR]
    hangs = cmp306.finding(usual, other)
    findings = tuple(sorted((hangs, *both), key=lambda finding: (finding.level.rank, finding.rule)))
    fates = {_key(account): account.fate for account in other.accounts}
    accounts = tuple(
        one
        if fates.get(_key(one)) is one.fate
        else replace(one, fate=Fate.UNKNOWN, evidence=None, rule=hangs.rule, gap="")
        for one in usual.accounts
    )
    return replace(usual, verdict=Verdict.UNKNOWN, findings=findings, accounts=accounts)


def _of_the_snapshot(usual: Report, other: Report) -> tuple[Report, str] | None:
    """The report under the default parallelism with which a snapshot's job ran: that of operators for which NEW sets none.

    None where they had several, or one that NEW gives to others, which stands for neither of the two reports.
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
    """The report under the default parallelism that makes more of the ids that NEW sets as hashes: they were seen somewhere."""
    pinned = {operator.user_hash for operator in usual.new.operators}
    first, second = (pinned & report.old.by_id.keys() for report in (usual, other))
    if first == second or not (first >= second or second >= first):
        return None
    report, of = (usual, "1") if first > second else (other, "another than 1")
    return report, f"hashes that NEW sets are ids of OLD with {of}"


def _answer(report: Report) -> str:
    return "fine" if report.verdict in _FINE else report.verdict.value


def _fixes(report: Report) -> set[str]:
    return {fix.call for finding in report.findings for fix in finding.fixes if fix.call is not None}


def _without_ids(report: Report) -> tuple[Finding, ...]:
    """The findings without the edits that name an id: under the other value it is another one."""
    return tuple(
        replace(
            finding, fixes=tuple(fix for fix in finding.fixes if fix.call is None or "set_uid_hash" not in fix.call)
        )
        for finding in report.findings
    )


def _key(account: Account) -> tuple[int, str | None]:
    return account.old.node, None if account.state is None else account.state.name

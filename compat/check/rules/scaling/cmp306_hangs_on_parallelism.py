"""Verdicts that depend on the parallelism that the cluster gives."""

from __future__ import annotations

from compat.check.findings import Fate, Finding, Fix, Level, Report, Verdict
from compat.check.rule import Rule

_PARALLELISM = '-D parallelism.default="$PARALLELISM"'
_WORDS = {
    Verdict.COMPATIBLE: "the state is restored",
    Verdict.MIGRATION: "the state is restored after a migration",
    Verdict.INCOMPATIBLE: "it is not restored",
    Verdict.UNKNOWN: "it cannot be told",
}


def settled(report: Report, why: str) -> Finding:
    """The finding about a report that holds under the default parallelism that OLD was given, and why that is known."""
    return Finding(
        rule=RULE.id,
        level=Level.NOTE,
        title=f"the answer holds under the default parallelism that OLD was given: {why}",
        consequence="With another parallelism.default the answer differs.",
        reason="Operators are chained where their parallelisms are equal, and generated ids depend on what is chained.",
        old_line=report.old.source,
        new_line=report.new.source,
        fixes=(Fix(text="Give the cluster's present value if it differs: -D parallelism.default=4; or set uids."),),
        direction=report.direction,
    )


def finding(usual: Report, other: Report) -> Finding:
    """The finding about two reports with different verdicts: with Flink's default parallelism, and with another one."""
    given = max(side.settings.get("parallelism") or 1 for side in (other.old, other.new))
    worse = other if usual.verdict.restores else usual
    first = worse.findings[0]
    return Finding(
        rule=RULE.id,
        level=RULE.level,
        title="the answer depends on the default parallelism, which neither the programs nor an option set",
        consequence=f"With parallelism.default 1 {_WORDS[usual.verdict]}; with another, such as {given}, "
        f"{_WORDS[other.verdict]} ({first.rule}: {first.title}).",
        reason="Operators are chained where their parallelisms are equal, and generated ids depend on what is chained.",
        old=first.old,
        new=first.new,
        old_line=first.old_line or usual.old.source,
        new_line=first.new_line or usual.new.source,
        fixes=(Fix(text="Give the check the cluster's value, or give the operators uids.", code=_PARALLELISM),),
        direction=usual.direction,
    )


RULE = Rule(
    id="CMP306",
    name="hangs-on-parallelism",
    level=Level.UNKNOWN,
    other_levels=(Level.NOTE,),
    when="note if a snapshot, or ids of OLD that NEW sets as hashes, show the parallelism of OLD",
    fate=Fate.UNKNOWN,
    summary="Whether state is restored depends on the default parallelism, which was not given.",
    why="An operator without its own parallelism takes the cluster's. Operators are chained only if their parallelisms "
    "are equal, and generated ids depend on that. So the ids of a job differ on a cluster with another "
    "parallelism.default.",
    old="stream.print().set_parallelism(1)",
    new="stream.rebalance().print().set_parallelism(1)",
    fix="Give the check the cluster's value, -D parallelism.default=4, or set uids.",
)

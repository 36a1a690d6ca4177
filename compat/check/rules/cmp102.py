"""CMP102 operator-moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compat.check.context import Check
from compat.check.explain import why_moved
from compat.check.findings import Finding, Level
from compat.check.rules import amounts
from compat.check.rules.pinning import only_timers, pin
from compat.plan.facts import Operator


def find(check: Check) -> Iterator[Finding]:
    """State of OLD whose operator is still there under another id."""
    for old in check.mapping.lost:
        new = check.successor(old)
        if new is not None:
            yield _finding(old, new, check)


def _finding(old: Operator, new: Operator, check: Check) -> Finding:
    allowed = check.options.allow_non_restored
    if not allowed:
        consequence = f"Flink refuses the restore: it cannot map the state of operator {old.id} to the new program."
        consequence += amounts.lost(old)
    elif only_timers(old):
        consequence = "The empty timer queues of the operator are left behind, as -n allows; nothing is lost."
    else:
        consequence = f"{new.label} starts without its state{amounts.of(*old.states or ())}, as -n allows."
    guessed = old.id in check.mapping.guessed
    fixes = pin(old, new)
    return check.finding(
        "CMP102",
        Level.WARNING if allowed else Level.ERROR,
        f"{old.label} has state and nowhere to go; {new.label} may be the same operator"
        if guessed
        else f"the id of {old.label} has moved",
        consequence=consequence,
        reason=_why_guessed(new) if guessed else why_moved(old, new, check.old, check.new),
        old=old,
        new=new,
        fixes=tuple(replace(fix, text=f"If it is the same operator: {_begun(fix.text)}") for fix in fixes)
        if guessed
        else fixes,
    )


def _why_guessed(new: Operator) -> str:
    return (
        f"No operator of NEW has this id. That it is {new.label} is a guess, from the sort of operator, its states and its "
        "parallelism; the program that wrote the savepoint would tell (--names)."
    )


def _begun(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]

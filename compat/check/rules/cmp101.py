"""CMP101 state-without-operator."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts, writing
from compat.check.rules.pinning import hidden, only_timers
from compat.plan.facts import Operator


def find(check: Check) -> Iterator[Finding]:
    """State of OLD that no operator of NEW takes, and no successor to give it to."""
    for old in check.mapping.lost:
        if check.successor(old) is None:
            yield _finding(old, check)


def _finding(old: Operator, check: Check) -> Finding:
    allowed = check.options.allow_non_restored
    empty = only_timers(old)
    if allowed:
        consequence = f"The state of {old.label} is dropped{amounts.of(*old.states or ())}, as -n allows."
    else:
        consequence = f"Flink refuses the restore: it cannot map the state of operator {old.id} to the new program."
        consequence += amounts.lost(old)
    reason = "No operator of NEW has this id, neither generated, nor from a uid, nor as a user hash."
    if empty:
        reason += " Its state is empty timer queues, but Flink counts them as state."
    return check.finding(
        "CMP101",
        Level.WARNING if allowed else Level.ERROR,
        f"{old.label} has state and no operator in {check.new.name} to go to",
        consequence=consequence,
        reason=reason,
        old=old,
        fixes=() if allowed else (_fix(old, empty),),
    )


def _fix(old: Operator, empty: bool) -> Fix:
    if empty:
        return Fix(text="Restore with -n: nothing is lost, the state is empty.", code=writing.NON_RESTORED)
    text = "Keep the operator, or restore with -n (--allowNonRestoredState) if its state may go."
    if hidden(old):
        return Fix(text=text, code=writing.NON_RESTORED)
    call = f".set_uid_hash({writing.text_of(old.id)})" if old.uid is None else f".uid({writing.text_of(old.uid)})"
    return Fix(text=text, code=call)

"""CMP102 operator-moved."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.explain import why_moved
from compat.check.findings import Finding, Level
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
    elif only_timers(old):
        consequence = "The empty timer queues of the operator are left behind, as -n allows; nothing is lost."
    else:
        consequence = f"{new.label} starts without its state, as -n allows."
    return check.finding(
        "CMP102",
        Level.WARNING if allowed else Level.ERROR,
        f"the id of {old.label} has moved",
        consequence=consequence,
        reason=why_moved(old, new, check.old, check.new),
        old=old,
        new=new,
        fixes=pin(old, new),
    )

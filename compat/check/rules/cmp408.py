"""CMP408 ttl-changed."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import writing
from compat.check.rules.states import changes
from compat.plan.facts import State

_MIGRATES_SINCE = "2."


def find(check: Check) -> Iterator[Finding]:
    """States for which a time to live was switched on or off."""
    migrates = check.options.flink.startswith(_MIGRATES_SINCE)
    for change in changes(check):
        for old, new in change.kept:
            if (old.ttl is None) == (new.ttl is None):
                continue
            switched = "on" if old.ttl is None else "off"
            yield check.finding(
                "CMP408",
                Level.NOTE if migrates else Level.ERROR,
                f"the time to live of state {old.name!r} of {change.pair.new.label} is switched {switched}",
                consequence="Flink migrates the values when it restores them."
                if migrates
                else "The task fails at the first access: values with and without a time stamp are two types.",
                reason="With a time to live, each value carries the time of its last use.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(_fix(old, migrates),),
            )


def _fix(old: State, migrates: bool) -> Fix:
    if migrates:
        return Fix(text="Nothing.")
    call = writing.time_to_live(old.ttl)
    if old.ttl is None:
        return Fix(text="Leave the time to live out again, or restore with Flink 2.x.", code=f"# {call}")
    return Fix(text="Switch it on again, or restore with Flink 2.x.", code=call)

"""States for which a time to live was switched on or off."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import writing
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.states import changes
from compat.plan.facts import State

_MIGRATES_SINCE = "2."


def _find(check: Check) -> Iterator[Finding]:
    migrates = check.options.flink.startswith(_MIGRATES_SINCE)
    for change in changes(check):
        for old, new in change.kept:
            if (old.ttl is None) == (new.ttl is None):
                continue
            switched = "on" if old.ttl is None else "off"
            yield check.finding(
                RULE,
                f"the time to live of state {old.name!r} of {change.pair.new.label} is switched {switched}",
                level=Level.NOTE if migrates else Level.ERROR,
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


RULE = Rule(
    id="CMP408",
    name="ttl-changed",
    level=Level.ERROR,
    other_levels=(Level.NOTE,),
    when="note on Flink 2.3, which converts the state",
    fate=Fate.REFUSED,
    summary="Time to live was switched on or off for a state.",
    why="With a time to live each value is stored with a timestamp. Flink 1.20 cannot convert between the two "
    "forms and refuses; Flink 2.3 converts.",
    old='ValueStateDescriptor("count", Types.LONG())',
    new="descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())",
    fix="On Flink 1.20, keep it as it was, or declare the state under a new name. On 2.3 nothing.",
    find=_find,
)

"""States with a shorter time to live, under which entries of OLD have expired already."""

from __future__ import annotations

import time
from collections.abc import Iterator

from compat.check import code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.states import changes
from compat.state.model.states import State

_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"), (1, "millisecond"))


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        for old, new in change.kept:
            if not old.ttl or not new.ttl or new.ttl >= old.ttl:
                continue
            idle = _idle(check, change.pair, old)
            gone = idle is not None and idle > new.ttl
            yield check.finding(
                RULE,
                f"the time to live of state {old.name!r} of {change.pair.new.label} was {_span(old.ttl)} and is "
                f"{_span(new.ttl)}",
                level=Level.ERROR if gone else Level.WARNING,
                consequence=f"Flink restores this without an error; what was not used for {_span(new.ttl)} is gone at once"
                + (
                    f": all that was read here, of which nothing was used for {_rough(idle)}." if gone and idle else "."
                ),
                reason="An entry is kept with the time of its last use, and judged by the job that reads it.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(
                        text="Nothing, if older entries may go; else keep the time to live.",
                        code=code_suggestions.time_to_live(old.ttl),
                    ),
                ),
                silent=True,
            )


def _idle(check: Check, pair: Pair, state: State) -> int | None:
    """For how many milliseconds nothing in a state was used, by the time that goes with each value of a savepoint."""
    answer = check.answer(pair)
    readings = () if answer is None else answer.rehearsal.states
    used = [one.used for one in readings if one.name == state.name and one.scope == "keyed" and one.used is not None]
    return round(time.time() * 1000) - max(used) if used else None


def _rough(milliseconds: int) -> str:
    """A time in whole numbers of the largest unit that it has."""
    size = next(size for size, _ in _UNITS if milliseconds >= size)
    return _span(milliseconds // size * size)


def _span(milliseconds: int) -> str:
    """A time in the largest unit that it is a whole number of."""
    size, unit = next((size, unit) for size, unit in _UNITS if milliseconds % size == 0)
    number = milliseconds // size
    return f"{number} {unit}{'s' * (number != 1)}"


RULE = Rule(
    id="CMP417",
    name="ttl-shorter",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning unless no value in the given savepoint was used for that time",
    fate=Fate.LOST,
    summary="The time to live of a state became shorter.",
    why="Flink keeps the time of an entry's last use, not the time of its end. Entries that are older than the new time "
    "to live have expired as soon as NEW runs.",
    old="StateTtlConfig.new_builder(Time.days(7))",
    new="StateTtlConfig.new_builder(Time.days(1))",
    fix="Nothing, if older entries may go. Otherwise keep the longer time.",
    find=_find,
)

"""States of queries that live shorter than before."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.plan.queries import of_query

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        if not of_query(pair.new):
            continue
        shorter = _shorter(pair)
        if shorter is None:
            continue
        before, after = shorter
        yield check.finding(
            RULE,
            f"{pair.new.name} kept its state for {_shown(before)} and keeps it for {_shown(after)}",
            consequence=f"State that was not used for {_shown(after)} is gone at the restore; its key starts anew.",
            reason="The time of the last use is kept with the state, and the new time to live counts from it.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Keep the time to live where old state still counts; for one input, the hint STATE_TTL sets it.",
                    code=f"SET 'table.exec.state.ttl' = '{_shown(before)}';",
                ),
            ),
            silent=True,
        )


def _shorter(pair: Pair) -> tuple[int, int] | None:
    """The times to live of the first state of a pair that lives shorter than before, in milliseconds."""
    news = {state.name: state.ttl for state in pair.new.states or ()}
    for state in pair.old.states or ():
        after = news.get(state.name)
        if state.ttl and after and after < state.ttl:
            return state.ttl, after
    return None


def _shown(milliseconds: int) -> str:
    """A time as Flink's options have it: ``2 h``."""
    unit, name = next(((unit, name) for unit, name in _UNITS if milliseconds % unit == 0), (1, "ms"))
    return f"{milliseconds // unit} {name}"


RULE = Rule(
    id="CMP710",
    name="sql-ttl-shorter",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="The state of a query has a shorter time to live than before (table.exec.state.ttl, STATE_TTL).",
    why="The restore drops state that was not used for the new time to live. If its key comes back later, an aggregate "
    "begins at zero.",
    old="SET 'table.exec.state.ttl' = '2 d';",
    new="SET 'table.exec.state.ttl' = '1 h';",
    fix="Keep the time to live if old sums still count.",
    find=_find,
)

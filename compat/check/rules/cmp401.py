"""States of OLD that the same operator of NEW does not declare any more."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, restores, writing
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.check.sql.findings import explained
from compat.check.states import changes


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        if explained(change.pair, check):
            continue
        for state in change.gone:
            yield check.finding(
                RULE,
                f"{change.pair.new.label} does not declare the state {state.name!r}{amounts.of(state)} any more",
                consequence="Flink restores this without an error and carries the state along, unused.",
                reason=f"OLD declares {state.kind.value} state {state.name!r}; NEW has no state of that name.",
                old=change.pair.old,
                new=change.pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text="Nothing, if it is not needed; declare it again if it is.", code=writing.descriptor(state)
                    ),
                ),
                silent=True,
            )
    yield from _told_by_flink(check)


def _told_by_flink(check: Check) -> Iterator[Finding]:
    """States of operators whose states were told by Flink only."""
    for pair, answer in restores.answered(check):
        for state in answer.missing if pair.old.states is None else ():
            yield check.finding(
                RULE,
                f"{pair.new.label} does not declare the state {state.name!r} any more",
                consequence="Flink restores this without an error and carries the state along, unused.",
                reason=f"OLD has {state.scope} state {state.name!r}; NEW has no state of that name.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(Fix(text="Nothing, if it is not needed; declare it again if it is."),),
                silent=True,
            )


RULE = Rule(
    id="CMP401",
    name="state-dropped",
    level=Level.WARNING,
    fate=Fate.RESTORED,
    summary="A state of OLD is not declared any more.",
    why="The operator gets its old state, but nobody reads this part of it. It is carried along unread, or dropped.",
    old='get_state(ValueStateDescriptor("count", Types.LONG()))',
    new="# the descriptor was removed",
    fix="Nothing if it may go. Otherwise declare the state again, under the same name.",
    find=_find,
)

"""A state gone and one of the same kind and type, or of the same name, new in the same operator, or in another one."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level, StateHeir
from compat.check.mapping import Pair
from compat.check.rule import Rule
from compat.check.sql.findings import KEEP_THE_QUERY, explained
from compat.check.states import changes
from compat.plan.queries import of_query
from compat.state.model.operators import Operator
from compat.state.model.states import State


def _find(check: Check) -> Iterator[Finding]:
    for change in changes(check):
        if explained(change.pair, check):
            continue
        for old, taker in change.moved:
            yield _to_another_operator(change.pair, old, taker, check)
        for old, new in change.renamed:
            if old.name == new.name:
                yield _moved(change.pair, old, new, check)
                continue
            yield check.finding(
                RULE,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} is called {new.name!r} now",
                level=_level(old),
                consequence=f"Flink restores this without an error; {new.name!r} starts empty, and the values of "
                f"{old.name!r} stay behind.",
                reason="States are found by their names.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(KEEP_THE_QUERY,)
                if of_query(change.pair.new)
                else (
                    Fix(
                        text=f"Keep the name {old.name!r} in the state's descriptor.",
                        code=code_suggestions.descriptor(new, old.name) or code_suggestions.text_of(old.name),
                    ),
                    *code_suggestions.migrate(check),
                ),
                heirs=(StateHeir(change.pair.new, new.name, likely=True),),
                silent=True,
            )


def _to_another_operator(pair: Pair, old: State, taker: Operator, check: Check) -> Finding:
    """A state that was taken out of one operator and put into another one, as where an operator is split."""
    return check.finding(
        RULE,
        f"the state {old.name!r}{amounts.of(old)} of {pair.new.label} is in {taker.label} now",
        level=_level(old),
        consequence=f"Flink restores this without an error; {old.name!r} starts empty there, and its old values stay behind.",
        reason="States are found by the ids of their operators and by their names.",
        old=pair.old,
        new=pair.new,
        state=old.name,
        fixes=(
            Fix(
                text=f"Keep {old.name!r} in {pair.new.label}, or let it start empty.",
                code=code_suggestions.descriptor(old),
            ),
            *code_suggestions.migrate(check),
        ),
        heirs=(StateHeir(taker, old.name),),
        related=() if taker.source is None else ((taker.label, taker.source),),
        silent=True,
    )


def _moved(pair: Pair, old: State, new: State, check: Check) -> Finding:
    """A state that belonged to keys and belongs to subtasks now, or the other way round."""
    return check.finding(
        RULE,
        f"the state {old.name!r}{amounts.of(old)} of {pair.new.label} was {old.scope.value} state and is "
        f"{new.scope.value} state",
        level=_level(old),
        consequence=f"Flink restores this without an error; {new.name!r} starts empty, and its old values stay behind.",
        reason="States are found by their names, those that belong to keys apart from those that belong to subtasks.",
        old=pair.old,
        new=pair.new,
        state=old.name,
        fixes=(Fix(text=f"Keep {old.name!r} as {old.scope.value} state.", code=code_suggestions.descriptor(old)),),
        silent=True,
    )


def _level(old: State) -> Level:
    return Level.WARNING if amounts.nothing([old]) else Level.ERROR


RULE = Rule(
    id="CMP402",
    name="state-renamed",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the snapshot shows that the old state is empty",
    fate=Fate.LOST,
    summary="A state is gone, and a new one has its type in the same operator, or its name in another one; or keyed "
    "state became operator state.",
    why="States are found by name. The new name has no values, so the state starts empty for every key, while Flink "
    "carries the old one along unread: Flink restores this without an error.",
    old='ValueStateDescriptor("count", Types.LONG())',
    new='ValueStateDescriptor("total", Types.LONG())',
    fix="Keep the old name in the descriptor, and the state in its operator; the variable may have any name. If the new state "
    "is meant to start empty, say so on the line: # compat: ignore[CMP402] reason.",
    find=_find,
)

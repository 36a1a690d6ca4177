"""Operators that keep their state under a name drawn at random at every start."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check import amounts, code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule


def _find(check: Check) -> Iterator[Finding]:
    for pair in check.right_pairs:
        state = next((state for state in pair.old.states or () if state.unstable), None)
        if state is not None:
            yield check.finding(
                RULE,
                f"the state of {pair.new.label} never survives a restore",
                consequence="Flink restores this without an error; the aggregates start again from nothing."
                + amounts.lost(pair.old),
                reason="PyFlink keeps the state of reduce, sum, min and max under a name that it draws at random at every "
                "start. A restart of OLD loses it as well: this change is not the cause.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text="Use a KeyedProcessFunction with a named state in its place, say Total.",
                        code=f".process(Total()).uid({code_suggestions.text_of(pair.new.uid or check.fresh_uid(pair.new))})",
                    ),
                ),
                silent=True,
            )


RULE = Rule(
    id="CMP413",
    name="built-in-state-unrestorable",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="PyFlink's keyed reduce, sum, min, max and their like never find their state again.",
    why="PyFlink keeps that state under a new random name each time an operator opens. After a restore, even of the "
    "same program, the results start from nothing: Flink restores this without an error.",
    old="keyed.sum(1)",
    new='keyed.process(Sum()).uid("sum")   # with ValueStateDescriptor("sum", Types.LONG())',
    fix="Write it as a KeyedProcessFunction with your own named state.",
    only_in_flink=True,
    find=_find,
)

"""CMP413 built-in-state-unrestorable."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts, writing
from compat.check.rules.pinning import fresh_uid


def find(check: Check) -> Iterator[Finding]:
    """Operators that keep their state under a name drawn at random at every start."""
    for pair in check.right_pairs:
        state = next((state for state in pair.old.states or () if state.unstable), None)
        if state is not None:
            yield check.finding(
                "CMP413",
                Level.ERROR,
                f"the state of {pair.new.label} never survives a restore",
                consequence="Flink restores this without an error; the aggregates start again from nothing."
                + amounts.lost(pair.old),
                reason="PyFlink keeps the state of reduce, sum, min and max under a name that it draws at random at every "
                "start.",
                old=pair.old,
                new=pair.new,
                state=state.name,
                fixes=(
                    Fix(
                        text="Use a KeyedProcessFunction with a named state in its place, say Total.",
                        code=f".process(Total()).uid({writing.text_of(pair.new.uid or fresh_uid(pair.new, set()))})",
                    ),
                ),
                silent=True,
            )

"""CMP401 state-dropped."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts, writing
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """States of OLD that the same operator of NEW does not declare any more."""
    for change in changes(check):
        for state in change.gone:
            yield check.finding(
                "CMP401",
                Level.WARNING,
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

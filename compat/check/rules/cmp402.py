"""CMP402 state-renamed."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts, writing
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """A state gone and one of the same kind and type new in the same operator."""
    for change in changes(check):
        for old, new in change.renamed:
            yield check.finding(
                "CMP402",
                Level.ERROR,
                f"the state {old.name!r}{amounts.of(old)} of {change.pair.new.label} is called {new.name!r} now",
                consequence=f"Flink restores this without an error; {new.name!r} starts empty, and the values of "
                f"{old.name!r} stay behind.",
                reason="States are found by their names.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(
                    Fix(
                        text=f"Keep the name {old.name!r} in the state's descriptor.",
                        code=writing.descriptor(new, old.name) or writing.text_of(old.name),
                    ),
                ),
                silent=True,
            )

"""CMP603 execution-mode."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules import amounts

_OPTION = "python.execution-mode"


def find(check: Check) -> Iterator[Finding]:
    """Keyed Python state across a change between process and thread mode."""
    before, after = check.old.settings.get(_OPTION), check.new.settings.get(_OPTION)
    if None in (before, after) or before == after:
        return
    for pair in check.right_pairs:
        if any(not state.built_in for state in pair.old.states or ()):
            yield check.finding(
                "CMP603",
                Level.ERROR,
                f"the state of {pair.new.label} is lost: {_OPTION} was {before} and is {after}",
                consequence="Flink restores this without an error; all keyed state starts empty."
                + amounts.lost(pair.old),
                reason="The two modes keep state under different names.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text=f"Set {_OPTION} to {before} again.", code=f"{_OPTION}: {before}"),),
                silent=True,
            )

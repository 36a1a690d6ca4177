"""CMP411 pickled-type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """States that are pickled on both sides."""
    for change in changes(check):
        for old, new in change.kept:
            if old.type is not None and old.type == new.type and "Pickled" in old.type:
                yield check.finding(
                    "CMP411",
                    Level.NOTE,
                    f"the state {old.name!r} of {change.pair.new.label} is pickled",
                    consequence="The bytes are readable; whether the objects in them still fit cannot be judged.",
                    reason="A pickle carries names of classes, and what it holds is known only when it is loaded.",
                    old=change.pair.old,
                    new=change.pair.new,
                    state=old.name,
                    fixes=(Fix(text="Declare a type for the state."),),
                )

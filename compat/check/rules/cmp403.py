"""CMP403 state-kind."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """States that changed between value, list, map, reducing and aggregating."""
    for change in changes(check):
        for old, new in change.kept:
            if old.kind is not new.kind and old.scope is new.scope:
                yield check.finding(
                    "CMP403",
                    Level.ERROR,
                    f"the state {old.name!r} of {change.pair.new.label} was a {old.kind.value} state and is a "
                    f"{new.kind.value} state",
                    consequence="The task fails at the first access, or reads something else than was written.",
                    reason="What one kind of state writes, another one does not read.",
                    old=change.pair.old,
                    new=change.pair.new,
                    state=old.name,
                    fixes=(
                        Fix(text=f"Give the {new.kind.value} state another name, and keep {old.name!r} as it was."),
                    ),
                )

"""CMP404 state-type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.states import changes


def find(check: Check) -> Iterator[Finding]:
    """States whose declared type is another one."""
    for change in changes(check):
        for old, new in change.kept:
            if None in (old.type, new.type) or old.type == new.type or old.kind is not new.kind:
                continue
            yield check.finding(
                "CMP404",
                Level.ERROR,
                f"the state {old.name!r} of {change.pair.new.label} had the type {old.type} and has {new.type}",
                consequence="Flink restores this without an error, as PyFlink shows it bytes only; the task fails at the "
                "first record, or reads wrong values.",
                reason=f"{new.type} does not read what {old.type} wrote.",
                old=change.pair.old,
                new=change.pair.new,
                state=old.name,
                fixes=(Fix(text=f"Keep the type {old.type}, or put the new values into a state of another name."),),
                silent=True,
            )

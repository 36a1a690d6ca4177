"""CMP412 timers-dropped."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """Operators whose function registered timers in OLD and does not in NEW."""
    for pair in check.right_pairs:
        if pair.old.detail.get("timers") is True and pair.new.detail.get("timers") is False:
            yield check.finding(
                "CMP412",
                Level.WARNING,
                f"{pair.new.label} registers no timers any more",
                consequence="Timers in the savepoint still fire and call on_timer().",
                reason="OLD's function registers timers, NEW's does not.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text="Keep an on_timer() that deals with the timers of the old version."),),
            )

"""CMP407 window-changed."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.states import timers


def find(check: Check) -> Iterator[Finding]:
    """Window operators whose windows are of another type, or of another size."""
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("window"), pair.new.detail.get("window")
        if before is None or after is None or before == after:
            continue
        was, now = timers(pair.old.states), timers(pair.new.states)
        other_type = was is not None and now is not None and was.namespace_type != now.namespace_type
        yield check.finding(
            "CMP407",
            Level.ERROR if other_type else Level.WARNING,
            f"the windows of {pair.new.label} were {before} and are {after}",
            consequence="The task fails when it starts: the windows in the state are of another type."
            if other_type
            else "Windows that are open at the savepoint end as they began; new ones follow the new rule.",
            reason="Windows are part of the state's address.",
            old=pair.old,
            new=pair.new,
            fixes=(Fix(text="Keep the assigner, or give the new windows an operator with a uid of its own."),),
        )

"""CMP414 window-function-kind."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.pinning import uid_call

_INCREMENTAL = frozenset({"reduce", "aggregate"})


def find(check: Check) -> Iterator[Finding]:
    """Windows that kept one value and keep all records now, or the other way round."""
    for pair in check.right_pairs:
        before, after = pair.old.detail.get("window_function"), pair.new.detail.get("window_function")
        if before is None or after is None or (before in _INCREMENTAL) == (after in _INCREMENTAL):
            continue
        one_left = after in _INCREMENTAL
        yield check.finding(
            "CMP414",
            Level.ERROR if one_left else Level.WARNING,
            f"{pair.new.label} was a window {before} and is a window {after}",
            consequence="Flink restores this without an error; of each open window the first element is kept, the others are "
            "lost."
            if one_left
            else "Flink restores this without an error; what an open window held counts as one element of it.",
            reason="An incremental function keeps one value a window, the others keep all records.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Give the new function an operator with a uid of its own, or let the old windows end first.",
                    code=uid_call(pair.new, check.uids),
                ),
            ),
            silent=True,
        )

"""CMP601 chaining-option."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level

_OPTIONS = ("operator_chaining", "chain_different_max_parallelism", "python.operator-chaining.enabled")


def find(check: Check) -> Iterator[Finding]:
    """Options that move generated ids and differ between the programs."""
    for option in _OPTIONS:
        before, after = check.old.settings.get(option), check.new.settings.get(option)
        if None not in (before, after) and before != after:
            yield check.finding(
                "CMP601",
                Level.WARNING,
                f"the option {option} was {before} and is {after}",
                consequence="Generated ids of operators can move by that.",
                subject=option,
                reason="A generated id counts the outputs that are chained to an operator.",
                fixes=(Fix(text=f"Set {option} to {before} again, or give every stateful operator a uid."),),
            )

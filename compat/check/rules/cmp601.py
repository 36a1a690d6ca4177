"""CMP601 chaining-option."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level

_KEYS = {
    "operator_chaining": "pipeline.operator-chaining.enabled: {}",
    "chain_different_max_parallelism": "pipeline.operator-chaining.chain-operators-with-different-max-parallelism: {}",
    "python.operator-chaining.enabled": "python.operator-chaining.enabled: {}",
}
"""The settings in a plan, and the options that set them."""


def find(check: Check) -> Iterator[Finding]:
    """Options that move generated ids and differ between the programs."""
    for option in _KEYS:
        before, after = check.old.settings.get(option), check.new.settings.get(option)
        if None not in (before, after) and before != after:
            yield check.finding(
                "CMP601",
                Level.WARNING,
                f"the option {option} was {before} and is {after}",
                consequence="Generated ids of operators can move by that.",
                subject=option,
                reason="A generated id counts the outputs that are chained to an operator.",
                fixes=(
                    Fix(
                        text=f"Set {option} to {before} again, or give every stateful operator a uid.",
                        code=_KEYS[option].format(str(before).lower()),
                    ),
                ),
            )

"""CMP110 uid-lost-in-merging."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """Uids of NEW that PyFlink drops, because it melts their operator into another one."""
    for operator in check.new.operators:
        for uid, place in operator.merged_uids:
            finding = check.finding(
                "CMP110",
                Level.WARNING,
                f"the uid {uid!r} is dropped: PyFlink merges its operator into {operator.name.partition(', ')[0]!r}",
                consequence="The job has no operator of this id. No state is lost by that itself: a merged operator has none.",
                reason="Neighbouring Python operators run as one, with the uid of the first.",
                new=operator,
                subject=uid,
                fixes=(
                    Fix(
                        text="Remove the uid, or keep the operator apart with .start_new_chain() or "
                        "python.operator-chaining.enabled=false.",
                        code=".start_new_chain()",
                    ),
                ),
            )
            yield finding if place is None else replace(finding, new_line=place)

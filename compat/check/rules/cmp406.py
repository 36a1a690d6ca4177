"""CMP406 key-type."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.keeping import key_change
from compat.check.rules import writing
from compat.plan.facts import Operator


def find(check: Check) -> Iterator[Finding]:
    """Keyed operators whose key has another type."""
    for pair in check.right_pairs:
        before, after = _key_type(pair.old), _key_type(pair.new)
        if before is not None and after is not None and not key_change(before, after).readable:
            yield check.finding(
                "CMP406",
                Level.ERROR,
                f"the key of {pair.new.label} had the type {before} and has {after}",
                consequence="The task fails when it starts: the new key serializer must be compatible with the previous one.",
                reason="Keys are never migrated: the key decides in which key group a state lies.",
                old=pair.old,
                new=pair.new,
                fixes=(Fix(text=f"Keep the key type {before} in key_by.", code=writing.key_by(before)),),
            )


def _key_type(operator: Operator) -> str | None:
    return next((state.key_type for state in operator.states or () if state.key_type is not None), None)

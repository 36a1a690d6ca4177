"""CMP106 user-hash-shadows."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level


def find(check: Check) -> Iterator[Finding]:
    """State of OLD under an operator's own id, where the operator's user hash brings other state."""
    chosen = {pair.new.id: pair.old for pair in check.mapping.pairs}
    for pair in check.mapping.shadowed:
        if not pair.old.has_state:
            continue
        other = chosen[pair.new.id]
        yield check.finding(
            "CMP106",
            Level.ERROR,
            f"{pair.new.label} finds state under its own id and under its user hash, and takes only the latter",
            consequence=f"Flink restores this without an error; the state of {pair.old.label} is lost.",
            reason=f"Its id is {pair.new.id}, its user hash {other.id}; OLD has state under both.",
            old=pair.old,
            new=pair.new,
            fixes=(
                Fix(
                    text="Remove the set_uid_hash call, if the state under the operator's own id is the right one; else "
                    f"give the state of {pair.old.label} to an operator of its own."
                ),
            ),
            silent=True,
        )

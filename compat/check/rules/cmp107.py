"""CMP107 state-starts-empty."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.rules.pinning import hidden, only_timers


def find(check: Check) -> Iterator[Finding]:
    """Stateful operators of NEW for which OLD has nothing. Those that lost their id are told by CMP102."""
    successors = {operator.id for operator in check.mapping.successors.values()}
    for new in check.mapping.fresh:
        if not new.has_state or new.id in successors or only_timers(new) or hidden(new):
            continue
        source = new.kind in ("source", "legacy_source")
        yield check.finding(
            "CMP107",
            Level.WARNING,
            f"{new.label} finds no state in {check.old.name}",
            consequence="It starts reading from its beginning." if source else "It starts without state.",
            reason=f"OLD has nothing under its id {new.id}"
            + (f" nor under its user hash {new.user_hash}." if new.user_hash else "."),
            new=new,
            fixes=(
                Fix(
                    text="Nothing, if the operator is new. If it took over from another one, give it that one's uid, or "
                    "its id with .set_uid_hash."
                ),
            ),
        )

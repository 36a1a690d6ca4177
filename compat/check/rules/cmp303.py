"""CMP303 mixed-max-parallelism-in-chain."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.state.assignment import Refusal


def find(check: Check) -> Iterator[Finding]:
    """Vertices of NEW with keyed state that join operators whose max parallelisms were recorded differently."""
    told: set[str] = set()
    for conflict in check.mapping.refused(Refusal.MIXED):
        assert conflict.other is not None
        keyed, second = conflict.other, conflict.pair
        if keyed.new.vertex in told or check.doubtful & {keyed.old.id, second.old.id}:
            continue
        told.add(keyed.new.vertex)
        recorded = sorted((keyed.old.max_parallelism, second.old.max_parallelism))
        yield check.finding(
            "CMP303",
            Level.ERROR,
            f"the chain of {keyed.new.label} joins operators of {' and '.join(map(str, recorded))} key groups",
            consequence="Flink up to 2.3.0 restores this without an error and puts keys into the wrong key groups "
            "(FLINK-40113).",
            reason="All operators of a chain run with one max parallelism, which is that of whichever of them, with state or "
            f"without; the keyed state of {keyed.new.label} was divided by {keyed.old.max_parallelism}.",
            old=keyed.old,
            new=keyed.new,
            fixes=(
                Fix(
                    text=f"Keep the operators in chains of their own: .start_new_chain() on {second.new.label}, with its "
                    f"recorded max parallelism, {second.old.max_parallelism}.",
                    call=".start_new_chain()",
                    at=second.new.source,
                    operator_id=second.new.id,
                ),
            ),
            silent=True,
        )

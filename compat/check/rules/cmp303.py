"""CMP303 mixed-max-parallelism-in-chain."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.plan.facts import Operator, StateScope


def find(check: Check) -> Iterator[Finding]:
    """Vertices of NEW that join operators whose keyed state was recorded with different max parallelisms."""
    partner = {pair.new.id: pair.old for pair in check.right_pairs if _keyed(pair.old)}
    for vertex in check.new.vertices:
        members = [id for id in vertex.operators if id in partner]
        recorded = sorted({partner[id].max_parallelism for id in members})
        if len(recorded) < 2:
            continue
        new = check.new.by_id[members[0]]
        other = next(id for id in members if partner[id].max_parallelism != partner[new.id].max_parallelism)
        second = check.new.by_id[other]
        yield check.finding(
            "CMP303",
            Level.ERROR,
            f"the chain of {new.label} joins state of {' and '.join(map(str, recorded))} key groups",
            consequence="Flink up to 2.3.0 restores this without an error and puts keys into the wrong key groups "
            "(FLINK-40113).",
            reason="All operators of a chain run with one max parallelism, and their keyed states were divided differently.",
            old=partner[members[0]],
            new=new,
            fixes=(
                Fix(
                    text=f"Keep the operators in chains of their own: .start_new_chain() on {second.label}, with its "
                    f"recorded max parallelism, {partner[second.id].max_parallelism}.",
                    call=".start_new_chain()",
                    at=second.source,
                    operator_id=second.id,
                ),
            ),
            silent=True,
        )


def _keyed(operator: Operator) -> bool:
    return any(state.scope is StateScope.KEYED for state in operator.states or ())

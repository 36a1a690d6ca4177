"""Vertices of NEW that join operators whose keyed state was recorded with different max parallelisms."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.plan.facts import Operator, StateScope


def _find(check: Check) -> Iterator[Finding]:
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
            RULE,
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


RULE = Rule(
    id="CMP303",
    name="mixed-max-parallelism-in-chain",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="Keyed operators of one vertex recorded different max parallelism.",
    why="A vertex has one max parallelism for all its operators. Released Flink up to 2.3.0 then takes one of the "
    "recorded values for all (FLINK-40113) and cuts the key groups of the others wrongly: Flink restores "
    "this without an error.",
    old='a.process(F()).uid("f").set_max_parallelism(64)\nb.process(G()).uid("g").set_max_parallelism(128)',
    new='both keyed operators "f" and "g" in one chain',
    fix="Keep operators with different recorded max parallelism in different chains: .start_new_chain() on the second.",
    find=_find,
)

"""Vertices of NEW that join operators whose keyed state was recorded with different max parallelisms."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.rule import Rule
from compat.state.assignment import Refusal


def _find(check: Check) -> Iterator[Finding]:
    told: set[str] = set()
    for conflict in check.repaired.refused(Refusal.MIXED):
        assert conflict.other is not None
        keyed, second = conflict.other, conflict.pair
        if keyed.new.vertex in told or check.leaving & {keyed.new.id, second.new.id}:
            continue
        told.add(keyed.new.vertex)
        recorded = sorted((keyed.old.max_parallelism, second.old.max_parallelism))
        yield check.finding(
            RULE,
            f"the chain of {keyed.new.label} joins operators of {' and '.join(map(str, recorded))} key groups",
            consequence="Flink up to 2.3.0 restores this without an error and puts keys into the wrong key groups "
            "(FLINK-40113).",
            reason="All operators of a chain run with one max parallelism, which may be that of any of them, with state "
            f"or without; the keyed state of {keyed.new.label} was divided by {keyed.old.max_parallelism}.",
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


RULE = Rule(
    id="CMP303",
    name="mixed-max-parallelism-in-chain",
    level=Level.ERROR,
    fate=Fate.REFUSED,
    summary="Operators of one vertex with keyed state recorded different max parallelism.",
    why="A vertex has one max parallelism for all its operators. Flink up to 2.3.0 then takes one of the recorded "
    "values for all (FLINK-40113), even that of an operator without state, and cuts the key groups of the others "
    "wrongly: Flink restores this without an error.",
    old='a.process(F()).uid("f").set_max_parallelism(64)\nb.process(G()).uid("g").set_max_parallelism(128)',
    new='both keyed operators "f" and "g" in one chain',
    fix="Keep operators with different recorded max parallelism in different chains: .start_new_chain() on the second.",
    find=_find,
)

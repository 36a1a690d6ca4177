"""CMP201 chain-changed."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Level
from compat.plan.facts import Program

_ALONE: frozenset[str] = frozenset()


def find(check: Check) -> Iterator[Finding]:
    """One finding, if operators that are in both programs share a chain in one of them only."""
    if not check.old.vertices:  # a savepoint records no chains
        return
    old_chains, new_chains = _chains(check.old), _chains(check.new)
    partner = {pair.old.id: pair.new.id for pair in check.mapping.pairs}
    kept = frozenset(partner.values())
    same: set[tuple[frozenset[str], frozenset[str]]] = set()
    for pair in check.mapping.pairs:
        chains = old_chains.get(pair.old.id, _ALONE), new_chains.get(pair.new.id, _ALONE)
        if chains in same:
            continue
        before, now = chains
        if {partner[mate] for mate in before if mate in partner} == now & kept:
            same.add(chains)
            continue
        yield check.finding(
            "CMP201",
            Level.NOTE,
            f"{pair.new.label} runs in another chain",
            consequence="State is not affected: it belongs to operators, not to chains.",
            reason="Operators were put together or apart; generated ids may move by that.",
            old=pair.old,
            new=pair.new,
        )
        return


def _chains(program: Program) -> dict[str, frozenset[str]]:
    return {
        operator: members
        for members in (frozenset(vertex.operators) for vertex in program.vertices)
        for operator in members
    }

"""One finding, if operators that are in both programs share a chain in one of them only."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.rule import Rule
from compat.plan.facts import Program

_ALONE: frozenset[str] = frozenset()


def _find(check: Check) -> Iterator[Finding]:
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
            RULE,
            f"{pair.new.label} runs in another chain",
            consequence="State is not affected: it belongs to operators, not to chains.",
            reason="Operators were chained or separated, which can move generated ids.",
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


RULE = Rule(
    id="CMP201",
    name="chain-changed",
    level=Level.NOTE,
    fate=Fate.RESTORED,
    summary="Operators moved from one chain to another.",
    why="State belongs to operators, not to chains, so it is not affected. Generated ids may be: they count the "
    "outputs that are chained to an operator.",
    old='stream.map(f).uid("f").map(g).uid("g")',
    new='stream.map(f).uid("f").map(g).uid("g").start_new_chain()',
    fix="Nothing if uids are set. Otherwise see the other findings.",
    find=_find,
)

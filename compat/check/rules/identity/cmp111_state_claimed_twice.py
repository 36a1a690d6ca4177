"""States that several operators of NEW have an id for: Flink gives each to the one that it comes to first."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Level
from compat.check.mapping import Pair
from compat.check.pinning import free_id
from compat.check.rule import Rule
from compat.check.similarity import similarity


def _find(check: Check) -> Iterator[Finding]:
    contested = [pairs for pairs in check.mapping.contested.values() if pairs[0].old.has_state]
    if not contested:
        return
    for pairs in contested:
        yield _finding(pairs, check)


def _finding(pairs: tuple[Pair, ...], check: Check) -> Finding:
    old = pairs[0].old
    keeper = max(pairs, key=lambda pair: similarity(old, pair.new))
    others = [pair.new for pair in pairs if pair is not keeper]
    names = " and ".join(pair.new.label for pair in pairs)
    return check.finding(
        RULE,
        f"{names} claim the state of {old.label}",
        consequence="Flink restores this without an error: chance decides which of them gets the state, and the others "
        "start without it.",
        reason=f"All of them name {old.id}: {_ways(pairs)}. Flink hands an operator's state out once, to the first that asks.",
        old=old,
        new=others[0],
        fixes=tuple(fix for operator in others for fix in free_id(operator, old, check)),
        silent=True,
        related=tuple(
            (pair.new.label, pair.new.source)
            for pair in pairs
            if pair.new is not others[0] and pair.new.source is not None
        ),
    )


def _ways(pairs: tuple[Pair, ...]) -> str:
    return ", ".join(f"{pair.new.label} by its {pair.by}" for pair in pairs)


RULE = Rule(
    id="CMP111",
    name="state-claimed-twice",
    level=Level.ERROR,
    fate=Fate.UNKNOWN,
    summary="Several operators of NEW have an id for the same state of OLD.",
    why="A user hash may name any operator of OLD. Another operator of NEW may have its uid or generated id, or the "
    "same hash in a copied line. Flink gives each state once, to the first operator that it comes to, in an unknown "
    "order. The others start with the state under their own id, or empty.",
    old='keyed.process(Count()).uid("count")',
    new='keyed.process(Count()).uid("count")\nother.process(Count()).uid("other").set_uid_hash("<id of count>")',
    fix="Remove the user hash from the operator that must not get the state, or give that operator another uid.",
    find=_find,
)

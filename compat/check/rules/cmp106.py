"""CMP106 user-hash-shadows."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.rules.pinning import edit, pin
from compat.check.rules.writing import text_of
from compat.check.similarity import find_successors, similarity
from compat.plan.facts import Operator


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
            fixes=_fixes(pair, other, check),
            silent=True,
        )


def _fixes(pair: Pair, taken: Operator, check: Check) -> tuple[Fix, ...]:
    """Give both states to the operators that they belong to, where another operator of NEW waits for one of them."""
    claimant, own = pair.new, pair.old
    waiting = [operator for operator in check.mapping.fresh if operator.has_state]
    heir = find_successors([own], waiting).get(own.id)
    other_heir = find_successors([taken], waiting).get(taken.id)
    stay = 0 if heir is None else similarity(taken, claimant) + similarity(own, heir)
    swap = 0 if other_heir is None else similarity(own, claimant) + similarity(taken, other_heir)
    if other_heir is not None and swap > stay:
        return (edit(claimant, "set_uid_hash", own.id), *pin(taken, other_heir))
    if heir is not None:
        return pin(own, heir, uid_is_free=False)
    return (
        Fix(
            text=f"If the state under its own id is the right one, make it .set_uid_hash({text_of(own.id)}), and let the other "
            f"state go with -n; else keep an operator for the state of {own.label}.",
            code=f".set_uid_hash({text_of(own.id)})",
        ),
    )

"""State of OLD under an operator's own id, where the operator's user hash brings other state."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.code_suggestions import text_of
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import Pair
from compat.check.pinning import edit, pin
from compat.check.rule import Rule
from compat.check.similarity import find_successors, similarity
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    chosen = {pair.new.id: pair.old for pair in check.mapping.pairs}
    for pair in check.mapping.shadowed:
        if not pair.old.has_state:
            continue
        other = chosen[pair.new.id]
        yield check.finding(
            RULE,
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


RULE = Rule(
    id="CMP106",
    name="user-hash-shadows",
    level=Level.ERROR,
    fate=Fate.LOST,
    summary="OLD has state under both the generated id and the user hash of one operator of NEW.",
    why="If there is state under the user hash, a restore takes it, and no operator takes the state under the "
    "operator's own id.",
    old='keyed.process(Count()).uid("count")\nother.process(Sum()).uid("sum")',
    new='keyed.process(Count()).uid("count").set_uid_hash("<id of sum>")',
    fix="Remove the user hash from the operator, or set it on the operator whose state has this id.",
    find=_find,
)

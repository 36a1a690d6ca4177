"""Pairs that share an id and are two different operators."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import BY_GENERATED_ID, Pair
from compat.check.pinning import free_id, pin, uid_call
from compat.check.rule import Rule
from compat.check.similarity import Index, similarity
from compat.plan.facts import Operator


def _find(check: Check) -> Iterator[Finding]:
    if not check.wrong_hands:
        return
    wrong = [pair for pair in check.mapping.stateful_pairs() if pair.old.id in check.wrong_hands]
    rightful = _rightful_owners(wrong, check)
    pinned = {operator.id for operator in rightful.values()}
    pinned |= {new.id for old in check.mapping.lost if (new := check.successor(old)) is not None}
    uids = set(check.uids)
    for pair in wrong:
        yield _finding(pair, rightful.get(pair.old.id), pinned, uids, check)


def _finding(pair: Pair, rightful: Operator | None, pinned: set[str], uids: set[str], check: Check) -> Finding:
    old, new = pair.old, pair.new
    fixes: tuple[Fix, ...]
    if rightful is not None:
        fixes = pin(old, rightful, uid_is_free=False)
        if new.id not in pinned:
            # Two operators that claim one state would leave it to chance which of them gets it.
            fixes += free_id(new, old, check, uids)
    elif pair.by == BY_GENERATED_ID:
        fixes = (
            Fix(
                text=f"Give {new.label} a uid of its own, so that it starts empty, and restore with -n if the state of "
                f"{old.label} may go.",
                code=uid_call(new, uids),
            ),
        )
    else:
        fixes = (
            Fix(
                text=f"Give {new.label} a uid that no operator of OLD had, and restore with -n if the state of {old.label} "
                "may go.",
                code=uid_call(new, uids),
            ),
        )
    silent = new.has_state
    return check.finding(
        RULE,
        f"the state of {old.label} goes to {new.label}, which is another operator",
        consequence=(
            "Flink restores this without an error; the operator goes on with state that is not its own."
            if silent
            else "Flink restores this without an error, and the state is lost: the operator does not use it."
        ),
        reason=f"Both have the {pair.by} {old.id}, but {check.wrong_hands[old.id]}.",
        old=old,
        new=new,
        fixes=fixes,
        silent=True,
    )


def _rightful_owners(wrong: list[Pair], check: Check) -> dict[str, Operator]:
    """By OLD's id, the operator of NEW that the state belongs to: the one most like OLD's, if another gets the state.

    None serves twice, and none that gets the state of its own.
    """
    index = Index(check.new.operators)
    settled = {pair.new.id for pair in check.right_pairs}
    settled |= {new.id for old in check.mapping.lost if (new := check.successor(old)) is not None}
    owners: dict[str, Operator] = {}
    for pair in wrong:
        best, best_score = None, similarity(pair.old, pair.new)
        for group in index.alike(pair.old):
            for other in group[:16]:
                score = similarity(pair.old, other)
                if other.id != pair.new.id and other.id not in settled and score > best_score:
                    best, best_score = other, score
        if best is not None:
            owners[pair.old.id] = best
            settled.add(best.id)
    return owners


RULE = Rule(
    id="CMP103",
    name="state-to-another-operator",
    level=Level.ERROR,
    fate=Fate.WRONG_HANDS,
    summary="An id of OLD belongs to another operator in NEW, which would get state that is not its own.",
    why="A generated id knows where an operator stands, not what it is. When two alike branches change places, "
    "each gets the other's state: Flink restores this without an error and the results are wrong from then "
    "on.",
    old='s.key_by(four).process(Count()).name("by four")\ns.key_by(three).process(Count()).name("by three")',
    new='s.key_by(three).process(Count()).name("by three")\ns.key_by(four).process(Count()).name("by four")',
    fix='Pin each operator to its own old id with .set_uid_hash("<old id>"), or restore the old order. If a uid '
    "was given to another operator, choose a new uid for it.",
    find=_find,
)

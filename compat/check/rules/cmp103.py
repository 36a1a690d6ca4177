"""CMP103 state-to-another-operator."""

from __future__ import annotations

from collections.abc import Iterator

from compat.check.context import Check
from compat.check.findings import Finding, Fix, Level
from compat.check.mapping import BY_GENERATED_ID, Pair
from compat.check.rules.pinning import free_id, pin
from compat.check.similarity import Index, similarity
from compat.plan.facts import Operator


def find(check: Check) -> Iterator[Finding]:
    """Pairs that share an id and are two different operators."""
    if not check.wrong_hands:
        return
    index = Index(check.new.operators)
    wrong = [pair for pair in check.mapping.stateful_pairs() if pair.old.id in check.wrong_hands]
    rightful = {pair.old.id: _rightful(pair, index) for pair in wrong}
    pinned = {operator.id for operator in rightful.values() if operator is not None}
    for pair in wrong:
        yield _finding(pair, check.wrong_hands[pair.old.id], rightful[pair.old.id], pinned, check)


def _finding(pair: Pair, reason: str, rightful: Operator | None, pinned: set[str], check: Check) -> Finding:
    old, new = pair.old, pair.new
    fixes: tuple[Fix, ...]
    if rightful is not None:
        fixes = pin(old, rightful)
        if new.id not in pinned and new.uid is None:
            # Two operators that claim one state would leave it to chance which of them gets it.
            fixes += (free_id(new),)
    elif pair.by == BY_GENERATED_ID:
        fixes = (
            Fix(
                text=f"Give {new.label} a uid of its own, so that it starts empty, and restore with -n if the state of "
                f"{old.label} may go.",
            ),
        )
    else:
        fixes = (Fix(text=f"Give {new.label} a uid that no operator of OLD had."),)
    silent = new.has_state
    return check.finding(
        "CMP103",
        Level.ERROR,
        f"the state of {old.label} goes to {new.label}, which is another operator",
        consequence=(
            "Flink restores this without an error; the operator goes on with state that is not its own."
            if silent
            else "Flink restores this without an error, and the state is lost: the operator does not use it."
        ),
        reason=f"Both have the {pair.by} {old.id}, but {reason}.",
        old=old,
        new=new,
        fixes=fixes,
        silent=True,
    )


def _rightful(pair: Pair, index: Index) -> Operator | None:
    """The operator of NEW that the state belongs to: the one most like OLD's, if that is not the one that gets it."""
    best, best_score = None, similarity(pair.old, pair.new)
    for group in index.alike(pair.old):
        for other in group[:16]:
            score = similarity(pair.old, other)
            if other.id != pair.new.id and score > best_score:
                best, best_score = other, score
    return best

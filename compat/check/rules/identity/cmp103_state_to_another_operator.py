"""Pairs that share an id and are two different operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from compat.check import amounts, code_suggestions
from compat.check.context import Check
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.mapping import BY_GENERATED_ID, Pair
from compat.check.pinning import free_id, tie, uid_call
from compat.check.rule import Rule
from compat.check.state_storage import key_change
from compat.check.states import key_type_of
from compat.state.model.operators import Operator

_MOST = 6
"""The most operators that a title names."""


def _find(check: Check) -> Iterator[Finding]:
    if not check.wrong_hands:
        return
    wrong = [pair for pair in check.mapping.stateful_pairs() if pair.old.id in check.wrong_hands]
    rightful = check.rightful
    pinned = {operator.id for operator in rightful.values()}
    pinned |= {new.id for old in check.mapping.lost if (new := check.successor(old)) is not None}
    causes = _causes(wrong, rightful)
    for pair in wrong:
        yield _finding(pair, rightful.get(pair.old.id), pinned, causes[pair.old.id], check)


def _finding(pair: Pair, rightful: Operator | None, pinned: set[str], cause: str, check: Check) -> Finding:
    old, new = pair.old, pair.new
    fixes: tuple[Fix, ...]
    if rightful is not None:
        fixes = tie(old, rightful, check, uid_is_free=False)
        if new.id not in pinned:
            # Two operators that claim one state would leave it to chance which of them gets it.
            freed = free_id(new, old, check)
            remapped = any(fix.code == code_suggestions.REMAP for fix in fixes)
            # After the edit alone, no operator takes the state: the savepoint has to change, too.
            fixes += tuple(replace(fix, call=None, code=fix.call or fix.code) for fix in freed) if remapped else freed
        fixes += code_suggestions.migrate_ids(check)
    elif pair.by == BY_GENERATED_ID:
        starts = "its id is free" if new.id in pinned else "it starts empty"
        fixes = (
            Fix(
                text=f"Give {new.label} a uid of its own, so that {starts}, and restore with -n if the state of {old.label} "
                "may go.",
                code=uid_call(new, check),
            ),
        )
    else:
        fixes = (
            Fix(
                text=f"Give {new.label} a uid that no operator of OLD had, and restore with -n if the state of {old.label} "
                "may go.",
                code=uid_call(new, check),
            ),
        )
    silent, empty, refused = new.has_state, amounts.nothing(old.states), _is_refused(old, new)
    return check.finding(
        RULE,
        f"the state of {old.label} goes to {new.label}, which is another operator",
        level=Level.WARNING if empty and not refused else Level.ERROR,
        consequence=(
            "The task fails when it starts: its keys are of another type, whether there are values or not."
            if refused
            else "Flink restores this without an error. That state is empty in this snapshot, and may not be in the next one."
            if empty
            else "Flink restores this without an error; the operator goes on with state that is not its own."
            if silent
            else "Flink restores this without an error, and the state is lost: the operator does not use it."
        ),
        reason=f"Both have the {pair.by} {old.id}, but {check.wrong_hands[old.id]}.",
        old=old,
        new=new,
        fixes=fixes,
        silent=not refused,
        cause=cause,
    )


def _is_refused(old: Operator, new: Operator) -> bool:
    """True if both are keyed, and by types that Flink does not take for each other."""
    before, after = key_type_of(old), key_type_of(new)
    return before is not None and after is not None and not key_change(before, after).readable


def _causes(wrong: Sequence[Pair], rightful: Mapping[str, Operator]) -> dict[str, str]:
    """The common cause of pairs that pass state on, from one to the next, by OLD's id: all of them in order.

    A pair comes before that of the operator which its state belongs to; the last one's may lose it, or be the first's.
    """
    takes = {pair.new.id: pair for pair in wrong}
    after = {
        pair.old.id: takes[owner.id]
        for pair in wrong
        if (owner := rightful.get(pair.old.id)) is not None and owner.id in takes
    }
    later = {pair.old.id for pair in after.values()}
    found: dict[str, str] = {}
    for first in sorted(wrong, key=lambda pair: pair.old.id in later):
        row: dict[str, Pair] = {}
        pair: Pair | None = first
        while pair is not None and pair.old.id not in row and pair.old.id not in found:
            row[pair.old.id] = pair
            pair = after.get(pair.old.id)
        told = [f"{pair.old.label} to {pair.new.label}" for pair in row.values()]
        more = [f"{len(told) - _MOST} more"] if len(told) > _MOST else []
        found |= dict.fromkeys(row, f"hand their state to one another: {', '.join([*told[:_MOST], *more])}")
    return found


RULE = Rule(
    id="CMP103",
    name="state-to-another-operator",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning if the snapshot shows that the state is empty",
    fate=Fate.WRONG_HANDS,
    summary="An id of OLD belongs to another operator in NEW, which would get foreign state.",
    why="A generated id depends on the place of an operator, not on its work. If two similar branches change places, "
    "each gets the other's state: Flink restores this without an error, and the results are wrong from then on. An "
    "operator without a name, a uid or a known function, whose only state was replaced, may be the same one or "
    "another one. It counts as another one, as its old state is lost either way. A name or a uid in both versions "
    "decides it.",
    old='s.key_by(four).process(Count()).name("by four")\ns.key_by(three).process(Count()).name("by three")',
    new='s.key_by(three).process(Count()).name("by three")\ns.key_by(four).process(Count()).name("by four")',
    fix='Pin each operator to its own old id with .set_uid_hash("<old id>"), or restore the old order. If a uid '
    "was given to another operator, choose a new uid for it.",
    find=_find,
)

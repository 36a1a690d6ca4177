"""State of OLD whose operator is still there under another id."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from compat.check import amounts, code_suggestions
from compat.check.context import Check
from compat.check.explain import common_cause, why_moved
from compat.check.findings import Fate, Finding, Fix, Level
from compat.check.pinning import PART_OF_SINK, tie
from compat.check.rule import Rule
from compat.check.starting_empty import is_source, without_state
from compat.state.model.operators import Operator


def _find(check: Check) -> Iterator[Finding]:
    for old in check.mapping.lost:
        new = check.successor(old)
        if new is not None:
            yield _finding(old, new, check)


def _finding(old: Operator, new: Operator, check: Check) -> Finding:
    allowed = check.options.allow_non_restored
    if not allowed and check.left_behind is not None:
        consequence = f"{new.label} starts without its state{amounts.of(*old.states or ())}, {check.left_behind}."
    elif not allowed:
        consequence = f"Flink refuses the restore: it cannot map the state of operator {old.id} to the new program."
        consequence += amounts.lost(old)
    elif amounts.only_timers(old):
        consequence = "The empty timer queues of the operator are left behind, as -n allows; nothing is lost."
    else:
        consequence = f"{new.label} starts without its state{amounts.of(*old.states or ())}, as -n allows."
        consequence += f" {without_state(new)}" if is_source(new) else ""
    guessed = old.id in check.mapping.guessed
    tied = tie(old, new, check)
    fixes = (*tied, *_old_uid(old, new, pinned=any((fix.call or "").startswith(".set_uid_hash(") for fix in tied)))
    return check.finding(
        RULE,
        f"{old.label} has state that no operator takes; {new.label} may be the same operator"
        if guessed
        else f"the id of {old.label} has moved",
        level=Level.WARNING if allowed else Level.ERROR,
        consequence=consequence,
        reason=_why_guessed(new) if guessed else why_moved(old, new, check.old, check.new),
        old=old,
        new=new,
        fixes=(
            *(_if_it_is(fix, old, new) if guessed else fix for fix in fixes),
            *code_suggestions.migrate_ids(check),
        ),
        silent=not allowed and check.left_behind is not None,
        cause=None if guessed else common_cause(old, new, check.old, check.new),
    )


def _old_uid(old: Operator, new: Operator, *, pinned: bool) -> Iterator[Fix]:
    """The uid that an operator had, where it has another one now: the shortest way back. A fix may have ``pinned`` it."""
    if old.uid is None or new.uid is None or old.user_hash is not None or new.user_hash is not None:
        return
    if new.uid != old.uid:
        before, now = (uid.removeprefix(PART_OF_SINK) for uid in (old.uid, new.uid))
        or_pin = "; or keep the new one, and pin the old id with set_uid_hash" if pinned else ""
        whom = "it" if before == old.uid else "the sink"
        yield Fix(text=f"Give {whom} its old uid back: {before!r} in place of {now!r}{or_pin}.", operator_id=new.id)


def _why_guessed(new: Operator) -> str:
    return (
        f"No operator of NEW has this id. That it is {new.label} is a guess, from the sort of operator, its states and its "
        "parallelism; the program that wrote the savepoint would tell (--names)."
    )


def _if_it_is(fix: Fix, old: Operator, new: Operator) -> Fix:
    """The fix of a guess, which a report does not pass on to ``compat remap``."""
    code = code_suggestions.remap(old, new) if fix.code == code_suggestions.REMAP else fix.code
    return replace(fix, text=f"If it is the same operator: {_begun(fix.text)}", code=code)


def _begun(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


RULE = Rule(
    id="CMP102",
    name="operator-moved",
    level=Level.ERROR,
    other_levels=(Level.WARNING,),
    when="warning with -n: the operator starts without its state on purpose",
    fate=Fate.REFUSED,
    summary="An operator is still there, but its generated id has moved.",
    why="Without a uid, an operator's id is computed from its position in the graph, the outputs chained to it "
    "and the ids of its inputs. An edit elsewhere changes it, and no operator takes the state under the old id.",
    old="source.key_by(key).process(Count())",
    new="source.rebalance().filter(good).rebalance().key_by(key).process(Count())",
    fix='Pin the old id on the new operator, .set_uid_hash("<old id>"), and give a uid to each stateful operator of '
    "the next job that starts without old state. If the program cannot be changed, compat remap gives the state in "
    "the savepoint the new id.",
    find=_find,
)

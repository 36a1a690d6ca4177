"""How to tie state to an operator again: the fixes that several rules suggest."""

from __future__ import annotations

from compat.check import writing
from compat.check.context import Check
from compat.check.findings import Fix
from compat.plan.facts import Operator

WITHOUT_USER_HASH = frozenset({"sink_writer", "sink_committer", "sink_global_committer"})
"""Kinds of operators that a program cannot give a user hash."""

_PART_OF_SINK = "Sink Committer: "


def hidden(operator: Operator) -> bool:
    """True for an operator that PyFlink puts in by itself and that no call of the program can name."""
    return operator.name.partition(", ")[0].startswith("_")


def edit(operator: Operator, method: str, value: str | int, purpose: str = "") -> Fix:
    """The fix that gives ``operator`` of NEW a setting: one call more, or the argument of the one it has."""
    call = f".{method}({writing.text_of(value)})"
    where = "" if operator.source is None else f" at {operator.source}"
    has = {"uid": operator.uid, "set_uid_hash": operator.user_hash}.get(method) is not None
    text = f"Make it {call} on {operator.label}{where}" if has else f"Add {call} to {operator.label}{where}"
    return Fix(text=f"{text}{purpose}.", call=call, at=operator.source, operator_id=operator.id)


def free_id(operator: Operator, old: Operator, check: Check) -> tuple[Fix, ...]:
    """How to make an operator of NEW give up the id of ``old`` that another one needs.

    An operator that PyFlink put in gets another id when the one before it does; if that one has state, it keeps it by its
    user hash.
    """
    if operator.user_hash == old.id:
        return (
            Fix(
                text=f"Remove .set_uid_hash({writing.text_of(operator.user_hash)}) from {operator.label}: the state is not "
                "its own.",
                code=uid_call(operator, check) if operator.uid is None else f".uid({writing.text_of(operator.uid)})",
            ),
        )
    named = _named(operator, check)
    if named is None:
        return (
            Fix(
                text=f"PyFlink puts {operator.label} in by itself, and its id cannot be moved: undo the edit before it, or "
                f"change ids in the savepoint ({writing.REMAP})."
            ),
        )
    fixes = [edit(named, "uid", check.fresh_uid(named), ", to free the id")]
    own = next((pair for pair in check.mapping.stateful_pairs() if pair.new.id == named.id), None)
    if named is not operator and own is not None and named.user_hash is None:
        fixes.append(edit(named, "set_uid_hash", own.old.id, ", to keep its own state"))
    return tuple(fixes)


def _named(operator: Operator, check: Check) -> Operator | None:
    """The operator itself, or the nearest one before it that takes a uid and whose id the id depends on."""
    while hidden(operator):
        before = check.new.by_id.get(operator.inputs[0]) if operator.inputs else None
        if before is None or before.uid is not None:
            return None
        operator = before
    return operator


def leave_own_id(operator: Operator, recorded: int, check: Check) -> Fix:
    """The uid that takes an operator of NEW off its own id, under which OLD recorded another max parallelism."""
    return edit(
        operator, "uid", check.fresh_uid(operator), f", as the max parallelism recorded under its own id is {recorded}"
    )


def uid_call(operator: Operator, check: Check) -> str:
    """The call that gives an operator of NEW a uid of its own."""
    return f".uid({writing.text_of(check.fresh_uid(operator))})"


def pin(old: Operator, new: Operator, *, uid_is_free: bool = True) -> tuple[Fix, ...]:
    """How to give ``new`` the state of ``old``: the uid that it had, else a user hash, where the operator takes one.

    ``uid_is_free`` is whether no other operator of NEW has the uid of ``old``.
    """
    if hidden(new):
        return (
            Fix(
                text="PyFlink puts this operator in by itself and gives it no uid. Its state is two empty timer queues: "
                "restore with -n, nothing is lost.",
                code=writing.NON_RESTORED,
            ),
        )
    if old.uid is not None and new.uid is None and uid_is_free:
        return (edit(new, "uid", old.uid.removeprefix(_PART_OF_SINK) if new.kind == "sink_committer" else old.uid),)
    if new.kind in WITHOUT_USER_HASH:
        return (
            Fix(
                text="A sink of this kind takes no user hash: give its state the new id in the savepoint, by the report of "
                "this check (--output json=REPORT), or undo the edit that moved its id.",
                code=writing.REMAP,
            ),
            Fix(
                text="Or let its state go with -n after a stop with --drain, when nothing is left to commit.",
                code=writing.NON_RESTORED,
            ),
        )
    return (edit(new, "set_uid_hash", old.id),)


def tie(old: Operator, new: Operator, check: Check, *, uid_is_free: bool = True) -> tuple[Fix, ...]:
    """:func:`pin`, and what it takes that Flink then accepts the max parallelism of ``new``.

    Flink compares that with what is recorded under either id of an operator. Where OLD recorded two, no setting fits both,
    and the operator has to leave its own id.
    """
    fixes = pin(old, new, uid_is_free=uid_is_free)
    under_own_id = check.old.by_id.get(new.id)
    if (
        not new.max_parallelism_configured
        or under_own_id is None
        or under_own_id.max_parallelism == old.max_parallelism
        or not any(fix.call is not None and fix.call.startswith(".set_uid_hash(") for fix in fixes)
    ):
        return fixes
    return (*fixes, leave_own_id(new, under_own_id.max_parallelism, check))

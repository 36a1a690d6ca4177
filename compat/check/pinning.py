"""Pins state to an operator again: the fixes that several rules suggest."""

from __future__ import annotations

from compat.check.code_suggestions import NON_RESTORED, REMAP, text_of
from compat.check.context import Check
from compat.check.findings import Fix
from compat.check.identity import WITHOUT_CALL, WITHOUT_USER_HASH, hidden, named_before
from compat.state.model.operators import Operator

OTHER_SOURCE = (
    "read with env.from_source(FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build(), "
    'WatermarkStrategy.no_watermarks(), "lines").uid("lines")'
)
"""The replacement for ``read_text_file`` that takes a uid; it reads the files from the beginning."""

PART_OF_SINK = "Sink Committer: "
"""Flink's prefix before a sink's uid for the uid of its committer."""


def edit(operator: Operator, method: str, value: str | int, purpose: str = "") -> Fix:
    """The fix that gives ``operator`` of NEW a setting: one more call, or another argument of the existing one."""
    call = f".{method}({text_of(value)})"
    where = "" if operator.source is None else f" at {operator.source}"
    has = {"uid": operator.uid, "set_uid_hash": operator.user_hash}.get(method) is not None
    text = f"Make it {call} on {operator.label}{where}" if has else f"Add {call} to {operator.label}{where}"
    return Fix(text=f"{text}{purpose}.", call=call, at=operator.source, operator_id=operator.id)


def free_id(operator: Operator, old: Operator, check: Check) -> tuple[Fix, ...]:
    """How to make an operator of NEW give up the id of ``old`` that another operator needs.

    An operator inserted by PyFlink gets another id when the one before it does. Operators behind it whose ids move along
    keep their state by user hashes.
    """
    if operator.user_hash == old.id:
        return (
            Fix(
                text=f"Remove .set_uid_hash({text_of(operator.user_hash)}) from {operator.label}: the state is not "
                "its own.",
                code=uid_call(operator, check) if operator.uid is None else f".uid({text_of(operator.uid)})",
            ),
        )
    named = named_before(operator, check.new)
    if named is None:
        return (
            Fix(
                text=f"PyFlink inserts {operator.label} itself, and its id cannot be moved: undo the edit before it, or "
                f"change ids in the savepoint ({REMAP})."
            ),
        )
    fixes = [edit(named, "uid", check.fresh_uid(named), ", to free the id")]
    behind = check.moved_by(named)
    for pair in check.kept:
        if pair.new.id in behind:
            fixes.append(edit(pair.new, "set_uid_hash", pair.old.id, ", to keep its own state"))
    return tuple(fixes)


def leave_own_id(operator: Operator, recorded: int, check: Check) -> Fix:
    """The uid that takes an operator of NEW off its own id, under which OLD recorded another max parallelism."""
    return edit(
        operator, "uid", check.fresh_uid(operator), f", as the max parallelism recorded under its own id is {recorded}"
    )


def uid_call(operator: Operator, check: Check) -> str:
    """The call that gives an operator of NEW its own uid."""
    return f".uid({text_of(check.fresh_uid(operator))})"


def pin(old: Operator, new: Operator, *, uid_is_free: bool = True) -> tuple[Fix, ...]:
    """How to give ``new`` the state of ``old``: by the former uid, else by a user hash, if the operator takes one.

    ``uid_is_free`` is whether no other operator of NEW has the uid of ``old``.
    """
    if hidden(new):
        return (
            Fix(
                text="PyFlink inserts this operator itself and gives it no uid. Its state is two empty timer queues: "
                "restore with -n, nothing is lost.",
                code=NON_RESTORED,
            ),
        )
    if old.uid is not None and new.uid is None and uid_is_free:
        return (edit(new, "uid", old.uid.removeprefix(PART_OF_SINK) if new.kind == "sink_committer" else old.uid),)
    if new.kind in WITHOUT_CALL:
        return (
            Fix(
                text=f"No call of the program reaches {new.label}: give its state the new id in the "
                "savepoint, with the report of this check (--output json=REPORT), or undo the edit that moved its id.",
                code=REMAP,
            ),
            Fix(text=f"Or {OTHER_SOURCE}, and let this state go with -n.", code=NON_RESTORED),
        )
    if new.kind in WITHOUT_USER_HASH:
        return (
            Fix(
                text="A sink of this kind takes no user hash: give its state the new id in the savepoint, "
                "with the report of this check (--output json=REPORT), or undo the edit that moved its id.",
                code=REMAP,
            ),
            Fix(
                text="Or let its state go with -n after a stop with --drain, when nothing is left to commit.",
                code=NON_RESTORED,
            ),
        )
    return (edit(new, "set_uid_hash", old.id),)


def tie(old: Operator, new: Operator, check: Check, *, uid_is_free: bool = True) -> tuple[Fix, ...]:
    """:func:`pin`, with the further fixes that Flink needs to accept the max parallelism of ``new``.

    Flink compares that with what is recorded under either id of an operator. If OLD recorded two, no setting fits both,
    and the operator has to leave its own id.
    """
    fixes = pin(old, new, uid_is_free=uid_is_free)
    recorded = check.recorded_otherwise(old, new)
    if recorded is None or not any(fix.call is not None and fix.call.startswith(".set_uid_hash(") for fix in fixes):
        return fixes
    return (*fixes, leave_own_id(new, recorded, check))

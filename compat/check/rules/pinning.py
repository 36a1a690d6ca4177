"""How to tie state to an operator again: the fixes that several rules suggest."""

from __future__ import annotations

from compat.check.findings import Fix
from compat.plan.facts import Operator, StateKind

_WITHOUT_USER_HASH = frozenset({"sink_writer", "sink_committer", "sink_global_committer"})


def only_timers(operator: Operator) -> bool:
    """True for an operator whose only state is timer queues that its function never fills."""
    states = operator.states
    return (
        states is not None
        and all(state.kind is StateKind.TIMERS for state in states)
        and not operator.detail.get("timers", False)
    )


def hidden(operator: Operator) -> bool:
    """True for an operator that PyFlink puts in by itself and that no call of the program can name."""
    return operator.name.partition(", ")[0].startswith("_")


def free_id(operator: Operator) -> Fix:
    """How to make an operator give up a generated id that another one needs."""
    words = "".join(letter.lower() if letter.isalnum() else "-" for letter in operator.name.partition(", ")[0])
    call = f'.uid("{words.strip("-") or "operator"}")'
    where = "" if operator.source is None else f" at {operator.source}"
    return Fix(text=f"Add {call} to {operator.label}{where}, to free its id.", call=call, at=operator.source)


def pin(old: Operator, new: Operator) -> tuple[Fix, ...]:
    """How to give ``new`` the state of ``old``: a user hash where the operator takes one."""
    if new.kind in _WITHOUT_USER_HASH:
        return (
            Fix(
                text="A sink of this kind takes no user hash: undo the edit that moved its id, or let its state go with "
                "-n after a stop with --drain, when nothing is left to commit."
            ),
        )
    if hidden(new):
        return (
            Fix(
                text="PyFlink puts this operator in by itself and gives it no uid. Its state is two empty timer queues: "
                "restore with -n, nothing is lost."
            ),
        )
    call = f'.set_uid_hash("{old.id}")'
    where = "" if new.source is None else f" at {new.source}"
    return (Fix(text=f"Add {call} to {new.label}{where}.", call=call, at=new.source),)

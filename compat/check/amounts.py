"""The amount of OLD's state that a finding is about, if a snapshot records it."""

from __future__ import annotations

from collections.abc import Iterable

from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind


def amount(states: Iterable[State]) -> str | None:
    """The number of keys of these states, else their bytes, as text: ``12,408 keys``; None if unknown."""
    known = list(states)
    keys = [state.keys for state in known if state.keys is not None]
    if keys:
        return f"{max(keys):,} key{'s' * (max(keys) != 1)}"
    sizes = [state.bytes for state in known if state.bytes is not None]
    return f"{sum(sizes):,} bytes" if sizes else None


def of(*states: State) -> str:
    """The same in brackets, to follow the states' name: ``" (12,408 keys)"``, or nothing."""
    known = amount(states)
    return "" if known is None else f" ({known})"


def lost(operator: Operator) -> str:
    """A sentence on the contents of an operator's own states: ``" 12,408 keys would be lost."``, or nothing."""
    known = amount(state for state in operator.states or () if not state.built_in) or amount(operator.states or ())
    return "" if known is None or known.startswith("0 ") else f" {known} would be lost."


def nothing(states: Iterable[State] | None) -> bool:
    """True if a snapshot shows that all of these states are empty."""
    known = list(states or ())
    return bool(known) and all(state.bytes == 0 for state in known)


def only_timers(operator: Operator) -> bool:
    """True for an operator whose only state is timer queues that its function never fills, or that a snapshot shows to
    be empty.
    """
    states = operator.states
    return (
        states is not None
        and all(state.kind is StateKind.TIMERS for state in states)
        and operator.detail.get("timers", False) is False
    )

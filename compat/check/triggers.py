"""The states that window triggers keep for each window."""

from __future__ import annotations

from collections.abc import Mapping

from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind
from compat.state.names import OF_TRIGGERS

_IN_PYTHON: Mapping[str, frozenset[str]] = {
    "CountTrigger": frozenset({"count"}),
    **dict.fromkeys(("ContinuousEventTimeTrigger", "ContinuousProcessingTimeTrigger"), frozenset({"fire-time"})),
    **dict.fromkeys(("EventTimeTrigger", "ProcessingTimeTrigger", "NeverTrigger"), frozenset()),
}
"""The states of PyFlink's triggers, by class; a purging trigger, or one of the program, may keep anything."""


def may_be_a_triggers(state: State, *, in_python: bool) -> bool:
    """Whether a trigger may keep a state: one for each window. A function's own, for all windows of a key, is none.

    Flink: ``CountTrigger`` and the continuous ones fold numbers into it. PyFlink's fold too, and a savepoint has a list there.
    """
    kinds = {StateKind.REDUCING, StateKind.VALUE} | ({StateKind.LIST} if in_python else set())
    return state.namespace_type is not None and state.kind in kinds


def is_in_python(operator: Operator) -> bool:
    """True for an operator that runs Python, whose plan does not list what its trigger keeps."""
    return "python" in operator.detail


def names_in(operator: Operator, *, in_python: bool) -> frozenset[str]:
    """The trigger states that an operator's plan or savepoint lists; a savepoint does not show whether Python wrote it."""
    listed = {state.name for state in operator.states or () if may_be_a_triggers(state, in_python=in_python)}
    return OF_TRIGGERS & listed


def names_in_python(operator: Operator) -> frozenset[str] | None:
    """The trigger states of a Python operator; None for an unknown trigger."""
    return _IN_PYTHON.get(str(operator.detail.get("trigger"))) if is_in_python(operator) else None

"""The kind of operator that left a state behind, from the state alone: a savepoint records no kinds."""

from __future__ import annotations

from collections.abc import Iterator

from compat.plan.facts import Operator, Program, StateScope
from compat.plan.families import FAMILIES, family
from compat.savepoint.recorded import RecordedOperator
from compat.state import names as framework

UNKNOWN = "unknown"

_BY_STATE = {
    framework.SOURCE_READER: "source",
    framework.SINK_WRITER: "sink_writer",
    framework.SINK_COMMITTER: "sink_committer",
    framework.WINDOW_CONTENTS: "window",
    framework.REDUCE: "reduce",
    framework.ASYNC_WAIT: "async_wait",
}
_KEYED = ("keyed_process", "keyed_co_process", "keyed_broadcast_process", "keyed_reduce")


def kind_of(recorded: RecordedOperator, partner: Operator | None, new: Program) -> str:
    """The kind of operator: that of an operator of NEW which it may well be, else the likeliest one.

    The operator that has its id comes first, then those of its name. ``unknown`` is no kind of any program.
    """
    possible = possible_kinds(recorded)
    families = {FAMILIES.get(kind, kind) for kind in possible}
    for candidate in _candidates(recorded, partner, new):
        if not possible or family(candidate) in families:
            return candidate.kind
    return possible[0] if possible else UNKNOWN


def _candidates(recorded: RecordedOperator, partner: Operator | None, new: Program) -> Iterator[Operator]:
    if partner is not None:
        yield partner
        return
    if recorded.name is not None:
        first = recorded.name.partition(", ")[0]
        yield from (operator for operator in new.operators if operator.name.partition(", ")[0] == first)
    names = {state.name.removeprefix(framework.PYTHON_PREFIX) for state in recorded.states if not state.timers}
    for operator in new.operators:
        if any(state.name in names and not state.built_in for state in operator.states or ()):
            yield operator


def possible_kinds(recorded: RecordedOperator) -> tuple[str, ...]:
    """The kinds of operators that keep such state, the likeliest first; none if any may."""
    names = {state.name.removeprefix(framework.PYTHON_PREFIX) for state in recorded.states}
    for name, kind in _BY_STATE.items():
        if name in names:
            return (kind,)
    if any(name.startswith(framework.PYTHON_REDUCE) for name in names):
        return ("keyed_reduce",)
    if recorded.unreadable:  # what was not read might tell of another sort
        return ()
    if any(state.namespace is not None for state in recorded.states):
        return ("window",)
    broadcast = any(state.scope is StateScope.BROADCAST for state in recorded.states)
    if recorded.keyed:
        return ("keyed_broadcast_process",) if broadcast else _KEYED
    return ("broadcast_process",) if broadcast else ()

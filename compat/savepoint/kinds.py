"""The kind of operator that wrote a state, judged from the state alone: a savepoint records no kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compat.plan.facts import Program
from compat.plan.families import FAMILIES, family
from compat.plan.queries import of_query
from compat.plan.recorded_states import RecordedState
from compat.savepoint.recorded import RecordedOperator
from compat.state import names as framework
from compat.state.model.operators import Operator
from compat.state.model.states import StateScope

UNKNOWN = "unknown"

_BY_STATE = {
    framework.SOURCE_READER: ("source",),
    framework.SINK_WRITER: ("sink_writer",),
    framework.SINK_COMMITTER: ("sink_committer",),
    framework.WINDOW_CONTENTS: ("window", "window_all", "map_partition"),
    framework.REDUCE: ("reduce",),
    framework.ASYNC_WAIT: ("async_wait",),
}
_WINDOWS = _BY_STATE[framework.WINDOW_CONTENTS]
_KEYED_IN_PYTHON = frozenset({"keyed function", "keyed function of two streams"})
_BROADCAST_IN_PYTHON = frozenset({"function with broadcast state", "keyed function with broadcast state"})
_WITH_MARKS = frozenset({"source", "rolling aggregate", "window", "window_all", "assign_timestamps", "print"})
"""Kinds of Java operators whose states identify them, or that keep none. All others run a function or a connector,
which may ask for any state.
"""
_WITHOUT_USER_TIMERS = frozenset(
    {"map", "flat_map", "filter", "legacy source", "legacy_sink", "collection", "print"}
    | {"connect_map", "connect_flat_map", "async_wait", "sink writer", "sink committer"}
)
_USER_TIMERS = "user-timers"


def kind_of(recorded: RecordedOperator, partner: Operator | None, new: Program, served: frozenset[str]) -> str:
    """The kind of operator: that of the operator of NEW that it probably is, else the likeliest one.

    The operator with its id comes first, then those with its name. If the first declares none of the recorded states, one that
    declares them comes before it, unless that one finds its own state (``served``, by id). ``unknown`` is not a kind that
    programs have.
    """
    for candidate in _candidates(recorded, partner, new, served):
        if may_be(recorded, candidate):
            return candidate.kind
    return _likeliest(recorded)


def may_be(recorded: RecordedOperator, candidate: Operator) -> bool:
    """Whether an operator of NEW may be the one that wrote the state."""
    if recorded.keyed and not candidate.inputs:
        return False  # a source has no key
    sort = family(candidate)
    marks = _marks(recorded)
    if marks:
        return sort in {FAMILIES.get(kind, kind) for kind in marks}
    if not recorded.states or recorded.unreadable:  # unread states might show another sort
        return True
    if of_query(candidate) and candidate.states:
        return bool({state.name for state in recorded.states} & {state.name for state in candidate.states})
    if any(state.namespace is not None for state in recorded.states):
        return candidate.kind in _WINDOWS
    if is_python(candidate):
        return _may_be_in_python(recorded, sort)
    if _own_names(recorded) & _declared_names(candidate):
        return True
    timers = any(state.timers and state.name.endswith(_USER_TIMERS) for state in recorded.states)
    return sort not in _WITH_MARKS and not (timers and sort in _WITHOUT_USER_TIMERS)


def served(partners: Mapping[str, Operator], recorded: Mapping[str, RecordedOperator]) -> frozenset[str]:
    """The ids of the operators of NEW that get state under a name that they declare; ``partners`` are by the recorded id."""
    return frozenset(
        operator.id for id, operator in partners.items() if _own_names(recorded[id]) & _declared_names(operator)
    )


def is_python(operator: Operator) -> bool:
    """Whether the operator runs in Python."""
    return "python" in operator.detail


def _may_be_in_python(recorded: RecordedOperator, sort: str) -> bool:
    broadcast = any(state.scope is StateScope.BROADCAST for state in recorded.states)
    if not recorded.keyed:
        return sort in _BROADCAST_IN_PYTHON or not broadcast
    if broadcast:
        return sort == "keyed function with broadcast state"
    # A broadcast state, and that of a rolling aggregate, comes into being with the first record.
    if sort == "rolling aggregate":
        return not _own_names(recorded)
    return sort in _KEYED_IN_PYTHON or sort == "keyed function with broadcast state"


def _likeliest(recorded: RecordedOperator) -> str:
    marks = _marks(recorded)
    if marks:
        return marks[0]
    if recorded.unreadable:
        return UNKNOWN
    if any(state.namespace is not None for state in recorded.states):
        return "window"
    broadcast = any(state.scope is StateScope.BROADCAST for state in recorded.states)
    if recorded.keyed:
        return "keyed_broadcast_process" if broadcast else "keyed_process"
    return "broadcast_process" if broadcast else UNKNOWN


def _marks(recorded: RecordedOperator) -> tuple[str, ...]:
    """The kinds of operators that keep a state of a name that is recorded; none if no name tells."""
    names = [_plain(state) for state in recorded.states]
    for name, kinds in _BY_STATE.items():
        if name in names:
            return kinds
    return ("keyed_reduce",) if any(name.startswith(framework.PYTHON_REDUCE) for name in names) else ()


def _own_names(recorded: RecordedOperator) -> frozenset[str]:
    return frozenset(_plain(state) for state in recorded.states if not state.timers)


def _plain(state: RecordedState) -> str:
    return state.name.removeprefix(framework.PYTHON_PREFIX)


def _declared_names(operator: Operator) -> frozenset[str]:
    return frozenset(state.name for state in operator.states or () if not state.built_in)


def _candidates(
    recorded: RecordedOperator, partner: Operator | None, new: Program, served: frozenset[str]
) -> Iterator[Operator]:
    own = _own_names(recorded)
    declaring = [operator for operator in new.operators if own & _declared_names(operator)]
    if partner is not None:
        if partner.states is not None and not own & _declared_names(partner):
            yield from (operator for operator in declaring if operator.id not in served)
        yield partner
        return
    if recorded.name is not None:
        first = recorded.name.partition(", ")[0]
        yield from (operator for operator in new.operators if operator.name.partition(", ")[0] == first)
    yield from declaring

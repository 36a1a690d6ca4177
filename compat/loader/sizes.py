"""The plan in a snapshot of a job on Spark, with how much the snapshot holds of each state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from compat.state.model.job import Plan
from compat.state.model.operators import Operator
from compat.state.model.states import State, StateKind, StateScope
from compat.state.names import TIMERS


def with_sizes(plan: Plan, folder: str, epoch: int | None) -> Plan:
    """The plan with the number of keys and of bytes of each state, as of an epoch.

    ``folder`` holds the snapshot's table, or the folder ``state`` with it. Gives the plan unchanged if the table cannot be
    read: sizes are only extra information.
    """
    sizes = _sizes(folder, epoch)
    return replace(plan, operators=tuple(_operator(operator, sizes) for operator in plan.operators)) if sizes else plan


def _sizes(folder: str, epoch: int | None) -> Mapping[tuple[str, str], Any]:
    try:
        from compat.state.delta.errors import StoreError
        from compat.state.delta.log import SnapshotLog
        from compat.state.delta.sizes import state_sizes
        from compat.state.stores.paths import place_of
    except ImportError:
        return {}
    try:
        found = place_of(folder)
        table = found / "state" if (found / "state" / "_delta_log").exists() else found
        log = SnapshotLog.open(table)
        return state_sizes(log if epoch is None else SnapshotLog.open(table, log.version_of_epoch(epoch)))
    except (StoreError, OSError):
        return {}


def _operator(operator: Operator, sizes: Mapping[tuple[str, str], Any]) -> Operator:
    if operator.states is None:
        return operator
    return replace(operator, states=tuple(_state(state, operator.id, sizes) for state in operator.states))


def _state(state: State, operator: str, sizes: Mapping[tuple[str, str], Any]) -> State:
    size = sizes.get((operator, TIMERS if state.kind is StateKind.TIMERS else state.name))
    keyed = state.scope is StateScope.KEYED
    if size is None:
        return replace(state, keys=0, bytes=0) if keyed else state
    return replace(state, bytes=size.bytes, keys=size.keys) if keyed else replace(state, bytes=size.bytes)

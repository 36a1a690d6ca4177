"""The plan in a snapshot of a job on Spark, with how much the snapshot holds of each state."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from compat.state.names import TIMERS


def with_sizes(plan: Mapping[str, Any], folder: str, epoch: int | None) -> dict[str, Any]:
    """The plan with the number of keys and of bytes of each state, as of an epoch.

    ``folder`` holds the snapshot's table, or the folder ``state`` with it. Gives the plan as it is where the table cannot be
    read: sizes only tell more.
    """
    sizes = _sizes(folder, epoch)
    operators = plan.get("operators")
    if not sizes or not isinstance(operators, list):
        return dict(plan)
    return {**plan, "operators": [_operator(operator, sizes) for operator in operators]}


def _sizes(folder: str, epoch: int | None) -> Mapping[tuple[str, str], Any]:
    try:
        from compat.state.delta.errors import StoreError
        from compat.state.delta.log import SnapshotLog
        from compat.state.delta.sizes import state_sizes
    except ImportError:
        return {}
    table = os.path.join(folder, "state")
    table = table if os.path.isdir(os.path.join(table, "_delta_log")) else folder
    try:
        log = SnapshotLog.open(table)
        return state_sizes(log if epoch is None else SnapshotLog.open(table, log.version_of_epoch(epoch)))
    except (StoreError, OSError):
        return {}


def _operator(operator: Any, sizes: Mapping[tuple[str, str], Any]) -> Any:
    if not isinstance(operator, dict) or not isinstance(operator.get("states"), list):
        return operator
    return {**operator, "states": [_state(state, operator.get("operator_id"), sizes) for state in operator["states"]]}


def _state(state: Any, operator: Any, sizes: Mapping[tuple[str, str], Any]) -> Any:
    if not isinstance(state, dict):
        return state
    size = sizes.get((operator, TIMERS if state.get("kind") == "timers" else state.get("name", "")))
    if size is None:
        return {**state, "keys": 0, "bytes": 0} if state.get("scope") == "keyed" else state
    counted = {"bytes": size.bytes}
    return {**state, **counted, "keys": size.keys} if state.get("scope") == "keyed" else {**state, **counted}

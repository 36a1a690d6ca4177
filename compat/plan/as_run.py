"""The plan of a job as Spark runs it: where its state is kept otherwise than Flink does, its snapshots say so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KEPT_BY, STORE = "state.kept-by", "store"
"""The setting that says so; plans of programs do not have it."""


def as_run(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan with states as jobs on Spark keep them.

    PyFlink draws the names of some states at random at every start, so that no restore finds them again. On Spark they are as
    stable as any.
    """
    if plan.get("operators") is None:
        return dict(plan)
    settings = {**plan.get("settings", {}), KEPT_BY: STORE}
    return {**plan, "settings": settings, "operators": [_operator(operator) for operator in plan["operators"]]}


def _operator(operator: Mapping[str, Any]) -> dict[str, Any]:
    if operator["states"] is None:
        return dict(operator)
    stable = [{name: value for name, value in state.items() if name != "unstable"} for state in operator["states"]]
    return {**operator, "states": stable}

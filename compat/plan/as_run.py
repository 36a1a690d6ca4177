"""The plan of a job as Spark runs it: where its state is kept otherwise than Flink does, its snapshots say so."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from compat.plan.model import Operator, Plan, Refused

KEPT_BY: Final = "state.kept-by"
STORE = "store"
"""The setting that says so; plans of programs do not have it."""


def as_run(plan: Plan | Refused) -> Plan | Refused:
    """The plan with states as jobs on Spark keep them.

    PyFlink draws the names of some states at random at every start, so that no restore finds them again. On Spark they are as
    stable as any.
    """
    if isinstance(plan, Refused):
        return plan
    operators = tuple(_operator(operator) for operator in plan.operators)
    return replace(plan, settings={**plan.settings, KEPT_BY: STORE}, operators=operators)


def _operator(operator: Operator) -> Operator:
    if operator.states is None:
        return operator
    return replace(operator, states=tuple(replace(state, unstable=False) for state in operator.states))

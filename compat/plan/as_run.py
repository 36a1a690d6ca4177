"""The plan of a job as Spark runs it: its state is kept in a store of this project, and its snapshots say so."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from compat.state.model.job import Plan, Refused

KEPT_BY: Final = "state.kept-by"
STORE = "store"
"""The setting that marks such plans; plans of programs do not have it."""


def as_run(plan: Plan | Refused) -> Plan | Refused:
    """The plan with the setting that says who keeps the job's state."""
    if isinstance(plan, Refused):
        return plan
    return replace(plan, settings={**plan.settings, KEPT_BY: STORE})

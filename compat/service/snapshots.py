"""Savepoints and checkpoints as the OLD side of a check."""

from __future__ import annotations

import os

from compat.plan.facts import Program, facts_of
from compat.plan.reading import PlanError, from_plain
from compat.service.discovery import FLINK
from compat.service.records import Savepoint
from compat.service.registry import NotFound, Registry
from compat.state.model.job import Plan, Refused
from compat.state.stores.schemes import is_remote


def snapshot_program(registry: Registry, savepoint: Savepoint, label: str, new: Program) -> Program:
    """The facts of a snapshot, to be compared with ``new``.

    Flink's own files are read at the place where the search of the folders found them. If the operator named their job, their
    operators get names from its running version. Raises PlanError for a snapshot that cannot be read, NotFound for
    one that is gone.
    """
    if savepoint.status == "gone":
        raise NotFound(f"The savepoint {savepoint.path} is not in its folder any more.")
    if savepoint.status != "ok":
        raise PlanError(f"The savepoint {savepoint.path} cannot be read: {savepoint.error}")
    if savepoint.kind == FLINK:
        return _flink(registry, savepoint, label, new)
    plan = registry.savepoints.inspection(savepoint.id).get("plan")
    if not isinstance(plan, dict):
        raise PlanError(f"The snapshot {label} holds no plan of the program that wrote it.")
    return facts_of(accepted(from_plain(plan)), name=label, kind="snapshot")


def accepted(plan: Plan | Refused) -> Plan:
    """The plan, if Flink accepts the program. Raises PlanError otherwise."""
    if isinstance(plan, Refused):
        raise PlanError(f"The plan is of a program that Flink refuses: {plan.error.message}")
    return plan


def _flink(registry: Registry, savepoint: Savepoint, label: str, new: Program) -> Program:
    from compat.savepoint import facts
    from compat.savepoint.names import Names, of_program
    from compat.savepoint.recorded import read
    from compat.state.flink import SavepointError

    if not is_remote(savepoint.path) and os.path.realpath(savepoint.path) != savepoint.path:
        raise PlanError(f"The savepoint {savepoint.path} lies behind a symbolic link now; it is not followed.")
    plan = _current_plan(registry, savepoint.job)
    names = Names() if plan is None else of_program(facts_of(plan, name=label, kind="plan"))
    try:
        return facts.program(read(savepoint.path), label, new, names)
    except SavepointError as error:
        raise PlanError(f"The savepoint cannot be read: {error}") from error


def _current_plan(registry: Registry, job: str | None) -> Plan | None:
    if job is None:
        return None
    try:
        return accepted(registry.plans.document(registry.jobs.version(job).plan.digest))
    except NotFound:
        return None

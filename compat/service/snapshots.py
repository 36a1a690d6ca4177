"""Savepoints and checkpoints as the OLD side of a check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from compat.plan.decode import PlanError, decode
from compat.plan.facts import Program
from compat.service.records import Savepoint
from compat.service.untrusted import RefusedBody


def snapshot_program(savepoint: Savepoint, inspection: dict[str, Any], label: str) -> Program:
    """The facts that a snapshot holds. Raises PlanError for one that names no plan, RefusedBody for one that is gone."""
    if savepoint.status == "gone":
        raise RefusedBody(f"The savepoint {savepoint.path} is not in its folder any more.")
    plan = inspection.get("plan")
    if not isinstance(plan, dict):
        raise PlanError(f"The snapshot {label} holds no plan of the program that wrote it.")
    return replace(decode(plan, name=label, kind="snapshot"))

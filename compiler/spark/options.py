"""How a job is run, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Listener = Callable[[dict[str, Any]], None]
"""Is told what happens to a job: an object with ``event``, ``job_id`` and what belongs to the event."""

PlanOf = Callable[[Any], dict[str, Any]]
"""Gives the plan of a job as JSON, for the snapshots that it writes."""

Check = Callable[[str, dict[str, Any], dict[str, Any]], None]
"""Is called with a snapshot's path, its plan and the new plan before a restore; raises RestoreRefused with its report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a job is run.

    ``savepoint`` is restored by a new job (``claim``: and removed once the job has a checkpoint of its own). ``epochs``
    stops with a savepoint after so many, ``epoch_records`` bounds each source's input of an epoch. ``program`` is the file
    that submits the job: the same one goes on with a job whose driver died. ``replicas`` is where hosts keep local state.
    ``worker_setup`` is called in each Python worker before it loads the plan, and finds modules in ``worker_folders``.
    """

    savepoint: str | None = None
    allow_non_restored: bool = False
    claim: bool = False
    epochs: int | None = None
    epoch_records: int | None = None
    program: str = ""
    replicas: str | None = None
    plan_of: PlanOf | None = None
    check: Check | None = None
    clock: Callable[[], int] | None = None
    worker_setup: Callable[[], None] | None = None
    worker_folders: tuple[str, ...] = ()

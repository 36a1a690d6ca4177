"""Savepoints that jobs write: their state, and the plan of the program that wrote it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.directories import savepoint_directory
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import PhysicalPlan
from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.savepoint import METADATA, LogState, write_savepoint
from compat.state.delta.work import HERE, Workers
from compat.state.stores.paths import Place, place_of


class Savepoint(Struct, frozen=True):
    """A savepoint to be written: its snapshot, its path, and its description."""

    state: LogState
    target: Place
    description: Mapping[str, Any]
    plan: Mapping[str, Any] | None

    def write(self, workers: Workers = HERE) -> str:
        """Write the savepoint, whatever has been committed since; gives its absolute path. Raises StoreError."""
        return write_savepoint(self.state, self.target, self.description, self.plan, workers)


def savepoint_of(
    coordinator: CheckpointCoordinator, store: JobStore, path: str | None, plan_json: Mapping[str, Any] | None
) -> Savepoint:
    """A savepoint of the last committed epoch, whose sinks are published.

    It gets its own folder in ``path``, as in Flink. Without a path, the folder is in the directory that the program sets, or in
    the store.
    Raises StoreError.
    """
    target = store.savepoint_path(coordinator.job_id)
    given = path if path is not None else savepoint_directory(coordinator.plan.options)
    if given:
        folder = place_of(given, "The directory for savepoints" if path is None else "The savepoint").absolute()
        _refuse_within_another(folder)
        target = folder / target.name
    description = {
        "job_id": coordinator.job_id,
        "job_name": coordinator.plan.job_name,
        "epoch": coordinator.epoch,
        "time": time.time(),
    }
    return Savepoint(LogState.of(coordinator.log), target, description, plan_json)


def _refuse_within_another(folder: Place) -> None:
    """Raise a StoreError for a folder that is a savepoint or a table, or in one: who removes that would remove both."""
    place = folder
    try:
        while place.path != place.parent.path and place.name:
            if any((place / name).exists() for name in (METADATA, "_metadata", "_delta_log")):
                raise StoreError(
                    f"{folder} cannot be a directory for savepoints: {place} is a savepoint or a table itself. Give another."
                )
            place = place.parent
    except OSError as error:
        raise unwritable("The directory for savepoints", folder, error, "give another path") from error


def with_adopted(plan_json: Mapping[str, Any], plan: PhysicalPlan) -> dict[str, Any]:
    """The plan with the maximum parallelism that the job runs with, which may be that of the snapshot it came from."""
    highest = {task.id: task.max_parallelism for task in plan.tasks}

    def adopt(item: Mapping[str, Any], vertex: str) -> dict[str, Any]:
        return {**item, "max_parallelism": highest.get(vertex, item["max_parallelism"])}

    operators = [adopt(operator, operator["vertex"]) for operator in plan_json["operators"]]
    vertices = [adopt(vertex, vertex["id"]) for vertex in plan_json["job_graph"]["vertices"]]
    return {**plan_json, "operators": operators, "job_graph": {**plan_json["job_graph"], "vertices": vertices}}

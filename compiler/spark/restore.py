"""From a snapshot into a program. Flink: ``Checkpoints.loadAndValidateCheckpoint``, ``StateAssignmentOperation``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.spark.checkpoints import STATES
from compiler.spark.plan import PhysicalPlan
from state.delta.log import SnapshotLog, StoreError
from state.delta.rows import Kind, read_rows
from state.delta.savepoint import import_snapshot


class RestoreRefused(Exception):
    """A snapshot that does not fit the program. Change the program, or allow non-restored state where that is meant."""


@dataclass(frozen=True, slots=True)
class SavedOperator:
    """An operator in a snapshot: how it was configured, its states, and whether anything of it is there."""

    id: str
    name: str
    uid: str | None
    max_parallelism: int
    states: tuple[dict[str, Any], ...]
    stateful: bool


Check = Callable[[str, Any], None]
_checks: list[Check] = []


def add_check(check: Check) -> None:
    """Have ``check(path, job)`` called before every restore; it raises RestoreRefused with its whole report."""
    _checks.append(check)


def refuse_if_incompatible(snapshot: str, job: Any) -> None:
    """Ask whoever was added by :func:`add_check`."""
    for check in _checks:
        check(snapshot, job)


def saved_operators(log: SnapshotLog) -> dict[str, SavedOperator]:
    """The operators of a snapshot, by id."""
    facts: dict[str, dict[str, Any]] = {}
    stateful: set[str] = set()
    for table in log.read():
        for row in read_rows(table.select([name for name in table.column_names])):
            if row.kind == Kind.OPERATOR and row.state == STATES and row.value is not None:
                facts[row.operator_id] = json.loads(row.value)
            elif row.kind not in (Kind.TASK, Kind.JOB) and row.state not in ("watermark", "committables"):
                stateful.add(row.operator_id)
    return {
        id: SavedOperator(
            id,
            fact["name"],
            fact["uid"],
            fact["max_parallelism"],
            tuple(fact["states"]),
            id in stateful or bool(fact["states"]),
        )
        for id, fact in facts.items()
    }


def map_operators(saved: dict[str, SavedOperator], plan: PhysicalPlan, allow_non_restored: bool) -> dict[str, str]:
    """New operator ids by those in the snapshot: by user hash first, then by id. Raises RestoreRefused as Flink does."""
    mapping: dict[str, str] = {}
    problems: list[str] = []
    for task, spec in plan.operators():
        old = saved.get(spec.user_hash or "") or saved.get(spec.id)
        if old is None:
            continue
        if old.max_parallelism != task.max_parallelism and old.stateful:
            problems.append(
                f"The maximum parallelism ({old.max_parallelism}) with which the snapshot of operator {old.name!r} was "
                f"written cannot be changed to {task.max_parallelism}. Call set_max_parallelism({old.max_parallelism})."
            )
        mapping[old.id] = spec.id
    for id, old in saved.items():
        if id not in mapping and old.stateful and not allow_non_restored:
            problems.append(
                f"Cannot map the state of operator {old.name!r} (uid {old.uid}, id {id}) to the new program, because the "
                f"operator is not available in the new program. Pin it with set_uid_hash({id!r}), or allow to skip its "
                "state with -n/--allowNonRestoredState."
            )
    if problems:
        raise RestoreRefused("The snapshot cannot be restored:\n" + "\n".join(f"- {problem}" for problem in problems))
    return mapping


def open_snapshot(path: str) -> SnapshotLog:
    """The table of a savepoint, of a job in a store, or of a job's checkpoint (``…/state@12``)."""
    text, _, epoch = path.rpartition("@") if path.rpartition("@")[2].isdigit() else (path, "", "")
    directory = Path(text.removeprefix("file://"))
    if (directory / "state" / "_delta_log").exists():
        directory = directory / "state"
    log = SnapshotLog.open(directory)
    return SnapshotLog.open(directory, log.version_of_epoch(int(epoch))) if epoch else log


def restore(path: str, plan: PhysicalPlan, target: SnapshotLog, job: Any, allow_non_restored: bool) -> None:
    """Take a snapshot over into the empty table of a new job. Raises RestoreRefused or StoreError."""
    source = open_snapshot(path)
    refuse_if_incompatible(path, job)
    saved = saved_operators(source)
    if not saved:
        raise StoreError(f"{path} holds no checkpoint yet.")
    mapping = map_operators(saved, plan, allow_non_restored)
    import_snapshot(source, target, mapping, lambda kind: kind != Kind.TASK)

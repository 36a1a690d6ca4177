"""From a snapshot into a program. Flink: ``Checkpoints.loadAndValidateCheckpoint``, ``StateAssignmentOperation``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from compat.compiler.spark.driver.checkpoints import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.compiler.spark.driver.migrations import Unreadable, find_migrations
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.plan import PhysicalPlan, with_max_parallelism
from compat.compiler.streamgraph.model import Task
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, read_rows
from compat.state.delta.savepoint import METADATA, PLAN, Migrations, import_snapshot
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM


class RestoreRefused(Exception):
    """A snapshot that does not fit the program. Change the program, or allow non-restored state where that is meant."""


@dataclass(frozen=True, slots=True)
class SavedOperator:
    """An operator in a snapshot: how it was configured, its states, and whether anything of it is there.

    ``replayed`` marks a source that Flink would read anew after a restore, such as a collection. Here it goes on where it was.
    """

    id: str
    name: str
    uid: str | None
    parallelism: int
    max_parallelism: int
    states: tuple[dict[str, Any], ...]
    stateful: bool
    replayed: bool = False


def saved_operators(log: SnapshotLog) -> dict[str, SavedOperator]:
    """The operators of a snapshot, by id."""
    described: dict[str, tuple[int, bytes]] = {}
    stateful: set[str] = set()
    hidden = pa.array([WATERMARK, COMMITTABLES, FEEDBACK, STATES])
    for table in log.parts():
        of_task = pc.is_in(table["kind"], pa.array([Kind.TASK, Kind.JOB]))
        describing = table.filter(pc.and_(pc.equal(table["kind"], Kind.OPERATOR), pc.equal(table["state"], STATES)))
        for epoch, row in zip(describing["epoch"].to_pylist(), read_rows(describing), strict=True):
            if row.value is not None and epoch >= described.get(row.operator_id, (0, b""))[0]:
                described[row.operator_id] = (epoch, row.value)
        other = table.filter(pc.invert(pc.or_(of_task, pc.is_in(table["state"], hidden))))
        stateful.update(pc.unique(other["operator_id"]).to_pylist())
    return {
        id: SavedOperator(
            id=id,
            name=fact["name"],
            uid=fact["uid"],
            parallelism=fact["parallelism"],
            max_parallelism=fact["max_parallelism"],
            states=tuple(fact["states"]),
            stateful=id in stateful or bool(fact["states"]),
            replayed=fact.get("replayed", False),
        )
        for id, fact in ((id, json.loads(value)) for id, (_, value) in described.items())
    }


def map_operators(
    saved: Mapping[str, SavedOperator], plan: PhysicalPlan, allow_non_restored: bool
) -> tuple[dict[str, str], PhysicalPlan]:
    """New operator ids by those in the snapshot, by user hash first, then by id; and the plan with what it takes over.

    A state is handed out once; an operator whose user hash another one used before goes by its id.

    A maximum parallelism that the program did not set is that of the snapshot. Raises RestoreRefused with all that is wrong,
    where Flink refuses too.
    """
    mapping: dict[str, str] = {}
    problems: list[str] = []
    adopted: dict[int, int] = {}
    for task, spec in plan.operators():
        ids = (spec.user_hash or spec.id, spec.id)
        old = next((saved[id] for id in ids if id in saved and id not in mapping), None)
        if old is None or (old.replayed and spec.task is not Task.LEGACY_SOURCE):
            continue
        mapping[old.id] = spec.id
        if not old.stateful:
            continue
        recorded = adopted.get(task.vertex, task.max_parallelism)
        if old.max_parallelism < task.parallelism:
            problems.append(
                f"Operator {old.name!r} has a maximum parallelism of {old.max_parallelism} in the snapshot, which is lower "
                f"than the parallelism {task.parallelism} of the new program. Set at most {old.max_parallelism}."
            )
        elif old.max_parallelism == recorded:
            adopted[task.vertex] = recorded
        elif task.max_parallelism_configured or task.vertex in adopted:
            problems.append(
                f"The maximum parallelism ({old.max_parallelism}) with which the snapshot of operator {old.name!r} was "
                f"written cannot be changed to {recorded}. Call set_max_parallelism({old.max_parallelism})."
            )
        elif old.max_parallelism <= HIGHEST_MAX_PARALLELISM:
            adopted[task.vertex] = old.max_parallelism
    mapping |= _replayed_sources(saved, plan, mapping)
    for id, old in saved.items():
        if id not in mapping and old.stateful and not old.replayed and not allow_non_restored:
            problems.append(
                f"Cannot map the state of operator {old.name!r} (uid {old.uid}, id {id}) to the new program, because the "
                f"operator is not available in the new program. Pin it with set_uid_hash({id!r}), or allow to skip its "
                "state with -n/--allowNonRestoredState."
            )
    if problems:
        raise RestoreRefused("The snapshot cannot be restored:\n" + "\n".join(f"- {problem}" for problem in problems))
    return mapping, with_max_parallelism(plan, adopted)


def _replayed_sources(
    saved: Mapping[str, SavedOperator], plan: PhysicalPlan, mapping: Mapping[str, str]
) -> dict[str, str]:
    """Sources that Flink keeps no state of and so does not look at, found again by their names where their ids moved."""
    taken = set(mapping.values())
    left: dict[str, list[str]] = {}
    for old in saved.values():
        if old.replayed and old.id not in mapping:
            left.setdefault(old.name, []).append(old.id)
    found = {}
    for _, spec in plan.operators():
        if spec.task is Task.LEGACY_SOURCE and spec.id not in taken and left.get(spec.name):
            found[left[spec.name].pop(0)] = spec.id
    return found


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot in a directory: a savepoint, or a checkpoint of a job in a store."""

    directory: Path
    table: Path
    epoch: int | None

    @property
    def is_savepoint(self) -> bool:
        """True for a savepoint, which its user owns."""
        return (self.directory / METADATA).exists()

    def open(self) -> SnapshotLog:
        """Its table. Raises StoreError."""
        log = SnapshotLog.open(self.table)
        return log if self.epoch is None else SnapshotLog.open(self.table, log.version_of_epoch(self.epoch))

    def plan(self) -> dict[str, Any] | None:
        """The plan of the program that wrote it, where it was kept."""
        file = self.directory / PLAN
        return json.loads(file.read_text()) if file.exists() else None


def find_snapshot(path: str) -> Snapshot:
    """What a path names: a savepoint, a job of a store, its state, or one checkpoint (``…/state@12``). Raises StoreError."""
    text, at, epoch = path.rpartition("@")
    text, number = (text, int(epoch)) if at and epoch.isdigit() else (path, None)
    directory = Path(text.removeprefix("file://"))
    if directory.name == METADATA:
        directory = directory.parent
    if (directory / "state" / "_delta_log").exists():
        return Snapshot(directory, directory / "state", number)
    if (directory / "_delta_log").exists():
        of_job = directory.name == "state" and (directory.parent / "job.json").exists()
        found = Snapshot(directory.parent if of_job else directory, directory, number)
        if not of_job and not found.is_savepoint:
            raise StoreError(f"{text} was not finished: {METADATA} is missing. Take the savepoint again.")
        return found
    if (directory / "_metadata").exists() or directory.name == "_metadata":
        raise StoreError(
            f"{text} is a savepoint of Flink. compat check decides whether a program can restore it; jobs on Spark restore "
            "the savepoints that compat savepoint and compat stop write."
        )
    reason = "There is no such directory" if not directory.exists() else "It holds no savepoint and no checkpoint"
    raise StoreError(f"{text}: {reason}. compat list -a shows the jobs of a store.")


def open_snapshot(path: str) -> SnapshotLog:
    """The table of a snapshot."""
    return find_snapshot(path).open()


@dataclass(frozen=True, slots=True)
class Restoration:
    """A restore that was found possible: the snapshot's table, new operator ids by old ones, the plan to run, and what is
    converted."""

    snapshot: Snapshot
    log: SnapshotLog
    mapping: dict[str, str]
    plan: PhysicalPlan
    migrations: Migrations

    def into(self, target: SnapshotLog) -> None:
        """Take the state over into the empty table of a new job."""
        import_snapshot(self.log, target, self.mapping, lambda kind: kind != Kind.TASK, self.migrations)


def prepare_restore(plan: PhysicalPlan, new_plan: dict[str, Any] | None, options: RunOptions) -> Restoration:
    """Decide on a restore; nothing is written. Raises RestoreRefused with the whole report, or StoreError."""
    assert options.savepoint is not None
    snapshot = find_snapshot(options.savepoint)
    old_plan = snapshot.plan()
    if options.check is not None and old_plan is not None and new_plan is not None:
        options.check(options.savepoint, old_plan, new_plan, options.allow_non_restored)
    log = snapshot.open()
    saved = saved_operators(log)
    if not saved:
        raise StoreError(f"{options.savepoint} holds no checkpoint yet: the job ended before its first one.")
    mapping, adopted = map_operators(saved, plan, options.allow_non_restored)
    return Restoration(snapshot, log, mapping, adopted, _migrations(saved, mapping, new_plan))


def _migrations(
    saved: Mapping[str, SavedOperator], mapping: Mapping[str, str], new_plan: dict[str, Any] | None
) -> Migrations:
    """What is to be converted. Raises RestoreRefused for states that the new types cannot read."""
    try:
        return find_migrations({id: saved[id].states for id in mapping}, mapping, new_plan or {})
    except Unreadable as error:
        lines = "\n".join(f"- {problem}" for problem in error.problems)
        raise RestoreRefused(f"The snapshot cannot be restored:\n{lines}") from None


def give_up(snapshot: Snapshot) -> None:
    """Remove a snapshot that a job claimed and needs no longer."""
    shutil.rmtree(snapshot.directory, ignore_errors=True)

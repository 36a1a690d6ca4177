"""From a snapshot into a program. Flink: ``Checkpoints.loadAndValidateCheckpoint``, ``StateAssignmentOperation``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow.compute as pc
from msgspec import Struct

from compat.compiler.spark.driver.job_folders import prove_not_behind, state_of
from compat.compiler.spark.driver.lease import is_held
from compat.compiler.spark.driver.migrations import Unreadable, find_migrations
from compat.compiler.spark.driver.moving import Handed, handed, stays
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.driver.restored import Restored, restored, tally, total
from compat.compiler.spark.driver.saved import SavedOperator
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import PhysicalPlan, with_max_parallelism
from compat.compiler.spark.runtime_api.internal_states import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.compiler.streamgraph.graph import Task
from compat.state.assignment import Assignable, Claimant, MaxParallelismProblem, Refusal, assign
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import ahead, batches
from compat.state.delta.rows import NO_KEY_GROUP, Kind, counted, read_rows
from compat.state.delta.savepoint import METADATA, PLAN, Migrations, Moved, import_snapshot, remove_savepoint
from compat.state.delta.work import HERE, Workers, is_large
from compat.state.flink.errors import NotASavepoint, SavepointError
from compat.state.flink.remote import is_remote, read_savepoint
from compat.state.stores.paths import Place, place_of

_METADATA_OF_FLINK = "_metadata"


class RestoreRefused(Exception):
    """A snapshot that does not fit the program. Change the program, or allow non-restored state if that is intended."""


_OF_TASKS = frozenset({Kind.TASK, Kind.JOB})
_PUBLISHED = frozenset({(Kind.OPERATOR, COMMITTABLES)})
"""The output state of a savepoint: all output was published before it was taken."""
_DESCRIBED = frozenset({(Kind.OPERATOR, STATES)})
_HIDDEN = frozenset({WATERMARK, COMMITTABLES, FEEDBACK, STATES})
"""The internal state of the execution."""


def saved_operators(log: SnapshotLog) -> dict[str, SavedOperator]:
    """The operators of a snapshot, by id. Keys and values are read only of the files that describe operators, in batches."""
    described: dict[str, tuple[int, bytes]] = {}
    stateful: set[str] = set()
    keyed: set[str] = set()
    for file, fetched in ahead(log.place, log.files()):
        told: set[tuple[str, str, str, bool]] = set()
        for table in batches(log.place, file, ("operator_id", "kind", "state", "key_group"), fetched=fetched):
            of_key = pc.not_equal(table["key_group"], NO_KEY_GROUP)
            told.update(counted(table.set_column(3, "of_key", of_key)))
        describes = any((kind, state) == (Kind.OPERATOR, STATES) for _, kind, state, _ in told)
        own = {(id, of_key) for id, kind, state, of_key in told if kind not in _OF_TASKS and state not in _HIDDEN}
        stateful.update(id for id, _ in own)
        keyed.update(id for id, of_key in own if of_key)
        for whole in batches(log.place, file, fetched=fetched) if describes else ():
            describing = whole.filter(pc.and_(pc.equal(whole["kind"], Kind.OPERATOR), pc.equal(whole["state"], STATES)))
            for epoch, row in zip(describing["epoch"].to_pylist(), read_rows(describing), strict=True):
                if row.value is not None and epoch >= described.get(row.operator_id, (0, b""))[0]:
                    described[row.operator_id] = (epoch, row.value)
    return {
        id: SavedOperator(
            id=id,
            name=fact["name"],
            uid=fact["uid"],
            parallelism=fact["parallelism"],
            max_parallelism=fact["max_parallelism"],
            states=tuple(fact["states"]),
            stateful=id in stateful or bool(fact["states"]) or fact.get("stateful", False),
            keyed=id in keyed
            or fact.get("keyed", False)
            or any(state.get("scope", "keyed") == "keyed" for state in fact["states"]),
            replayed=fact.get("replayed", False),
        )
        for id, fact in ((id, json.loads(value)) for id, (_, value) in described.items())
    }


def map_operators(
    saved: Mapping[str, SavedOperator], plan: PhysicalPlan, allow_non_restored: bool
) -> tuple[dict[str, str], PhysicalPlan]:
    """New operator ids by those in the snapshot; and the plan with the max parallelism that it takes over.

    Raises RestoreRefused with all that is wrong, if Flink refuses too.
    """
    assignment = assign((each.recorded for each in saved.values()), _claimants(plan))
    problems = [_max_parallelism_text(problem, saved) for problem in assignment.max_parallelism.problems]
    if not allow_non_restored:
        problems += [_lost_text(saved[recorded.id]) for recorded in assignment.lost]
    if problems:
        raise _refused("The snapshot cannot be restored", problems)
    mapping = {claim.recorded.id: claim.claimant.id for claim in assignment.handed}
    adopted = assignment.max_parallelism.adopted
    taken_over = {task.vertex: adopted[task.vertex] for task in plan.tasks if task.vertex in adopted}
    return mapping, with_max_parallelism(plan, taken_over)


def _claimants(plan: PhysicalPlan) -> list[Claimant]:
    """The operators of a plan as a restore into it sees them."""
    return [
        Claimant(
            id=spec.id,
            user_hash=spec.user_hash,
            task=task.vertex,
            parallelism=task.parallelism,
            max_parallelism=task.max_parallelism,
            configured=task.max_parallelism_configured,
            replays=spec.name if spec.task is Task.LEGACY_SOURCE else None,
        )
        for task, spec in plan.operators()
    ]


def _max_parallelism_text(problem: MaxParallelismProblem, saved: Mapping[str, SavedOperator]) -> str:
    recorded = problem.claim.recorded
    name, highest = saved[recorded.id].name, recorded.max_parallelism
    match problem.refusal:
        case Refusal.BELOW_PARALLELISM:
            return (
                f"Operator {name!r} has a maximum parallelism of {highest} in the snapshot, which is lower than the "
                f"parallelism {problem.needed} of the new program. Set at most {highest}."
            )
        case Refusal.CONFIGURED:
            return (
                f"The maximum parallelism ({highest}) with which the snapshot of operator {name!r} was written cannot be "
                f"changed to {problem.needed}. Call set_max_parallelism({highest})."
            )
        case Refusal.MIXED:
            assert problem.other is not None
            return (
                f"Operator {name!r} has a maximum parallelism of {highest} in the snapshot, and "
                f"{saved[problem.other.recorded.id].name!r}, in the same chain of the new program, one of {problem.needed}. "
                "Keep them in chains of their own with start_new_chain()."
            )


def _lost_text(operator: SavedOperator) -> str:
    return (
        f"Cannot map the state of operator {operator.name!r} (uid {operator.uid}, id {operator.id}) to the new program, "
        f"because the operator is not available in the new program. Pin it with set_uid_hash({operator.id!r}), or allow to "
        "skip its state with -n/--allowNonRestoredState."
    )


class Snapshot(Struct, frozen=True):
    """A snapshot in a directory: a savepoint, or a checkpoint of a job in a store."""

    directory: Place
    table: Place
    epoch: int | None

    @property
    def is_savepoint(self) -> bool:
        """True for a savepoint, which its user owns."""
        return (self.directory / METADATA).exists()

    def open(self) -> SnapshotLog:
        """The snapshot's table. Raises StoreError, also if the last checkpoint is wanted and missing."""
        log = SnapshotLog.open(self.table)
        if self.epoch is not None:
            return SnapshotLog.open(self.table, log.version_of_epoch(self.epoch))
        if not self.is_savepoint:
            prove_not_behind(self.directory, log)
        return log

    def plan(self) -> dict[str, Any] | None:
        """The plan of the program that wrote it, if it was stored."""
        try:
            found: dict[str, Any] = json.loads((self.directory / PLAN).read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.directory / PLAN} cannot be read: {error}.") from error
        return found


def find_snapshot(path: str) -> Snapshot:
    """The state that a path names: a savepoint, a job of a store, its state, or one checkpoint (``…/state@12``).

    Raises StoreError.
    """
    text, at, epoch = path.rpartition("@")
    text, number = (text, int(epoch)) if at and epoch.isdigit() else (path, None)
    directory = place_of(text, "The snapshot")
    try:
        return _found(text, directory, number)
    except OSError as error:
        raise StoreError(f"The snapshot {text} cannot be read: {error}.") from error


def _found(text: str, directory: Place, number: int | None) -> Snapshot:
    if directory.name == METADATA:
        directory = directory.parent
    state = state_of(directory)
    if (state / "_delta_log").exists():
        return Snapshot(directory, state, number)
    if (directory / "_delta_log").exists():
        of_job = directory.name == "state" and any((directory.parent / name).exists() for name in ("job.json", PLAN))
        found = Snapshot(directory.parent if of_job else directory, directory, number)
        if not of_job and not found.is_savepoint:
            raise StoreError(f"{text} was not finished: {METADATA} is missing. Take the savepoint again.")
        return found
    if is_of_flink(text):
        raise StoreError(
            f"{text} is a savepoint of Flink. compat check decides whether a program can restore it, compat job run "
            "-s restores it, and compat job savepoint convert makes one of jobs on Spark of it."
        )
    reason = "There is no such directory" if not directory.exists() else "It holds no savepoint and no checkpoint"
    raise StoreError(f"{text}: {reason}. compat job list -a shows the jobs of a store.")


def open_snapshot(path: str) -> SnapshotLog:
    """The table of a snapshot."""
    return find_snapshot(path).open()


class Restoration(Struct, frozen=True):
    """A restore that was found possible: the snapshot's table, the state to take over, and the plan to run."""

    snapshot: Snapshot
    log: SnapshotLog
    handed: Handed
    plan: PhysicalPlan
    folder: tempfile.TemporaryDirectory[str] | None = None
    """The temporary path of the snapshot, if it was made for this object."""

    def into(self, target: SnapshotLog, workers: Workers = HERE) -> Restored:
        """Take the state over into the empty table of a new job; gives the result as counts. Raises StoreError.

        ``workers`` do that if there is much state.
        """
        alone = self.folder is not None or self.handed.here
        if alone or not is_large(sum(file.size for file in self.log.files())):
            workers = HERE  # other machines do not see files of this one
        operators, migrations, moved = self.handed.operators, self.handed.migrations, self.handed.moved
        dropped: list[int] = []
        behind = _PUBLISHED if self.snapshot.is_savepoint else frozenset()
        behind |= _DESCRIBED if moved.added else frozenset()
        left = frozenset({Kind.TASK})
        try:
            tallied = import_snapshot(
                self.log, target, operators, left, migrations, tally, workers, behind, moved, dropped.append
            )
        finally:
            self.handed.end()
        return restored(total(tallied), operators, self.handed.converted, moved.states, sum(dropped))


def prepare_restore(plan: PhysicalPlan, new_plan: dict[str, Any] | None, options: RunOptions) -> Restoration:
    """Decide on a restore; nothing is written. Raises RestoreRefused with the whole report, or StoreError."""
    assert options.savepoint is not None
    if is_of_flink(options.savepoint):
        return _prepare_from_flink(options.savepoint, plan, new_plan or {}, options)
    snapshot = find_snapshot(options.savepoint)
    if options.claim:
        _prove_claimable(snapshot)
    old_plan = snapshot.plan()
    if options.recipe is None:
        _check(options, old_plan, new_plan)
    log = snapshot.open()
    saved = saved_operators(log)
    if not saved:
        raise StoreError(f"{options.savepoint} holds no checkpoint yet: the job ended before its first one.")
    moves = stays(saved, old_plan)
    if options.recipe is not None:
        moves = options.recipe.moves(saved, old_plan, new_plan or {})
        _check(options, moves.plan, new_plan)
    mapping, adopted = map_operators(moves.saved, plan, options.allow_non_restored)
    migrations = _migrations(moves.saved, mapping, new_plan)
    return Restoration(snapshot, log, handed(moves, mapping, migrations), adopted)


def _check(options: RunOptions, old_plan: dict[str, Any] | None, new_plan: dict[str, Any] | None) -> None:
    """Raise what the check raises where the restore is not to be."""
    if options.check is not None and old_plan is not None and new_plan is not None:
        assert options.savepoint is not None
        options.check(options.savepoint, old_plan, new_plan, options.allow_non_restored)


def is_of_flink(path: str) -> bool:
    """True if a path names a savepoint or checkpoint that Flink wrote."""
    if os.path.basename(path.rstrip("/")) == _METADATA_OF_FLINK:
        return True
    try:
        return (place_of(path, "The snapshot") / _METADATA_OF_FLINK).exists()
    except (StoreError, OSError):
        return is_remote(path) and _can_be_read(path)


def _can_be_read(path: str) -> bool:
    """Whether a savepoint of Flink is where no job of ours could be."""
    try:
        read_savepoint(path)
    except NotASavepoint:
        return False
    except SavepointError:
        return True
    return True


def _prepare_from_flink(path: str, plan: PhysicalPlan, new_plan: dict[str, Any], options: RunOptions) -> Restoration:
    """The same for a savepoint that Flink wrote, which is made a snapshot of ours first."""
    from compat.compiler.spark.flink.translation import NotTranslated, translate

    if options.claim:
        raise StoreError(f"{path} is Flink's: jobs on Spark do not remove it. Leave --claim out.")
    if options.recipe is not None:
        raise StoreError(
            f"{path} is Flink's: compat migrate moves its state by a recipe, and this restores what it makes."
        )
    if options.check is not None:
        options.check(path, None, new_plan, options.allow_non_restored)
    try:
        savepoint = read_savepoint(path)
    except SavepointError as error:
        raise StoreError(str(error)) from error
    recorded = (
        Assignable(
            id=operator.id,
            has_state=operator.has_state,
            keyed=any(subtask.managed_keyed is not None for subtask in operator.subtasks),
            max_parallelism=operator.max_parallelism,
        )
        for operator in savepoint.operators
    )
    specs = {spec.id: spec for _, spec in plan.operators()}
    partners = {claim.recorded.id: specs[claim.claimant.id] for claim in assign(recorded, _claimants(plan)).handed}
    folder = tempfile.TemporaryDirectory(prefix="compat-flink-")
    try:
        log = translate(savepoint, partners, new_plan, place_of(folder.name, "The snapshot") / "state")
    except NotTranslated as error:
        raise _refused(f"{path} cannot be taken over", error.problems) from None
    mapping, adopted = map_operators(saved_operators(log), plan, options.allow_non_restored)
    directory = place_of(folder.name, "The snapshot")
    snapshot = Snapshot(directory, directory / "state", None)
    return Restoration(snapshot, log, Handed(mapping, {}, Moved()), adopted, folder)


def _refused(what: str, problems: Iterable[str]) -> RestoreRefused:
    return RestoreRefused(f"{what}:\n" + "\n".join(f"- {problem}" for problem in problems))


def _migrations(
    saved: Mapping[str, SavedOperator], mapping: Mapping[str, str], new_plan: dict[str, Any] | None
) -> Migrations:
    """The conversions that the states need. Raises RestoreRefused for states that the new types cannot read."""
    try:
        return find_migrations({id: saved[id].states for id in mapping}, mapping, new_plan or {})
    except Unreadable as error:
        raise _refused("The snapshot cannot be restored", error.problems) from None


def _prove_claimable(snapshot: Snapshot) -> None:
    """Raise a StoreError for what a job cannot remove once it has a checkpoint of its own."""
    job = snapshot.directory
    if snapshot.is_savepoint:
        return
    if snapshot.epoch is not None or job.parent.name != "jobs":
        raise StoreError(
            f"{job} cannot be claimed: it is no savepoint, and no job of a store at its last checkpoint. Leave --claimMode out."
        )
    if is_held(job):
        raise StoreError(
            f"Job {job.name} runs, so that nobody can claim it. Stop it with compat job stop {job.name} first."
        )


def still_claimed(options: RunOptions) -> Snapshot | None:
    """The claimed snapshot that a continuing job has not removed yet; None if there is none."""
    if options.savepoint is None or not options.claim:
        return None
    try:
        snapshot = find_snapshot(options.savepoint)
        _prove_claimable(snapshot)
    except StoreError:
        return None
    return snapshot


def give_up(snapshot: Snapshot) -> None:
    """Remove a snapshot that a job claimed and no longer needs: its files only. Raises StoreError, OSError."""
    if snapshot.is_savepoint:
        remove_savepoint(snapshot.directory)
    else:
        JobStore(snapshot.directory.parent.parent.path).discard(snapshot.directory.name)

"""An epoch: every level's tasks, one after the other, as one Spark job or in this process.

A partition of a level gives parcels: shipments of buffers for later levels, orders, which the driver gave to the first level,
and outcomes, which go on to the last one. Each slot gets only its own parcels.
"""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from typing import Any, NamedTuple, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from compat.compiler.executiongraph.states import ExecutionState
from compat.compiler.spark.operators.base import UserFunctionError
from compat.compiler.spark.operators.factory import has_functions_to_keep
from compat.compiler.spark.plan import OperatorSpec, PhysicalPlan, Stage, TaskSpec
from compat.compiler.spark.runtime_api.elements import Buffer
from compat.compiler.spark.runtime_api.splits import CacheDamaged
from compat.compiler.spark.runtime_api.work import WorkOfSubtask
from compat.compiler.spark.state.changes import Changes
from compat.compiler.spark.state.memory import Memory, budget_of
from compat.compiler.spark.task.exchange import Account, Shipment, why_not_whole
from compat.compiler.spark.task.stowage import BuffersLost, stow
from compat.compiler.spark.task.stream_task import (
    OpenTask,
    StreamTask,
    TaskEnvironment,
    TaskReport,
    load_runtime,
    subtask_name,
)
from compat.compiler.transformations.operators import (
    BroadcastProcess,
    Collection,
    KeyedBroadcastProcess,
    KeyedFilter,
    KeyedFlatMap,
    KeyedMap,
    KeyedValues,
    Operator,
)
from compat.state.delta.errors import StoreError
from compat.state.delta.following import follow
from compat.state.delta.log import SnapshotLog
from compat.state.delta.past import as_run_of
from compat.state.delta.replica import LmdbReplica, MemoryReplica, Position, Replica
from compat.state.delta.rows import write_table
from compat.state.key_groups import key_groups_of_subtask
from compat.state.serializers import dump, key_codec_of

INLINE_ROWS = 2000
"""The maximum number of a subtask's changed rows that travel with its report; more are written to a file by the task."""
INLINE_BYTES = 1024 * 1024
"""The maximum bytes of such rows."""


TASKS_OF_A_CORE = 2
"""The maximum number of a level's tasks per core: one more than runs, so that none waits long if they differ in length."""


class Share(NamedTuple):
    """The facts of an epoch that only one subtask gets. Flink: ``TaskDeploymentDescriptor``."""

    vertex: int
    subtask: int
    runtime: bytes | None
    work: WorkOfSubtask | bytes | None
    run: str | None
    floors: Mapping[str, int]
    described: Mapping[str, Mapping[str, Any]]


class EpochSpec(Struct, frozen=True, kw_only=True):
    """The facts of an epoch for its tasks. Keys of the mappings are (vertex, subtask) or operator ids.

    A task gets the common parts, and the shares of its own subtasks. ``runs`` are the runs of subtasks that make up the
    committed epoch, ``version`` is the log's version then. ``now`` is the driver's time, in milliseconds since 1970, which
    tasks use; with ``clock`` they use that instead. Work is sealed on its way (:func:`sealed`). ``stowage`` is the folder for
    buffers if all tasks are on one machine. ``first`` is True for the first epoch of an attempt, in which subtasks report their
    states.
    """

    job_id: str
    epoch: int
    attempt: int
    token: str
    committed: Position
    store: str
    replicas: str
    options: Mapping[str, str]
    now: int = 0
    runtimes: Mapping[tuple[int, int], bytes] = field(default_factory=dict)
    work: Mapping[tuple[int, int], WorkOfSubtask | bytes] = field(default_factory=dict)
    floors: Mapping[str, int] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    clock: Callable[[], int] | None = None
    runs: Mapping[tuple[int, int], str] = field(default_factory=dict)
    version: int | None = None
    stowage: str = ""
    first: bool = False

    @property
    def folder(self) -> str:
        """The folder of a host's data of the job."""
        return os.path.join(self.replicas, self.job_id)

    @property
    def common(self) -> EpochSpec:
        """The parts that all tasks get."""
        return replace(self, runtimes={}, work={}, runs={}, floors={}, described={})

    def share(self, task: TaskSpec, subtask: int) -> Share:
        """The parts that only one subtask gets."""
        place, ids = (task.vertex, subtask), [each.id for each in task.operators]
        return Share(
            *place,
            self.runtimes.get(place),
            self.work.get(place),
            self.runs.get(place),
            {id: self.floors[id] for id in ids if id in self.floors},
            {id: self.described[id] for id in ids if id in self.described},
        )

    def with_share(self, share: Share) -> EpochSpec:
        """All parts that one subtask gets."""
        place = (share.vertex, share.subtask)
        return replace(
            self,
            runtimes={} if share.runtime is None else {place: share.runtime},
            work={} if share.work is None else {place: share.work},
            runs={} if share.run is None else {place: share.run},
            floors=share.floors,
            described=share.described,
        )


class TaskFailure(Struct, frozen=True):
    """A subtask that failed, in place of its report; without a number, the job failed in none of its subtasks.

    ``lost`` is True if the process that ran the program was lost, and the program itself did not fail. ``cache`` is the cached
    stream whose damaged records caused the failure, if any.
    """

    task: str
    operator: str | None
    record: str | None
    cause: str
    vertex: int | None = None
    subtask: int | None = None
    lost: bool = False
    cache: int | None = None


class Orders(NamedTuple):
    """The shares of the subtasks of a level that run in a group of slots; pickled on their way."""

    level: int
    group: int
    shares: Sequence[Share] | bytes


class Outcome(NamedTuple):
    """What happened to a task: its account, and its subtasks' reports, or a failure; pickled on their way.

    ``stopped`` is True if later levels need not run: it failed, or was itself told to stop.
    """

    account: Account
    reports: Sequence[TaskReport | TaskFailure] | bytes
    stopped: bool


class Stop(NamedTuple):
    """Tells a task that one of ``level``, the level before, failed: it may lack input."""

    level: int


Parcel = Shipment | Orders | Outcome | Stop
"""An item that a partition of a level gives to one of the next."""


class EpochLost(Exception):
    """An epoch that was not finished, because Spark or a worker was lost: it changed nothing and can be run again."""


class PackedPlan(Struct, frozen=True, kw_only=True):
    """The tasks as they travel: ``payloads`` are the pickled operators by node, of which each subtask makes its own.

    ``stateful`` are the vertices that need a replica, ``lasting`` those that stay open between epochs in a host.
    """

    tasks: tuple[TaskSpec, ...]
    stages: tuple[Stage, ...]
    payloads: Mapping[int, bytes]
    stateful: frozenset[int]
    lasting: frozenset[int]
    batch: bool = False

    @property
    def outline(self) -> PackedPlan:
        """The plan without the program's own objects."""
        return replace(self, tasks=tuple(replace(task, operators=(), gates={}) for task in self.tasks), payloads={})

    def partitions_after(self, level: int) -> int:
        """The number of partitions of the next stage; the result of the last stage is in one."""
        return self.stages[level + 1].partitions if level + 1 < len(self.stages) else 1

    def for_cores(self, cores: int | None) -> PackedPlan:
        """The plan in whose tasks several slots are, one after the other, where these are far more than the cores for them.

        Without a number, each slot has its own task. A task costs more than a subtask with little work, and a host as much as
        any process of Python.
        """
        if cores is None:
            return self
        slots = 1 + max(stage.slots[-1] for stage in self.stages)
        width = -(-slots // (TASKS_OF_A_CORE * cores))
        return replace(self, stages=tuple(Stage(stage.slots, width) for stage in self.stages))

    def group_of(self, vertex: int, subtask: int) -> int:
        """The group of slots that a subtask runs in."""
        task = self.tasks[vertex]
        return task.slots[subtask] // self.stages[task.level].width

    def way_to(self, level: int, group: int, at: int) -> int:
        """The partition of stage ``at`` for what goes to a group of slots in ``level``: that one, or one that passes it on."""
        stage = self.stages[at]
        return stage.partition_of(group) if at == level else group % stage.partitions

    def subtasks_in(self, level: int, partition: int) -> list[tuple[int, int]]:
        """The subtasks that a partition of a level runs, as (vertex, subtask), in order."""
        stage = self.stages[level]
        slots = range(stage.groups[partition] * stage.width, (stage.groups[partition] + 1) * stage.width)
        return [
            (task.vertex, task.slots.index(slot))
            for task in self.tasks
            if task.level == level
            for slot in range(max(slots.start, task.slots.start), min(slots.stop, task.slots.stop))
        ]

    def places(self) -> list[tuple[int, int]]:
        """All tasks of an epoch, as (level, partition)."""
        return [(level, place) for level, stage in enumerate(self.stages) for place in range(stage.partitions)]

    def orders(self, spec: EpochSpec) -> list[list[Orders]]:
        """The orders of an epoch, for all levels, by the partition of the first level that gets them."""
        shares: dict[tuple[int, int], list[Share]] = {}
        for task in self.tasks:
            for subtask in range(task.parallelism):
                place = (task.level, self.group_of(task.vertex, subtask))
                shares.setdefault(place, []).append(spec.share(task, subtask))
        given: list[list[Orders]] = [[] for _ in range(self.stages[0].partitions)]
        for (level, group), own in shares.items():
            given[self.way_to(level, group, 0)].append(Orders(level, group, own))
        return given


def sealed(spec: EpochSpec) -> EpochSpec:
    """The epoch with its work pickled, to travel through processes that lack the program's modules."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    return replace(spec, work={place: dumps(work) for place, work in spec.work.items()})


def seal(report: TaskReport | TaskFailure) -> TaskReport | TaskFailure:
    """The output that leaves the job with a report, sealed likewise."""
    if isinstance(report, TaskReport) and report.published:
        report.sealed, report.published = dump(report.published), []
    return report


def opened(report: TaskReport | TaskFailure) -> TaskReport | TaskFailure:
    """A sealed report, as the driver reads it."""
    if isinstance(report, TaskReport) and report.sealed:
        report.sealed, report.published = b"", pickle.loads(report.sealed)
    return report


def reports_of(plan: PackedPlan, outcomes: Iterable[Parcel]) -> list[TaskReport | TaskFailure]:
    """The reports of an epoch, from its last level's results. Raises EpochLost if they are not from one run of each task."""
    found = [each for each in outcomes if isinstance(each, Outcome)]
    reason = why_not_whole((each.account for each in found), plan.places())
    if reason is not None:
        raise EpochLost(reason)
    reports: list[TaskReport | TaskFailure] = []
    for each in found:
        reports += pickle.loads(each.reports) if isinstance(each.reports, bytes) else each.reports
    if any(each.stopped for each in found) and not any(isinstance(report, TaskFailure) for report in reports):
        raise EpochLost(_STOPPED)
    return [opened(report) for report in reports]


_STOPPED = "A part of the epoch did not run, as a task before it had failed, and Spark ran that task again."


class EpochRunner(Protocol):
    """Runs epochs of one plan."""

    def prepare(self) -> None:
        """Start what epochs run on, unless it is running. Raises EpochLost."""

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        """All tasks' reports. Raises EpochLost."""

    def listen(self, changed: Callable[[int, int, ExecutionState], None]) -> None:
        """Report the states of subtasks as they change, as far as known: vertex, subtask, state. In any thread."""

    def cancel(self) -> None:
        """Abort the running epoch, if there is one: :meth:`run` raises EpochLost. May be called in any thread, and often."""

    def close(self, folder: str | None) -> None:
        """Close the functions; remove the folder of replicas of a job that has ended, on each machine."""


def pack(plan: PhysicalPlan) -> bytes:
    """A plan in the form that tasks need."""
    from pyspark import cloudpickle

    dumps: Any = cloudpickle.dumps
    payloads: dict[int, bytes] = {}
    tasks = []
    for task in plan.tasks:
        for spec in task.operators:
            operator = spec.operator
            if isinstance(operator, Collection):
                operator = replace(operator, function=None)
            payloads[spec.node] = dumps(operator)
        tasks.append(replace(task, operators=tuple(replace(spec, operator=None) for spec in task.operators)))
    packed = PackedPlan(
        tasks=tuple(tasks),
        stages=plan.stages,
        payloads=payloads,
        stateful=stateful_vertices(plan),
        lasting=lasting_vertices(plan),
        batch=plan.batch,
    )
    return bytes(dumps(packed))


def lasting_vertices(plan: PhysicalPlan) -> frozenset[int]:
    """The vertices whose functions stay open between epochs, or whose state stays in memory."""
    return stateful_vertices(plan) | {
        task.vertex for task in plan.tasks if any(has_functions_to_keep(spec.operator) for spec in task.operators)
    }


def stateful_vertices(plan: PhysicalPlan) -> frozenset[int]:
    """The vertices that have state."""
    operators = plan.operators()
    return frozenset(task.vertex for task, spec in operators if spec.operator and _keeps_state(spec, spec.operator))


def _keeps_state(spec: OperatorSpec, operator: Operator) -> bool:
    if isinstance(operator, BroadcastProcess | KeyedBroadcastProcess):
        return True
    if isinstance(operator, _STATELESS) and not has_functions_to_keep(operator):
        return False
    return spec.key_type is not None


_STATELESS = KeyedMap | KeyedFlatMap | KeyedFilter | KeyedValues
"""The operators on keyed streams that have no state where their functions are plain ones, which cannot ask for it."""


Ran = tuple[list[Buffer], TaskReport | TaskFailure]
"""The outcome of a subtask in an epoch: the buffers that it wrote, and its report or failure."""

RunSubtask = Callable[[EpochSpec, int, int, list[Buffer]], Ran]
"""Runs a subtask: the epoch, the vertex, the subtask's number, and the buffers for it."""


def run_partition(
    plan: PackedPlan, spec: EpochSpec, level: int, partition: int, incoming: Iterable[Parcel], run: RunSubtask
) -> Iterator[tuple[int, Parcel]]:
    """Run the subtasks of one partition of a level; gives (partition of the next level, parcel)."""
    following = plan.partitions_after(level)
    group = plan.stages[level].groups[partition]
    account = Account(level, partition, uuid.uuid4().hex)
    buffers: dict[tuple[int, int], list[Buffer]] = {}
    shares: list[Share] = []
    stopped = False
    for parcel in incoming:
        match parcel:
            case Outcome():
                stopped = stopped or parcel.stopped
                yield partition % following, parcel
            case Stop():
                stopped = True
            case Shipment() | Orders() if (parcel.level, parcel.group) != (level, group):
                yield plan.way_to(parcel.level, parcel.group, level + 1), parcel
            case Shipment():
                for buffer in account.takes(parcel):
                    buffers.setdefault((buffer.vertex, buffer.subtask), []).append(buffer)
            case Orders():
                shares += pickle.loads(parcel.shares) if isinstance(parcel.shares, bytes) else parcel.shares
    reports: list[TaskReport | TaskFailure] = []
    if [(share.vertex, share.subtask) for share in shares] != plan.subtasks_in(level, partition):
        raise EpochLost(f"The orders of task {partition} of level {level} were lost, or arrived twice.")
    for share in () if stopped else shares:
        place = (share.vertex, share.subtask)
        made, report = run(spec.with_share(share), *place, buffers.pop(place, []))
        reports.append(report)
        if isinstance(report, TaskFailure):
            stopped = True
            yield from ((target, Stop(level)) for target in range(following))
            break
        shipments: dict[tuple[int, int], list[Buffer]] = {}
        for buffer in made:
            to = (buffer.level, plan.group_of(buffer.vertex, buffer.subtask))
            shipments.setdefault(to, []).append(buffer)
        for (later, there), own in shipments.items():
            yield plan.way_to(later, there, level + 1), account.ships(later, there, own)
    yield partition % following, Outcome(account, reports, stopped)


def run_levels(
    plan: PackedPlan,
    spec: EpochSpec,
    orders: Sequence[Sequence[Orders]],
    run: RunSubtask,
    at_once: int = 1,
) -> list[Parcel]:
    """Run all levels from this process, one after the other; gives the result of the last one.

    So many partitions of a level run ``at_once``, in threads if there are several.
    """
    parcels: dict[int, list[Parcel]] = {number: list(own) for number, own in enumerate(orders)}
    for level, stage in enumerate(plan.stages):
        given, parcels = parcels, {}

        def partition(number: int, level: int = level, given: Mapping[int, list[Parcel]] = given) -> list[Any]:
            return list(run_partition(plan, spec, level, number, given.get(number, []), run))

        threads = min(at_once, stage.partitions)
        with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
            for made in (map if pool is None else pool.map)(partition, range(stage.partitions)):
                for target, parcel in made:
                    parcels.setdefault(target, []).append(parcel)
    return [parcel for many in parcels.values() for parcel in many]


class Subtasks:
    """Runs subtasks of a plan in this process, and keeps functions open between epochs. ``tell`` gets their states."""

    def __init__(self, plan: PackedPlan, cached: Mapping[str, str] | None = None) -> None:
        self._plan = plan
        self._cached = cached or {}
        self.tell: Callable[[EpochSpec, int, int, ExecutionState], None] = lambda spec, vertex, subtask, state: None
        self._levels = {task.vertex: task.level for task in plan.tasks}
        self._open: dict[tuple[int, int], OpenTask] = {}

    def run(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
        """Run one for an epoch: with what it has open, if the epoch that it ran last is the one that was committed."""
        task = self._plan.tasks[vertex]
        before = self._open.pop((vertex, subtask), None)
        made: list[Buffer] = []
        open_task = None
        if spec.first:
            self.tell(spec, vertex, subtask, ExecutionState.INITIALIZING)
        try:
            if before is not None and not _goes_on(before, spec, vertex, subtask):
                before.close()
                before = None
            open_task = before or OpenTask(
                {each.node: pickle.loads(self._plan.payloads[each.node]) for each in task.operators}
            )
            report = self._run(spec, task, subtask, open_task, buffers, made)
            made = stow(spec.stowage, made)
        except Exception as error:
            if open_task is not None:
                with suppress(Exception):  # why it failed is known already
                    open_task.close()
            return [], _failure(task, subtask, error)
        if open_task.running or open_task.memory is not None:
            # A second run of the subtask in the same epoch may have come to something else.
            reached = Position(spec.epoch, as_run_of(spec.token, report.run))
            open_task.ran = (reached, spec.attempt)
            self._open[(vertex, subtask)] = open_task
        return made, report

    def close(self) -> None:
        """Close the functions that are open."""
        while self._open:
            _, open_task = self._open.popitem()
            with suppress(Exception):  # nobody is left to be told
                open_task.close()

    def _run(
        self,
        spec: EpochSpec,
        task: TaskSpec,
        subtask: int,
        open_task: OpenTask,
        buffers: list[Buffer],
        made: list[Buffer],
    ) -> TaskReport:
        stateful = task.vertex in self._plan.stateful
        replica: Replica
        replica, found = self._replica(task, spec, subtask, open_task) if stateful else (MemoryReplica(), None)
        memory = open_task.memory if stateful and open_task.memory is not None else Memory(replica)
        work = spec.work.get((task.vertex, subtask))
        try:
            environment = TaskEnvironment(
                subtask=subtask,
                epoch=spec.epoch,
                attempt=spec.attempt,
                memory=memory,
                clock=spec.clock or clock_from(spec.now),
                options=spec.options,
                runtime=load_runtime(spec.runtimes.get((task.vertex, subtask))),
                floors=spec.floors,
                described=spec.described,
                work=pickle.loads(work) if isinstance(work, bytes) else work,
                batch=self._plan.batch,
                store=spec.store,
                job_id=spec.job_id,
                cached=self._cached,
            )
            stream_task = StreamTask(task, environment, open_task, made.append)
            changes = Changes()
            stream_task.build(self._levels)
            stream_task.initialize_state()
            stream_task.open()
            if spec.first:
                self.tell(spec, task.vertex, subtask, ExecutionState.RUNNING)
            began = time.monotonic()
            count = stream_task.process_input(buffers)
            runtime = stream_task.snapshot_state(changes)
            if stream_task.ended or task.vertex not in self._plan.lasting:
                open_task.close()
            report = stream_task.report(count, runtime)
            report.replica = found
            memory.take(changes)
            report.changed = len(changes)
            if report.changed > INLINE_ROWS or changes.bytes > INLINE_BYTES:
                report.rows = write_table(spec.store, changes.table(spec.epoch))
            else:
                report.rows = changes.all_rows()
            report.busy = time.monotonic() - began
        except BaseException:
            replica.discard()  # its input may have caused the failure
            raise
        replica.close()
        return report

    def _replica(self, task: TaskSpec, spec: EpochSpec, subtask: int, open_task: OpenTask) -> tuple[Replica, str]:
        """The replica below the memory of a subtask, and how it was found; the memory goes on only on top of what it left."""
        name = f"{task.id[:16]}-{task.parallelism}-{subtask}"
        replica = LmdbReplica(os.path.join(spec.folder, name))
        standing = _standing(spec, task.vertex, subtask)
        try:
            try:
                memory = open_task.memory
                if memory is not None and memory.stands_on(replica):
                    memory.begin(replica)
                    if memory.is_due:
                        memory.save(standing)
                    return replica, "current"
                found = _caught_up(replica, task, spec, subtask)
            except (StoreError, RuntimeError):
                raise
            except Exception:  # what is damaged is made anew
                replica.clear()
                found = _caught_up(replica, task, spec, subtask)
        except BaseException:
            replica.discard()
            raise
        open_task.memory = Memory(replica, standing, budget_of(spec.options, len(self._plan.stateful)))
        return replica, found


def _goes_on(open_task: OpenTask, spec: EpochSpec, vertex: int, subtask: int) -> bool:
    """True if what is open, and in memory, stands exactly where the committed epoch does, and nothing failed since."""
    return open_task.ran == (_standing(spec, vertex, subtask), spec.attempt)


def _standing(spec: EpochSpec, vertex: int, subtask: int) -> Position:
    """Where a subtask stands that took part in the committed epoch."""
    run = spec.runs.get((vertex, subtask), "")
    return Position(spec.committed.epoch, as_run_of(spec.committed.token, run))


def _caught_up(replica: Replica, task: TaskSpec, spec: EpochSpec, subtask: int) -> str:
    """Bring a replica to the last commit: ``current``, ``behind`` or ``rebuilt``, as it was found."""
    wanted = _standing(spec, task.vertex, subtask)
    if replica.position == wanted:
        return "current"
    if wanted.epoch == 0:
        follow(replica, wanted, lambda _: iter(()), lambda _: _whole, lambda _: None)
        return "current"  # there is nothing yet that it could lack
    log = SnapshotLog.open(spec.store, spec.version)  # an attempt that comes late must not see what was committed since
    operators = {each.id: each for each in task.operators}
    groups = key_groups_of_subtask(task.max_parallelism, task.parallelism, subtask)

    def identity(operator_id: str) -> Callable[[bytes], bytes]:
        row = operators[operator_id].key_type
        return key_codec_of(None if row is None else row.field_types[0]).identity if row is not None else _whole

    def known(
        epoch: int,
    ) -> str | None:  # not asked for a replica that starts anew: the history of all subtasks is long
        return log.tokens(subtask_name(task.vertex, subtask)).get(epoch)

    owners = frozenset(operators)
    return follow(replica, wanted, lambda after: log.changes(after, groups, owners), identity, known)


def _whole(data: bytes) -> bytes:
    return data


def clock_from(now: int) -> Callable[[], int]:
    """A clock that continues from the driver's, in milliseconds: those of other machines may be wrong."""
    began = time.monotonic()
    return lambda: now + int((time.monotonic() - began) * 1000)


def _failure(task: TaskSpec, subtask: int, error: Exception) -> TaskFailure:
    import traceback

    name = task.subtask(subtask).task_name
    if isinstance(error, UserFunctionError):
        return TaskFailure(name, error.operator, error.record, error.cause, task.vertex, subtask)
    if isinstance(error, CacheDamaged):
        return TaskFailure(name, None, None, str(error), task.vertex, subtask, cache=error.cache)
    if isinstance(error, StoreError):  # it says all there is to say
        return TaskFailure(name, None, None, str(error), task.vertex, subtask)
    if isinstance(error, BuffersLost):
        return TaskFailure(name, None, None, str(error), task.vertex, subtask, lost=True)
    cause = "".join(traceback.format_exception(error)).rstrip()
    return TaskFailure(name, None, None, cause, task.vertex, subtask)


def default_replicas() -> str:
    """The folder of this host's replicas."""
    return private_folder("replicas")


def private_folder(what: str, within: str | None = None) -> str:
    """A folder of this user's on this host. Raises PermissionError if others can write to it: its contents are trusted."""
    path = os.path.join(within or tempfile.gettempdir(), f"compat-{what}-{os.getuid()}")
    os.makedirs(path, mode=0o700, exist_ok=True)
    status = os.lstat(path)
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
        raise PermissionError(f"{path} is open to others: remove it, or set TMPDIR to a folder of your own")
    return path


class InProcessRunner:
    """The runner without Spark: levels one after the other, in this process, records through the same buffers."""

    def __init__(self, plan: PhysicalPlan) -> None:
        self._plan: PackedPlan = pickle.loads(pack(plan))
        self._subtasks = Subtasks(self._plan)

    def prepare(self) -> None:
        """Nothing is needed."""

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        return reports_of(self._plan, run_levels(self._plan, spec.common, self._plan.orders(spec), self.run_subtask))

    def run_subtask(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
        """Run a subtask, in this process."""
        return self._subtasks.run(spec, vertex, subtask, buffers)

    def listen(self, changed: Callable[[int, int, ExecutionState], None]) -> None:
        self._subtasks.tell = lambda spec, vertex, subtask, state: changed(vertex, subtask, state)

    def cancel(self) -> None:
        """Do nothing: work in this process cannot be interrupted."""

    def close(self, folder: str | None) -> None:
        self._subtasks.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

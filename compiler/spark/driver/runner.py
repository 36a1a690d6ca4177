"""Epochs on Spark: a stage a level, a shuffle of buffers between two; on one machine one task, which has hosts do all of it."""

from __future__ import annotations

import pickle
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.datastream.served import served
from compat.compiler.executiongraph.states import ExecutionState
from compat.compiler.gc_policy import collect_rarely
from compat.compiler.spark.driver.listening import Listening
from compat.compiler.spark.driver.locality import Places
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.session import MissingJava, Spark, reason_of
from compat.compiler.spark.driver.workers import tag_of
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.runtime_api.elements import Buffer
from compat.compiler.spark.task.epochs import (
    EpochLost,
    EpochSpec,
    Orders,
    Outcome,
    PackedPlan,
    Parcel,
    Ran,
    Subtasks,
    TaskFailure,
    reports_of,
    run_levels,
    run_partition,
    sealed,
)
from compat.compiler.spark.task.gateway import Changed, Failed, Gateway, Message
from compat.compiler.spark.task.hosts import Host, HostLoad, clear_away, kill_hosts
from compat.compiler.spark.task.stowage import folder_for_buffers, remove_left_buffers
from compat.compiler.spark.task.stream_task import TaskReport
from compat.state.serializers import dump

_plans: dict[str, PackedPlan] = {}
_A_MOMENT = 0.25
"""Seconds that an epoch has to end by itself once a task has failed: nothing need be interrupted then."""


class _Epoch:
    """The epoch that runs: its token, the first failure of a task that the driver was told, and whether it is over."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.failure: TaskFailure | None = None
        self.over = threading.Event()


class SparkRunner:
    """Runs the epochs of one plan on Spark. ``setup`` is called in each worker before it loads the plan.

    ``assigned`` is the attempt to run the job on a Spark that is shared: what is left there of the one before is ended.
    """

    def __init__(
        self, plan: PhysicalPlan, spark: Spark, setup: Callable[[], None] = served, assigned: Assigned | None = None
    ) -> None:
        served()
        self._spark = spark
        self._assigned = assigned
        self._widest = plan.widest
        self._id = uuid.uuid4().hex if assigned is None else _plan_id(assigned.job_id, assigned.fence)
        self._group = self._id if assigned is None else assigned.job_id
        self._packed = HostLoad.of(plan, setup, apart=assigned is not None, here=spark.local)
        self._whole: PackedPlan = pickle.loads(self._packed.outline)
        self._outline = self._whole
        self._cores = 1
        self._known: Any = None
        self._plan: Any = None
        self._base: Any = None
        self._places: Places | None = None
        self._listening: Listening | None = None
        self._epoch: _Epoch | None = None
        self._changed: Callable[[int, int, ExecutionState], None] = lambda vertex, subtask, state: None
        self._ending = threading.Lock()

    def prepare(self) -> None:
        try:
            _ = self._spark.context
        except MissingJava:
            raise
        except Exception as error:
            raise EpochLost(f"Spark does not start: {reason_of(error)} (Spark's log: {self._spark.log})") from error

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        self._epoch = epoch = _Epoch(spec.token)
        with folder_for_buffers(spec.folder) if self._spark.local else nullcontext("") as stowage:
            try:
                parcels = self._job(replace(spec, stowage=stowage)).collect()
            except Exception as error:
                if epoch.failure is not None:
                    return [epoch.failure]
                raise EpochLost(f"Spark lost the epoch: {reason_of(error)} (Spark's log: {self._spark.log})") from error
            finally:
                epoch.over.set()
                with self._ending:  # a cancellation from now on is for the next one
                    self._epoch = None
        return reports_of(self._outline, parcels)

    def listen(self, changed: Callable[[int, int, ExecutionState], None]) -> None:
        self._changed = changed

    def _hear(self, message: Message) -> None:
        """End the epoch with its first failure. Spark ends the workers of other subtasks, and hosts end with who asked them."""
        epoch = self._epoch
        if epoch is None or epoch.token != message.token or epoch.failure is not None:
            return
        if isinstance(message, Changed):
            self._changed(message.vertex, message.subtask, message.state)
            return
        epoch.failure = message.failure
        if epoch.over.wait(_A_MOMENT):
            return
        with self._ending, suppress(Exception):  # Spark may be lost at any moment
            if self._epoch is epoch:
                self._known.cancelJobGroup(self._group)

    def _gateway(self) -> Gateway | None:
        """Where tasks tell what happens to them; None if the driver can have no port."""
        if self._listening is None and self._spark.driver_at is not None:
            with suppress(OSError):
                self._listening = Listening(*self._spark.driver_at, self._hear)
        return None if self._listening is None else self._listening.gateway

    def _job(self, spec: EpochSpec) -> Any:
        """The RDD whose elements are an epoch's outcomes, on Spark as it is now."""
        context = self._spark.context
        if context is not self._known:
            if self._assigned is not None:
                context.cancelJobGroup(self._group)
                context.cancelJobsWithTag(tag_of(self._assigned.job_id))
                self._end_former(context, self._assigned)
            if self._spark.local:
                remove_left_buffers(spec.folder)
                self._cores = context.defaultParallelism
                self._outline = self._whole.for_cores(self._cores)
                self._base = context.parallelize([0], 1)
            else:
                self._places = Places(context, _same)
                first = self._outline.stages[0].partitions
                self._base = context.parallelize(list(range(first)), first)
                self._base = self._base.persist()  # the tasks of the first stage go where it is kept
            outline = pickle.dumps(self._outline)
            self._plan = context.broadcast(self._packed._replace(outline=outline, gateway=self._gateway()))
            self._known = context
        context.setJobGroup(self._group, "an epoch", interruptOnCancel=True)
        if self._spark.pool is not None:
            context.setLocalProperty("spark.scheduler.pool", self._spark.pool)
        orders = self._outline.orders(sealed(spec))
        if self._places is None:
            whole = _Whole(self._id, self._plan, spec.common, orders, self._cores)
            return self._base.mapPartitionsWithIndex(whole).values()
        stage = context.parallelize([(number, _packed(own)) for number, own in enumerate(orders)], len(orders))
        stage = self._base.zip(stage).values()
        common, stages = spec.common, self._outline.stages
        stage = stage.mapPartitionsWithIndex(_Level(self._id, self._plan, common, 0))
        for level in range(1, len(stages)):
            stage = self._places.kept(stage.partitionBy(stages[level].partitions, _same))
            stage = stage.mapPartitionsWithIndex(_Level(self._id, self._plan, common, level))
        return stage.values()

    def cancel(self) -> None:
        self._spark.interrupt()
        if self._known is not None and self._spark.alive:
            self._known.cancelJobGroup(self._group)

    def close(self, folder: str | None) -> None:
        if self._listening is not None:
            self._listening.close()
        clear_away(self._id, folder)
        if self._plan is None or not self._spark.alive:
            return
        with suppress(Exception):  # Spark may be lost at any moment, and then needs no tidying
            if not self._spark.local:
                self._everywhere(self._spark.context, _clearing(self._id, folder))
        with suppress(Exception):
            self._plan.destroy()
        with suppress(Exception):
            if self._places is not None:
                self._base.unpersist()
                self._places.close()

    def _end_former(self, context: Any, assigned: Assigned) -> None:
        """End what is left of the attempt before this one."""
        plan_id = _plan_id(assigned.job_id, assigned.fence - 1)
        kill_hosts(plan_id)
        if not self._spark.local and assigned.fence > 1:
            self._everywhere(context, lambda _: kill_hosts(plan_id))

    def _everywhere(self, context: Any, task: Callable[[Any], None]) -> None:
        """Have the machines of all executors do something."""
        tasks = 2 * max(self._widest, context.defaultParallelism)  # so that each executor is given one
        with suppress(Exception):  # the hosts of a machine that is lost end with its executor
            context.parallelize(range(tasks), tasks).foreachPartition(task)


def _packed(orders: list[Orders]) -> list[Orders]:
    """Orders as they travel from stage to stage: nobody need read them but their slot."""
    return [each._replace(shares=pickle.dumps(each.shares, 5)) for each in orders]


def _plan_id(job_id: str, fence: int) -> str:
    """The name of the plan of an attempt."""
    return f"{job_id}-{fence}"


def _clearing(plan_id: str, folder: str | None) -> Callable[[Any], None]:
    return lambda _: clear_away(plan_id, folder)


def _same(partition: int) -> int:
    return partition


class _Tasks(Struct, frozen=True):
    """The code of tasks. It travels by its name, so that a worker keeps the plan that it has loaded."""

    plan_id: str
    load: Any
    spec: EpochSpec

    @property
    def job_id(self) -> str:
        """The job that the tasks are of."""
        return self.spec.job_id

    def _loaded(self) -> PackedPlan:
        """The plan, which a worker keeps for the next task."""
        if self.plan_id not in _plans:
            load: HostLoad = self.load.value
            if not load.all_hosted:
                ready = pickle.loads(load.setup)
                if ready is not None and not _plans:
                    ready()
            _plans.clear()
            _plans[self.plan_id] = pickle.loads(load.outline if load.all_hosted else load.plan)
            collect_rarely()
        return _plans[self.plan_id]

    def _host(self, group: int) -> Host:
        """The host of a group of slots on this machine."""
        return Host(self.plan_id, group, self.load.value, self.spec.folder)

    def _told(self, ran: Ran) -> Ran:
        """What happened to a subtask; the driver is told at once where it failed."""
        gateway: Gateway | None = self.load.value.gateway
        _, report = ran
        if gateway is not None and isinstance(report, TaskFailure):
            gateway.tell(Failed(self.spec.token, report))
        return ran


class _Level(_Tasks, frozen=True):
    """The code of a level's tasks."""

    level: int

    def __call__(self, partition: int, pairs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run one of them: from what it was given to pairs of the next level's partition and what that is given."""
        plan = self._loaded()
        here, all_hosted = Subtasks(plan), self.load.value.all_hosted
        if self.load.value.gateway is not None:
            here.tell = self.load.value.gateway.changed

        def run(spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
            """Run a subtask in the host of its slot, or in this worker."""
            hosted = all_hosted or vertex in plan.lasting
            runs_in = self._host(plan.group_of(vertex, subtask)) if hosted else here
            return self._told(runs_in.run(spec, vertex, subtask, buffers))

        incoming = _all(pairs) if self.level else _orders(pairs)
        for target, parcel in run_partition(plan, self.spec, self.level, partition, incoming, run):
            yield target, _sealed(parcel)


class _Whole(_Tasks, frozen=True):
    """The code of an epoch in one task, which has the hosts of all slots run all levels, one after the other.

    So many hosts are asked ``at_once``.
    """

    orders: list[list[Orders]]
    at_once: int

    def __call__(self, partition: int, marks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run it, and give what the last level gives."""
        deque(marks, 0)  # a worker that leaves input is not given another task
        plan = self._loaded()
        hosts = {group: self._host(group) for stage in plan.stages for group in stage.groups}
        for host in hosts.values():  # before there are threads: they would not be in a fork
            host.start()

        def run(spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
            """Run a subtask in the host of its slot."""
            return self._told(hosts[plan.group_of(vertex, subtask)].run(spec, vertex, subtask, buffers))

        for parcel in run_levels(plan, self.spec, self.orders, run, self.at_once):
            yield partition, _sealed(parcel)


def _sealed(parcel: Parcel) -> Parcel:
    """A parcel as it travels: nobody need read reports but the driver."""
    if isinstance(parcel, Outcome) and not isinstance(parcel.reports, bytes):
        return parcel._replace(reports=dump(list(parcel.reports)))
    return parcel


def _orders(pairs: Iterable[tuple[int, list[Orders]]]) -> Iterator[Parcel]:
    for _, own in pairs:
        yield from own


def _all(pairs: Iterable[tuple[int, Parcel | None]]) -> Iterator[Parcel]:
    """What came for a task; None is what keeps its place."""
    return (parcel for _, parcel in pairs if parcel is not None)

"""Epochs on Spark: a stage a level, a shuffle of buffers between two."""

from __future__ import annotations

import pickle
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any

from compat.compiler.datastream.served import served
from compat.compiler.garbage import collect_rarely
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.places import Places
from compat.compiler.spark.driver.session import MissingJava, Spark, reason_of
from compat.compiler.spark.driver.width import Width
from compat.compiler.spark.driver.workers import tag_of
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.task.elements import Buffer
from compat.compiler.spark.task.epochs import (
    EpochLost,
    EpochSpec,
    Orders,
    Outcome,
    PackedPlan,
    Parcel,
    Ran,
    RunSubtask,
    Subtasks,
    TaskFailure,
    reports_of,
    run_levels,
    run_partition,
    sealed,
)
from compat.compiler.spark.task.hosts import Host, HostLoad, clear_away, kill_hosts
from compat.compiler.spark.task.stowage import folder_for_buffers, remove_left_buffers
from compat.compiler.spark.task.stream_task import TaskReport

_plans: dict[str, PackedPlan] = {}


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
        self._packed = HostLoad.of(plan, setup, apart=assigned is not None)
        self._whole: PackedPlan = pickle.loads(self._packed.outline)
        self._outline = self._whole
        self._cores: int | None = None
        self._known: Any = None
        self._plan: Any = None
        self._base: Any = None
        self._places: Places | None = None
        self._width = Width()

    def prepare(self) -> None:
        try:
            _ = self._spark.context
        except MissingJava:
            raise
        except Exception as error:
            raise EpochLost(f"Spark does not start: {reason_of(error)} (Spark's log: {self._spark.log})") from error

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        began = time.monotonic()
        with folder_for_buffers(spec.folder) if self._spark.local else nullcontext("") as stowage:
            try:
                parcels = self._job(replace(spec, stowage=stowage)).collect()
            except Exception as error:
                raise EpochLost(f"Spark lost the epoch: {reason_of(error)} (Spark's log: {self._spark.log})") from error
        reports = reports_of(self._outline, parcels)
        records = sum(each.records for each in reports if isinstance(each, TaskReport))
        self._width.done(records, time.monotonic() - began)
        return reports

    def _job(self, spec: EpochSpec) -> Any:
        """The RDD whose elements are an epoch's outcomes, on Spark as it is now."""
        context = self._spark.context
        if context is not self._known:
            if self._assigned is not None:
                context.cancelJobGroup(self._group)
                context.cancelJobsWithTag(tag_of(self._assigned.job_id))
                self._end_former(context, self._assigned)
            self._plan = context.broadcast(self._packed)
            self._cores = context.defaultParallelism if self._spark.local else None
            self._outline = self._whole.for_cores(self._cores)
            if self._spark.local:
                remove_left_buffers(spec.folder)
            self._places = None if self._spark.local else Places(context, _same)
            if self._places is not None:
                first = self._outline.stages[0].partitions
                self._base = context.parallelize(list(range(first)), first)
                self._base = self._base.persist()  # the tasks of the first stage go where it is kept
            else:
                self._base = context.parallelize([0], 1)
            self._known = context
        context.setJobGroup(self._group, "an epoch", interruptOnCancel=True)
        if self._spark.pool is not None:
            context.setLocalProperty("spark.scheduler.pool", self._spark.pool)
        orders = self._outline.orders(sealed(spec))
        if self._places is None and self._width.narrow:
            whole = _Whole(self._id, self._plan, self._cores, spec.common, orders)
            return self._base.mapPartitionsWithIndex(whole).values()
        stage = context.parallelize([(number, _packed(own)) for number, own in enumerate(orders)], len(orders))
        if self._places is not None:
            stage = self._base.zip(stage).values()
        common, stages = spec.common, self._outline.stages
        stage = stage.mapPartitionsWithIndex(_Level(self._id, self._plan, self._cores, common, 0))
        for level in range(1, len(stages)):
            stage = stage.partitionBy(stages[level].partitions, _same)
            if self._places is not None:
                stage = self._places.kept(stage)
            stage = stage.mapPartitionsWithIndex(_Level(self._id, self._plan, self._cores, common, level))
        return stage.values()

    def cancel(self) -> None:
        self._spark.interrupt()
        if self._known is not None and self._spark.alive:
            self._known.cancelJobGroup(self._group)

    def close(self, folder: str | None) -> None:
        clear_away(self._id, folder)
        if self._plan is not None and self._spark.alive:
            if not self._spark.local:
                self._everywhere(self._spark.context, _clearing(self._id, folder))
            with suppress(Exception):  # what is lost needs no tidying
                self._plan.destroy()
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


@dataclass(frozen=True, slots=True)
class _Tasks:
    """The code of tasks. It travels by its name, so that a worker keeps the plan that it has loaded.

    ``cores`` are those of the machine, where it is only one.
    """

    plan_id: str
    load: Any
    cores: int | None
    spec: EpochSpec

    @property
    def job_id(self) -> str:
        """The job that the tasks are of."""
        return self.spec.job_id

    def _loaded(self, load: HostLoad, level: int, partition: int) -> PackedPlan:
        """The plan, which a worker keeps for the next task. This one is of a level and partition."""
        if self.plan_id not in _plans:
            if not load.apart:
                if level == 0 and self.cores is not None and not _plans:
                    self._start_host(load, partition)
                ready = pickle.loads(load.setup)
                if ready is not None and not _plans:
                    ready()
            _plans.clear()
            plan: PackedPlan = pickle.loads(load.outline if load.all_hosted else load.plan)
            _plans[self.plan_id] = plan.for_cores(self.cores)
            collect_rarely()
        return _plans[self.plan_id]

    def _start_host(self, load: HostLoad, partition: int) -> None:
        """Start the host of a group of the first level, where tasks of this machine will ask it for something.

        A worker that nothing of the program's own was loaded in makes one of itself; later on it would take a new interpreter.
        """
        outline: PackedPlan = pickle.loads(load.outline)
        outline = outline.for_cores(self.cores)
        group = outline.stages[0].groups[partition]
        lasting = ((each, at) for each in outline.lasting for at in range(outline.tasks[each].parallelism))
        if any(outline.group_of(*place) == group for place in lasting):
            Host(self.plan_id, group, load, self.spec.folder).start_early()

    def _in_hosts(self, plan: PackedPlan, load: HostLoad) -> RunSubtask:
        """The function that runs a subtask: in the host of its slot, or in this worker."""
        here = Subtasks(plan)

        def run_subtask(spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
            if not (load.all_hosted or vertex in plan.lasting):
                return here.run(spec, vertex, subtask, buffers)
            host = Host(self.plan_id, plan.group_of(vertex, subtask), load, self.spec.folder)
            return host.run(spec, vertex, subtask, buffers)

        return run_subtask


@dataclass(frozen=True, slots=True)
class _Level(_Tasks):
    """The code of a level's tasks."""

    level: int

    def __call__(self, partition: int, pairs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run one of them: from what it was given to pairs of the next level's partition and what that is given."""
        load: HostLoad = self.load.value
        plan = self._loaded(load, self.level, partition)
        incoming = _all(pairs) if self.level else _orders(pairs)
        run = self._in_hosts(plan, load)
        for target, parcel in run_partition(plan, self.spec, self.level, partition, incoming, run):
            yield target, _sealed(parcel)


@dataclass(frozen=True, slots=True)
class _Whole(_Tasks):
    """The code of an epoch in one task, which runs all levels, one after the other: those in hosts by all hosts at once."""

    orders: list[list[Orders]]

    def __call__(self, partition: int, marks: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Run it, and give what the last level gives."""
        deque(marks, 0)  # a worker that leaves input is not given another task
        load: HostLoad = self.load.value
        plan = self._loaded(load, 0, partition)
        here = {task.level for task in plan.tasks if not (load.all_hosted or task.vertex in plan.lasting)}
        run = self._in_hosts(plan, load)
        for parcel in run_levels(plan, self.spec, self.orders, run, lambda level: level not in here):
            yield partition, _sealed(parcel)


def _sealed(parcel: Parcel) -> Parcel:
    """A parcel as it travels: nobody need read reports but the driver."""
    if isinstance(parcel, Outcome) and not isinstance(parcel.reports, bytes):
        from pyspark import cloudpickle

        dumps: Any = cloudpickle.dumps
        return parcel._replace(reports=dumps(list(parcel.reports)))
    return parcel


def _orders(pairs: Iterable[tuple[int, list[Orders]]]) -> Iterator[Parcel]:
    for _, own in pairs:
        yield from own


def _all(pairs: Iterable[tuple[int, Parcel | None]]) -> Iterator[Parcel]:
    """What came for a task; None is what keeps its place."""
    return (parcel for _, parcel in pairs if parcel is not None)

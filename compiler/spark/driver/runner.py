"""Epochs on Spark: a stage a level, a shuffle of buffers between two."""

from __future__ import annotations

import pickle
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compat.compiler.datastream.served import served
from compat.compiler.garbage import collect_rarely
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.places import Places
from compat.compiler.spark.driver.session import MissingJava, Spark
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.task.elements import Buffer
from compat.compiler.spark.task.epochs import (
    EpochLost,
    EpochSpec,
    PackedPlan,
    Ran,
    Subtasks,
    TaskFailure,
    opened,
    run_partition,
    sealed,
)
from compat.compiler.spark.task.hosts import Host, HostLoad, clear_away, kill_hosts
from compat.compiler.spark.task.stream_task import TaskReport

_plans: dict[str, Any] = {}
_TELLING = re.compile(r"(: )?[\w.]*(Error|Exception|aborted|Lost task)\b.*")


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
        self._stages = plan.stages
        self._widest = plan.widest
        self._id = uuid.uuid4().hex if assigned is None else _plan_id(assigned.job_id, assigned.fence)
        self._group = self._id if assigned is None else assigned.job_id
        self._packed = HostLoad.of(plan, setup, apart=assigned is not None)
        self._known: Any = None
        self._plan: Any = None
        self._base: Any = None
        self._places: Places | None = None

    def prepare(self) -> None:
        try:
            _ = self._spark.context
        except MissingJava:
            raise
        except Exception as error:
            raise EpochLost(f"Spark does not start: {_reason(error)} (Spark's log: {self._spark.log})") from error

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        try:
            parcels = self._job(sealed(spec)).collect()
        except Exception as error:
            raise EpochLost(f"Spark lost the epoch: {_reason(error)} (Spark's log: {self._spark.log})") from error
        runs = {run for parcel in parcels if isinstance(parcel, _Runs) for run in parcel.runs}
        if len({(level, partition) for level, partition, _ in runs}) < len(runs):
            raise EpochLost("Spark computed a part of the epoch twice, after it had lost the first result.")
        return [opened(parcel) for parcel in parcels if not isinstance(parcel, _Runs)]

    def _job(self, spec: EpochSpec) -> Any:
        """The RDD whose elements are an epoch's results, on Spark as it is now."""
        context = self._spark.context
        if context is not self._known:
            if self._assigned is not None:
                context.cancelJobGroup(self._group)
                kill_hosts(_plan_id(self._assigned.job_id, self._assigned.fence - 1))
            self._plan = context.broadcast(self._packed)
            first = self._stages[0].partitions
            self._base = context.parallelize(list(range(first)), first)
            self._places = None if self._spark.local else Places(context, _same)
            if self._places is not None:
                self._base = self._base.persist()  # its tasks go where it is kept
            self._known = context
        context.setJobGroup(self._group, "an epoch", interruptOnCancel=True)
        if self._spark.pool is not None:
            context.setLocalProperty("spark.scheduler.pool", self._spark.pool)
        stage = self._base.mapPartitionsWithIndex(self._level(spec, 0))
        for level in range(1, len(self._stages)):
            stage = stage.partitionBy(self._stages[level].partitions, _same)
            if self._places is not None:
                stage = self._places.kept(stage)
            stage = stage.mapPartitionsWithIndex(self._level(spec, level))
        return stage.values()

    def cancel(self) -> None:
        self._spark.interrupt()
        if self._known is not None and self._spark.alive:
            self._known.cancelJobGroup(self._group)

    def _level(self, spec: EpochSpec, level: int) -> Callable[[int, Iterable[Any]], Iterator[tuple[int, Any]]]:
        return _level(self._id, self._plan, spec, level)

    def close(self, folder: str | None) -> None:
        clear_away(self._id, folder)
        if self._plan is not None and self._spark.alive:
            if not self._spark.local:
                context = self._spark.context
                tasks = 2 * max(self._widest, context.defaultParallelism)  # so that each executor is given one
                with suppress(Exception):  # the hosts of a machine that is lost end with its executor
                    context.parallelize(range(tasks), tasks).foreachPartition(_clearing(self._id, folder))
            self._plan.unpersist()
            if self._places is not None:
                self._base.unpersist()
                self._places.close()


@dataclass(frozen=True, slots=True)
class _Runs:
    """Which runs of which tasks a result is made of, as (level, partition, number of the run).

    A task that ran twice may have given something else the second time; no epoch is made of both.
    """

    runs: frozenset[tuple[int, int, str]]


def _plan_id(job_id: str, fence: int) -> str:
    """The name of the plan of an attempt."""
    return f"{job_id}-{fence}"


def _clearing(plan_id: str, folder: str | None) -> Callable[[Any], None]:
    return lambda _: clear_away(plan_id, folder)


def _same(partition: int) -> int:
    return partition


def _level(
    plan_id: str, broadcast: Any, spec: EpochSpec, level: int
) -> Callable[[int, Iterable[Any]], Iterator[tuple[int, Any]]]:
    def run(partition: int, pairs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        if plan_id not in _plans:
            load: HostLoad = broadcast.value
            if not load.apart:
                ready = pickle.loads(load.setup)
                if ready is not None and not _plans:
                    ready()
            _plans.clear()
            _plans[plan_id] = pickle.loads(load.outline if load.all_hosted else load.plan)
            collect_rarely()
        runs = {(level, partition, uuid.uuid4().hex)}

        def incoming() -> Iterator[Any]:
            for _, parcel in pairs:
                if isinstance(parcel, _Runs):
                    runs.update(parcel.runs)
                elif parcel is not None:
                    yield parcel

        plan: PackedPlan = _plans[plan_id]
        here = Subtasks(plan)
        host = Host(plan_id, plan.stages[level].slots[partition], broadcast.value, spec.folder)
        all_hosted = broadcast.value.all_hosted

        def run_subtask(spec: EpochSpec, vertex: int, subtask: int, buffers: list[Buffer]) -> Ran:
            where = host if all_hosted or vertex in plan.lasting else here
            return where.run(spec, vertex, subtask, buffers)

        yield from run_partition(plan, spec, level, partition, incoming() if level else (), run_subtask)
        known = _Runs(frozenset(runs))
        yield from ((target, known) for target in range(plan.partitions_after(level)))

    return run


def _reason(error: Exception) -> str:
    """The line of an error that says what went wrong: Spark's messages are long, and a worker's traceback is inside."""
    text = re.split(r"\n\s+at |\n *SQLSTATE|\nDriver stacktrace", str(error))[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.match(line)]
    return f"{type(error).__name__}: {(telling or lines or [''])[-1][:400]}"

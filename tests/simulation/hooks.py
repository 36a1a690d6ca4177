"""Puts a world in the place of what the execution takes from the system: time, chance, disks, processes, Spark."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import confluent_kafka
import confluent_kafka.admin
from confluent_kafka import KafkaError, KafkaException

from compat.compiler.driver import Compilation
from compat.compiler.gc_policy import collect_rarely
from compat.compiler.job import Job
from compat.compiler.spark.connectors.files import sink as file_sink
from compat.compiler.spark.connectors.kafka import cluster as kafka_cluster
from compat.compiler.spark.connectors.kafka import sink as kafka_sink
from compat.compiler.spark.connectors.kafka import source as kafka_source
from compat.compiler.spark.driver import (
    background_work,
    checkpoints,
    driven,
    epoch_loop,
    executor,
    life_cycle,
    master,
    orphan_cleanup,
    recovery,
    requests,
    restarts,
    runner,
    upkeep,
)
from compat.compiler.spark.driver.background_work import Errand
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.executor import RunningJob, SparkExecutor
from compat.compiler.spark.driver.master import JobMaster
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.runner import SparkRunner
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.state import memory
from compat.compiler.spark.task import epochs, stowage
from compat.compiler.spark.task.epochs import EpochRunner
from compat.compiler.spark.task.hosts import HostLoad
from compat.compiler.spark.task.stowage import folder_for_buffers, remove_left_buffers
from compat.state.delta import compaction, work
from compat.state.delta.log import SnapshotLog
from compat.state.delta.replica import LmdbReplica
from compat.state.stores.local import LocalFiles
from tests.simulation.doubles.kafka import Brokers
from tests.simulation.spark import HostDouble, SparkDouble
from tests.simulation.world import World

_collect_rarely = cache(collect_rarely)
"""A process does so once: what it has then is never searched, and each schedule of thousands leaves some garbage."""
COMPACT_AFTER = 4
INLINE_ROWS = 2
TRAVELS = 40
_load = HostLoad.of


class Made:
    """What drivers make of a program, each from the start and to the same end: it is made once."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self.plan: tuple[Compilation, PhysicalPlan] | None = None
        self._loads: list[tuple[PhysicalPlan, HostLoad]] = []

    def load(self, plan: PhysicalPlan, setup: Callable[[], None] | None, **where: bool) -> HostLoad:
        """In the place of ``HostLoad.of``."""
        found = next((load for known, load in self._loads if known == plan), None)
        if found is None:
            found = _load(plan, setup, **where)
            self._loads.append((plan, found))
        return found


class SimulatedExecutor(SparkExecutor):
    """Runs jobs on the cluster of a world."""

    def __init__(self, world: World, made: Made, store: str, **options: Any) -> None:
        super().__init__(store, **options)
        self._world, self._made = world, made

    def check(self) -> None:
        """Nothing is needed."""

    def submit(self, job: Job) -> RunningJob:
        self._made.job = job
        return super().submit(job)

    def runner(self, made: Any) -> EpochRunner:
        with patch.object(HostLoad, "of", self._made.load):
            return SparkRunner(made, self.spark(made))

    def spark(self, made: Any) -> Any:
        return SparkDouble(self._world)

    def _compiled(self, job: Job) -> tuple[Compilation, PhysicalPlan]:
        if self._made.plan is None:
            self._made.plan = super()._compiled(job)
        return self._made.plan


class _Thread:
    """A thread that has done its work when it is started."""

    def __init__(self, target: Callable[[], None], **_: Any) -> None:
        self._target = target

    def start(self) -> None:
        self._target()

    def is_alive(self) -> bool:
        return False

    def join(self, timeout: float | None = None) -> None:
        """It has ended."""


class _OneAfterTheOther:
    """In the place of ``ThreadPoolExecutor``: what there is to do at once is done in some order."""

    world: World

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def __enter__(self) -> _OneAfterTheOther:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing runs any more."""

    def map(self, work: Callable[[int], Any], numbers: Iterable[int]) -> list[Any]:
        """What each of them gives, in their order."""
        order = list(numbers)
        self.world.random.shuffle(order)
        made = {number: work(number) for number in order}
        return [made[number] for number in sorted(made)]


class _Nobody:
    """Looks after nothing."""

    def __init__(self, *_: Any) -> None:
        """Takes anything."""

    def close(self) -> None:
        """Nothing to close."""


class _Lease:
    """What a driver holds as long as nobody has taken the job over; it does not notice when somebody has."""

    lost = False

    def __init__(self, token: int) -> None:
        self.token = token

    def prove(self) -> None:
        """It is held, as far as it knows."""

    def close(self, gone: bool = False) -> None:
        """Nothing to close."""


class _Anywhere(_Nobody):
    """In the place of ``Places``: the world decides where tasks run."""

    def kept(self, shuffled: Any) -> Any:
        return shuffled


@contextmanager
def simulated(world: World, brokers: Brokers, *, large: int, save_after: int) -> Iterator[None]:
    """While this is entered, the execution takes all from the world.

    From so many bytes on state is ``large``: tasks do what is to be done with it. Behind ``save_after`` changes replicas are
    written. A driver's lease is up when another one takes the job over.
    """
    clock = SimpleNamespace(time=world.time, monotonic=world.monotonic, sleep=world.sleep)
    tokens = count(1)
    replacements: list[tuple[Any, str, Any]] = [
        (uuid, "uuid4", world.uuid),
        (confluent_kafka, "Producer", brokers.producer),
        (confluent_kafka, "Consumer", brokers.consumer),
        (confluent_kafka.admin, "AdminClient", brokers.admin),
        (kafka_source, "time", clock),
        (kafka_sink, "time", clock),
        (kafka_cluster, "time", clock),
        *((module, "time", clock) for module in (driven, epoch_loop, life_cycle, master, recovery, requests)),
        (restarts, "time", clock),
        (master, "Watch", _Nobody),
        (executor, "threading", SimpleNamespace(Thread=_Thread)),
        (background_work, "threading", SimpleNamespace(Thread=_Thread)),
        (Errand, "over", property(lambda _: world.has_come_to_its_end())),
        (work, "LARGE", large),
        (upkeep, "time", clock),
        (compaction, "write_table", _task_pointed(world, compaction.write_table, "rows merged", anywhere=False)),
        (runner, "Host", type("Host", (HostDouble,), {"world": world})),
        (runner, "clear_away", lambda plan, folder: _clear_away(world, plan, folder)),
        (runner, "Places", _Anywhere),
        (runner, "folder_for_buffers", lambda within: folder_for_buffers(_on(world, within))),
        (runner, "remove_left_buffers", lambda within: remove_left_buffers(_on(world, within))),
        (stowage, "TRAVELS", TRAVELS),
        (epochs, "ThreadPoolExecutor", type("Pool", (_OneAfterTheOther,), {"world": world})),
        (runner, "_plans", {}),
        (runner, "collect_rarely", _collect_rarely),
        (epochs, "LmdbReplica", type("Replica", (_Replica,), {"world": world})),
        (epochs, "INLINE_ROWS", INLINE_ROWS),
        (epochs, "write_table", _task_pointed(world, epochs.write_table, "rows written")),
        (memory, "SAVE_AFTER", save_after),
        (memory, "_FOLDED", 1),
        (checkpoints, "COMPACT_AFTER", COMPACT_AFTER),
        (SnapshotLog, "_write", _pointed(world, SnapshotLog._write, "commit")),
        (SnapshotLog, "clean", _pointed(world, SnapshotLog.clean, "clean")),
        (SnapshotLog, "create", classmethod(_pointed(world, SnapshotLog.create.__func__, "create"))),  # type: ignore[attr-defined]
        (CheckpointCoordinator, "restore", _pointed(world, CheckpointCoordinator.restore, "restore")),
        (JobStore, "_put", staticmethod(_pointed(world, JobStore._put, "entry"))),
        (JobStore, "lock", lambda *_: _Lease(next(tokens))),
        (JobStore, "starting", lambda *_: nullcontext(lambda: None)),
        (JobStore, "_held", lambda *_, **__: False),
        (
            orphan_cleanup,
            "note",
            _pointed(world, orphan_cleanup.note, "note of what remains", OSError("The store is away.")),
        ),
        (LocalFiles, "move", _pointed(world, LocalFiles.move, "file published")),
        (JobMaster, "_step", _stepped(world, JobMaster._step)),
        (Output, "sweep", _stands_still(world, Output.sweep)),
    ]
    files: list[Any] = []
    replacements += ((module, "open", _kept_in(files)) for module in (file_sink, kafka_sink))
    patches = [patch.object(owner, name, new, create=name == "open") for owner, name, new in replacements]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()
        for file in files:
            file.close()


def _kept_in(files: list[Any]) -> Callable[..., Any]:
    """In the place of ``open``: who is killed closes nothing, the system does so then."""

    def call(*arguments: Any, **named: Any) -> Any:
        files.append(open(*arguments, **named))  # noqa: SIM115
        return files[-1]

    return call


def _pointed(
    world: World, real: Callable[..., Any], where: str, failure: Exception | None = None
) -> Callable[..., Any]:
    """The driver may be killed, or the store be away, before and after this, which fails with ``failure`` then."""

    def call(*arguments: Any, **named: Any) -> Any:
        world.driver_point(f"before {where}", failure)
        result = real(*arguments, **named)
        world.driver_point(f"after {where}", failure)
        return result

    return call


def _stands_still(world: World, real: Callable[[Output], None]) -> Callable[[Output], None]:
    def sweep(self: Output) -> None:
        if not world.dying:  # who is killed tidies up nothing
            world.paused("before it sweeps")
            real(self)

    return sweep


def broker_point(world: World, where: str) -> None:
    """A request to the brokers: whoever makes it may be killed, and a driver may get no answer."""
    if world.dying:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))  # who is killed ends no transaction
    if world.in_task:
        world.task_point(f"brokers, {where}")
        return
    world.driver_point(f"brokers, {where}", KafkaException(KafkaError(KafkaError._TRANSPORT)))


def _task_pointed(world: World, real: Callable[..., Any], where: str, *, anywhere: bool = True) -> Callable[..., Any]:
    """The process of a task may be killed, or the disk be full, before and after this; unless a driver does it itself."""

    def call(*arguments: Any, **named: Any) -> Any:
        if not anywhere and not world.in_task:
            return real(*arguments, **named)
        world.task_point(f"before {where}")
        result = real(*arguments, **named)
        world.task_point(f"after {where}")
        return result

    return call


def _stepped(world: World, real: Callable[[JobMaster], bool]) -> Callable[[JobMaster], bool]:
    def step(self: JobMaster) -> bool:
        world.between(self)
        return real(self)

    return step


def _clear_away(world: World, plan_id: str, folder: str | None) -> None:
    """As a machine does it; a driver that is killed does not come to it."""
    if world.dying:
        return
    for place in [place for place in world.here.hosts if place[0] == plan_id]:
        world.here.hosts.pop(place).close()
    if folder is not None:
        shutil.rmtree(_on(world, folder), ignore_errors=True)


def _on(world: World, folder: str) -> str:
    """A folder on the disk of the machine that runs the task."""
    return f"{world.here.disk}/{folder.lstrip('/')}"


class _Replica(LmdbReplica):
    """A replica on the disk of a machine. One whose process is killed is left as it is."""

    world: World

    def __init__(self, directory: str) -> None:
        self.world.disk_point("replica opened")
        super().__init__(_on(self.world, directory))

    def apply(self, changes: Any, before: Any, after: Any) -> None:
        self.world.task_point("before the replica moves")
        super().apply(changes, before, after)
        self.world.task_point("after the replica moved")

    def close(self) -> None:
        if self.world.dying:
            self._let_go()
            os.close(self._use._file)  # the lock goes with the process, the mark stays as it is
        else:
            super().close()

    def discard(self) -> None:
        if self.world.dying:
            self.close()
        else:
            super().discard()

"""Spark as far as the driver of a job knows it: it runs tasks on machines, anywhere and again, and shuffles what they give."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.spark.task.epochs import EpochSpec, PackedPlan, Ran, Subtasks, seal
from compat.compiler.spark.task.hosts import HostLoad, HostLost
from tests.simulation.world import HostKilled, Late, Machine, World

Work = Callable[[int, Iterable[Any]], Iterator[tuple[int, Any]]]
"""What a stage does: the number of the partition, and the pairs for it; gives pairs of (partition of the next stage, item)."""


class TaskLost(Exception):
    """A task that did not end: Spark fails the job, which allows no second attempt."""


class Broadcast(Struct, frozen=True):
    """A value that all tasks have."""

    value: Any

    def unpersist(self) -> None:
        """It is not needed any more."""


class SparkDouble:
    """In the place of ``Spark``: a cluster of the machines of a world, or one machine with a local master."""

    log = "no log"
    alive = True
    pool = None
    driver_at = None
    """Tasks do not reach the driver: it hears of them at the end of the epoch."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.local = world.local

    def interrupt(self) -> None:
        """Nobody waits for it here."""

    @property
    def context(self) -> Context:
        """The connection to the cluster; after a failure it may be another one."""
        if self.world.chance("Spark does not start"):
            raise RuntimeError("no executors")
        return Context(self.world)


class Context:
    """In the place of ``SparkContext``."""

    defaultParallelism = 2  # noqa: N815 - Spark's name

    def __init__(self, world: World) -> None:
        self.world = world

    def broadcast(self, value: Any) -> Broadcast:
        """Give a value to all tasks."""
        return Broadcast(value)

    def parallelize(self, elements: Sequence[Any], partitions: int) -> Data:
        """An element a partition."""
        assert len(elements) == partitions
        return Data(self.world, partitions, (), tuple(elements))

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802 - Spark's name
        """Nothing runs any more once somebody can ask for it."""

    def addJobTag(self, tag: str) -> None:  # noqa: N802 - Spark's name
        """Nobody asks for it."""

    def setJobGroup(self, *given: Any, **options: Any) -> None:  # noqa: N802 - Spark's name
        """Jobs are not grouped."""


class Data(Struct, frozen=True):
    """In the place of an ``RDD``: its elements, one a partition, and the stages behind, each with its partitions."""

    world: World
    partitions: int
    stages: tuple[tuple[int, Work], ...]
    elements: tuple[Any, ...]

    def mapPartitionsWithIndex(self, work: Work) -> Data:  # noqa: N802 - Spark's name
        """A stage."""
        return replace(self, stages=(*self.stages, (self.partitions, work)))

    def partitionBy(self, partitions: int, way: Callable[[int], int]) -> Data:  # noqa: N802 - Spark's name
        """A shuffle."""
        return replace(self, partitions=partitions)

    def zip(self, other: Data) -> Data:
        """The elements of both, in pairs."""
        assert not self.stages
        assert not other.stages
        return replace(self, elements=tuple(zip(self.elements, other.elements, strict=True)))

    def persist(self) -> Data:
        """It is kept where it was made."""
        return self

    def unpersist(self) -> Data:
        """It is not kept any longer."""
        return self

    def values(self) -> Data:
        """The second of each pair."""
        return self if self.stages else replace(self, elements=tuple(value for _, value in self.elements))

    def foreachPartition(self, work: Callable[[Any], None]) -> None:  # noqa: N802 - Spark's name
        """Once on each machine."""
        for machine in self.world.machines:
            self.world.here = machine
            work(None)
        self.world.here = self.world.machines[0]

    def collect(self) -> list[Any]:
        """Run all stages, one after the other."""
        world = self.world
        made: list[list[tuple[int, Any]]] = []
        for number, (partitions, work) in enumerate(self.stages):
            given = [
                self._fetched(made, partition) if number else [self.elements[partition]]
                for partition in range(partitions)
            ]
            order = list(range(partitions))
            world.random.shuffle(order)
            results: dict[int, list[tuple[int, Any]]] = {}
            for partition in order:
                results[partition] = self._task(number, work, partition, given[partition])
                if world.chance("result lost, task repeated"):
                    results[partition] = self._task(number, work, partition, given[partition])
            if number + 1 < len(self.stages) and world.chance("output lost between two fetches", 4):
                return self._mixed(number, work, given, results)
            made = [results[partition] for partition in range(partitions)]
        if world.chance("reply lost"):
            raise ConnectionError("the driver's connection to Spark broke")
        return [item for pairs in made for _, item in pairs]

    def _fetched(self, made: list[list[tuple[int, Any]]], partition: int) -> list[tuple[int, Any]]:
        """What is for a partition: the outputs of the stage before, in any order of their tasks."""
        outputs = [[pair for pair in pairs if pair[0] == partition] for pairs in made]
        self.world.random.shuffle(outputs)
        found = [pair for pairs in outputs for pair in pairs]
        if found and self.world.chance("what is shuffled is lost", self.world.rate / 2):
            del found[self.world.random.randrange(len(found))]
        if found and self.world.chance("what is shuffled comes twice", self.world.rate / 2):
            found.append(self.world.random.choice(found))
        return found

    def _mixed(
        self, number: int, work: Work, given: list[list[Any]], results: dict[int, list[tuple[int, Any]]]
    ) -> list[Any]:
        """Run the rest with a first half of the tasks fetching what a second run of a task replaces for the others."""
        again = self.world.random.choice(sorted(results))
        second = {**results, again: self._task(number, work, again, given[again])}
        both = [
            [results[partition] for partition in sorted(results)],
            [second[partition] for partition in sorted(second)],
        ]
        made: list[list[tuple[int, Any]]] = []
        for partitions, following in self.stages[number + 1 :]:
            made = [
                self._task(
                    number + 1, following, partition, self._fetched(both[partition % 2] if both else made, partition)
                )
                for partition in range(partitions)
            ]
            both = []
            number += 1
        return [item for pairs in made for _, item in pairs]

    def _task(self, stage: int, work: Work, partition: int, pairs: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Run a task on some machine, mostly on the one that it ran on before."""
        world = self.world
        if world.chance("an attempt goes on for long", 2.5, cost=0):
            elsewhere = self._machine(partition)
            world.late.append(Late(_job_of(work), lambda: self._late(work, partition, pairs, elsewhere)))
        try:
            return self._run(work, partition, pairs, self._machine(partition))
        except HostKilled:
            world.dying = False
            raise TaskLost(f"task {partition} of stage {stage} was lost") from None

    def _machine(self, partition: int) -> Machine:
        """Where a task runs."""
        if self.world.random.random() < 0.2:
            return self.world.random.choice(self.world.machines)
        return self.world.machines[partition % len(self.world.machines)]

    def _run(self, work: Work, partition: int, pairs: list[tuple[int, Any]], machine: Any) -> list[tuple[int, Any]]:
        world = self.world
        before, world.here, world.in_task = (world.here, world.in_task), machine, True
        try:
            return list(work(partition, iter(pairs)))
        finally:
            world.here, world.in_task = before

    def _late(self, work: Work, partition: int, pairs: list[tuple[int, Any]], machine: Any) -> None:
        """An attempt of which nobody waits for the result."""
        self.world.trace.append("an attempt goes on that nobody waits for")
        try:
            self._run(work, partition, pairs, machine)
        except HostKilled:
            self.world.dying = False
        except Exception as error:
            self.world.trace.append(f"late attempt failed: {type(error).__name__}")


def _job_of(work: Any) -> str:
    """The job that a stage is of."""
    return str(work.job_id)


@lru_cache(maxsize=8)
def _plan(packed: bytes) -> PackedPlan:
    """A plan, which nobody changes: each subtask unpacks its operators for itself."""
    found: PackedPlan = pickle.loads(packed)
    return found


class HostDouble:
    """In the place of ``Host``: what a plan's slot keeps open on the machine that runs the task."""

    world: World

    def __init__(self, plan_id: str, slot: int, load: HostLoad, folder: str = "") -> None:
        self._place = (plan_id, slot)
        self._load = load

    def start(self) -> None:
        """It starts when it is asked for something."""

    def run(self, spec: EpochSpec, vertex: int, subtask: int, buffers: list[Any]) -> Ran:
        """Run a subtask there. Raises HostLost."""
        hosts = self.world.here.hosts
        if self._place not in hosts:
            hosts[self._place] = Subtasks(_plan(self._load.plan))
        try:
            made, report = hosts[self._place].run(spec, vertex, subtask, buffers)
        except HostKilled:
            self.world.dying = False
            hosts.pop(self._place, None)
            raise HostLost("killed") from None
        return made, seal(report)

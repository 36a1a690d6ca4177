"""A cluster that counts what crosses it: a double of Spark with no faults, which weighs what each stage is given and gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
from pyspark import cloudpickle

from compat.compiler.spark.driver import runner
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.locality import Places
from compat.compiler.spark.driver.runner import SparkRunner
from compat.compiler.spark.task.epochs import EpochRunner
from tests.simulation.spark import Broadcast, Context, Data, HostDouble, SparkDouble, Work
from tests.simulation.world import World

_cloudpickle: Any = cloudpickle


@dataclass(slots=True)
class Crossed:
    """What crossed in an epoch, by what it is: bytes, and pairs. ``given`` is what the driver gave the tasks of all stages."""

    bytes: Counter[str] = field(default_factory=Counter)
    items: Counter[str] = field(default_factory=Counter)

    def add(self, what: str, data: Any, items: int = 1) -> None:
        """Count an object as it travels."""
        self.bytes[what] += len(data) if isinstance(data, bytes) else len(_cloudpickle.dumps(data))
        self.items[what] += items


class _Reference(Broadcast, frozen=True):
    """A broadcast value: what travels with a task is its name only."""

    def __reduce__(self) -> Any:
        return str, ("broadcast",)


class _Metered(SparkDouble):
    def __init__(self, world: World, epochs: list[Crossed], local: bool) -> None:
        super().__init__(world)
        self.local = local
        self._context = _Context(world)
        self._context.epochs = epochs

    @property
    def context(self) -> Context:
        return self._context


class _Context(Context):
    epochs: list[Crossed]

    def broadcast(self, value: Any) -> Broadcast:
        return _Reference(value)

    def parallelize(self, elements: Sequence[Any], partitions: int) -> Data:
        return _Data(self.world, partitions, (), tuple(elements), self.epochs)


class _Data(Data, frozen=True):
    epochs: list[Crossed] = msgspec.field(default_factory=list)

    def collect(self) -> list[Any]:
        self.epochs.append(Crossed())
        for element in self.elements:
            self.epochs[-1].add("driver to tasks", element)
        found = Data.collect(self)
        self.epochs[-1].add("tasks to driver", found, len(found))
        return found

    def _run(self, work: Work, partition: int, pairs: Iterable[Any], machine: Any) -> Any:
        crossed = self.epochs[-1]
        crossed.add("code", work)
        made = Data._run(self, work, partition, pairs, machine)
        targets: dict[int, list[Any]] = {}
        for pair in made:
            targets.setdefault(pair[0], []).append(pair)
        for pairs in targets.values():  # as PySpark writes what a task has for a partition
            crossed.add("between stages", pairs, len(pairs))
        return made


class _Host(HostDouble):
    """Pickled by its name, as the real one."""


class _Anywhere(Places):
    """Tasks are where they are."""

    def kept(self, shuffled: Any) -> Any:
        return shuffled


class MeteredExecutor(SparkExecutor):
    """Runs jobs on a double of Spark. ``epochs`` are what crossed in each epoch, ``hosts`` the number that were started.

    With ``local``, it is one machine with two cores, and else a cluster with one for each slot.
    """

    def __init__(self, folder: Path, *, local: bool = False, **options: Any) -> None:
        super().__init__(str(folder / "store"), **options)
        self._local = local
        self.world = World(0, folder, faults=0, rate=0.0, local=True)
        self.epochs: list[Crossed] = []
        self.hosts = 0

    def check(self) -> None:
        """Nothing is needed."""

    def runner(self, made: Any) -> EpochRunner:
        spark: Any = _Metered(self.world, self.epochs, self._local)
        return SparkRunner(made, spark)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While this is entered, hosts are in this process."""
        _Host.world = self.world
        with patch.object(runner, "Host", _Host), patch.object(runner, "Places", _Anywhere):
            yield
        for machine in self.world.machines:
            self.hosts += len(machine.hosts)
            for subtasks in machine.hosts.values():
                subtasks.close()

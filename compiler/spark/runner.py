"""Epochs on Spark: a stage a level, a shuffle of buffers between two."""

from __future__ import annotations

import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from compiler.spark.epochs import EpochSpec, TaskFailure, pack, run_partition
from compiler.spark.plan import PhysicalPlan
from compiler.spark.task import TaskReport

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.sql.adaptive.enabled": "false",
    "spark.locality.wait": "0",
    "spark.speculation": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.shuffle.compress": "false",
    "spark.log.level": "ERROR",
}
_plans: dict[str, Any] = {}


def session(master: str, options: dict[str, str] | None = None, folders: Sequence[str] = ()) -> Any:
    """A Spark session whose workers run on this interpreter and find modules in ``folders`` too.

    Options that begin with ``spark.`` are handed to it.
    """
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("compat")
    settings = dict(_SETTINGS)
    if not master.startswith("local"):
        del settings["spark.driver.bindAddress"], settings["spark.driver.host"]
    settings |= {key: text for key, text in (options or {}).items() if key.startswith("spark.")}
    # Workers must find this package, which may not be installed where they run.
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.pathsep.join(dict.fromkeys([*_paths(), *folders, root]))
    settings.setdefault("spark.executorEnv.PYTHONPATH", paths)
    os.environ["PYTHONPATH"] = paths
    for key, text in settings.items():
        builder = builder.config(key, text)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel(settings["spark.log.level"])
    return made


def _paths() -> list[str]:
    return [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


class SparkRunner:
    """Runs the epochs of one plan on a Spark session. ``setup`` is called in each worker before it loads the plan."""

    def __init__(self, plan: PhysicalPlan, spark: Any, setup: Callable[[], None] | None = None) -> None:
        from pyspark import cloudpickle

        self._context = spark.sparkContext
        self._partitions = plan.partitions
        self._id = uuid.uuid4().hex
        self._plan = self._context.broadcast((cloudpickle.dumps(setup), pack(plan)))
        self._base = self._context.parallelize(range(plan.partitions[0]), plan.partitions[0])

    def run(self, spec: EpochSpec) -> list[TaskReport | TaskFailure]:
        stage = self._base.mapPartitionsWithIndex(_level(self._id, self._plan, spec, 0))
        for level in range(1, len(self._partitions)):
            stage = stage.partitionBy(self._partitions[level], _same)
            stage = stage.mapPartitionsWithIndex(_level(self._id, self._plan, spec, level))
        reports: list[TaskReport | TaskFailure] = stage.values().collect()
        return reports

    def close(self) -> None:
        self._plan.unpersist()


def _same(partition: int) -> int:
    return partition


def _level(
    plan_id: str, broadcast: Any, spec: EpochSpec, level: int
) -> Callable[[int, Iterable[Any]], Iterator[tuple[int, Any]]]:
    def run(partition: int, pairs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        if plan_id not in _plans:
            setup, packed = broadcast.value
            ready = pickle.loads(setup)
            if ready is not None and not _plans:
                ready()
            _plans.clear()
            _plans[plan_id] = pickle.loads(packed)
        incoming = (parcel for _, parcel in pairs) if level else ()
        return run_partition(_plans[plan_id], spec, level, partition, incoming)

    return run

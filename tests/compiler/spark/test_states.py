"""The states of tasks are written down as they change, in the middle of an epoch."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.functions import MapFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.store import JobStore
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster


class Looking(MapFunction):
    """Goes on only once the job's entry has a task of its vertex in the state that it is in itself."""

    def __init__(self, store: Path) -> None:
        self.store = str(store)

    def open(self, runtime_context: Any) -> None:
        self.wait_for("INITIALIZING")

    def map(self, value: Any) -> Any:
        self.wait_for("RUNNING")
        return value

    def wait_for(self, state: str) -> None:
        end = time.monotonic() + 100
        while True:
            found = [vertex.tasks for job in JobStore(self.store).jobs() for vertex in job.vertices]
            if any(tasks.get(state) for tasks in found):
                return
            assert time.monotonic() < end, found
            time.sleep(0.1)


@pytest.fixture(params=[InProcessExecutor, pytest.param(SparkExecutor, marks=pytest.mark.spark)])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, request.param)
    yield made
    start(Program())
    if made.executor is not None:
        made.executor.close()


def test_states_are_written_down_as_they_change(cluster: Cluster, tmp_path: Path) -> None:
    env = cluster.environment(1)
    made = env.from_collection([1], Types.INT()).map(Looking(tmp_path / "store"))
    assert list(made.execute_and_collect()) == [1]

"""Runs programs in this process, or on Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.compiler.datastream import program
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.spark.driver.executor import InProcessExecutor, RunningJob, SparkExecutor
from compat.compiler.spark.driver.options import RunOptions


class Cluster:
    """Makes environments whose jobs run in this process; ``lines`` are what they printed. ``store`` is where jobs are kept."""

    def __init__(self, directory: Path, kind: type[SparkExecutor] = InProcessExecutor, store: str = "") -> None:
        self.directory = directory
        self.store = store
        self.lines: list[str] = []
        self.events: list[dict[str, Any]] = []
        self.executor: SparkExecutor | None = None
        self._kind = kind

    def environment(self, parallelism: int = 2, **options: Any) -> StreamExecutionEnvironment:
        """A new environment; ``options`` are those of a run."""
        options.setdefault("replicas", str(self.directory / "replicas"))
        run = replace(RunOptions(), **options)
        if self.executor is None or self._kind is InProcessExecutor:
            self.executor = self._kind(
                self.store or str(self.directory / "store"),
                options=run,
                printer=self.lines.append,
                listener=self.events.append,
            )
        self.executor.options = run
        program.start(program.Program(self.executor))
        environment = StreamExecutionEnvironment.get_execution_environment()
        environment.set_parallelism(parallelism)
        return environment

    @property
    def last(self) -> RunningJob:
        """The client of the job that was submitted last."""
        assert self.executor is not None
        return self.executor.clients[-1]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of its own."""
    yield Cluster(tmp_path)
    program.start(program.Program())


Program = Callable[[StreamExecutionEnvironment], Any]

"""Runs PyFlink programs in this process: our modules under PyFlink's names, and an executor that only writes down."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

from compat.compiler.datastream import stream_execution_environment as environments
from compat.compiler.datastream.common.job_client import JobClient
from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.served import serve
from compat.compiler.job import Job
from compat.compiler.streamgraph.generator import generate
from compat.compiler.streamgraph.graph import StreamGraph
from compat.compiler.transformations.pipeline import Pipeline

GOLDEN = Path(__file__).parents[2] / "golden"


@dataclass
class Recorder:
    """Records the jobs of a program. ``before`` are its transformations before PyFlink's passes, one pipeline a job."""

    jobs: list[Job] = field(default_factory=list)
    graphs: list[StreamGraph] = field(default_factory=list)
    before: list[Pipeline] = field(default_factory=list)

    def submit(self, job: Job) -> JobClient:
        self.jobs.append(job)
        self.graphs.append(generate(job))
        return JobClient()


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A fresh program with two processors; its jobs are written down."""
    recorder = Recorder()
    align = environments.align

    def remember_and_align(pipeline: Pipeline) -> None:
        recorder.before.append(pipeline.copy())
        align(pipeline)

    monkeypatch.setattr(environments, "align", remember_and_align)
    with running(Program(recorder, parallelism=2)):
        yield recorder


@pytest.fixture
def run_program(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Recorder]:
    """Run the text of a PyFlink program as ``__main__``."""
    serve()
    monkeypatch.setattr(sys, "argv", ["program.py"])
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)

    def run(script: str) -> Recorder:
        exec(compile(script, "program.py", "exec"), main.__dict__)
        return recorder

    return run

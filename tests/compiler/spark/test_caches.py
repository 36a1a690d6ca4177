"""Cached streams: made once, made again when their files are damaged or forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.spark.driver.master import JobFailed
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.types import Types


class Program:
    """A stream that leaves a mark each time that a record is made."""

    def __init__(self, cluster: Any, marks: Path, **options: Any) -> None:
        env = cluster.environment(2, **options)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        self.marks = marks

        def made(number: int) -> int:
            with open(marks, "a") as file:
                file.write(".")
            return number * 10

        self.cached = env.from_collection([1, 2, 3], Types.INT()).map(made, Types.INT()).cache()

    def job(self) -> tuple[list[int], int]:
        """The records of a job over the stream, and how many were made by then."""
        found = sorted(self.cached.map(lambda n: n + 1, Types.INT()).execute_and_collect())
        return found, len(self.marks.read_text())


@pytest.mark.parametrize("epoch_records", [None, 1])
def test_later_jobs_read_what_the_first_one_kept(cluster: Any, tmp_path: Path, epoch_records: int | None) -> None:
    program = Program(cluster, tmp_path / "marks", epoch_records=epoch_records)
    assert [program.job() for _ in range(3)] == [([11, 21, 31], 3)] * 3


@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(b"?"), lambda file: file.unlink()])
def test_damaged_records_are_made_again(cluster: Any, tmp_path: Path, damage: Any) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    files = [file for file in (tmp_path / "store" / "caches").rglob("*") if file.is_file() and file.suffix == ""]
    damage(files[0])
    assert [program.job() for _ in range(2)] == [([11, 21, 31], 6)] * 2


def test_forgotten_records_are_made_again(cluster: Any, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    program.cached.invalidate()
    assert program.job() == ([11, 21, 31], 6)


DAMAGES = [
    lambda file: file.write_bytes(b"?"),
    lambda file: file.unlink(),
    lambda file: file.write_bytes(file.read_bytes()[:-1]),
]


class DamagedMeanwhile:
    """Damages the files of a cache once a job runs."""

    def __init__(self, program: Program, cluster: Any, damage: Any, monkeypatch: Any, call: int = 1) -> None:
        self.program, self.calls = program, 0
        real = InProcessRunner.run

        def run(runner: Any, spec: Any) -> Any:
            self.calls += 1
            if self.calls == call:
                root = cluster.directory / "store" / "caches"
                for file in root.rglob("*"):
                    if file.is_file() and file.suffix == "":
                        damage(file)
            return real(runner, spec)

        monkeypatch.setattr(InProcessRunner, "run", run)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("restarts", ["none", "fixed-delay"])
def test_records_that_are_damaged_after_the_submission_are_made_again(
    cluster: Any, tmp_path: Path, monkeypatch: Any, damage: Any, restarts: str
) -> None:
    """Within ``execute()``, as in Flink: the program is told of one job, which finished."""
    program = Program(cluster, tmp_path / "marks")
    program.job()
    DamagedMeanwhile(program, cluster, damage, monkeypatch)
    env = program.cached._environment
    env.configuration.set_string("restart-strategy.type", restarts)
    program.cached.map(lambda n: n + 1, Types.INT()).print()
    result = env.execute("again")
    assert sorted(line.partition("> ")[2] for line in cluster.lines) == ["11", "21", "31"]
    assert len(program.marks.read_text()) == 6
    assert str(result.get_job_id()) == cluster.last.master.job_id
    assert program.job() == ([11, 21, 31], 6)


def test_records_that_are_damaged_once_something_is_committed_fail_the_job(
    cluster: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """What it published would be published twice; the next job makes them again."""
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    program.job()
    DamagedMeanwhile(program, cluster, DAMAGES[0], monkeypatch, call=3)
    program.cached.map(lambda n: n + 1, Types.INT()).print()
    with pytest.raises(JobFailed, match="The records that were kept of a cached stream are damaged"):
        program.cached._environment.execute()
    assert program.job() == ([11, 21, 31], 6)

"""Cached streams: made once, made again when their files are damaged or forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.spark.driver.caches import Caches, CacheSink, NotTheSame
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.runner import SparkRunner
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.task.epochs import EpochLost, InProcessRunner
from compat.state.stores.paths import place_of
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster


class Program:
    """A stream that leaves a mark each time that a record is made."""

    def __init__(self, cluster: Any, marks: Path, **options: Any) -> None:
        env = cluster.environment(2, **options)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        self.marks, self.factor = marks, marks.with_name("factor")
        factor = self.factor
        factor.write_text("10")

        def made(number: int) -> int:
            with open(marks, "a") as file:
                file.write(".")
            return number * int(factor.read_text())

        self.made = env.from_collection([1, 2, 3], Types.INT()).map(made, Types.INT())
        self.cached = self.made.cache()

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
    lambda file: file.write(b"?"),
    lambda file: file.delete(),
    lambda file: file.write(file.read()[:-1]),
]


class DamagedMeanwhile:
    """Damages the files of a cache once a job runs."""

    def __init__(self, program: Program, cluster: Any, damage: Any, monkeypatch: Any, call: int = 1) -> None:
        self.program, self.calls = program, 0
        runs_in = InProcessRunner if isinstance(cluster.executor, InProcessExecutor) else SparkRunner
        real = runs_in.run

        def run(runner: Any, spec: Any) -> Any:
            self.calls += 1
            if self.calls == call:
                kept = place_of(cluster.store or str(cluster.directory / "store")) / "caches"
                for file in [file for file in kept.walk() if "." not in file.name]:
                    damage(file)
            return real(runner, spec)

        monkeypatch.setattr(runs_in, "run", run)


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
    assert str(result.get_job_id()) == cluster.last.master.job.job_id
    assert program.job() == ([11, 21, 31], 6)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_job_that_has_read_a_part_goes_on_with_what_is_made_again(
    cluster: Any, tmp_path: Path, monkeypatch: Any, damage: Any
) -> None:
    """Nothing that was published is so twice, neither by the job nor by the one that made the records."""
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    program.made.print("made")
    program.cached.map(str, Types.STRING()).print("kept")
    program.cached._environment.execute()
    assert len(cluster.lines) == 6
    cluster.lines.clear()
    cluster.events.clear()
    DamagedMeanwhile(program, cluster, damage, monkeypatch, call=2)
    program.cached.map(lambda n: n + 1, Types.INT()).print()
    program.cached._environment.execute()
    assert cluster.last.master.job.coordinator.epoch > 1
    assert sorted(line.partition("> ")[2] for line in cluster.lines) == ["11", "21", "31"]
    assert len(program.marks.read_text()) == 6
    assert {event["job_id"] for event in cluster.events} == {cluster.last.job_id}
    assert [event["text"] for event in cluster.events if event["event"] == "note"] == [
        f"Job {cluster.last.job_id}: The records that were kept of a cached stream are damaged: they have to be made again. "
        "Another job does so."
    ]
    assert len(list((tmp_path / "store" / "caches").iterdir())) == 1
    assert program.job() == ([11, 21, 31], 6)


@pytest.mark.slow
@pytest.mark.spark
def test_on_spark_too(tmp_path: Path, monkeypatch: Any) -> None:
    """A job that has read a part goes on, in workers of their own, with what another one makes again meanwhile."""
    cluster = Cluster(tmp_path, SparkExecutor)
    try:
        program = Program(cluster, tmp_path / "marks", epoch_records=1)
        assert program.job() == ([11, 21, 31], 3)
        for calls, damage in enumerate(DAMAGES, start=2):
            with monkeypatch.context() as patched:
                damaged = DamagedMeanwhile(program, cluster, damage, patched, call=2)
                assert program.job() == ([11, 21, 31], 3 * calls)
            assert damaged.calls > 2
    finally:
        assert cluster.executor is not None
        cluster.executor.close()


def test_a_job_that_has_read_a_part_fails_where_the_records_are_others_now(
    cluster: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    program.job()
    program.factor.write_text("7")
    DamagedMeanwhile(program, cluster, DAMAGES[0], monkeypatch, call=2)
    program.cached.map(lambda n: n + 1, Types.INT()).print()
    with pytest.raises(JobFailed, match="cannot go on with others: the program makes others now"):
        program.cached._environment.execute()
    published = sorted(line.partition("> ")[2] for line in cluster.lines)
    assert len(published) < 3
    assert set(published) < {"11", "21", "31"}
    assert program.job()[0] == [8, 15, 22]


def test_a_job_that_has_read_nothing_takes_what_is_made_now(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    program.job()
    program.factor.write_text("7")
    DamagedMeanwhile(program, cluster, DAMAGES[0], monkeypatch)
    assert program.job() == ([8, 15, 22], 6)
    assert program.job() == ([8, 15, 22], 6)


def test_records_that_cannot_be_made_again_fail_the_job_with_the_reason(
    cluster: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    program.job()
    program.factor.write_text("no number")
    DamagedMeanwhile(program, cluster, DAMAGES[0], monkeypatch, call=2)
    program.cached.map(lambda n: n + 1, Types.INT()).print()
    with pytest.raises(JobFailed, match=r"(?s)to make them again failed: .*invalid literal for int"):
        program.cached._environment.execute()


def test_a_cache_of_a_cache_is_made_again_from_the_first_one(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Both are damaged: the job that makes the second one has the first one made again."""
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    second = program.cached.map(lambda n: n + 1, Types.INT()).cache()
    found = [sorted(second.map(lambda n: -n, Types.INT()).execute_and_collect()) for _ in range(2)]
    assert found == [[-31, -21, -11]] * 2
    assert len(program.marks.read_text()) == 3
    DamagedMeanwhile(program, cluster, DAMAGES[0], monkeypatch, call=3)
    assert sorted(second.map(lambda n: -n, Types.INT()).execute_and_collect()) == [-31, -21, -11]
    assert len(program.marks.read_text()) == 6


def test_a_manifest_that_is_gone_is_no_empty_stream(cluster: Any, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    for manifest in (tmp_path / "store" / "caches").rglob("manifest.json"):
        manifest.unlink()
    assert program.job() == ([11, 21, 31], 6)


def test_a_cached_stream_may_be_empty(cluster: Any, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path / "marks")
    cached = program.cached.filter(lambda n: n > 99).cache()
    for _ in range(2):
        assert list(cached.map(lambda n: n + 1, Types.INT()).execute_and_collect()) == []
    assert len(program.marks.read_text()) == 3


def test_a_file_is_made_again_of_records_in_any_order(tmp_path: Path) -> None:
    caches, place = Caches(place_of(tmp_path)), place_of(tmp_path / "old")

    def written(folder: str, *files: list[Any]) -> dict[str, str]:
        sink = CacheSink(place_of(tmp_path / folder))
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "manifest.json").write_text("{}")
        for records in files:
            writer = sink.create_writer(None)
            for record in records:
                writer.write(record, None)
            sink.commit(writer.prepare_commit(), ("job", 1))
        return dict(json.loads((tmp_path / folder / "manifest.json").read_text()))

    shared = ("x" * 50, 1)
    files = written("old", [shared, (2, 3), shared, "end"])
    written("new", ["end", shared], [(2, 3), ("x" * 50, 1)])
    written("less", ["end"], [shared])
    ((name, digest),) = files.items()
    split = {"id": name, "path": str(place / name), "next": 1, "digest": digest}
    before = (place / name).read()
    (place / name).write(b"?")
    with pytest.raises(NotTheSame, match="others"):
        caches.restore(1, place_of(tmp_path / "less"), [split])
    assert (place / name).read() == b"?"
    caches.restore(1, place_of(tmp_path / "new"), [split])
    assert (place / name).read() == before
    (place / f"{name}.records").delete()
    (place / name).write(b"?")
    with pytest.raises(NotTheSame, match="not known any more"):
        caches.restore(1, place_of(tmp_path / "new"), [split])


@pytest.mark.parametrize("epochs", range(1, 9))
def test_a_program_that_is_killed_reads_and_writes_each_record_once(
    cluster: Any, tmp_path: Path, monkeypatch: Any, epochs: int
) -> None:
    """Be it killed while a stream is written, or while it is read: what is there already is gone on with."""
    file = tmp_path / "program.py"
    file.write_text("")
    real, left = InProcessRunner.run, [epochs]

    def until(runner: Any, spec: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            cluster.executor.abandon()
            raise EpochLost("The process ends.")
        return real(runner, spec)

    def run() -> list[list[str]]:
        program = Program(cluster, tmp_path / "marks", epoch_records=1, program=str(file))
        found: list[list[str]] = []
        for name in ("first", "second"):
            cluster.lines.clear()
            program.cached.map(lambda n: n + 1, Types.INT()).print()
            program.cached._environment.execute(name)
            found.append(sorted(line.partition("> ")[2] for line in cluster.lines))
            if cluster.last.master.job.abandoned:
                return found
        cluster.executor.close()
        return found

    with monkeypatch.context() as patch:
        patch.setattr(InProcessRunner, "run", until)
        before = run()
    after = run()
    whole = ["11", "21", "31"]
    if before[-1] != whole:  # the job that was killed goes on
        after[len(before) - 1] = sorted(before[-1] + after[len(before) - 1])
    assert after == [whole, whole]
    caches = tmp_path / "store" / "caches"
    for left_over in list(caches.iterdir()):  # of a job that had finished before anybody read what it kept
        JobStore(tmp_path / "store").discard(left_over.name)
    assert list(caches.iterdir()) == []


def test_what_a_job_was_stopped_before_is_not_missing(cluster: Any, tmp_path: Path) -> None:
    """A job that was stopped with a savepoint has kept a part only, and so has one that is restored from one."""
    program = Program(cluster, tmp_path / "marks", epoch_records=1)
    first, env = program.cached.map(str, Types.STRING()), program.cached._environment
    first.print()
    cluster.executor.options = replace(cluster.executor.options, epochs=1)
    env.execute()
    cluster.executor.options = replace(cluster.executor.options, epochs=None)
    assert program.job() == ([11, 21, 31], 4)
    first.print()
    program.cached.invalidate()
    cluster.executor.options = replace(
        cluster.executor.options, savepoint=cluster.executor.clients[0].master.job.savepoint
    )
    env.execute()
    cluster.executor.options = replace(cluster.executor.options, savepoint=None)
    assert program.job()[0] == [11, 21, 31]


def test_what_was_kept_goes_with_the_program_unless_a_job_of_it_goes_on(cluster: Any, tmp_path: Path) -> None:
    program = Program(cluster, tmp_path / "marks")
    program.job()
    caches = tmp_path / "store" / "caches"
    assert len(list(caches.iterdir())) == 1
    program.cached.map(lambda n: 1 // (n - 20), Types.INT()).print()
    with pytest.raises(JobFailed):
        program.cached._environment.execute()
    cluster.executor.close()
    (kept,) = caches.iterdir()
    cluster.executor.clients.pop()
    cluster.executor.close()
    assert not kept.exists()

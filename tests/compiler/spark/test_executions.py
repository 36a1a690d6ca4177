"""Slots and attempts of jobs that run: where subtasks are put, and what the driver knows of each."""

from __future__ import annotations

import time
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.functions import MapFunction
from compat.compiler.driver import compile_job
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import Channels, InputGate, PhysicalPlan, plan
from compat.compiler.topology.build import build_job
from compat.state.types import Types
from tests.compiler.graphs import op
from tests.compiler.spark.conftest import Cluster

WORDS = [*(f"w{number % 7}" for number in range(100)), "odd"]
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
FRAGILE = "fragile, _stream_key_by_map_operator"


class Counting(MapFunction):
    """Keeps a count, so that its host keeps it open; fails at a word, so many times as a folder has room for marks."""

    def __init__(self, marks: Path | None = None, times: int = 0) -> None:
        self.marks, self.times = marks, times
        self.seen = 0

    def map(self, value: Any) -> Any:
        self.seen += 1
        if self.marks is not None and value == "odd":
            failed = len(list(self.marks.iterdir()))
            if failed < self.times:
                (self.marks / str(failed)).touch()
                raise ValueError(f"failure {failed}")
        return value, 1


def counted(env: Any, fragile: Counting) -> Any:
    """Words counted: a source, a map in slots of its own, and counts in the default slots."""
    stream = env.from_collection(WORDS, Types.STRING()).rebalance()
    pairs = stream.map(fragile, PAIR).name("fragile").set_parallelism(3).slot_sharing_group("heavy")
    sums = pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1]))
    return sums.slot_sharing_group("default").name("sums")


def totals(stream: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for word, count in stream.execute_and_collect():
        found[word] = max(found.get(word, 0), count)
    return found


def entry_of(cluster: Any) -> JobEntry:
    (entry,) = JobStore(cluster.directory / "store").jobs()
    return entry


def planned(cluster: Any) -> PhysicalPlan:
    made: PhysicalPlan = cluster.last.master.job.plan
    return made


def test_a_stage_has_a_partition_for_each_slot_of_its_tasks(cluster: Any) -> None:
    env = cluster.environment(2)
    assert totals(counted(env, Counting())) == Counter(WORDS)

    made = planned(cluster)
    slots = {task.name: list(task.slots) for task in made.tasks}
    assert [task.name for task in made.tasks][:2] == ["Source: Collection Source", FRAGILE]
    assert slots["Source: Collection Source"] == [0]
    assert slots[FRAGILE] == [2, 3, 4]
    assert [list(stage.slots) for stage in made.stages][:2] == [[0], [2, 3, 4]]
    assert made.execution_graph.slots == {"default": 2, "heavy": 3}


def test_a_gate_reads_what_the_execution_graph_says(cluster: Any) -> None:
    env = cluster.environment(2)
    totals(counted(env, Counting()))
    made = planned(cluster)

    for task, vertex in zip(made.tasks, made.execution_graph.vertices, strict=True):
        gates: list[InputGate] = [gate for gates in task.gates.values() for gate in gates]
        assert Counter(gate.group for gate in gates) == Counter(edge.group for edge in vertex.inputs)
        for gate in gates:
            read = [channel for subtask in range(task.parallelism) for channel in Channels((gate,), subtask)]
            assert len(read) == gate.group.connections


def test_a_job_that_has_finished_says_so_of_every_subtask(cluster: Any) -> None:
    env = cluster.environment(2)
    totals(counted(env, Counting()))
    entry = entry_of(cluster)

    assert entry.status == "FINISHED"
    assert {vertex.status for vertex in entry.vertices} == {"FINISHED"}
    assert entry.tasks == {"FINISHED": planned(cluster).execution_graph.total_subtasks}
    assert [vertex.attempt for vertex in entry.vertices] == [0] * len(entry.vertices)


def _restarting(env: Any, attempts: int) -> None:
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.attempts", str(attempts))
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "0 s")


def test_attempts_are_counted_and_the_cause_is_kept(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    env = cluster.environment(2)
    _restarting(env, 2)
    assert totals(counted(env, Counting(tmp_path / "marks", 2))) == Counter(WORDS)
    entry = entry_of(cluster)
    fragile = next(vertex for vertex in entry.vertices if vertex.name == FRAGILE)

    assert {vertex.attempt for vertex in entry.vertices} == {2}
    assert fragile.failure is not None
    assert "ValueError: failure 1" in fragile.failure
    assert [vertex.failure for vertex in entry.vertices if vertex is not fragile] == [None] * (len(entry.vertices) - 1)
    restarts = [event for event in cluster.events if event["event"] == "restarting"]
    assert [event["attempt"] for event in restarts] == [1, 2]
    assert all(event["task"].startswith(f"{FRAGILE} (") and event["task"].endswith("/3)") for event in restarts)


def test_a_job_that_failed_tells_which_subtask_did(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    env = cluster.environment(2)
    _restarting(env, 1)
    with pytest.raises(Exception, match="failure 1"):
        totals(counted(env, Counting(tmp_path / "marks", 9)))
    entry = entry_of(cluster)
    statuses = {vertex.name: vertex.status for vertex in entry.vertices}

    assert (entry.status, statuses.pop(FRAGILE)) == ("FAILED", "FAILED")
    assert set(statuses.values()) == {"CANCELED"}
    assert entry.tasks["FAILED"] == 1


def test_states_are_published_as_they_change(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "marks").mkdir()
    env = cluster.environment(2, epoch_records=2)
    _restarting(env, 1)
    published: list[tuple[int, str]] = []
    failed: set[str] = set()
    write = JobStore.write

    def noted(store: JobStore, entry: JobEntry) -> None:
        fragile = next(vertex for vertex in entry.vertices if vertex.name == FRAGILE)
        published.append((fragile.attempt, " ".join(sorted(fragile.tasks))))
        failed.update(entry.failed_tasks)
        write(store, entry)

    monkeypatch.setattr(JobStore, "write", noted)
    assert totals(counted(env, Counting(tmp_path / "marks", 1))) == Counter(WORDS)
    changes = [each for each, _ in groupby(published)]
    begins = ["SCHEDULED", "DEPLOYING"]
    assert [states for attempt, states in changes if attempt == 0] == ["CREATED", *begins, "RUNNING", "CANCELED FAILED"]
    assert [states for attempt, states in changes if attempt == 1] == [*begins, "FINISHED"]
    (vertex,) = [vertex for vertex in entry_of(cluster).vertices if vertex.name == FRAGILE]
    assert vertex.failed in range(3)
    assert failed == {vertex.failed_task}


def test_an_entry_that_knows_no_tasks_is_read(tmp_path: Path) -> None:
    """As version 0.1.0 wrote it."""
    store = JobStore(tmp_path)
    (tmp_path / "jobs" / "job").mkdir(parents=True)
    (tmp_path / "jobs" / "job" / "job.json").write_text('{"job_id": "job", "name": "n", "status": "RUNNING", "pid": 1}')

    (entry,) = store.jobs()
    assert (entry.name, entry.vertices, entry.tasks) == ("n", [], Counter())


def test_the_newest_job_is_the_one_that_started_last_whatever_the_clock_says(tmp_path: Path) -> None:
    """Else a job that began behind a clock that was set back would be taken for older than the one before it."""
    store = JobStore(tmp_path)
    now = 1_700_000_000.0
    for name, clock in (("first", now), ("second", now - 3600), ("third", now - 3600), ("fourth", now + 1)):
        started = store.start_time(clock)
        store.write(
            JobEntry(job_id=name, name="n", status="FAILED", pid=1, program="p", savepoint=name, started=started)
        )
        assert store.jobs()[0].job_id == name
        assert store.unfinished("p", "n", name) == store.jobs()[0]


@pytest.mark.spark
def test_slots_on_spark(tmp_path: Path) -> None:
    """Stages of different slots: buffers find their subtasks, and every slot keeps its functions."""
    cluster = Cluster(tmp_path, SparkExecutor)
    env = cluster.environment(2, epoch_records=40)
    try:
        assert totals(counted(env, Counting())) == Counter(WORDS)
        assert entry_of(cluster).tasks == {"FINISHED": planned(cluster).execution_graph.total_subtasks}
    finally:
        assert cluster.executor is not None
        cluster.executor.close()


def test_the_fingerprint_of_a_plan_is_the_one_that_jobs_have_kept() -> None:
    """A job that version 0.1.0 ran goes on where it stopped: this is what that version computed."""
    ops = [
        op("s", "source"),
        op("c", "source"),
        op("r", "rescale", "s"),
        op("m", "map", "r", parallelism=5),
        op("u", "union", "m", "c", "m"),
        op("k", "key_by", "u"),
        op("p", "keyed_process", "k", uid="p", maxParallelism=64),
        op("b", "broadcast", "c"),
        op("x", "broadcast_connect", "p", "b"),
        op("e", "print", "x"),
    ]
    job = build_job({"env": {"parallelism": 3}, "ops": ops}, flink="2.3")

    assert plan(compile_job(job)).fingerprint == "30a06f7a3d67a69106c44bbf9adec501"


class Failing(MapFunction):
    """Fails until a file is there."""

    def __init__(self, mended: Path) -> None:
        self._mended = mended

    def map(self, value: Any) -> Any:
        if not self._mended.exists():
            raise ValueError("not yet")
        return value


def test_a_job_that_restarts_cannot_be_stopped_with_a_savepoint(cluster: Any, tmp_path: Path) -> None:
    """Flink refuses that: NOT_ALL_REQUIRED_TASKS_RUNNING. It can be cancelled, and have a savepoint of its last commit."""
    env = cluster.environment(1, epoch_records=2)
    _restarting(env, 1_000_000)
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "5 s")  # all of this happens while it waits
    env.from_collection(list(range(20)), Types.INT()).map(Failing(tmp_path / "mended")).print()
    client = env.execute_async()
    while client.master.job.status is not JobStatus.RESTARTING:
        time.sleep(0.01)
    with pytest.raises(RuntimeError, match="restarts after a failure"):
        client.stop_with_savepoint(False).result()
    store = JobStore(cluster.directory / "store")
    assert "restarts after a failure" in Mailbox(store.directory(client.job_id)).ask("stop")["error"]
    (tmp_path / "mended").touch()
    assert Path(client.trigger_savepoint().result()).exists()
    while client.master.job.status is not JobStatus.FINISHED:
        time.sleep(0.01)
    assert sorted(cluster.lines) == sorted(map(str, range(20)))

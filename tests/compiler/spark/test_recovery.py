"""Whatever is killed: no record lost or doubled, in the state or in the sinks that promise it."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.log import SnapshotLog
from tests.compiler.spark.crashes import CrashingJob, victims
from tests.compiler.spark.standalone import StandaloneCluster

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """A master and two workers."""
    made = StandaloneCluster(tmp_path)
    yield made
    made.close()


def test_an_executor_then_a_host_then_a_worker_then_the_jvm_then_the_driver(
    tmp_path: Path, cluster: StandaloneCluster
) -> None:
    job = CrashingJob(tmp_path, 6_000, ("--epoch-records", "250", "--master", cluster.url))
    job.start()
    try:
        for what in ("executor", "host", "worker", "jvm", "driver"):
            job.wait_for(2)
            assert job.kill(victims(job, what, cluster.workers)), what
        job.finish()
        job.verify()
        assert job.starts == 2
    finally:
        job.close()


@pytest.mark.slow
def test_a_host_then_a_worker_then_the_jvm_then_the_driver_of_a_job_whose_epochs_are_one_task(tmp_path: Path) -> None:
    """They are, on one machine, once an epoch had little to do."""
    job = CrashingJob(tmp_path, 4_000, ("--epoch-records", "50"))
    job.start()
    try:
        for what in ("host", "worker", "jvm", "driver"):
            job.wait_for(3)
            assert job.kill(victims(job, what)), what
        job.finish()
        job.verify()
        assert job.starts == 2
    finally:
        job.close()


MUCH_STATE = """
from compat.compiler.spark.driver import checkpoints
from compat.compiler.spark.driver.workers import SparkWorkers
from compat.state.delta import compaction, slices, work

work.LARGE, checkpoints.COMPACT_AFTER, slices.SLICE_BYTES, slices._SMALL_BYTES = 1, 6, 400, 0
compaction._LEAST_GROUP = 100
real = SparkWorkers._job

def noted(self, work, parts):
    if self._beside:
        with open({notes!r}, "a") as notes:
            notes.write("A part of a compaction begins.\\n")
    return real(self, work, parts)

SparkWorkers._job = noted
"""
"""All state is large, so that tasks of Spark compact it, each of which is noted."""


@pytest.mark.slow
def test_all_that_can_be_killed_while_tasks_compact_the_state(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.touch()
    job = CrashingJob(tmp_path, 8_000, ("--epoch-records", "50"), first=MUCH_STATE.format(notes=str(notes)))
    job.start()
    try:
        for what in ("worker", "driver", "jvm", "host", "driver"):
            job.wait_for(2)
            begun, end = notes.stat().st_size, time.monotonic() + 300
            while notes.stat().st_size == begun:
                assert job.running, job.said()
                assert time.monotonic() < end, job.said()
                time.sleep(0.005)
            assert job.kill(victims(job, what)), what
            if what == "driver":
                assert job.process is not None
                job.process.wait()
                job.start()
        job.finish()
        job.verify()
        (entry,) = JobStore(f"{tmp_path}/.compat").jobs()
        log = SnapshotLog.open(JobStore(f"{tmp_path}/.compat").state(entry.job_id))
        assert any("floor" in commit for commit in log._line())
        commits = "".join(file.read_text() for file in Path(log.path).glob("_delta_log/*.json"))
        known = {file.path for file in log.files()}
        assert [
            each.name
            for each in Path(log.path).glob("*.parquet")
            if each.name not in known and each.name not in commits
        ] == []
    finally:
        job.close()


@pytest.mark.slow
def test_fifty_times_at_random_moments(tmp_path: Path, cluster: StandaloneCluster) -> None:
    seed = int(os.environ.get("CRASH_SEED", time.time()))
    print(f"CRASH_SEED={seed}")
    random.seed(seed)
    kills: dict[str, int] = {}
    for round in range(5):
        folder = tmp_path / f"round-{round}"
        folder.mkdir()
        on_cluster = cluster if round % 2 else None
        job = CrashingJob(
            folder, 60_000, ("--epoch-records", "300", *(["--master", cluster.url] if on_cluster else []))
        )
        job.start()
        try:
            hits = 0
            while hits < 10:
                if not job.running:
                    assert job.process is not None
                    assert job.process.returncode < 0, job.said()
                    job.start()
                job.wait_for(random.choice([0, 1, 1, 2, 4]))
                time.sleep(random.uniform(0, 1.0))
                kinds = ["driver", "jvm", "worker", "host"] + (["executor"] if on_cluster else [])
                what = random.choice(kinds)
                if not job.kill(victims(job, what, on_cluster and on_cluster.workers)):
                    continue  # it is not there yet, after the last kill
                hits += 1
                kills[what] = kills.get(what, 0) + 1
                if what == "driver":
                    assert job.process is not None
                    job.process.wait()
            job.finish(timeout=1200)
            job.verify()
            print(f"round {round}: nothing lost, nothing doubled; killed so far: {kills}", flush=True)
        finally:
            job.close()
    assert sum(kills.values()) == 50

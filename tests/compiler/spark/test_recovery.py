"""Whatever is killed: no record lost or doubled, in the state or in the sinks that promise it."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.compiler.spark.crashes import CrashingJob, below, processes
from tests.compiler.spark.standalone import StandaloneCluster

pytestmark = pytest.mark.spark


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[StandaloneCluster]:
    """A master and two workers."""
    made = StandaloneCluster(tmp_path)
    yield made
    made.close()


def environment(pid: int) -> bytes:
    """What a process was started with; nothing for one that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def victims(job: CrashingJob, what: str, cluster: StandaloneCluster | None) -> list[int]:
    """Whom to kill: the driver, its JVM, a Python worker or an executor."""
    if what == "driver":
        return [job.pid]
    if what == "jvm":
        return below(job.pid, "org.apache.spark.deploy.SparkSubmit")[:1]
    roots = [job.pid] if cluster is None else cluster.workers
    wanted = {
        "worker": "-m compat.compiler.spark.task.daemon",
        "host": "compat.compiler.spark.task.hosts",
        "executor": "CoarseGrainedExecutorBackend",
    }[what]
    found = [pid for root in roots for pid in below(root, wanted)]
    if what == "host" and cluster is None:  # it may have been forked: it is written down
        marks = (*Path(tempfile.gettempdir()).glob("compat-hosts-*/*.pid"), *job.folder.glob("compat-hosts-*/*.pid"))
        hosts = {int(mark.read_text() or 0) for mark in marks}
        found = [pid for pid in hosts if f"TMPDIR={job.folder}".encode() in environment(pid)]
    elif what == "host":  # it lives as long as the daemon that it names last, not as the worker that started it
        homes = {str(pid) for root in roots for pid in below(root, "-m compat.compiler.spark.task.daemon")}
        found = [pid for pid, (_, line) in processes().items() if wanted in line and line.split()[-1] in homes]
    return [random.choice(found)] if found else []


def test_an_executor_then_a_host_then_a_worker_then_the_jvm_then_the_driver(
    tmp_path: Path, cluster: StandaloneCluster
) -> None:
    job = CrashingJob(tmp_path, 6_000, ("--epoch-records", "250", "--master", cluster.url))
    job.start()
    try:
        for what in ("executor", "host", "worker", "jvm", "driver"):
            job.wait_for(2)
            assert job.kill(victims(job, what, cluster)), what
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
            assert job.kill(victims(job, what, None)), what
        job.finish()
        job.verify()
        assert job.starts == 2
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
                if not job.kill(victims(job, what, on_cluster)):
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

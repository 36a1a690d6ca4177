"""What hangs is noticed and replaced, be it a process or its thread; one that wakes up gives way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.cluster import dispatcher
from compat.cluster.settings import ClusterSettings
from compat.compiler.datastream import program
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver import driven, lease, shared
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.shared import AttachedSpark, SparkPlace
from compat.compiler.spark.task.epochs import EpochLost, InProcessRunner
from compat.state.types import Types
from tests.compat.cluster import fakes
from tests.compat.cluster.fakes import FakeCluster, fake_cluster, wait_for
from tests.compiler.spark.conftest import Cluster

PLACE = "from compat.compiler.spark.driver.shared import SparkPlace"
SETTINGS = ClusterSettings(slots=2, master="", lease=60, heartbeat_timeout=4)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCluster]:
    with fake_cluster(tmp_path, monkeypatch, SETTINGS) as made:
        yield made


@pytest.mark.parametrize("wakes", [True, False], ids=["one that wakes up", "one that does not"])
def test_a_jobmaster_that_hangs_is_replaced_and_does_not_stay(fake: FakeCluster, wakes: bool) -> None:
    job = fake.submit(1)
    wait_for(lambda: fake.jobs.get(job).status is JobStatus.RUNNING)
    former = fake.masters.started[job, 1]
    os.kill(former.pid, signal.SIGSTOP)
    wait_for(lambda: fake.jobs.get(job).attempt == 2 and fake.folder.store.driver(job) not in (None, former.pid))
    assert "no sign of life" in fake.jobs.failures(job)[0].cause
    if wakes:
        os.kill(former.pid, signal.SIGCONT)
    assert former.wait(60) == (0 if wakes else -signal.SIGKILL)
    fake.end(job)
    assert (fake.jobs.get(job).attempt, fake.jobs.get(job).status) == (2, JobStatus.FINISHED)


def test_a_jobmaster_that_lives_is_left_alone_whatever_the_clock_says(
    fake: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signs of life are compared with each other, and not with the clock, which somebody may set."""
    job = fake.submit(1)
    wait_for(lambda: fake.jobs.get(job).status is JobStatus.RUNNING)
    monkeypatch.setattr(fake.folder.store, "sign_of_life", lambda job: lease_time(fake, job) - 10**6)
    threading.Event().wait(2 * SETTINGS.heartbeat_timeout)
    fake.end(job)
    assert fake.jobs.get(job).attempt == 1


def lease_time(fake: FakeCluster, job: str) -> float:
    return lease.sign_of_life(fake.folder.store.directory(job))


def test_a_spark_that_hangs_is_replaced(fake: FakeCluster) -> None:
    wait_for(lambda: fake.folder.spark.find() is not None)
    hanging = fake.sparks[0]
    os.kill(hanging.pid, signal.SIGSTOP)
    assert hanging.wait(60) == -signal.SIGKILL
    wait_for(lambda: fake.folder.spark.keeper not in (None, hanging.pid))
    assert len(fake.sparks) == 2


def test_a_keeper_that_does_not_end_is_ended_with_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in the midst of starting Spark, and hears of nothing until that is up."""
    monkeypatch.setattr(dispatcher, "_STOPPING", 0.5)
    monkeypatch.setattr(fakes, "KEEPER", "import signal; signal.signal(15, signal.SIG_IGN)\n" + fakes.KEEPER)
    with fake_cluster(tmp_path, monkeypatch, SETTINGS) as fake:
        wait_for(lambda: fake.folder.spark.find() is not None)
        fake.dispatcher.close(stop_all=False)
        assert dispatcher.stop_processes(fake.folder, fake.jobs) == 0
        assert fake.sparks[0].wait(60) == -signal.SIGKILL


@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_a_spark_that_is_being_started_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """However long that takes, as where an environment is sent first; not where nobody starts it."""
    monkeypatch.setattr(shared, "_PATIENCE", 0.3)
    place = SparkPlace(tmp_path)
    starting = f"import sys, time\n{PLACE}\nheld = SparkPlace(sys.argv[1]).keep()\ntime.sleep({seconds})"
    process = subprocess.Popen([sys.executable, "-c", starting, str(tmp_path)]) if seconds else None
    wait_for(lambda: place.kept is (process is not None))
    began = time.monotonic()
    with pytest.raises(EpochLost, match="Spark is not up"):
        _ = AttachedSpark(place, "pool").context
    assert process is None or time.monotonic() - began > seconds / 2
    if process is not None:
        process.wait(60)


def test_an_attempt_that_begins_late_does_not_take_the_job_from_the_one_after_it(fake: FakeCluster) -> None:
    job = fake.submit(1)
    wait_for(lambda: fake.jobs.get(job).status is JobStatus.RUNNING)
    driver = fake.folder.store.driver(job)
    os.kill(fake.masters.started[job, 1].pid, signal.SIGKILL)
    wait_for(lambda: fake.jobs.get(job).attempt == 2 and fake.folder.store.driver(job) not in (None, driver))
    with pytest.raises(lease.LeaseLost, match="chosen after this one"):
        fake.folder.store.lock(job, 1)
    fake.end(job)
    assert fake.jobs.get(job).attempt == 2


class _Standing(InProcessRunner):
    """Hangs in an epoch, and does not let it be cancelled."""

    go_on = threading.Event()

    def run(self, spec: Any) -> Any:
        if spec.epoch == 2:
            assert self.go_on.wait(60)
        return super().run(spec)


class _StandingExecutor(InProcessExecutor):
    def runner(self, made: Any) -> Any:
        return _Standing(made)


@pytest.mark.parametrize("deadline", ["1 s", "10 min"])
def test_a_job_whose_thread_stands_still_for_longer_than_an_epoch_may_take_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deadline: str
) -> None:
    monkeypatch.setattr(driven, "_SHORTEST_STANDSTILL", 0.5)
    _Standing.go_on.clear()
    cluster = Cluster(tmp_path, _StandingExecutor)
    env = cluster.environment(1, epoch_records=5)
    env.enable_checkpointing(50)
    env.get_checkpoint_config().set_checkpoint_timeout(1_000 if deadline == "1 s" else 600_000)
    env.from_collection(list(range(20)), Types.INT()).print()
    env.execute_async()
    job = cluster.last
    try:
        wait_for(lambda: job.epoch == 1)
        assert not job.master.job.pulse.hangs
        if deadline == "1 s":
            wait_for(lambda: job.master.job.pulse.hangs)
        else:
            threading.Event().wait(2.5)
            assert not job.master.job.pulse.hangs
    finally:
        _Standing.go_on.set()
        job.wait()
        program.start(program.Program())
    assert not job.master.job.pulse.hangs
    assert sorted(map(int, cluster.lines)) == list(range(20))


_HANGS = """
import sys, threading
from types import SimpleNamespace
from compat.cluster import master
from compat.cluster.layout import ClusterFolder
from compat.compiler.spark.driver.options import Assigned
master._SECONDS = 0.1
process = master.JobProcess(ClusterFolder(sys.argv[1]), Assigned(sys.argv[2], 1), "pool")
process._master = SimpleNamespace(job=SimpleNamespace(pulse=SimpleNamespace(hangs=True)))
threading.Thread(target=process._watch).start()

def waits_for_what_never_comes():
    threading.Event().wait()

waits_for_what_never_comes()
"""


def test_the_process_of_a_job_that_hangs_ends_and_says_where(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _HANGS, str(tmp_path), uuid.uuid4().hex], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "waits_for_what_never_comes" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("The job stood still")


def test_a_spark_that_takes_long_to_start_is_let_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it starts it gives no signs; once others may use it, it just has."""
    monkeypatch.setattr(fakes, "KEEPER", fakes.SLOW_KEEPER)
    with fake_cluster(tmp_path, monkeypatch, SETTINGS) as fake:
        wait_for(lambda: fake.folder.spark.find() is not None)
        threading.Event().wait(SETTINGS.heartbeat_timeout / 2)
        assert len(fake.sparks) == 1
        assert fake.sparks[0].poll() is None

"""A dispatcher over processes that only seem to be JobMasters and Spark: they hold their locks and give signs of life."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compat.cluster import dispatcher as dispatchers
from compat.cluster import keeping
from compat.cluster.dispatcher import Dispatcher
from compat.cluster.layout import ClusterFolder
from compat.cluster.leadership import become_leader
from compat.cluster.registry import Jobs
from compat.cluster.settings import ClusterSettings
from compat.cluster.submission import Submission
from compat.service.database import Database

MASTER = """
import sys, time
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import Superseded
store, job, fence = JobStore(sys.argv[1]), sys.argv[2], int(sys.argv[3])
lock = store.lock(job, fence)
ends = store.root / "jobs" / job / "ends"
while not lock.lost:
    status = ends.read().decode() if ends.exists() else "RUNNING"
    try:
        store.write(JobEntry(job_id=job, name="fake", status=status, pid=0, fence=fence))
    except Superseded:
        break
    if status != "RUNNING":
        break
    time.sleep(0.05)
"""
KEEPER = """
import os, sys, time
from compat.compiler.spark.driver.shared import Gateway, SparkPlace
place = SparkPlace(sys.argv[1])
held = place.keep()
if held is not None:
    place.publish(Gateway(port=0, secret="", pid=os.getpid(), master="", log="", accumulator=0))
while held is not None:
    place.beat(held)
    time.sleep(0.05)
"""
SLOW_KEEPER = KEEPER.replace("    place.publish", "    time.sleep(6); place.beat(held); place.publish")


def wait_for(condition: Callable[[], object], seconds: float = 60) -> None:
    """Until something holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _run(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program, *arguments], start_new_session=True)


class FakeMasters:
    """Starts such JobMasters, in the place of :class:`~compat.cluster.masters.Masters`."""

    def __init__(self, folder: ClusterFolder, master: str) -> None:
        self._folder = folder
        self.started: dict[tuple[str, int], subprocess.Popen[bytes]] = {}

    def ready(self) -> None: ...

    def start(self, job: str, fence: int, pool: int) -> None:
        self.started[job, fence] = _run(MASTER, str(self._folder.path), job, str(fence))

    def ended(self, job: str, fence: int) -> int | None:
        process = self.started.get((job, fence))
        return None if process is None else process.poll()

    def waits_for(self, job: str, fence: int) -> bool:
        return False

    def forget(self, job: str) -> None: ...

    def close(self) -> None: ...


class FakeCluster:
    """A dispatcher that leads, with what it started."""

    def __init__(
        self, folder: Path, settings: ClusterSettings, monkeypatch: pytest.MonkeyPatch, started: bool = True
    ) -> None:
        self.folder = ClusterFolder(folder)
        self.jobs = Jobs(Database(self.folder.database))
        self.jobs.migrate()
        self._held = become_leader(self.folder, self.jobs, "http://127.0.0.1:1", settings.lease)
        self.sparks: list[subprocess.Popen[bytes]] = []
        monkeypatch.setattr(dispatchers, "Masters", FakeMasters)
        monkeypatch.setattr(keeping, "start_spark", self._start_spark)
        self.dispatcher = Dispatcher(self.folder, self.jobs, settings)
        self.masters: FakeMasters = self.dispatcher._masters  # type: ignore[assignment]
        if started:
            self.dispatcher.start()

    def _start_spark(self, folder: ClusterFolder, settings: ClusterSettings) -> subprocess.Popen[bytes]:
        self.sparks.append(_run(KEEPER, str(folder.path)))
        return self.sparks[-1]

    def submit(self, number: int) -> str:
        """Submit a job; gives its id."""
        plan = Submission(name="fake", program="", folder="", flink="2.3", slots=1, job=b"", setup=b"", plan=b"{}")
        return self.dispatcher.submit(f"{number:032x}", plan.encoded(), "me").id

    def end(self, job: str, status: str = "FINISHED") -> None:
        """Have a job end, and wait until the dispatcher knows."""
        said = self.folder.job(job) / "ends"
        said.with_suffix(".new").write_text(status)
        said.with_suffix(".new").rename(said)  # at once: the JobMaster looks all the time
        wait_for(lambda: self.jobs.get(job).status.terminal)

    def close(self) -> None:
        """End it, and all its processes."""
        self.dispatcher.close(stop_all=False)
        for process in [*self.masters.started.values(), *self.sparks]:
            process.kill()
            process.wait()
        self._held.close()


@contextmanager
def fake_cluster(
    folder: Path, monkeypatch: pytest.MonkeyPatch, settings: ClusterSettings, *, started: bool = True
) -> Iterator[FakeCluster]:
    """Such a cluster, for a while; one that is not ``started`` only answers."""
    made = FakeCluster(folder, settings, monkeypatch, started)
    try:
        yield made
    finally:
        made.close()

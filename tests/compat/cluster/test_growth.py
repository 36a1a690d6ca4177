"""Small jobs one after another on one cluster: it takes no more of its machine by that."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.cluster.growth import Taken, taken
from tests.compat.cluster.jobs import SmallJobs
from tests.compat.cluster.running import RunningCluster

pytestmark = pytest.mark.spark

KEPT = 5
LEFT_TO_CHANCE = {
    "dispatcher": 6.0, "keeper": 3.0, "jvm": 30.0, "python": 20.0, "heap": 2.0,
    "files": 10, "processes": 2, "threads": 60, "descriptors": 15,
}  # fmt: skip
"""So much may be more at one moment than at another without anything having grown, memory in MB. Spark's pools of threads grow
to some two hundred and shrink by themselves."""


def settled(jobs: SmallJobs) -> Taken:
    """What the cluster takes when those that ended are forgotten."""
    cluster, end = jobs.cluster, time.monotonic() + 60
    while len(cluster.client.jobs()) > KEPT:
        assert time.monotonic() < end
        time.sleep(0.2)
    return taken(cluster.place, cluster.folder)


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[SmallJobs]:
    running = RunningCluster(tmp_path, slots=1)
    running.start("-D", f"jobstore.max-capacity={KEPT}")
    yield SmallJobs(running)
    running.stop()


@pytest.mark.slow
def test_hundreds_of_small_jobs_leave_nothing(jobs: SmallJobs) -> None:
    jobs.run(50)
    before = settled(jobs)
    jobs.run(150)
    more = settled(jobs) - before
    print(f"{before}\n{more}\n{sorted(jobs.seconds)[len(jobs.seconds) // 2]:.2f} s a job")
    assert {name: grown for name, grown in more.items() if grown > LEFT_TO_CHANCE[name]} == {}

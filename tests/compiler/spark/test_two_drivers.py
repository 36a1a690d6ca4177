"""The same command twice: beside a driver that lives, and beside one that was stopped."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.compiler.spark.crashes import CrashingJob

pytestmark = pytest.mark.spark


def test_a_stopped_driver_is_taken_over_and_commits_nothing_when_it_wakes(tmp_path: Path) -> None:
    job = CrashingJob(tmp_path, 6_000, ("--epoch-records", "100"))
    job.start()
    first = job.process
    assert first is not None
    try:
        job.wait_for(3)
        job.start()
        second = job.process
        assert second is not None
        assert second.wait(120) == 2, "the first one lives"
        assert re.search(rf"runs already: process {first.pid} on \S+ drives it since .*--fresh", job.said(), re.DOTALL)
        os.kill(first.pid, signal.SIGSTOP)
        job.start()
        job.wait_for(3)
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait(120) != 0
        assert "Another process drives the job" in (tmp_path / "stderr-1").read_text()
        job.finish()
        job.verify()
    finally:
        job.close()
        first.kill()
        first.wait()


def test_two_that_are_started_at_once_are_one_job(tmp_path: Path) -> None:
    """Whichever is first has the job; the other one hears of it."""
    job = CrashingJob(tmp_path, 6_000, ("--epoch-records", "100"))
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(2):
            job.start()
            assert job.process is not None
            processes.append(job.process)
        codes = sorted(process.wait(300) for process in processes)
        told = "".join((tmp_path / f"stderr-{start}").read_text() for start in (1, 2))
        assert codes == [0, 2], told
        assert re.search(r"is being started by another process|runs already|Another process started", told)
        job.verify()
    finally:
        for process in processes:
            process.kill()
            process.wait()

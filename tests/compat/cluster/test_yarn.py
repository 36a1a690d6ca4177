"""Jobs on a real YARN, whose containers see nothing of this installation but what is sent to them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat.compiler.spark.driver.store import JobEntry, JobStore
from tests import hadoop
from tests.compiler.spark.crashes import below, verify_job, write_program
from tests.compiler.spark.standalone import installation

ROOT = Path(__file__).parents[3]
END = 20_000

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hadoop.MiniHadoop]:
    pytest.importorskip("hdfs_native")
    with hadoop.running(tmp_path_factory.mktemp("yarn"), 2304, installation()) as found:
        yield found


class Commands:
    """``compat`` as its user calls it, with the cluster's configuration."""

    def __init__(self, yarn: hadoop.MiniHadoop, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "HADOOP_CONF_DIR": str(yarn.configuration), "PYTHONPATH": str(ROOT)}
        self._settings = {
            "spark.yarn.jars": f"local:{yarn.folder / hadoop.JARS}/*",
            "spark.driver.memory": "512m",
            "spark.executor.memory": "512m",
            "spark.executor.instances": "1",
            "spark.executor.cores": "2",
            "spark.driver.memoryOverhead": "256m",
            "spark.executor.memoryOverhead": "256m",
            "spark.yarn.am.memory": "512m",
            "spark.network.timeout": "600s",
            "spark.executor.heartbeatInterval": "60s",
        }

    @property
    def settings(self) -> list[str]:
        return [part for name, text in self._settings.items() for part in ("-D", f"{name}={text}")]

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "compat", *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=2400,
        )


def wait_until(store: JobStore, job: str, done: object, yarn: hadoop.MiniHadoop) -> JobEntry:
    end = time.monotonic() + 1800
    while time.monotonic() < end:
        entry = store.entry(job)
        if entry is not None and done(entry):  # type: ignore[operator]
            return entry
        time.sleep(1)
    raise AssertionError(f"{store.entry(job)}\n{(yarn.folder / 'hadoop.log').read_text()[-4000:]}")


def test_the_driver_runs_in_the_cluster_and_is_started_again(yarn: hadoop.MiniHadoop, tmp_path: Path) -> None:
    """The command ends when the job was taken; the driver is killed, and another one goes on."""
    commands, place = Commands(yarn, tmp_path), f"{yarn.address}/per-job"
    program = write_program(tmp_path, END, place=place)
    store = JobStore(f"{place}/.compat")
    arguments = ["--master", "yarn", "--deploy-mode", "cluster", "-d", "--epoch-records", "1000"]
    done = commands.call("run", str(program), *arguments, "--store", f"{place}/.compat", *commands.settings)
    assert done.returncode == 0, done.stderr
    job = done.stdout.split()[-1]
    entry = wait_until(store, job, lambda entry: entry.epoch >= 2, yarn)
    assert entry.status == "RUNNING"
    masters = below(yarn.pid, "deploy.yarn.ApplicationMaster")
    for pid in masters:
        os.kill(pid, 9)
    assert masters
    ended = wait_until(store, job, lambda entry: entry.over or entry.status == "FAILED", yarn)
    assert ended.status == "FINISHED", ended
    assert ended.fence > entry.fence
    verify_job(place, END, store, job)


def test_the_driver_runs_in_the_command(yarn: hadoop.MiniHadoop, tmp_path: Path) -> None:
    commands, place = Commands(yarn, tmp_path), f"{yarn.address}/client"
    program = write_program(tmp_path, END, place=place)
    store = f"{place}/.compat"
    arguments = ["--master", "yarn", "--epoch-records", "2000", "--store", store]
    done = commands.call("run", str(program), *arguments, *commands.settings)
    assert done.returncode == 0, done.stderr
    (job,) = JobStore(store).jobs()
    verify_job(place, END, JobStore(store), job.job_id)

"""Jobs on a real YARN, whose containers see nothing of this installation but what is sent to them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from tests import hadoop
from tests.compat.cluster.running import RunningCluster
from tests.compiler.spark.crashes import below, verify_job, write_program
from tests.compiler.spark.standalone import installation

ROOT = Path(__file__).parents[3]
END = 20_000
MEGABYTES = 2304
"""What the one node has: an application master and an executor, or a driver and an executor."""
SETTINGS = {
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

pytestmark = [pytest.mark.slow, pytest.mark.spark]


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hadoop.MiniHadoop]:
    with hadoop.running(tmp_path_factory.mktemp("yarn"), MEGABYTES, installation()) as found:
        yield found


@pytest.fixture(autouse=True)
def configured(yarn: hadoop.MiniHadoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster's configuration, for all commands."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(yarn.configuration))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def settings(yarn: hadoop.MiniHadoop) -> list[str]:
    """What fits on the node."""
    given = {**SETTINGS, "spark.yarn.jars": f"local:{yarn.folder / hadoop.JARS}/*"}
    return [part for name, text in given.items() for part in ("-D", f"{name}={text}")]


def call(folder: Path, *arguments: str) -> str:
    """What ``compat`` says to its user, who is in a folder."""
    done = subprocess.run(
        [sys.executable, "-m", "compat", *arguments], cwd=folder, capture_output=True, text=True, timeout=2400
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def wait_until(store: JobStore, job: str, done: Callable[[JobEntry], bool], yarn: hadoop.MiniHadoop) -> JobEntry:
    """A job, once that holds of it."""
    end = time.monotonic() + 1800
    while time.monotonic() < end:
        entry = store.entry(job)
        if entry is not None and (done(entry) or entry.over or entry.status == "FAILED"):
            return entry
        time.sleep(1)
    raise AssertionError(f"{store.entry(job)}\n{(yarn.folder / 'hadoop.log').read_text()[-4000:]}")


def submitted(yarn: hadoop.MiniHadoop, folder: Path, end: int, place: str) -> str:
    """The id of a job that counts to ``end`` and writes into ``place``, with its driver in the cluster."""
    program = write_program(folder, end, place=place)
    arguments = ["--master", "yarn", "--deploy-mode", "cluster", "-d", "--epoch-records", "1000"]
    said = call(folder, "run", str(program), *arguments, "--store", f"{place}/.compat", *settings(yarn))
    return said.split()[-1]


def test_the_driver_runs_in_the_cluster_and_is_started_again(yarn: hadoop.MiniHadoop, tmp_path: Path) -> None:
    """The command ends when the job was taken; the driver is killed, and another one goes on."""
    place = f"{yarn.address}/per-job"
    store = JobStore(f"{place}/.compat")
    job = submitted(yarn, tmp_path, END, place)
    entry = wait_until(store, job, lambda entry: entry.epoch >= 2, yarn)
    assert entry.status == "RUNNING"
    masters = below(yarn.pid, "deploy.yarn.ApplicationMaster")
    for pid in masters:
        os.kill(pid, 9)
    assert masters
    ended = wait_until(store, job, lambda entry: entry.over, yarn)
    assert ended.status == "FINISHED", ended
    assert ended.fence > entry.fence
    verify_job(place, END, store, job)


def test_a_job_in_the_cluster_is_reached_by_its_store(yarn: hadoop.MiniHadoop, tmp_path: Path) -> None:
    """Saved, and stopped; it goes on from there with the driver in the command, and another one is cancelled."""
    end, place = 100_000, f"{yarn.address}/reached"
    store, of_store = JobStore(f"{place}/.compat"), ["--store", f"{place}/.compat"]
    job = submitted(yarn, tmp_path, end, place)
    assert wait_until(store, job, lambda entry: entry.epoch >= 1, yarn).status == "RUNNING"
    assert f" : {job} : counting (RUNNING, " in call(tmp_path, "list", *of_store)
    saved = call(tmp_path, "savepoint", job[:8], f"{place}/saved", *of_store)
    assert saved == f"{place}/saved"
    stopped = call(tmp_path, "stop", job[:8], *of_store)
    assert stopped.startswith(f"{place}/.compat/savepoints/savepoint-{job[:6]}-")
    entry = wait_until(store, job, lambda entry: entry.over, yarn)
    assert (entry.status, entry.stopped_with) == ("FINISHED", stopped)
    arguments = ["--master", "yarn", "--epoch-records", "25000", *of_store, "-s", stopped, *settings(yarn)]
    call(tmp_path, "run", "job.py", *arguments)
    (last,) = [entry.job_id for entry in store.jobs() if entry.job_id != job]
    verify_job(place, end, store, last)

    cancelled = submitted(yarn, tmp_path, end, f"{yarn.address}/cancelled")
    store = JobStore(f"{yarn.address}/cancelled/.compat")
    assert wait_until(store, cancelled, lambda entry: entry.status == "RUNNING", yarn).status == "RUNNING"
    call(tmp_path, "cancel", cancelled, "--store", f"{yarn.address}/cancelled/.compat")
    assert wait_until(store, cancelled, lambda entry: entry.over, yarn).status == "CANCELED"


def test_jobs_of_a_session(yarn: hadoop.MiniHadoop, tmp_path: Path) -> None:
    """Two jobs share the warm application; the process of one is killed. One has a file for its functions besides."""
    kept, cluster = f"{yarn.address}/session", RunningCluster(tmp_path / "here", slots=4, patience=1200)
    folders = {"execution.checkpointing.dir": f"{kept}/jobs", "execution.checkpointing.savepoint-dir": f"{kept}/saved"}
    given = [part for name, text in folders.items() for part in ("-D", f"{name}={text}")]
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "named.py").write_text("def same(number):\n    return number\n")
    jobs: dict[str, str] = {}
    try:
        cluster.start("--master", "yarn", *given, *settings(yarn))
        for name, arguments in (("plain", []), ("shipping", ["-D", f"python.files={tmp_path}/named/named.py"])):
            folder = tmp_path / name
            folder.mkdir()
            program = write_program(folder, END, place=f"{yarn.address}/{name}")
            if arguments:  # a function finds the file, and nothing else
                text = program.read_text().replace(
                    "        count = (", "        from named import same\n        count = same("
                )
                program.write_text(text)
            done = cluster.run("run", str(program), "-d", "--epoch-records", "1000", *arguments, cwd=folder)
            assert done.returncode == 0, done.stderr
            jobs[name] = done.stdout.strip()
        for job in jobs.values():
            assert cluster.at(job, 2).state == "RUNNING", cluster.said()
        assert cluster.kill("master", jobs["plain"])
        saved = cluster.run("savepoint", jobs["shipping"])
        assert saved.stdout.startswith(f"{kept}/saved/savepoint-{jobs['shipping'][:6]}-"), saved.stderr
        for name, job in jobs.items():
            ended = cluster.wait(job, lambda found: found.over)
            assert ended.state == "FINISHED", cluster.place.log_of(job).read_text()
            verify_job(f"{yarn.address}/{name}", END, cluster.place.store, job)
            assert cluster.place.store.state(job) == f"{kept}/jobs/{job}/state"
        assert cluster.place.store.entry(jobs["plain"]).fence == 2  # type: ignore[union-attr]
        assert below(yarn.pid, "CoarseGrainedExecutorBackend")
    finally:
        cluster.stop()
    end = time.monotonic() + 120
    while below(yarn.pid, "spark.deploy.yarn") and time.monotonic() < end:
        time.sleep(0.5)
    assert not below(yarn.pid, "spark.")

"""A cluster gets a newer version of compat while its jobs run: both are installed, side by side."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.cluster.running import PATIENCE, RunningCluster
from tests.compiler.spark.crashes import JOB, verify_job, write_program

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
END = 1500
SLOWLY = ("--epoch-records", "2")
TOLD = 'lambda p: "%d:%d" % p'
TELLS = (
    """lambda p: (open("{folder}/versions", "a").write(__import__("compat").__version__ + chr(10)), "%d:%d" % p)[1]"""
)
"""The function behind the one that has the state, which notes by which version it is run."""


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation of an earlier version."""
    folder = tmp_path_factory.mktemp("former")
    for name in ("compiler", "state", "compat"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    init = folder / "compat" / "__init__.py"
    init.write_text(re.sub(r'__version__ = ".*"', '__version__ = "0.0.9"', init.read_text()))
    return folder


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path, slots=1, patience=200)
    yield running
    running.stop()


def of_former(cluster: RunningCluster, former: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Start the cluster with the earlier version, and a job on it by that one; gives the job."""
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", str(former))
        patch.chdir(former)
        cluster.start("--master", "local[1]")
        folder = cluster.folder / "counting"
        folder.mkdir()
        program = write_program(folder, END, interval=5_000, parallelism=1, text=JOB.replace(TOLD, TELLS))
        done = cluster.run("run", str(program), "-d", *SLOWLY)
    assert done.returncode == 0, done.stderr
    job = done.stdout.strip()
    cluster.at(job, 2)
    return job


def deployed(cluster: RunningCluster) -> dict[str, str]:
    folder = cluster.folder / "counting"
    given = ("--job", "counting", "job.py", "--format", "json", "--watch", "0s")
    done = subprocess.run(
        [sys.executable, "-m", "compat", "deploy", "--cluster", cluster.url, *given],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, str] = json.loads(done.stdout)["deployment"]
    return told


def versions(cluster: RunningCluster) -> set[str]:
    return set((cluster.folder / "counting" / "versions").read_text().split())


def test_a_cluster_is_upgraded_while_its_job_runs(
    cluster: RunningCluster, former: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import compat

    job = of_former(cluster, former, monkeypatch)
    assert versions(cluster) == {"0.0.9"}
    done = cluster.run("cluster", "stop", "--dir", str(cluster.place.path), "--keep-jobs")
    assert done.returncode == 0, done.stderr
    master = cluster.place.store.driver(job)
    cluster._reap()
    cluster.start("--master", "local[1]")
    at = cluster.client.find(job).checkpoint
    cluster.at(job, at + 2)  # under the new dispatcher, by the old process
    assert cluster.place.store.driver(job) == master
    saved = cluster.run("savepoint", job)
    assert saved.returncode == 0, saved.stderr
    new = deployed(cluster)["runs"]
    cluster.wait(new, lambda found: found.over)
    assert cluster.client.find(job).state == "FINISHED"
    verify_job(str(cluster.folder / "counting"), END, cluster.place.store, new)
    assert versions(cluster) == {"0.0.9", compat.__version__}


def test_a_job_whose_process_died_meanwhile_fails_at_once_and_is_deployed_from_its_checkpoint(
    cluster: RunningCluster, former: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = of_former(cluster, former, monkeypatch)
    cluster.run("cluster", "stop", "--dir", str(cluster.place.path))
    cluster._reap()
    cluster.start("--master", "local[1]")
    cluster.wait(job, lambda found: found.over)
    (failed,) = [each for each in cluster.client.jobs() if each.jid == job]
    assert (failed.state, failed.attempt) == ("FAILED", 2)
    new = deployed(cluster)["runs"]
    cluster.wait(new, lambda found: found.over)
    verify_job(str(cluster.folder / "counting"), END, cluster.place.store, new)

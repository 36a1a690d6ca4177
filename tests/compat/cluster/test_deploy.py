"""``compat deploy`` with all that it takes: programs, a cluster, Spark; and with kills of each of its processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat.cluster.deployments.records import Deployment, Deployments, Step
from compat.cluster.registry import Jobs
from compat.service.database import Database
from tests.compat.cluster.running import PATIENCE, RunningCluster
from tests.compat.service.running import serve
from tests.compiler.spark.crashes import JOB, verify_job, write_program

pytestmark = pytest.mark.spark

COUNTED = 'lambda p: "%d:%d" % p'
"""What the versions differ in: the function behind the one that has the state."""

SLOWLY = ("--epoch-records", "2")


class Upgraded:
    """A job in a folder that counts to ``end``, and its versions."""

    def __init__(self, cluster: RunningCluster, name: str, end: int = 600) -> None:
        self.cluster, self.name, self.end = cluster, name, end
        self.folder = cluster.folder / name
        self.folder.mkdir()

    def program(self, function: str = COUNTED, uid: str = "count") -> Path:
        """A version of its program."""
        text = JOB.replace(COUNTED, function).replace('uid("count")', f'uid("{uid}")')
        return write_program(self.folder, self.end, interval=5_000, parallelism=1, text=text)

    def command(self, program: Path, *more: str) -> list[str]:
        given = ("--job", self.name, str(program), "--format", "json", *more)
        return [sys.executable, "-m", "compat", "deploy", "--cluster", self.cluster.url, *given]

    def start(self, program: Path, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(program, *more),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def deploy(self, program: Path, *more: str, code: int = 0) -> dict[str, Any]:
        """What came of it."""
        process = self.start(program, *more)
        out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, errors
        told: dict[str, Any] = json.loads(out)
        return {**told, "said": errors}

    @property
    def last(self) -> Deployment | None:
        """Its last deployment, by the database."""
        database = Database(self.cluster.place.database)
        try:
            return Deployments(Jobs(database)).last(self.name)
        finally:
            database.close()

    def verify(self, job: str, uid: str = "count") -> None:
        """That the versions together did everything once, of which that job was the last."""
        self.cluster.wait(job, lambda found: found.over)
        verify_job(str(self.folder), self.end, self.cluster.place.store, job, uid)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    running = RunningCluster(tmp_path_factory.mktemp("deploy"), slots=1)
    running.start("--master", "local[1]")
    yield running
    running.stop()


def test_a_job_is_started_upgraded_and_brought_back(cluster: RunningCluster) -> None:
    job = Upgraded(cluster, "upgraded")
    first = job.deploy(job.program(), "--watch", "0s", *SLOWLY)
    assert (first["outcome"], first["deployment"]["old"]) == ("deployed", None)
    runs = first["deployment"]["runs"]
    cluster.at(runs, 2)
    lost = job.deploy(job.program(uid="other"), code=2)
    assert lost["outcome"] == "refused"
    assert "cannot restore upgraded (job" in lost["said"]
    assert "Next: compat rule CMP" in lost["said"]
    possible = job.deploy(job.program(), "--dry-run")
    assert possible["outcome"] == "possible"
    assert cluster.client.find(runs).state == "RUNNING"
    bad = job.deploy(job.program("lambda p: 1 // 0"), *SLOWLY, code=1)
    assert bad["outcome"] == "returned", bad
    assert "ZeroDivisionError" in bad["message"]
    assert [each["step"] for each in bad["deployment"]["steps"]] == [
        "stopping",
        "starting",
        "watching",
        "returning",
        "returned",
    ]
    back = bad["deployment"]["runs"]
    process = job.start(job.program('lambda p: "%d:%d" % (p[0], p[1])'), "--watch", "1s")
    while (open := job.last) is None or open.step is not Step.STOPPING:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    assert cluster.kill("dispatcher")
    out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    told = json.loads(out)["deployment"]
    assert (told["old"], told["step"]) == (back, "deployed")
    job.verify(told["runs"])


def test_state_is_moved_by_a_recipe_and_comes_back_without_it(cluster: RunningCluster) -> None:
    """The new version has it under another uid; one that fails leaves it to the old one, as it was."""
    job = Upgraded(cluster, "moved")
    recipe = job.folder / "recipe.yaml"
    recipe.write_text("steps: [{step: rename-operator, operator: count, to: other}]")
    first = job.deploy(job.program(), "--watch", "0s", *SLOWLY)
    cluster.at(first["deployment"]["runs"], 2)
    bad = job.deploy(job.program("lambda p: 1 // 0", uid="other"), "--recipe", str(recipe), *SLOWLY, code=1)
    assert bad["outcome"] == "returned", bad
    assert bad["deployment"]["steps"][0]["message"].endswith(f"to {bad['deployment']['checked']}")
    cluster.at(bad["deployment"]["runs"], 2)
    done = job.deploy(job.program(uid="other"), "--recipe", str(recipe), "--watch", "0s", "--epoch-records", "1000")
    assert done["outcome"] == "deployed", done
    assert f"The recipe makes the state {done['deployment']['checked']}" in done["said"]
    job.verify(done["deployment"]["runs"], "other")


@pytest.mark.slow
@pytest.mark.parametrize("step", [Step.STOPPING, Step.STARTING, Step.WATCHING], ids=str)
@pytest.mark.parametrize("what", ["client", "dispatcher", "master"])
def test_whatever_is_killed_at_whatever_step_one_version_runs(cluster: RunningCluster, step: Step, what: str) -> None:
    repeated = what == "client"
    job = Upgraded(cluster, f"{what}-{step}", 600 if repeated else 300)
    runs = job.deploy(job.program(), "--watch", "0s", *SLOWLY)["deployment"]["runs"]
    cluster.at(runs, 2)
    program = job.program('lambda p: "%d:%d" % (p[0], p[1])')
    more = ("--watch", "30s" if repeated else "2s", "--epoch-records", "3")
    process = job.start(program, *more)
    while (open := job.last) is None or open.old != runs or open.step is not step:
        assert process.poll() is None, process.communicate()
        assert open is None or open.old != runs or not open.step.over, "The step was not seen"
        time.sleep(0.005)
    if repeated:
        process.send_signal(signal.SIGKILL)
    else:
        cluster.kill(what, open.new if step is Step.WATCHING else runs)
    process.communicate(timeout=PATIENCE)
    if repeated:
        told = job.deploy(program, *more)["deployment"]
        assert told["old"] == runs
    else:
        found = job.last
        assert found is not None
        told = {"runs": found.runs, "step": found.step}
        assert found.step in (Step.DEPLOYED, Step.RETURNED, Step.ABANDONED), cluster.said()
    running = [each.jid for each in cluster.client.jobs() if each.name == job.name and not each.over]
    assert running in ([told["runs"]], [])  # or it has come to its end since
    job.verify(told["runs"])
    assert os.path.exists(cluster.place.job(told["runs"]))


@pytest.mark.slow
def test_a_registry_is_asked_and_told_by_the_command_and_by_the_cluster(tmp_path: Path) -> None:
    registry = serve(tmp_path)
    token = tmp_path / "token"
    token.write_text(registry.tokens["push"])
    cluster = RunningCluster(tmp_path / "cluster", slots=1)
    cluster.start("--master", "local[1]")
    try:
        job = Upgraded(cluster, "told", 10_000)
        asked = ("--registry", registry.url, "--registry-token-file", str(token), "--commit", "c0ffee")

        def promoted() -> list[int]:
            found = registry.client().get("/jobs/told/promotions").json()["promotions"]
            return [each["number"] for each in found]

        first = job.deploy(job.program(), *asked, "--watch", "0s", *SLOWLY)
        assert "This cluster knows no job called told: told is to begin without state" in first["said"]
        assert "told@1 runs by the registry, too" in first["said"]
        assert promoted() == [1]
        cluster.at(first["deployment"]["runs"], 2)
        job.deploy(job.program('lambda p: "%d:%d" % (p[0], p[1])'), *asked, "--watch", "0s", *SLOWLY)
        assert promoted() == [2, 1]
        cluster.restart("--master", "local[1]", "--registry", registry.url, "--token-file", str(token))
        other = cluster.run("run", str(job.program()), "-d", cwd=job.folder)
        assert (other.returncode, "knows no job 'counting'" in other.stderr) == (2, True), other.stderr
        assert job.deploy(job.program(uid="other"), *SLOWLY, code=2)["outcome"] == "refused"
        assert promoted() == [2, 1]
        last = job.deploy(job.program('lambda p: f"{p[0]}:{p[1]}"'), "--watch", "0s", "--epoch-records", "1000")
        assert last["deployment"]["version"] == 3
        assert promoted() == [3, 2, 1]
        current = registry.client().get("/jobs/told/versions/current").json()
        assert current["number"] == 3
        job.verify(last["deployment"]["runs"])
    finally:
        cluster.stop()
        registry.stop()

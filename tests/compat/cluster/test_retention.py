"""Jobs that have ended do not stay for ever; what one may want back does."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from compat.cli import main
from compat.cluster.app import create_app
from compat.cluster.records import Action
from compat.cluster.registry import Jobs, UnknownJob
from compat.cluster.retention import Retention, RetentionError, keeps_checkpoint
from compat.cluster.settings import ClusterSettings
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.service.database import Database
from compat.service.records import Role
from compat.service.registry import Registry
from compat.service.settings import LOOPBACK, ServiceSettings
from tests.compat.cluster.fakes import FakeCluster, fake_cluster, wait_for

FINISHED, CANCELED, FAILED = JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, Retention(seconds=3600, most=2**31 - 1)),
        ({"jobstore.expiration-time": "60"}, Retention(seconds=60)),
        ({"jobstore.expiration-time": "0", "jobstore.max-capacity": " 7 "}, Retention(seconds=0, most=7)),
    ],
)
def test_options_in_flinks_spelling(options: dict[str, str], expected: Retention) -> None:
    assert Retention.of(options) == expected


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("jobstore.expiration-time=1 h", "is not seconds, such as 3600"),
        ("jobstore.max-capacity=-1", "is not a number of jobs"),
        ("jobstore.type=Memory", "jobstore.type is no option of a cluster"),
        ("parallelism.default=1", "is no option of Spark or of a cluster"),
    ],
)
def test_what_cannot_be_is_refused_before_the_start(option: str, told: str) -> None:
    done = CliRunner().invoke(main, ["cluster", "start", "-D", option])
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


def test_an_option_that_cannot_be_names_those_that_can() -> None:
    with pytest.raises(RetentionError, match=r"jobstore.expiration-time and jobstore.max-capacity"):
        Retention.of({"jobstore.expiration": "1"})


@pytest.mark.parametrize(
    ("status", "asked", "kept"),
    [
        (FINISHED, "", False),
        (FINISHED, "RETAIN_ON_CANCELLATION", False),
        (CANCELED, "", True),
        (CANCELED, "RETAIN_ON_CANCELLATION", True),
        (CANCELED, "delete-on-cancellation", False),
        (CANCELED, "NO_EXTERNALIZED_CHECKPOINTS", False),
        (CANCELED, "nonsense", True),
        (FAILED, "", True),
        (FAILED, "DELETE_ON_CANCELLATION", True),
        (FAILED, "NO_EXTERNALIZED_CHECKPOINTS", False),
    ],
)
def test_whose_checkpoint_stays(status: JobStatus, asked: str, kept: bool) -> None:
    assert keeps_checkpoint(status, asked) is kept


def known(jobs: Jobs, job: str) -> bool:
    try:
        jobs.get(job)
    except UnknownJob:
        return False
    return True


def fill(cluster: FakeCluster, job: str) -> Path:
    """What a job leaves behind, with a checkpoint."""
    folder = cluster.folder.job(job)
    for file in ("state/part", "shipped/code.py", "plan.json", "master.log", "events.0", "mailbox/x.answer"):
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text("{}")
    replica = cluster.folder.replicas / job / "slot"
    replica.mkdir(parents=True)
    savepoint = cluster.folder.path / "savepoints" / f"savepoint-{job[-3:]}"
    savepoint.mkdir(parents=True)
    return folder


def test_jobs_that_ended_long_ago_go_and_leave_the_checkpoints_that_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ClusterSettings(slots=4, master="", retention=Retention(seconds=1))
    with fake_cluster(tmp_path, monkeypatch, settings) as cluster:
        finished, failed, runs = (cluster.submit(number) for number in (1, 2, 3))
        folders = [fill(cluster, job) for job in (finished, failed, runs)]
        cluster.jobs.answered(cluster.jobs.ask(failed, Action.SAVEPOINT), error="no")
        cluster.end(finished)
        cluster.end(failed, "FAILED")
        wait_for(lambda: not known(cluster.jobs, finished) and not known(cluster.jobs, failed))
        assert cluster.jobs.failures(failed) == []
        assert not folders[0].exists()
        assert sorted(path.name for path in folders[1].iterdir()) == ["plan.json", "retained", "state"]
        cluster.folder.store.sweep(time.time() + 10_000)  # as what a job left that never began
        assert (folders[1] / "state" / "part").exists()
        assert {path.name for path in cluster.folder.replicas.iterdir()} == {runs}
        assert len(list((cluster.folder.path / "savepoints").iterdir())) == 3
        assert (folders[2] / "shipped" / "code.py").exists()
        assert cluster.jobs.get(runs).status is JobStatus.RUNNING
        assert cluster.dispatcher._attempts.keys() == {runs}
        cluster.end(runs)


def test_a_checkpoint_that_stays_does_so_where_the_dispatcher_is_killed_before_the_job_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(id: str) -> None:
        raise Killed

    settings = ClusterSettings(slots=1, master="", retention=Retention(seconds=0))
    with fake_cluster(tmp_path, monkeypatch, settings, started=False) as cluster:
        job = cluster.submit(1)
        folder = fill(cluster, job)
        cluster.folder.store.write(JobEntry(job_id=job, name="fake", status="FAILED", pid=0, fence=1))
        (cluster.masters.started[job, 1]).kill()
        cluster.jobs.end(job, FAILED)
        wait_for(lambda: cluster.folder.store.driver(job) is None)
        with monkeypatch.context() as killed:
            killed.setattr(cluster.jobs, "forget", die)
            with pytest.raises(Killed):
                cluster.dispatcher._tidy()
        assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "retained", "state"]
        cluster.dispatcher._tidy()
        assert not known(cluster.jobs, job)
        assert sorted(path.name for path in folder.iterdir()) == ["plan.json", "retained", "state"]


def test_a_job_that_went_is_remembered_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cluster(tmp_path, monkeypatch, ClusterSettings(slots=1, master=""), started=False) as cluster:
        http = Http(cluster)
        job = cluster.submit(1)
        cluster.jobs.end(job, FINISHED, stopped_with="/savepoint")
        (cluster.masters.started[job, 1]).kill()
        wait_for(lambda: cluster.folder.store.driver(job) is None)
        assert http("GET", "/situation?job=fake").json()["state"] == "/savepoint"
        assert http("DELETE", f"/jobs/{job}").status_code == 200
        situation = http("GET", "/situation?job=fake").json()
        assert (situation["state"], "left its state in /savepoint" in situation["unclear"]) == (None, True)
        assert http("GET", "/situation?job=other").json()["stateless"] == "This cluster knows no job called other"


def test_of_many_jobs_that_ended_the_last_ones_are_kept(tmp_path: Path) -> None:
    jobs = Jobs(Database(f"sqlite:///{tmp_path / 'db'}"))
    jobs.migrate()
    jobs.lead("http://127.0.0.1:1", 10, dead=False)
    for number in range(5):
        jobs.add(f"{number:032x}", name="", program="", slots=1, by="", restored_from=None)
        if number != 2:
            jobs.end(f"{number:032x}", FINISHED)
    assert [job.number for job in jobs.expired(0.0, 2)] == [1, 2]
    assert [job.number for job in jobs.expired(0.0, 4)] == []
    assert [job.number for job in jobs.expired(2e10, 4, most=3)] == [1, 2, 4]
    jobs.forget(f"{1:032x}")
    jobs.forget(f"{2:032x}")  # it has not ended
    assert [job.number for job in jobs.all()] == [5, 4, 3, 1]


class Http:
    """The cluster over HTTP; nobody starts or ends it by that."""

    def __init__(self, cluster: FakeCluster) -> None:
        registry = Registry(cluster.jobs._database)
        registry.database.migrate()
        self._app = create_app(cluster.dispatcher, ServiceSettings(allowed_hosts=LOOPBACK), registry, Role.DEPLOY)

    def __call__(self, method: str, path: str) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, json=None if method in ("GET", "DELETE") else {})

        return asyncio.run(asked())


def test_a_job_that_has_ended_is_removed_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cluster(tmp_path, monkeypatch, ClusterSettings(slots=1, master="")) as cluster:
        http = Http(cluster)
        job = cluster.submit(1)
        folder = fill(cluster, job)
        refused = http("DELETE", f"/jobs/{job}")
        assert (refused.status_code, "end it with compat job stop or compat job cancel first" in refused.text) == (
            409,
            True,
        )
        cluster.end(job, "CANCELED")
        assert http("DELETE", f"/jobs/{job}").status_code == 200
        assert not folder.exists()
        assert (cluster.folder.path / "savepoints").exists()
        assert http("DELETE", f"/jobs/{job}").status_code == 404


def test_a_dispatcher_whose_place_was_taken_refuses_and_says_who_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_cluster(tmp_path, monkeypatch, ClusterSettings(slots=1, master=""), started=False) as cluster:
        http = Http(cluster)
        job = cluster.submit(1)
        other = Jobs(Database(cluster.folder.database))
        assert other.lead("http://127.0.0.1:2", 10, dead=True)
        for answer in (
            http("PATCH", f"/jobs/{job}"),
            http("POST", f"/jobs/{job}/stop"),
            http("POST", f"/jobs/{job}/savepoints"),
            http("GET", "/livez"),
        ):
            assert answer.status_code == 503
            assert "Another dispatcher leads this cluster now, at http://127.0.0.1:2." in answer.text
        assert http("GET", "/jobs").status_code == 200  # it does not know yet, and what it reads is right
        cluster.dispatcher.close(stop_all=True)
        assert cluster.dispatcher.lost.is_set()
        assert http("GET", "/jobs").status_code == 503
        assert [each.status for each in other.all()] == [JobStatus.INITIALIZING]

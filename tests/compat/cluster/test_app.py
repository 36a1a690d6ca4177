"""What a cluster answers over HTTP, and to whom."""

from __future__ import annotations

import errno
import uuid
from pathlib import Path

import msgspec
import pytest

from compat.cluster.app import SUBMISSION
from compat.cluster.deployments.api import DEPLOYMENT
from compat.cluster.submission import DeploymentRequest
from compat.compiler import control_group
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import ListedJob
from compat.compiler.spark.resources import GroupNeeds
from compat.compiler.transformations.resources import ResourceSpec
from compat.service.records import Role
from tests.compat.cluster.offline import OfflineCluster, submission


@pytest.fixture
def cluster(tmp_path: Path) -> OfflineCluster:
    return OfflineCluster(tmp_path)


@pytest.mark.parametrize(
    ("role", "may"), [(None, 401), ("read", 403), ("push", 403), ("deploy", 202), ("admin", 403)], ids=str
)
def test_only_the_role_deploy_has_programs_run(cluster: OfflineCluster, role: str | None, may: int) -> None:
    token = None if role is None else cluster.registry.tokens.create("me", Role[role.upper()])
    client = cluster.client(token, Role.NONE)
    sent = {"content": submission().encoded(), "headers": {"Content-Type": SUBMISSION}}
    answer = client.ask("PUT", f"/jobs/{uuid.uuid4().hex}", **sent)
    assert answer.status_code == may, answer.text
    assert len(cluster.jobs.all()) == (may == 202)
    if role == "admin":
        assert "role admin, which runs no programs" in answer.json()["detail"]
    if role is not None:
        assert client.ask("GET", "/jobs").status_code == 200


def test_jobs_are_listed_in_the_shape_of_those_of_a_store(cluster: OfflineCluster) -> None:
    id = uuid.uuid4().hex
    cluster.dispatcher.submit(id, submission("counting", slots=2).encoded(), "me")
    cluster.dispatcher.submit(uuid.uuid4().hex, submission("waiting").encoded(), "me")
    waiting, job = cluster.client().ask("GET", "/jobs/entries").json()["jobs"]
    assert set(job) == set(waiting) == set(ListedJob.__struct_fields__)
    assert (job["job_id"], job["name"], job["status"], job["alive"]) == (id, "counting", "INITIALIZING", True)
    assert (waiting["status"], waiting["alive"]) == ("CREATED", False)
    assert waiting["waiting"] == "waiting for 1 slots, 0 free"


def needs(cores: float, slots: int = 1) -> GroupNeeds:
    spec = ResourceSpec(cpu_cores=cores, task_heap_memory=1 << 20)
    return GroupNeeds(name="large", slots=slots, spec=spec, location="job.py:7")


LARGE = submission("c", groups=(needs(10_000.0),)).encoded()


def test_a_job_waits_for_cores_that_others_have_as_for_slots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_group, "cores", lambda: 2.0)
    cluster = OfflineCluster(tmp_path, slots=4)
    first, second = (uuid.uuid4().hex for _ in range(2))
    for id in (first, second):
        cluster.dispatcher.submit(id, submission(id, groups=(needs(1.5),)).encoded(), "me")
    assert (cluster.jobs.get(first).pool, cluster.jobs.get(second).pool) == (0, None)
    assert cluster.jobs.get(second).cores == 1.5
    waiting, _ = cluster.client().ask("GET", "/jobs/entries").json()["jobs"]
    assert waiting["waiting"].startswith(
        "waiting for 1 slots with 1.5 cores and 1 MB of memory, 3 slots with 0.5 cores and "
    )


def test_a_job_with_a_group_that_no_machine_has_is_refused(cluster: OfflineCluster) -> None:
    sent = {"content": LARGE, "headers": {"Content-Type": SUBMISSION}}
    answer = cluster.client().ask("PUT", f"/jobs/{uuid.uuid4().hex}", **sent)
    assert answer.status_code == 422, answer.text
    told = answer.json()["detail"]
    assert "The slot sharing group 'large' (job.py:7) asks for 10000 cores and 1 MB of memory in its slot" in told
    assert "start the cluster where there is more (--master)" in told
    assert cluster.jobs.all() == []


def deployment(**more: object) -> dict[str, object]:
    """A deployment as it is sent."""
    given = {"job": "count", "submission": submission("counting").encoded(), "fingerprint": "f", "watch": 0.0}
    request = DeploymentRequest(**{**given, **more})  # type: ignore[arg-type]
    return {"content": msgspec.msgpack.encode(request), "headers": {"Content-Type": DEPLOYMENT}}


def test_a_deployment_is_begun_once_and_told_of(cluster: OfflineCluster) -> None:
    client, id = cluster.client(), uuid.uuid4().hex
    empty = client.ask("GET", "/situation?job=count&called=counting").json()
    assert (empty["base"], empty["open"], empty["registry"]) == (None, None, None)
    begun = [client.ask("PUT", f"/deployments/{id}", **deployment()) for _ in range(2)]
    assert [each.status_code for each in begun] == [202, 202], begun[0].text
    found = client.ask("GET", f"/deployments/{id}").json()
    assert (found["step"], found["over"], found["runs"]) == ("starting", False, None)
    assert [each["step"] for each in found["steps"]] == ["starting"]
    other = client.ask("PUT", f"/deployments/{uuid.uuid4().hex}", **deployment())
    assert (other.status_code, "is under way" in other.json()["detail"]) == (409, True)
    situation = client.ask("GET", "/situation?job=count&called=counting").json()
    assert situation["open"]["id"] == id
    cluster.dispatcher._round()
    (job,) = cluster.jobs.all()
    assert (job.id, job.name, job.status.value) == (found["new"], "count", "INITIALIZING")
    assert [each["id"] for each in client.ask("GET", "/deployments").json()["deployments"]] == [id]
    cluster.jobs.end(job.id, JobStatus.FAILED, message="no")
    kept = client.ask("DELETE", f"/jobs/{job.id}")
    assert (kept.status_code, "part of a deployment that is under way" in kept.json()["detail"]) == (409, True)
    cluster.dispatcher._round()
    assert client.ask("GET", f"/deployments/{id}").json()["step"] == "failed"
    assert client.ask("DELETE", f"/jobs/{job.id}").status_code == 200


@pytest.mark.parametrize(
    ("id", "sent", "status", "said"),
    [
        ("short", deployment(), 400, "32 hexadecimal digits"),
        (uuid.uuid4().hex, {"content": b""}, 415, "application/x-compat-deployment"),
        (uuid.uuid4().hex, {**deployment(), "content": b"x"}, 400, "This is no deployment"),
        (uuid.uuid4().hex, deployment(submission=b"x"), 422, "This is no job"),
        (uuid.uuid4().hex, deployment(replaces="another"), 409, "than the one that was checked against, another"),
        (uuid.uuid4().hex, deployment(submission=submission("c", slots=3).encoded()), 422, "needs 3 slots"),
        (uuid.uuid4().hex, deployment(submission=LARGE), 422, "group 'large' (job.py:7) asks for 10000 cores"),
        (uuid.uuid4().hex, deployment(watch=-1.0), 409, "a time above 0"),
    ],
    ids=["id", "type", "body", "job", "replaced", "too wide", "too large", "time"],
)
def test_what_is_no_deployment_is_refused(
    cluster: OfflineCluster, id: str, sent: dict[str, object], status: int, said: str
) -> None:
    answer = cluster.client().ask("PUT", f"/deployments/{id}", **sent)
    assert (answer.status_code, said in answer.json()["detail"]) == (status, True), answer.text
    assert cluster.dispatcher.deploying.deployments.all() == []


def test_what_would_be_deployed_is_only_looked_at(cluster: OfflineCluster) -> None:
    answer = cluster.client().ask("PUT", f"/deployments/{uuid.uuid4().hex}", **deployment(dry_run=True))
    assert (answer.status_code, answer.json()) == (200, {"deployment": None, "sentence": ""})
    assert cluster.dispatcher.deploying.deployments.all() == []


@pytest.mark.parametrize(("role", "may"), [("read", 403), ("push", 403), ("deploy", 202), ("admin", 403)])
def test_only_the_role_deploy_deploys(cluster: OfflineCluster, role: str, may: int) -> None:
    client = cluster.client(cluster.registry.tokens.create("me", Role[role.upper()]), Role.NONE)
    assert client.ask("PUT", f"/deployments/{uuid.uuid4().hex}", **deployment()).status_code == may
    assert client.ask("GET", "/deployments").status_code == 200


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_when_a_job_is_submitted(
    cluster: OfflineCluster, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def full(*_: object) -> None:
        raise OSError(number, "there is no room")

    monkeypatch.setattr(cluster.dispatcher, "submit", full)
    sent = {"content": submission().encoded(), "headers": {"Content-Type": SUBMISSION}}
    answer = cluster.client().ask("PUT", f"/jobs/{uuid.uuid4().hex}", **sent)
    assert answer.status_code == 507
    assert "disk is full" in answer.json()["detail"]

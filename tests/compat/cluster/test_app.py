"""What a cluster answers over HTTP, and to whom."""

from __future__ import annotations

import uuid
from dataclasses import fields
from pathlib import Path

import pytest

from compat.cluster.app import SUBMISSION
from compat.compiler.spark.driver.store import ListedJob
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
    assert set(job) == set(waiting) == {field.name for field in fields(ListedJob)}
    assert (job["job_id"], job["name"], job["status"], job["alive"]) == (id, "counting", "INITIALIZING", True)
    assert (waiting["status"], waiting["alive"]) == ("CREATED", False)
    assert waiting["waiting"] == "waiting for 1 slots, 0 free"

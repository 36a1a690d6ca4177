"""Jobs that another version of compat submitted: they end at once, keep their state, and are deployed anew from it."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

from compat.cluster import dispatcher as dispatchers
from compat.cluster.deployments.records import BACK, Step, derived
from compat.cluster.master import JobProcess
from compat.cluster.records import Action, ClusterJob
from compat.cluster.submission import DeploymentRequest, SubmissionRefused, decoded, refuse_other
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.options import Assigned
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind, Row, write_rows
from tests.compat.cluster.fakes import wait_for
from tests.compat.cluster.offline import OfflineCluster, submission

OTHERS: list[dict[str, Any]] = [{"version": "0.0.9"}, {"python": (3, 1)}, {"format": 99}]
"""Submissions that this version cannot run: of another compat, another Python, and of a format that comes later."""


@pytest.fixture
def cluster(tmp_path: Path) -> OfflineCluster:
    return OfflineCluster(tmp_path)


def running(cluster: OfflineCluster, **other: Any) -> ClusterJob:
    """A job that another version submitted, and that has come to a checkpoint; its process is no more."""
    job = cluster.dispatcher.submit(uuid.uuid4().hex, submission("counting").encoded(), "me")
    cluster.place.keep(job.id, submission("counting", **other).encoded())
    store = cluster.place.store
    log = SnapshotLog.create(store.state(job.id))
    row = Row("0" * 32, Kind.VALUE, 1, "count", b"k", b"", b"", b"1")
    assert log.commit(1, [write_rows(log.path, [row], 1)], {"token": "t"})
    store.write(JobEntry(job_id=job.id, name="counting", status="RUNNING", pid=0, epoch=1, records=7))
    return cluster.jobs.get(job.id)


def begin(cluster: OfflineCluster, job: ClusterJob) -> ClusterJob:
    """Start its process, in this one, as the dispatcher would, and have the dispatcher hear of its end."""
    cluster.dispatcher._round()
    number = cluster.jobs.get(job.id).attempt
    assert JobProcess(cluster.place, Assigned(job.id, number), "pool-0").run() == 2
    cluster.dispatcher._attempts[job.id].since -= dispatchers._STARTING
    cluster.dispatcher._round()
    return cluster.jobs.get(job.id)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other)))
def test_what_another_version_submits_is_refused_in_a_sentence(cluster: OfflineCluster, other: dict[str, Any]) -> None:
    with pytest.raises(SubmissionRefused, match=r"submitted by .* Submit it with the cluster's version\."):
        cluster.dispatcher.submit(uuid.uuid4().hex, submission(**other).encoded(), "me")


def test_what_another_version_submitted_is_read_and_not_run() -> None:
    found = decoded(submission("theirs", version="0.0.9").encoded())
    assert found.name == "theirs"
    with pytest.raises(SubmissionRefused, match=r"compat 0\.0\.9, and the cluster runs compat"):
        refuse_other(found)


@pytest.mark.parametrize("other", [*OTHERS, {"setup": b"no pickle"}], ids=lambda other: next(iter(other)))
def test_such_a_job_fails_with_its_first_attempt_and_keeps_its_checkpoint(
    cluster: OfflineCluster, other: dict[str, Any]
) -> None:
    ended = begin(cluster, running(cluster, **other))
    assert (ended.status, ended.attempt) == (JobStatus.FAILED, 1)
    state = cluster.place.store.state(ended.id)
    assert "The job was submitted by" in ended.message
    assert f"Its state is kept, at checkpoint 1 in {state}: compat deploy goes on from there." in ended.message
    entry = cluster.place.store.entry(ended.id)
    assert entry is not None
    assert (entry.name, entry.epoch, entry.records) == ("counting", 1, 7)
    assert SnapshotLog.open(state).epoch == 1


def test_such_a_job_is_cancelled(cluster: OfflineCluster) -> None:
    job = running(cluster, version="0.0.9")
    cluster.dispatcher._round()
    cluster.dispatcher._attempts[job.id].over = True
    cluster.dispatcher.ask(job.id, Action.CANCEL)
    cluster.dispatcher._round()
    wait_for(lambda: cluster.jobs.get(job.id).status is JobStatus.CANCELED, 10)


def deploy(cluster: OfflineCluster, replaces: str) -> str:
    id = uuid.uuid4().hex
    data = submission("counting").encoded()
    request = DeploymentRequest(job="counting", submission=data, fingerprint="f", watch=0, replaces=replaces)
    assert cluster.dispatcher.deploy(id, request, "me").deployment is not None
    return id


def test_such_a_job_is_deployed_anew_from_its_checkpoint(cluster: OfflineCluster) -> None:
    job = begin(cluster, running(cluster, version="0.0.9"))
    situation = cluster.dispatcher.deploying.situation("counting")
    assert (situation.base, situation.state) == (job.id, cluster.place.store.state(job.id))
    deploy(cluster, job.id)


@pytest.mark.parametrize("other", OTHERS, ids=lambda other: next(iter(other)))
def test_such_a_job_is_stopped_by_a_deployment_and_told_where_it_cannot_come_back(
    cluster: OfflineCluster, other: dict[str, Any]
) -> None:
    job = running(cluster, **other)
    id = deploy(cluster, job.id)
    assert cluster.place.job(derived(id, BACK)).exists()
    cluster.jobs.end(job.id, JobStatus.FINISHED, stopped_with="/savepoint")
    cluster.dispatcher._round()
    (open,) = cluster.dispatcher.deploying.deployments.get(id)
    assert (open.step, open.savepoint) == (Step.STARTING, "/savepoint")
    cluster.dispatcher._round()
    cluster.jobs.end(open.new, JobStatus.FAILED, message="No.")
    cluster.dispatcher._round()
    if cluster.jobs.with_id(open.back):  # it can be read, and is tried
        begin(cluster, cluster.jobs.get(open.back))
        cluster.dispatcher._round()
    (ended,) = cluster.dispatcher.deploying.deployments.get(id)
    assert ended.step is Step.FAILED
    assert "Nor does the old version run again: " in ended.message
    assert "submitted by" in ended.message
    assert "Its state is in /savepoint." in ended.message

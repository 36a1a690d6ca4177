"""A job by its resource: what the operator says of it, and its JobManager through the API of Kubernetes. ``kubectl`` is one of
ours, which answers from files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from compat.running.jobs import Asked, running_job
from compat.running.rest import ClusterError
from tests.compat.running.clusters import JOB, answers

STARTED = "1767000000000"
"""In December 2025."""
KUBECTL = """#!/bin/sh
exec "{python}" "{script}" "$@"
"""
ANSWER = """
import json, sys
from pathlib import Path
here = Path(__file__).parent
with open(here / "asked", "a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
found = json.loads((here / "answers").read_text()).get(" ".join(sys.argv[1:]))
if found is None:
    sys.exit("Error from server (NotFound): no such thing")
print(json.dumps(found))
"""
GET = "get {}.flink.apache.org {}-n streams -o json"
DEPLOYMENT = GET.format("flinkdeployments", "small ")
SESSION_JOB = GET.format("flinksessionjobs", "small ")
SNAPSHOTS = GET.format("flinkstatesnapshots", "")


def resource(
    kind: str = "FlinkDeployment", state: str = "RUNNING", lifecycle: str = "STABLE", **job: Any
) -> dict[str, Any]:
    spec: dict[str, Any] = {"flinkVersion": "v1_20", "job": {"upgradeMode": "savepoint", "parallelism": 2}}
    if kind == "FlinkSessionJob":
        spec = {"deploymentName": "session", **spec}
    return {
        "apiVersion": "flink.apache.org/v1beta1",
        "kind": kind,
        "metadata": {"name": "small"},
        "spec": spec,
        "status": {
            "lifecycleState": lifecycle,
            "jobStatus": {"jobId": JOB, "state": state, "startTime": STARTED, **job},
        },
    }


def snapshot(path: str, at: str, job: str = "small", state: str = "COMPLETED") -> dict[str, Any]:
    status = {"state": state, "path": path, "resultTimestamp": at}
    return {"spec": {"jobReference": {"kind": "FlinkDeployment", "name": job}}, "status": status}


def rest(service: str = "small") -> dict[str, Any]:
    base = f"get --raw /api/v1/namespaces/streams/services/{service}-rest:rest/proxy"
    return {f"{base}{path}": page for path, page in answers(path="s3://bucket/chk-7").pages.items()}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has ``kubectl`` give these answers; it tells what it was asked."""

    def answer(answers: dict[str, Any]) -> Path:
        command = tmp_path / "kubectl"
        (tmp_path / "answer.py").write_text(ANSWER)
        command.write_text(KUBECTL.format(python=sys.executable, script=tmp_path / "answer.py"))
        command.chmod(0o755)
        (tmp_path / "answers").write_text(json.dumps(answers))
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path / "asked"

    return answer


@pytest.mark.parametrize(("kind", "service"), [("FlinkDeployment", "small"), ("FlinkSessionJob", "session")])
def test_a_job_that_runs_is_told_by_its_jobmanager(kubectl: Any, kind: str, service: str) -> None:
    asked = kubectl({DEPLOYMENT if kind == "FlinkDeployment" else SESSION_JOB: resource(kind), **rest(service)})
    found = running_job("k8s:streams/small", Asked())
    assert found.kept is not None
    assert (found.name, found.state, found.flink, found.kept.path) == ("small", "RUNNING", "1.20", "s3://bucket/chk-7")
    assert found.resource is not None
    assert found.resource.deployment.upgrade == "savepoint"
    assert all(json.loads(line)[0] == "get" for line in asked.read_text().splitlines())


TOLD = {
    "the savepoint of the upgrade, where it is suspended": (
        resource(lifecycle="SUSPENDED", state="FINISHED", upgradeSavepointPath="s3://b/up"),
        [snapshot("s3://b/snap", "2026-01-01T00:00:00Z")],
        "s3://b/up",
    ),
    "the last FlinkStateSnapshot, where it runs": (
        resource(upgradeSavepointPath="s3://b/up"),
        [
            snapshot("s3://b/2", "2026-01-02T00:00:00Z"),
            snapshot("s3://b/1", "2026-01-01T00:00:00Z"),
            snapshot("s3://b/other", "2026-01-03T00:00:00Z", job="other"),
            snapshot("s3://b/begun", "2026-01-03T00:00:00Z", state="IN_PROGRESS"),
        ],
        "s3://b/2",
    ),
    "the last savepoint that the status has": (
        resource(savepointInfo={"lastSavepoint": {"location": "s3://b/last", "timeStamp": 1767000005000}}),
        [],
        "s3://b/last",
    ),
}
OF_THE_VERSION_BEFORE = {
    "what it was started from": (resource(upgradeSavepointPath="s3://b/up"), []),
    "a snapshot of before it started": (resource(), [snapshot("s3://b/1", "2025-01-01T00:00:00Z")]),
    "a savepoint of before it started": (
        resource(savepointInfo={"lastSavepoint": {"location": "s3://b/last", "timeStamp": 5}}),
        [],
    ),
    "nothing tells when it started": (resource(startTime=None), [snapshot("s3://b/1", "2026-01-01T00:00:00Z")]),
}


@pytest.mark.parametrize("name", TOLD)
def test_a_job_whose_jobmanager_does_not_answer_is_told_by_its_resource(kubectl: Any, name: str) -> None:
    document, snapshots, path = TOLD[name]
    kubectl({DEPLOYMENT: document, SNAPSHOTS: {"items": snapshots}})
    found = running_job("k8s:streams/small", Asked())
    assert found.kept is not None
    assert found.kept.path == path
    assert found.details is None


@pytest.mark.parametrize("name", OF_THE_VERSION_BEFORE)
def test_what_the_version_before_left_is_not_the_state_of_the_job(kubectl: Any, name: str) -> None:
    """Against it, another version than the one that runs would be judged."""
    document, snapshots = OF_THE_VERSION_BEFORE[name]
    kubectl({DEPLOYMENT: document, SNAPSHOTS: {"items": snapshots}})
    with pytest.raises(ClusterError, match="kubectl: Error from server"):
        running_job("k8s:streams/small", Asked())


@pytest.mark.parametrize(
    ("argument", "answers", "says"),
    [
        ("k8s:small", {}, "names no job: write k8s:NAMESPACE/NAME"),
        ("k8s:streams/--raw", {}, "is no name of a resource"),
        ("k8s:streams/small", {}, "kubectl: Error from server"),
        ("k8s:streams/small", {DEPLOYMENT: resource()}, "kubectl: Error from server"),
        ("k8s:streams/small", {DEPLOYMENT: {"metadata": 3}}, "streams/small is no resource of Flink's operator"),
    ],
)
def test_what_cannot_be_told_is_said(kubectl: Any, argument: str, answers: dict[str, Any], says: str) -> None:
    kubectl(answers)
    with pytest.raises(ClusterError) as refused:
        running_job(argument, Asked())
    assert says in str(refused.value)


def test_a_savepoint_is_not_taken_of_a_job_that_is_suspended(kubectl: Any) -> None:
    kubectl({DEPLOYMENT: resource(lifecycle="SUSPENDED", upgradeSavepointPath="s3://b/up")})
    with pytest.raises(ClusterError, match="small does not run: no savepoint can be taken of it"):
        running_job("k8s:streams/small", Asked(savepoint=""))


def test_without_kubectl_the_message_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match="kubectl, which is not on the PATH"):
        running_job("k8s:streams/small", Asked())

"""Resources of Flink's Kubernetes operator in a cluster: their requests, and the operator's status of their job.

Flink's operator: ``FlinkDeploymentStatus``, ``JobStatus``, ``FlinkStateSnapshot``. They are read with ``kubectl``, and nothing
is changed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import datetime

import msgspec
from msgspec import Struct

from compat.deployment.resources import GROUP, Deployment, MalformedResource, Resource, deployment_of
from compat.escaping import visible
from compat.running.rest import ClusterError, NotThere
from compat.transport import MOST_TOLD

_DEPLOYMENTS, _SESSION_JOBS, _SNAPSHOTS = (
    f"{kind}.{GROUP}" for kind in ("flinkdeployments", "flinksessionjobs", "flinkstatesnapshots")
)


class Kubectl:
    """``kubectl``, with the configuration that it finds."""

    PATIENCE = 60.0
    """The time limit for an answer, in seconds."""

    def run(self, *arguments: str, given: bytes | None = None) -> bytes:
        """Its output. Raises NotThere for a missing resource, ClusterError for any other failure."""
        try:
            done = subprocess.run(
                ["kubectl", *arguments], input=given, capture_output=True, timeout=self.PATIENCE, check=False
            )
        except FileNotFoundError as error:
            raise ClusterError("Resources of Kubernetes are read by kubectl, which is not on the PATH.") from error
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"kubectl gave no answer within {self.PATIENCE:g} s.") from error
        if done.returncode:
            said = visible(done.stderr.decode("utf-8", "replace").strip())[:MOST_TOLD]
            raise (NotThere if "NotFound" in said else ClusterError)(f"kubectl: {said}")
        return done.stdout


class ByKubectl:
    """Requests by ``kubectl``, which reaches the service of a JobManager through the API of Kubernetes."""

    def __init__(self, kubectl: Kubectl, namespace: str, service: str) -> None:
        self._kubectl, self._base = kubectl, f"/api/v1/namespaces/{namespace}/services/{service}:rest/proxy"
        self.shown = f"the service {service} in {namespace}"

    def get(self, path: str) -> bytes:
        """The cluster's answer. Raises ClusterError."""
        return self._kubectl.run("get", "--raw", self._base + path)

    def post(self, path: str, body: bytes) -> bytes:
        """The answer to a request that changes something. Raises ClusterError."""
        return self._kubectl.run("create", "--raw", self._base + path, "-f", "-", given=body)


class _LastSavepoint(Struct, frozen=True, kw_only=True, rename="camel"):
    location: str | None = None
    time_stamp: int = 0


class _SavepointInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    last_savepoint: _LastSavepoint | None = None


class _JobStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    job_id: str | None = None
    state: str | None = None
    start_time: str | int | None = None
    upgrade_savepoint_path: str | None = None
    savepoint_info: _SavepointInfo | None = None


class _Status(Struct, frozen=True, kw_only=True, rename="camel"):
    job_status: _JobStatus | None = None
    lifecycle_state: str | None = None


class _SessionSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    deployment_name: str | None = None


class _Observed(Struct, frozen=True, kw_only=True):
    status: _Status | None = None
    spec: _SessionSpec | None = None


class _JobReference(Struct, frozen=True, kw_only=True):
    name: str = ""


class _SnapshotSpec(Struct, frozen=True, kw_only=True, rename="camel"):
    job_reference: _JobReference | None = None


class _SnapshotStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    state: str | None = None
    path: str | None = None
    result_timestamp: datetime | None = None


class _StateSnapshot(Struct, frozen=True, kw_only=True):
    spec: _SnapshotSpec | None = None
    status: _SnapshotStatus | None = None


class _Snapshots(Struct, frozen=True):
    items: tuple[_StateSnapshot, ...] = ()


class Found(Struct, frozen=True, kw_only=True):
    """A job's resource: its deployment, the running job, the cluster's service, and the latest savepoint in its status.

    ``suspended`` is whether the job was stopped, to go on from that savepoint.
    """

    deployment: Deployment
    service: str
    job_id: str | None
    state: str | None
    suspended: bool
    savepoint: str | None


def find(kubectl: Kubectl, namespace: str, name: str) -> Found:
    """The FlinkDeployment, or FlinkSessionJob, of a name. Raises ClusterError."""
    if name.startswith("-") or namespace.startswith("-"):
        raise ClusterError(f"{visible(namespace)}/{visible(name)} is no name of a resource.")
    try:
        document = kubectl.run("get", _DEPLOYMENTS, name, "-n", namespace, "-o", "json")
    except NotThere:
        document = kubectl.run("get", _SESSION_JOBS, name, "-n", namespace, "-o", "json")
    try:
        deployment = deployment_of(msgspec.json.decode(document, type=Resource))
        observed = msgspec.json.decode(document, type=_Observed)
    except (MalformedResource, ValueError, RecursionError) as error:
        raise ClusterError(f"{namespace}/{name} is no resource of Flink's operator: {visible(str(error))}") from error
    status = observed.status or _Status()
    job = status.job_status or _JobStatus()
    suspended = status.lifecycle_state == "SUSPENDED" or job.state in ("SUSPENDED", "FINISHED")
    spec = observed.spec or _SessionSpec()
    return Found(
        deployment=deployment,
        service=spec.deployment_name or name,
        job_id=job.job_id,
        state=job.state,
        suspended=suspended,
        savepoint=_last(job, suspended, list(_snapshots(kubectl, namespace, name))),
    )


def _last(job: _JobStatus, suspended: bool, snapshots: list[tuple[float, str]]) -> str | None:
    """The savepoint from which the job would go on: that of the upgrade for which it was suspended, else the last one.

    What was taken before the job started, as what it was started from, is of the version before it.
    """
    if suspended and job.upgrade_savepoint_path:
        return job.upgrade_savepoint_path
    info = None if job.savepoint_info is None else job.savepoint_info.last_savepoint
    if info is not None and info.location:
        snapshots = [*snapshots, (info.time_stamp / 1000, info.location)]
    try:
        started = int(job.start_time or "") / 1000
    except ValueError:  # nothing tells which of them are its own
        return None
    return max(((at, path) for at, path in snapshots if at >= started), default=(0.0, None))[1]


def _snapshots(kubectl: Kubectl, namespace: str, name: str) -> Iterator[tuple[float, str]]:
    """The job's snapshots that are complete: when each was, in seconds since 1970, and its path.

    None if the operator knows no such resources.
    """
    try:
        answer = kubectl.run("get", _SNAPSHOTS, "-n", namespace, "-o", "json")
        items = msgspec.json.decode(answer, type=_Snapshots).items
    except (ClusterError, ValueError, RecursionError):
        return
    for each in items:
        reference = None if each.spec is None else each.spec.job_reference
        status = each.status or _SnapshotStatus()
        if reference is None or reference.name != name or status.state != "COMPLETED" or not status.path:
            continue
        if status.result_timestamp is not None:
            yield status.result_timestamp.timestamp(), status.path

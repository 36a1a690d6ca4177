"""The job that ``flink:URL`` or ``k8s:NAMESPACE/NAME`` refers to, with the latest snapshot of its state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from urllib.parse import unquote, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from compat.escaping import visible
from compat.running.kubernetes import ByKubectl, Found, Kubectl, find
from compat.running.rest import Access, ByHttp, Cluster, ClusterError, Details, Listed

FLINK, KUBERNETES = "flink:", "k8s:"
SAVEPOINT_TAKES = 600.0
"""Seconds that a cluster gets to write a requested savepoint."""

_ID = re.compile(r"[0-9a-f]{32}")
_ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})
_MOST_NAMED = 8
"""The most jobs that a message names."""


class Asked(Struct, frozen=True, kw_only=True):
    """The access to clusters: their requirements, and where a savepoint is to be written first, if one is; "" stands
    for the cluster's configured folder.
    """

    access: Access = Access()
    savepoint: str | None = None


class Kept(Struct, frozen=True, kw_only=True):
    """The latest snapshot of a job: its place, its description, and the state in it by vertex, in bytes, if known.

    ``at`` is when it was taken, in seconds since 1970, 0 if that is not known.
    """

    path: str | None
    what: str
    at: float = 0.0
    sizes: dict[str, int] | None = None


class RunningJob(Struct, frozen=True, kw_only=True):
    """A job of a cluster. ``details`` are None if nothing runs, ``flink`` is its version, ``kept`` its last snapshot.

    ``resource`` is that of Kubernetes where it was found by one.
    """

    argument: str
    name: str
    state: str
    flink: str | None
    kept: Kept | None
    details: Details | None = None
    resource: Found | None = None


def running_job(argument: str, asked: Asked) -> RunningJob:
    """The job that an argument names. Raises ClusterError if there is none, or several fit."""
    if argument.startswith(KUBERNETES):
        return _of_kubernetes(argument, asked)
    cluster, wanted = _cluster(argument.removeprefix(FLINK), asked.access)
    return _of_cluster(argument, cluster, _chosen(cluster, wanted).id, asked)


class ListedJob(Struct, frozen=True, kw_only=True):
    """A job of a cluster as ``compat job list --flink`` shows it. Times are seconds since 1970.

    ``snapshot`` is the path of its latest snapshot, None if that has none, ``what`` describes it.
    """

    job_id: str
    name: str
    status: str
    started: float
    snapshot: str | None = None
    what: str = ""
    taken: float = 0.0


def listed(url: str, access: Access, *, everything: bool) -> list[ListedJob]:
    """The jobs of the cluster at an address that run, or all, each with its last snapshot. Raises ClusterError."""
    cluster = Cluster(ByHttp(_require_url(url.removeprefix(FLINK)), access))
    found = []
    for job in cluster.jobs():
        if everything or job.state not in _ENDED:
            kept = _kept(cluster, job.id, job.state, with_sizes=False) or Kept(path=None, what="no checkpoint")
            told = ListedJob(job_id=job.id, name=job.name, status=job.state, started=job.started / 1000)
            found.append(replace(told, snapshot=kept.path, what=kept.what, taken=kept.at))
    return found


def _of_cluster(argument: str, cluster: Cluster, job: str, asked: Asked) -> RunningJob:
    details, flink = cluster.details(job), cluster.config.flink
    if asked.savepoint is None:
        kept = _kept(cluster, job, details.state)
    else:
        path = cluster.take_savepoint(job, asked.savepoint or None, SAVEPOINT_TAKES)
        kept = Kept(path=path, what="a savepoint that was taken for this check")
    return RunningJob(
        argument=argument, name=details.name, state=details.state, flink=flink, kept=kept, details=details
    )


def _kept(cluster: Cluster, job: str, state: str, *, with_sizes: bool = True) -> Kept | None:
    latest = cluster.latest(job, runs=state not in _ENDED)
    if latest is None:
        return None
    sizes = None
    with suppress(ClusterError):  # the statistics of old checkpoints are not kept for ever
        sizes = cluster.sizes(job, latest.id) if with_sizes else None
    return Kept(path=latest.path, what=f"{latest.kind} {latest.id}", at=latest.at / 1000, sizes=sizes)


def _cluster(url: str, access: Access) -> tuple[Cluster, str | None]:
    """The cluster at an address, and which of its jobs is meant, which is the part after the address.

    A cluster may be behind a path itself: the longest address that answers as Flink does is its own.
    """
    whole = Cluster(ByHttp(_require_url(url), access))
    base, _, last = url.rstrip("/").rpartition("/")
    if not urlsplit(url).path.strip("/"):
        return whole, None
    with suppress(ClusterError):
        _ = whole.config
        return whole, None
    return Cluster(ByHttp(base, access)), unquote(last)


def _require_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ClusterError(
            f"{visible(url)!r} is no address of a JobManager: write flink:http://HOST:8081, flink:http://HOST:8081/NAME or "
            "flink:http://HOST:8081/JOBID."
        )
    return url


def _chosen(cluster: Cluster, wanted: str | None) -> Listed:
    """The job that is meant: by its id or name, and the one that runs where several have the name or nothing is said."""
    jobs = cluster.jobs()
    if wanted is None:
        found: Sequence[Listed] = jobs
    elif _ID.fullmatch(wanted):
        found = [job for job in jobs if job.id == wanted]
    else:
        found = [job for job in jobs if job.name == wanted]
    found = [job for job in found if job.state not in _ENDED] or found
    if len(found) == 1:
        return found[0]
    if wanted is not None and not found:
        near = get_close_matches(wanted, {job.name for job in jobs}, n=1)
        meant = f" Did you mean {visible(near[0])!r}?" if near else _names(jobs)
        raise ClusterError(f"{cluster.shown} has no job {visible(wanted)!r}.{meant}")
    if not found:
        raise ClusterError(f"{cluster.shown} has no jobs.")
    which = "several jobs" if wanted is None else f"several jobs {visible(wanted)!r}"
    raise ClusterError(f"{cluster.shown} has {which}: name one by its id.{_names(found)}")


def _names(jobs: Sequence[Listed]) -> str:
    told = [f"{visible(job.name)} ({job.id}, {job.state})" for job in jobs[:_MOST_NAMED]]
    more = [f"{len(jobs) - _MOST_NAMED} more"] if len(jobs) > _MOST_NAMED else []
    return f" It has {', '.join([*told, *more])}." if told else " It has none."


def _of_kubernetes(argument: str, asked: Asked) -> RunningJob:
    """The job of a resource of Flink's operator: as its JobManager tells it, and where none answers, as the resource does."""
    namespace, slash, name = argument.removeprefix(KUBERNETES).partition("/")
    if not (slash and namespace and name):
        raise ClusterError(
            f"{visible(argument)!r} names no job: write k8s:NAMESPACE/NAME, the name of a FlinkDeployment."
        )
    kubectl = Kubectl()
    resource = find(kubectl, namespace, name)
    if resource.job_id is not None and not resource.suspended:
        cluster = Cluster(ByKubectl(kubectl, namespace, f"{resource.service}-rest"))
        try:
            return replace(_of_cluster(argument, cluster, resource.job_id, asked), resource=resource)
        except ClusterError:
            if asked.savepoint is not None or resource.savepoint is None:
                raise
    elif asked.savepoint is not None:
        raise ClusterError(f"{visible(name)} does not run: no savepoint can be taken of it.")
    kept = None
    if resource.savepoint is not None:
        kept = Kept(path=resource.savepoint, what=f"the savepoint that the resource {visible(name)} tells")
    state = "SUSPENDED" if resource.suspended else resource.state or "unknown"
    return RunningJob(
        argument=argument, name=name, state=state, flink=resource.deployment.flink, kept=kept, resource=resource
    )

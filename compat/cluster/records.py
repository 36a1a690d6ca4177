"""The records of a cluster, as frozen values. Times are seconds since 1970."""

from __future__ import annotations

from enum import StrEnum

from compat.compiler.executiongraph.states import JobStatus
from compat.state.frozen import frozen


class Action(StrEnum):
    """What is asked of a running job, by the words of the job's mailbox."""

    SAVEPOINT = "savepoint"
    STOP = "stop"
    CANCEL = "cancel"


@frozen
class ClusterJob:
    """A job of a cluster.

    ``attempt`` is the number of the last process that was started for it, which is also its fencing token; 0 before it got its
    slots. ``pool`` is its fair pool in Spark while it has slots. ``stopped_with`` is the savepoint that it was stopped with.
    """

    id: str
    number: int
    name: str
    program: str
    slots: int
    status: JobStatus
    attempt: int
    pool: int | None
    by: str
    submitted_at: float
    started_at: float | None
    ended_at: float | None
    restored_from: str | None
    stopped_with: str | None
    message: str


@frozen
class FormerJob:
    """The last job of a name that had state, and is listed no more. ``state`` is where that is, None where it is gone."""

    name: str
    job: str
    number: int
    status: JobStatus
    state: str | None

    @classmethod
    def of(cls, job: ClusterJob, state: str | None) -> FormerJob:
        """A job that is about to be removed, and leaves that state."""
        return cls(name=job.name, job=job.id, number=job.number, status=job.status, state=state)


@frozen
class JobRequest:
    """Something that was asked of a job; ``done_at`` is None until it has an outcome: a ``location`` or an ``error``."""

    id: str
    job: str
    action: Action
    path: str | None
    drain: bool
    at: float
    done_at: float | None
    location: str | None
    error: str | None


@frozen
class JobFailure:
    """The end of an attempt that was not asked for."""

    at: float
    attempt: int
    cause: str


@frozen
class Leader:
    """Who leads a cluster: ``token`` grows with each, ``url`` is where it listens."""

    token: int
    holder: str
    url: str
    renewed_at: float

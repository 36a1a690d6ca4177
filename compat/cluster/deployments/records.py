"""Upgrades of jobs in the cluster's database: the progress of each, and the steps that it has taken."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    func,
    insert,
    or_,
    select,
    update,
)

from compat.cluster.registry import METADATA, Jobs
from compat.service.database import AnyRow

NEW, BACK = "new", "back"
"""The jobs that a deployment may start, for :func:`derived`."""


class Step(StrEnum):
    """The progress of a deployment; the last five are ends."""

    STOPPING = "stopping"
    """The old job is stopped with a savepoint."""
    STARTING = "starting"
    """The new one is started, from there."""
    WATCHING = "watching"
    """It runs, and is watched."""
    PROMOTING = "promoting"
    """The registry is told that it runs."""
    RETURNING = "returning"
    """It failed; the old one is started again, from the same savepoint."""
    DEPLOYED = "deployed"
    NOT_PROMOTED = "not promoted"
    """The new one runs, and the registry did not take that."""
    RETURNED = "returned"
    """The old one runs again."""
    ABANDONED = "abandoned"
    """The old one could not be stopped with a savepoint: nothing was started."""
    FAILED = "failed"
    """Neither runs; the savepoint is there."""

    @property
    def over(self) -> bool:
        """True for an end."""
        return self in _ENDS


_ENDS = frozenset({Step.DEPLOYED, Step.NOT_PROMOTED, Step.RETURNED, Step.ABANDONED, Step.FAILED})


class Taken(Struct, frozen=True, kw_only=True):
    """A finished step: when, in seconds since 1970, and a remark."""

    step: Step
    at: float
    message: str


class Deployment(Struct, frozen=True, kw_only=True):
    """The upgrade of a job from one program to the next. Times are in seconds since 1970, durations in seconds.

    ``job`` is the job's name, ``fingerprint`` the program's. ``old`` is the id of the job that runs before, or None; ``new`` is
    the job that replaces it; ``back`` is the job that runs the old program again if ``new`` fails. The ids are chosen before
    the first step, so that a finished step is recognised later. ``savepoint`` is the one that ``new`` starts from. ``version``
    is its number in the registry. ``since`` is the time when the step began. If a recipe moves the state, ``checked`` is the
    digest of the old job's plan after the recipe, and ``new`` starts from that state only.
    """

    id: str
    number: int
    job: str
    program: str
    fingerprint: str
    slots: int
    watch: float
    by: str
    at: float
    old: str | None
    new: str
    back: str
    version: int | None
    step: Step
    since: float
    savepoint: str | None
    message: str
    ended_at: float | None
    checked: str | None

    @property
    def stop(self) -> str:
        """The id of the request that stops the old job."""
        return derived(self.id, "stop")

    @property
    def runs(self) -> str | None:
        """The job that runs after the deployment has ended; None before that, or if no job runs."""
        match self.step:
            case Step.DEPLOYED | Step.NOT_PROMOTED:
                return self.new
            case Step.RETURNED:
                return self.back
            case Step.ABANDONED:
                return self.old
        return None

    @property
    def end(self) -> str:
        """The id of the request that ends a new job which fails to start."""
        return derived(self.id, "end")


class Started(Struct, frozen=True, kw_only=True):
    """The deployment that started a job, and the job's version number in the registry, or None."""

    deployment: Deployment
    version: int | None


def derived(id: str, what: str) -> str:
    """An id derived from another one."""
    return uuid.uuid5(uuid.UUID(id), what).hex


_deployments = Table(
    "cluster_deployments",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("job", Text, nullable=False),
    Column("program", Text, nullable=False),
    Column("fingerprint", String(64), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("watch", Double, nullable=False),
    Column("by", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("old", String(32)),
    Column("new", String(32), nullable=False),
    Column("back", String(32), nullable=False),
    Column("version", Integer),
    Column("step", String(20), nullable=False),
    Column("since", Double, nullable=False),
    Column("savepoint", Text),
    Column("message", Text, nullable=False),
    Column("ended_at", Double),
    Column("checked", Text),
    Index("cluster_deployments_by_job", "job"),
)
_steps = Table(
    "cluster_deployment_steps",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("deployment", ForeignKey("cluster_deployments.id"), nullable=False),
    Column("step", String(20), nullable=False),
    Column("at", Double, nullable=False),
    Column("message", Text, nullable=False),
    Index("cluster_deployment_steps_by_deployment", "deployment"),
)
_OVER = tuple(step.value for step in _ENDS)


class Deployments:
    """The deployments of a cluster. Only the leader writes, in transactions that prove it (see ``registry``)."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def add(
        self,
        id: str,
        *,
        job: str,
        program: str,
        fingerprint: str,
        slots: int,
        watch: float,
        by: str,
        old: str | None,
        version: int | None,
        savepoint: str | None,
        checked: str | None = None,
    ) -> Deployment:
        """Add a deployment. It begins with the stop of the old job, or with the start of the new one if none runs."""
        now = time.time()
        step = Step.STARTING if old is None else Step.STOPPING
        with self._jobs.leading() as connection:
            number = (connection.execute(select(func.max(_deployments.c.number))).scalar() or 0) + 1
            connection.execute(
                insert(_deployments).values(
                    id=id,
                    number=number,
                    job=job,
                    program=program,
                    fingerprint=fingerprint,
                    slots=slots,
                    watch=watch,
                    by=by,
                    at=now,
                    old=old,
                    new=derived(id, NEW),
                    back=derived(id, BACK),
                    version=version,
                    step=step.value,
                    since=now,
                    savepoint=savepoint,
                    message="",
                    checked=checked,
                )
            )
            _note(connection, id, step, now, "" if checked is None else f"its state is moved by a recipe, to {checked}")
        return self.get(id)[0]

    def get(self, id: str) -> list[Deployment]:
        """The deployment with this id, or None."""
        with self._jobs.reading() as connection:
            return [_of(row) for row in connection.execute(select(_deployments).where(_deployments.c.id == id))]

    def last(self, job: str) -> Deployment | None:
        """The last deployment of a job."""
        query = select(_deployments).where(_deployments.c.job == job).order_by(_deployments.c.number.desc())
        with self._jobs.reading() as connection:
            row = connection.execute(query.limit(1)).first()
        return None if row is None else _of(row)

    def all(self, most: int = 100) -> list[Deployment]:
        """The last deployments, the newest first."""
        with self._jobs.reading() as connection:
            rows = connection.execute(select(_deployments).order_by(_deployments.c.number.desc()).limit(most))
            return [_of(row) for row in rows]

    def open(self) -> list[Deployment]:
        """The deployments that have not ended, in order."""
        query = select(_deployments).where(_deployments.c.step.not_in(_OVER)).order_by(_deployments.c.number)
        with self._jobs.reading() as connection:
            return [_of(row) for row in connection.execute(query)]

    def latest(self) -> list[Deployment]:
        """The last deployment of each job."""
        newest = select(func.max(_deployments.c.number)).group_by(_deployments.c.job)
        with self._jobs.reading() as connection:
            rows = connection.execute(select(_deployments).where(_deployments.c.number.in_(newest)))
            return [_of(row) for row in rows]

    def started(self, jobs: Collection[str]) -> dict[str, Started]:
        """The deployments that started jobs, by the ids of the jobs; jobs that were not deployed are missing."""
        if not jobs:
            return {}
        query = select(_deployments).where(or_(_deployments.c.new.in_(jobs), _deployments.c.back.in_(jobs)))
        with self._jobs.reading() as connection:
            rows = [_of(row) for row in connection.execute(query)]
        before = self.started({each.old for each in rows if each.back in jobs and each.old is not None})
        found = {each.new: Started(deployment=each, version=each.version) for each in rows}
        for each in rows:
            earlier = before.get(each.old or "")
            found[each.back] = Started(deployment=each, version=None if earlier is None else earlier.version)
        return {id: each for id, each in found.items() if id in jobs}

    def steps(self, id: str) -> list[Taken]:
        """The steps that a deployment has taken, in order."""
        query = select(_steps).where(_steps.c.deployment == id).order_by(_steps.c.id)
        with self._jobs.reading() as connection:
            return [Taken(step=Step(row.step), at=row.at, message=row.message) for row in connection.execute(query)]

    def to(self, deployment: Deployment, step: Step, message: str = "", savepoint: str | None = None) -> None:
        """Advance a deployment by a step, unless it is done already."""
        now = time.time()
        changed: dict[str, Any] = {"step": step.value, "since": now}
        if message:
            changed["message"] = message
        if savepoint is not None:
            changed["savepoint"] = savepoint
        if step.over:
            changed["ended_at"] = now
        with self._jobs.leading() as connection:
            done = connection.execute(
                update(_deployments)
                .where(_deployments.c.id == deployment.id, _deployments.c.step == deployment.step.value)
                .values(**changed)
            )
            if done.rowcount == 1:
                _note(connection, deployment.id, step, now, message)


def _note(connection: Connection, id: str, step: Step, at: float, message: str) -> None:
    connection.execute(insert(_steps).values(deployment=id, step=step.value, at=at, message=message))


def _of(row: AnyRow) -> Deployment:
    fields: dict[str, Any] = dict(row._mapping)
    return Deployment(**{**fields, "step": Step(row.step)})

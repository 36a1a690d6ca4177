"""The jobs of a cluster, in its database. Only the leader writes: each change proves that it still leads.

Each transaction compares the leader's token, so that a paused dispatcher changes nothing once another one has replaced it.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    and_,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from compat.cluster.records import Action, ClusterJob, FormerJob, JobFailure, JobRequest, Leader
from compat.compiler.executiongraph.states import JobStatus
from compat.service.database import AnyRow, Database
from compat.service.database.migrate import Schema

SCHEMA = Schema("compat.cluster", "migrations", "cluster_version")
METADATA = MetaData()
_leader = Table(
    "cluster_leader",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("token", Integer, nullable=False),
    Column("holder", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("renewed_at", Double, nullable=False),
)
_jobs = Table(
    "cluster_jobs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("program", Text, nullable=False),
    Column("slots", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("pool", Integer),
    Column("by", Text, nullable=False),
    Column("submitted_at", Double, nullable=False),
    Column("started_at", Double),
    Column("ended_at", Double),
    Column("restored_from", Text),
    Column("stopped_with", Text),
    Column("message", Text, nullable=False),
    Column("cores", Double, nullable=False, server_default="0"),
    Column("memory", BigInteger, nullable=False, server_default="0"),
    Index("cluster_jobs_by_status", "status"),
)
_requests = Table(
    "cluster_requests",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("job", ForeignKey("cluster_jobs.id"), nullable=False),
    Column("action", String(20), nullable=False),
    Column("path", Text),
    Column("drain", Boolean, nullable=False),
    Column("at", Double, nullable=False),
    Column("done_at", Double),
    Column("location", Text),
    Column("error", Text),
    Index("cluster_requests_by_job", "job"),
)
_failures = Table(
    "cluster_failures",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("job", ForeignKey("cluster_jobs.id"), nullable=False),
    Column("at", Double, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("cause", Text, nullable=False),
    Index("cluster_failures_by_job", "job"),
)
_former = Table(
    "cluster_former",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("job", String(32), nullable=False),
    Column("number", Integer, nullable=False),
    Column("status", String(20), nullable=False),
    Column("state", Text),
)
_ENDED = tuple(status.value for status in JobStatus if status.terminal)
MOST_FAILURES = 100
"""The number of a job's failures that are kept, the last ones."""


class LeadershipLost(Exception):
    """Another dispatcher leads the cluster."""


class UnknownJob(KeyError):
    """There is no job of that id."""


class Jobs:
    """The jobs of a cluster, for readers; changes need leadership (:meth:`lead`)."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._token = 0

    @property
    def file(self) -> Path | None:
        """The database's file, if it is one."""
        return self._database.file

    def migrate(self) -> None:
        """Bring the tables to this version's form."""
        self._database.migrate(SCHEMA)

    def leader(self) -> Leader | None:
        """The present leader, or the last one; None for a new cluster."""
        with self._database.read() as connection:
            row = connection.execute(select(_leader)).first()
        return None if row is None else _leader_of(row)

    def lead(self, url: str, lease: float, *, dead: bool) -> bool:
        """Lead from now on, unless another does: one that is ``dead`` or gave no sign for ``lease`` seconds does not."""
        holder, now = uuid.uuid4().hex, time.time()
        with self._database.write() as connection:
            row = connection.execute(select(_leader)).first()
            if row is not None and not dead and row.renewed_at + lease > now:
                return False
            token = 1 if row is None else row.token + 1
            values = {"token": token, "holder": holder, "url": url, "renewed_at": now}
            connection.execute(
                insert(_leader).values(id=1, **values) if row is None else update(_leader).values(values)
            )
        self._token = token
        return True

    def renew(self) -> None:
        """Renew the lease. Raises LeadershipLost."""
        with self.leading():
            pass

    @property
    def leads(self) -> bool:
        """True while no other dispatcher leads."""
        found = self.leader()
        return found is not None and found.token == self._token

    def reading(self) -> AbstractContextManager[Connection]:
        """A transaction that only reads."""
        return self._database.read()

    @contextmanager
    def leading(self) -> Iterator[Connection]:
        """A transaction of the leader. Raises LeadershipLost if another one leads."""
        with self._database.write() as connection:
            still = update(_leader).where(_leader.c.token == self._token).values(renewed_at=time.time())
            if connection.execute(still).rowcount != 1:
                raise LeadershipLost("Another dispatcher leads this cluster now.")
            yield connection

    def add(
        self,
        id: str,
        *,
        name: str,
        program: str,
        slots: int,
        by: str,
        restored_from: str | None,
        cores: float = 0.0,
        memory: float = 0,
    ) -> ClusterJob:
        """Add a new job, which waits for its slots."""
        with self.leading() as connection:
            number = (connection.execute(select(func.max(_jobs.c.number))).scalar() or 0) + 1
            connection.execute(
                insert(_jobs).values(
                    id=id,
                    number=number,
                    name=name,
                    program=program,
                    slots=slots,
                    status=JobStatus.CREATED.value,
                    attempt=0,
                    by=by,
                    submitted_at=time.time(),
                    restored_from=restored_from,
                    message="",
                    cores=cores,
                    memory=int(memory),
                )
            )
        return self.get(id)

    def get(self, id: str) -> ClusterJob:
        """A job by its id, or by a unique prefix of it. Raises UnknownJob."""
        with self._database.read() as connection:
            rows = connection.execute(select(_jobs).where(_jobs.c.id.startswith(id, autoescape=True)).limit(2)).all()
        if not id or len(rows) != 1:
            raise UnknownJob(id)
        return _job_of(rows[0])

    def with_id(self, id: str) -> list[ClusterJob]:
        """The job of exactly that id, or none."""
        with self._database.read() as connection:
            return [_job_of(row) for row in connection.execute(select(_jobs).where(_jobs.c.id == id))]

    def named(self, name: str, *, most: int = 100) -> list[ClusterJob]:
        """The last jobs of a name, the newest first."""
        query = select(_jobs).where(_jobs.c.name == name).order_by(_jobs.c.number.desc()).limit(most)
        with self._database.read() as connection:
            return [_job_of(row) for row in connection.execute(query)]

    def all(self, *, most: int = 1000) -> list[ClusterJob]:
        """The last jobs, the newest first; all of those that have not ended."""
        with self._database.read() as connection:
            rows = connection.execute(select(_jobs).order_by(_jobs.c.number.desc()).limit(most)).all()
        found = {row.id: _job_of(row) for row in rows} | {job.id: job for job in self.unfinished()}
        return sorted(found.values(), key=lambda job: -job.number)

    def unfinished(self) -> list[ClusterJob]:
        """The jobs that have not ended, in the order of their submission."""
        with self._database.read() as connection:
            rows = connection.execute(select(_jobs).where(_jobs.c.status.not_in(_ENDED)).order_by(_jobs.c.number))
            return [_job_of(row) for row in rows]

    def expired(self, before: float, beyond: int, *, most: int = 10, held: Collection[str] = ()) -> list[ClusterJob]:
        """Jobs that ended before a time, and those but the last ``beyond`` to end; the first of them, but those ``held``."""
        ended = _jobs.c.status.in_(_ENDED)
        latest = select(_jobs.c.id).where(ended).order_by(_jobs.c.ended_at.desc(), _jobs.c.number.desc()).limit(beyond)
        gone = and_(or_(_jobs.c.ended_at < before, _jobs.c.id.not_in(latest)), _jobs.c.id.not_in(held))
        with self._database.read() as connection:
            rows = connection.execute(select(_jobs).where(ended, gone).order_by(_jobs.c.ended_at).limit(most))
            return [_job_of(row) for row in rows]

    def remember(self, job: ClusterJob, left: FormerJob | None) -> None:
        """Store the remains of a job that is about to be forgotten, None for nothing: the last of each name counts."""
        with self.leading() as connection:
            named = _former.c.name == job.name
            connection.execute(delete(_former).where(named, _former.c.number < job.number))
            if left is not None and connection.execute(select(_former).where(named)).first() is None:
                connection.execute(
                    insert(_former).values(
                        name=left.name, job=left.job, number=left.number, status=left.status.value, state=left.state
                    )
                )

    def former(self, name: str) -> FormerJob | None:
        """The last job of a name that left state and was forgotten, or None."""
        with self._database.read() as connection:
            row = connection.execute(select(_former).where(_former.c.name == name)).first()
        return None if row is None else _former_of(row)

    def forget(self, id: str) -> None:
        """Forget a job that has ended."""
        with self.leading() as connection:
            connection.execute(delete(_requests).where(_requests.c.job == id))
            connection.execute(delete(_failures).where(_failures.c.job == id))
            connection.execute(delete(_jobs).where(_jobs.c.id == id, _jobs.c.status.in_(_ENDED)))

    def ended(
        self, *, limit: int, before: int | None = None, text: str = "", status: JobStatus | None = None
    ) -> list[ClusterJob]:
        """Jobs that have ended, the newest first, from the one before a number on.

        ``text`` is in their names, programs, ids or senders; ``status`` is how they ended.
        """
        query = select(_jobs).where(_jobs.c.status.in_(_ENDED)).order_by(_jobs.c.number.desc()).limit(limit)
        if text:
            told = (_jobs.c.name, _jobs.c.program, _jobs.c.id, _jobs.c.by)
            query = query.where(or_(*(func.lower(each).contains(text.lower(), autoescape=True) for each in told)))
        if status is not None:
            query = query.where(_jobs.c.status == status.value)
        if before is not None:
            query = query.where(_jobs.c.number < before)
        with self._database.read() as connection:
            return [_job_of(row) for row in connection.execute(query)]

    def counts(self) -> Counter[JobStatus]:
        """The number of jobs in each status."""
        query = select(_jobs.c.status, func.count()).group_by(_jobs.c.status)
        with self._database.read() as connection:
            return Counter({JobStatus(status): count for status, count in connection.execute(query)})

    def begin(self, id: str, pool: int) -> int | None:
        """Begin an attempt to run a job; gives its fencing token, None for a job that has ended."""
        with self.leading() as connection:
            begun = connection.execute(
                update(_jobs)
                .where(_jobs.c.id == id, _jobs.c.status.not_in(_ENDED))
                .values(
                    attempt=_jobs.c.attempt + 1,
                    pool=pool,
                    status=JobStatus.INITIALIZING.value,
                    started_at=func.coalesce(_jobs.c.started_at, time.time()),
                )
            )
            if begun.rowcount != 1:
                return None
            return int(connection.execute(select(_jobs.c.attempt).where(_jobs.c.id == id)).scalar_one())

    def failed(self, id: str, attempt: int, cause: str) -> None:
        """Record an attempt that ended unrequested."""
        with self.leading() as connection:
            connection.execute(insert(_failures).values(job=id, at=time.time(), attempt=attempt, cause=cause))
            old = (
                select(_failures.c.id)
                .where(_failures.c.job == id)
                .order_by(_failures.c.id.desc())
                .offset(MOST_FAILURES)
            )
            connection.execute(delete(_failures).where(_failures.c.id.in_(old.limit(1).scalar_subquery())))

    def failures(self, id: str) -> list[JobFailure]:
        """The failures of a job, the last one first."""
        with self._database.read() as connection:
            rows = connection.execute(select(_failures).where(_failures.c.job == id).order_by(_failures.c.id.desc()))
            return [JobFailure(at=row.at, attempt=row.attempt, cause=row.cause) for row in rows]

    def turned(self, id: str, status: JobStatus) -> None:
        """Set the status of a running job."""
        with self.leading() as connection:
            running = _jobs.c.status.not_in(_ENDED)
            connection.execute(update(_jobs).where(_jobs.c.id == id, running).values(status=status.value))

    def end(self, id: str, status: JobStatus, *, message: str = "", stopped_with: str | None = None) -> None:
        """Record the end of a job."""
        with self.leading() as connection:
            connection.execute(
                update(_jobs)
                .where(_jobs.c.id == id, _jobs.c.status.not_in(_ENDED))
                .values(
                    status=status.value, message=message, stopped_with=stopped_with, ended_at=time.time(), pool=None
                )
            )

    def ask(self, job: str, action: Action, path: str | None = None, drain: bool = False, id: str | None = None) -> str:
        """Record a request to a job; gives its id."""
        id = id or uuid.uuid4().hex
        with self.leading() as connection:
            connection.execute(
                insert(_requests).values(id=id, job=job, action=action.value, path=path, drain=drain, at=time.time())
            )
        return id

    def answered(self, id: str, *, location: str | None = None, error: str | None = None) -> None:
        """Record the outcome of a request."""
        with self.leading() as connection:
            connection.execute(
                update(_requests)
                .where(_requests.c.id == id, _requests.c.done_at.is_(None))
                .values(done_at=time.time(), location=location, error=error)
            )

    def request(self, job: str, id: str) -> JobRequest | None:
        """A request to a job, or None."""
        with self._database.read() as connection:
            row = connection.execute(select(_requests).where(_requests.c.id == id, _requests.c.job == job)).first()
        return None if row is None else _request_of(row)

    def requests(self, job: str, *, limit: int) -> list[JobRequest]:
        """The last requests to a job, the newest first."""
        query = select(_requests).where(_requests.c.job == job).order_by(_requests.c.at.desc()).limit(limit)
        with self._database.read() as connection:
            return [_request_of(row) for row in connection.execute(query)]

    def open_requests(self) -> list[JobRequest]:
        """The requests without an outcome, the oldest first."""
        with self._database.read() as connection:
            rows = connection.execute(select(_requests).where(_requests.c.done_at.is_(None)).order_by(_requests.c.at))
            return [_request_of(row) for row in rows]


def _leader_of(row: AnyRow) -> Leader:
    return Leader(token=row.token, holder=row.holder, url=row.url, renewed_at=row.renewed_at)


def _job_of(row: AnyRow) -> ClusterJob:
    fields: dict[str, Any] = dict(row._mapping)
    return ClusterJob(**{**fields, "status": JobStatus(row.status)})


def _former_of(row: AnyRow) -> FormerJob:
    fields: dict[str, Any] = dict(row._mapping)
    return FormerJob(**{**fields, "status": JobStatus(row.status)})


def _request_of(row: AnyRow) -> JobRequest:
    fields: dict[str, Any] = dict(row._mapping)
    return JobRequest(**{**fields, "action": Action(row.action)})

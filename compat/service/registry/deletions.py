"""Deletes versions and jobs, by hand or by a rule. The audit log stays, and numbers are not given again."""

from __future__ import annotations

import time

from msgspec import Struct
from sqlalchemy import Connection, and_, delete, func, select, update

from compat.service.database import AnyRow, Database
from compat.service.database.tables import acceptances, checks, jobs, promotions, versions
from compat.service.records import Action
from compat.service.registry.audit import note
from compat.service.registry.errors import Conflict
from compat.service.registry.jobs import job_row, version_of
from compat.service.registry.plans import forget

BY_THE_RULE = "the rule of this service"
AT_ONCE = 500
"""The number of versions that expire in one transaction, so that others can write in between."""

DAY = 86_400.0


class Rule(Struct, frozen=True, kw_only=True):
    """The versions that go by themselves: of those that were never promoted all that are ``days`` old, but for the newest
    ``keep`` of their job.
    """

    keep: int = 1
    days: float = 0.0


class Deletions:
    """Deletes versions and jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def version(self, name: str, number: int, *, reason: str, by: str, even_promoted: bool = False) -> None:
        """Delete a version. Raises NotFound, and Conflict for one that runs or ran if that was not said."""
        with self._database.write() as connection:
            job = job_row(connection, name, lock=True)
            found = version_of(connection, name, number)
            runs = job.current == number
            if not even_promoted:
                _require_never_promoted(connection, job, number)
            connection.execute(delete(versions).where(versions.c.job == job.id, versions.c.number == number))
            if runs:
                connection.execute(update(jobs).where(jobs.c.id == job.id).values(current=None))
            forget(connection, (found.plan.digest,))
            note(connection, by, Action.DELETE, name, version=number, ran="now" if runs else None, reason=reason)

    def job(self, name: str, *, reason: str, by: str, even_promoted: bool = False) -> list[int]:
        """Delete a job with its versions, checks, promotions and accepted findings; gives the numbers of the versions.

        Raises NotFound, and Conflict for a job of which a version runs or ran if that was not said.
        """
        with self._database.write() as connection:
            job = job_row(connection, name, lock=True)
            if not even_promoted:
                _require_never_promoted(connection, job)
            rows = connection.execute(select(versions.c.number, versions.c.plan).where(versions.c.job == job.id)).all()
            checked = connection.execute(select(checks.c.old_plan, checks.c.new_plan).where(checks.c.job == job.id))
            digests = {row.plan for row in rows} | {digest for row in checked for digest in row if digest is not None}
            for table in (acceptances, checks, promotions, versions):
                connection.execute(delete(table).where(table.c.job == job.id))
            connection.execute(delete(jobs).where(jobs.c.id == job.id))
            forget(connection, digests)
            note(connection, by, Action.DELETE, name, versions=len(rows), ran=job.current, reason=reason)
        return sorted(row.number for row in rows)

    def expire(self, rule: Rule) -> int:
        """Delete the versions that a rule covers; gives their number."""
        gone = 0
        while found := self._expire_some(rule):
            gone += found
        return gone

    def _expire_some(self, rule: Rule) -> int:
        age = func.row_number().over(partition_by=versions.c.job, order_by=versions.c.number.desc())
        ranked = select(versions, age.label("age")).subquery()
        promoted = select(promotions.c.id).where(
            and_(promotions.c.job == ranked.c.job, promotions.c.number == ranked.c.number)
        )
        query = (
            select(ranked.c.id, ranked.c.number, ranked.c.plan, jobs.c.name)
            .join(jobs, ranked.c.job == jobs.c.id)
            .where(ranked.c.age > rule.keep, ranked.c.pushed_at <= time.time() - rule.days * DAY, ~promoted.exists())
            .order_by(jobs.c.name, ranked.c.number)
            .limit(AT_ONCE)
        )
        with self._database.write() as connection:
            rows = connection.execute(query).all()
            if rows:
                connection.execute(delete(versions).where(versions.c.id.in_([row.id for row in rows])))
                forget(connection, {row.plan for row in rows})
            for name in dict.fromkeys(row.name for row in rows):
                told = ", ".join(str(row.number) for row in rows if row.name == name)
                note(connection, BY_THE_RULE, Action.EXPIRE, name, versions=told)
        return len(rows)


def _require_never_promoted(connection: Connection, job: AnyRow, number: int | None = None) -> None:
    """Raise Conflict where a version, or any of the job, runs or ran: that has to be said."""
    if job.current is not None and number in (None, job.current):
        raise Conflict(
            f"{job.name}@{job.current} runs: without it the next promotion is checked against nothing. "
            "Say that this is meant: --even-promoted, or even_promoted."
        )
    query = select(promotions.c.number).where(promotions.c.job == job.id)
    ran = connection.execute(query if number is None else query.where(promotions.c.number == number)).scalar()
    if ran is not None:
        raise Conflict(
            f"{job.name}@{ran} ran, and may be rolled back to. Say that this is meant: --even-promoted, or even_promoted."
        )

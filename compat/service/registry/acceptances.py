"""Findings that an admin accepted, each between two plans of a job."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select

from compat.service.database import AnyRow, Database
from compat.service.database.tables import acceptances, jobs
from compat.service.records import Acceptance, Action, StandingAcceptance
from compat.service.registry.audit import note
from compat.service.registry.errors import NotFound

_ANY = (
    "SELECT 1 FROM acceptances JOIN jobs ON acceptances.job = jobs.id "
    "WHERE jobs.name = :job AND acceptances.old_plan = :old AND acceptances.new_plan = :new LIMIT 1"
)


class Acceptances:
    """The accepted findings, by the plans that they were accepted for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def between(self, job: str, old_plan: str, new_plan: str) -> tuple[Acceptance, ...]:
        """The findings that were accepted from one plan of a job to another, by fingerprint."""
        if self._database.look(_ANY, job=job, old=old_plan, new=new_plan) is None:
            return ()  # as it nearly always is
        query = (
            select(acceptances)
            .join(jobs, acceptances.c.job == jobs.c.id)
            .where(jobs.c.name == job, acceptances.c.old_plan == old_plan, acceptances.c.new_plan == new_plan)
            .order_by(acceptances.c.fingerprint)
        )
        with self._database.read() as connection:
            return tuple(_acceptance(row) for row in connection.execute(query))

    def standing(self, job: str, limit: int = 100) -> list[StandingAcceptance]:
        """The accepted findings of a job, newest first. Raises NotFound if there is no such job."""
        with self._database.read() as connection:
            query = _of(_job(connection, job)).order_by(acceptances.c.at.desc(), acceptances.c.fingerprint)
            return [_standing(row) for row in connection.execute(query.limit(limit))]

    def withdraw(
        self,
        job: str,
        fingerprint: str,
        *,
        reason: str,
        by: str,
        old_plan: str | None = None,
        new_plan: str | None = None,
    ) -> list[StandingAcceptance]:
        """Withdraw the acceptance of a finding of a job, between the named plans, or any; gives the withdrawn ones.

        Checks are decided from now on as if nobody had accepted it; what was promoted meanwhile stays. Raises NotFound.
        """
        with self._database.write() as connection:
            id = _job(connection, job)
            wanted = {"fingerprint": fingerprint, "old_plan": old_plan, "new_plan": new_plan}
            named = [acceptances.c[name] == value for name, value in wanted.items() if value is not None]
            found = [_standing(row) for row in connection.execute(_of(id).where(*named))]
            if not found:
                raise NotFound(
                    f"Job {job!r} has no accepted finding {fingerprint[:200]!r}: 'compat registry accepted' lists them."
                )
            connection.execute(delete(acceptances).where(acceptances.c.job == id, *named))
            for each in found:
                told = {"fingerprint": fingerprint, "rule": each.acceptance.rule, "reason": reason}
                plans = {"old_plan": each.old_plan, "new_plan": each.new_plan}
                note(connection, by, Action.WITHDRAW, job, **told, **plans)
        return found


def _job(connection: Connection, name: str) -> int:
    id = connection.execute(select(jobs.c.id).where(jobs.c.name == name)).scalar()
    if id is None:
        raise NotFound(f"There is no job {name!r}.")
    return int(id)


def _of(job: int) -> Select[Any]:
    return select(acceptances).where(acceptances.c.job == job)


def _acceptance(row: AnyRow) -> Acceptance:
    return Acceptance(fingerprint=row.fingerprint, rule=row.rule, title=row.title, reason=row.reason, by=row.by)


def _standing(row: AnyRow) -> StandingAcceptance:
    return StandingAcceptance(acceptance=_acceptance(row), old_plan=row.old_plan, new_plan=row.new_plan, at=row.at)


def accept(connection: Connection, job: int, old_plan: str, new_plan: str, accepted: Iterable[Acceptance]) -> None:
    """Store accepted findings; one that had been accepted for another reason gets the new one."""
    for each in accepted:
        place = {"job": job, "old_plan": old_plan, "new_plan": new_plan, "fingerprint": each.fingerprint}
        connection.execute(delete(acceptances).where(*(acceptances.c[name] == value for name, value in place.items())))
        given = {"rule": each.rule, "title": each.title, "reason": each.reason, "by": each.by, "at": time.time()}
        connection.execute(insert(acceptances).values(**place, **given))

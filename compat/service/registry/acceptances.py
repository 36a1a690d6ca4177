"""Findings that an admin let pass, each between two plans of a job."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select

from compat.service.database import Database
from compat.service.database.tables import acceptances, jobs
from compat.service.records import Acceptance

_ANY = (
    "SELECT 1 FROM acceptances JOIN jobs ON acceptances.job = jobs.id "
    "WHERE jobs.name = :job AND acceptances.old_plan = :old AND acceptances.new_plan = :new LIMIT 1"
)


class Acceptances:
    """What may pass, by the plans it was accepted for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def between(self, job: str, old_plan: str, new_plan: str) -> tuple[Acceptance, ...]:
        """What was let pass from one plan of a job to another, by fingerprint."""
        if self._database.look(_ANY, job=job, old=old_plan, new=new_plan) is None:
            return ()  # as it nearly always is
        query = (
            select(acceptances)
            .join(jobs, acceptances.c.job == jobs.c.id)
            .where(jobs.c.name == job, acceptances.c.old_plan == old_plan, acceptances.c.new_plan == new_plan)
            .order_by(acceptances.c.fingerprint)
        )
        with self._database.read() as connection:
            return tuple(
                Acceptance(fingerprint=row.fingerprint, rule=row.rule, title=row.title, reason=row.reason, by=row.by)
                for row in connection.execute(query)
            )


def accept(connection: Connection, job: int, old_plan: str, new_plan: str, accepted: Iterable[Acceptance]) -> None:
    """Keep what was let pass; what had been for another reason is so for the new one."""
    for each in accepted:
        place = {"job": job, "old_plan": old_plan, "new_plan": new_plan, "fingerprint": each.fingerprint}
        connection.execute(delete(acceptances).where(*(acceptances.c[name] == value for name, value in place.items())))
        given = {"rule": each.rule, "title": each.title, "reason": each.reason, "by": each.by, "at": time.time()}
        connection.execute(insert(acceptances).values(**place, **given))

"""The audit log: what was decided, by whom. An entry is written with what it tells of, or neither is."""

from __future__ import annotations

import time

import msgspec
from sqlalchemy import Connection, insert, select

from compat.service.database import Database
from compat.service.database.tables import audit
from compat.service.records import Action, AuditEntry

AT_THE_COMMAND_LINE = "the command line"


class Audit:
    """What was decided, newest first. Nothing changes or removes an entry."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, limit: int = 100, before: int | None = None) -> list[AuditEntry]:
        """The newest entries, or those with an id below ``before``."""
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(query if before is None else query.where(audit.c.id < before))
            return [
                AuditEntry(
                    id=row.id,
                    at=row.at,
                    by=row.by,
                    action=Action(row.action),
                    job=row.job,
                    detail=msgspec.json.decode(row.detail, type=dict[str, str | int | None]),
                )
                for row in rows
            ]


def note(connection: Connection, by: str, action: Action, job: str | None = None, **detail: str | int | None) -> None:
    """Write an entry, in the transaction of what it tells of."""
    told = msgspec.json.encode(detail).decode()
    connection.execute(insert(audit).values(at=time.time(), by=by, action=action.value, job=job, detail=told))

"""The audit log: the decisions and who made them. An entry is written together with its change, or neither is."""

from __future__ import annotations

import builtins
import time

import msgspec
from sqlalchemy import Connection, insert, select

from compat.service.database import AnyRow, Database
from compat.service.database.tables import audit
from compat.service.records import Action, AuditEntry

AT_THE_COMMAND_LINE = "the command line"


class Audit:
    """The decisions, newest first. Nothing changes or removes an entry."""

    BY_THE_WEBHOOK = "the webhook"

    def __init__(self, database: Database) -> None:
        self._database = database

    def list(self, limit: int = 100, before: int | None = None) -> list[AuditEntry]:
        """The newest entries, or those with an id below ``before``."""
        query = select(audit).order_by(audit.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            rows = connection.execute(query if before is None else query.where(audit.c.id < before))
            return [_entry(row) for row in rows]

    def admissions(self, job: str, limit: int = 100) -> builtins.list[AuditEntry]:
        """The webhook's answers about a job, newest first."""
        with self._database.read() as connection:
            return [_entry(row) for row in connection.execute(_ADMISSIONS.where(audit.c.job == job).limit(limit))]

    def admitted(self, job: str | None, **detail: str | int | None) -> None:
        """Write an answer of the webhook; the same answer again, as controllers that try again get it, is written once."""
        with self._database.write() as connection:
            newest = connection.execute(_ADMISSIONS.where(audit.c.job == job).limit(1)).first()
            if newest is None or dict(_entry(newest).detail) != detail:
                note(connection, self.BY_THE_WEBHOOK, Action.ADMISSION, job, **detail)


_ADMISSIONS = select(audit).where(audit.c.action == Action.ADMISSION.value).order_by(audit.c.id.desc())


def _entry(row: AnyRow) -> AuditEntry:
    return AuditEntry(
        id=row.id,
        at=row.at,
        by=row.by,
        action=Action(row.action),
        job=row.job,
        detail=msgspec.json.decode(row.detail, type=dict[str, str | int | None]),
    )


def note(connection: Connection, by: str, action: Action, job: str | None = None, **detail: str | int | None) -> None:
    """Write an entry, in the transaction of its change."""
    told = msgspec.json.encode(detail).decode()
    connection.execute(insert(audit).values(at=time.time(), by=by, action=action.value, job=job, detail=told))

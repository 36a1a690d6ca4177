"""Jobs as one looks for them: by a part of the name and by what their last check said, in an order, a page at a time.

A page costs a look at the last check of each job, and no more of the checks: it is linear in the number of jobs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, case, func, select

from compat.check.findings import Verdict
from compat.service.database import Database
from compat.service.database.tables import checks, jobs
from compat.service.records import Job
from compat.service.registry.checks import newest_of_job
from compat.service.registry.jobs import jobs_of


class Order(StrEnum):
    """An order of jobs."""

    NAME = "name"
    VERDICT = "verdict"
    CHECKED = "checked"


UNCHECKED = "none"
"""Stands for the verdict of a job that was never checked."""

WORST_FIRST = (Verdict.INCOMPATIBLE, Verdict.UNKNOWN, Verdict.MIGRATION, Verdict.COMPATIBLE)


class Wanted(Struct, frozen=True, kw_only=True):
    """The jobs that are looked for: ``text`` is in their names, ``verdict`` is what their last check said; empty for any.

    With ``after`` their names come behind that one.
    """

    text: str = ""
    verdict: str = ""
    after: str = ""
    order: Order = Order.NAME

    @property
    def all(self) -> bool:
        """True where any job is wanted."""
        return not (self.text or self.verdict or self.after)


class Overview:
    """Finds jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: Wanted, limit: int, page: int = 1) -> list[Job]:
        """So many of the jobs that are wanted, in their order: those of a page, from 1."""
        with self._database.read() as connection:
            return jobs_of(connection, _query(wanted).limit(limit).offset((page - 1) * limit))

    def count(self, wanted: Wanted) -> int:
        """The number of jobs that are wanted."""
        with self._database.read() as connection:
            found = connection.execute(select(func.count()).select_from(_query(wanted).order_by(None).subquery()))
            return int(found.scalar_one())


def _query(wanted: Wanted) -> Select[Any]:
    query = select(jobs).select_from(jobs.outerjoin(checks, checks.c.id == newest_of_job()))
    if wanted.text:
        query = query.where(func.lower(jobs.c.name).contains(wanted.text.lower(), autoescape=True))
    if wanted.after:
        query = query.where(jobs.c.name > wanted.after)
    if wanted.verdict:
        asked = None if wanted.verdict == UNCHECKED else wanted.verdict
        query = query.where(checks.c.verdict.is_(None) if asked is None else checks.c.verdict == asked)
    return query.order_by(*_order(wanted.order), jobs.c.name)


def _order(order: Order) -> tuple[ColumnElement[Any], ...]:
    match order:
        case Order.VERDICT:
            ranks = {verdict.value: rank for rank, verdict in enumerate(WORST_FIRST)}
            return (case(ranks, value=checks.c.verdict, else_=len(ranks)),)
        case Order.CHECKED:
            return (func.coalesce(checks.c.at, 0.0).desc(),)
    return ()

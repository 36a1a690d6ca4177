"""Searches jobs and versions by name and status, in an order, a page at a time.

A page of jobs costs a look at the last check of each job, and no more of the checks: it is linear in the number of jobs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct
from sqlalchemy import ColumnElement, Select, String, case, cast, func, or_, select

from compat.check.findings import Verdict
from compat.service.database import Database
from compat.service.database.tables import checks, jobs, plans, versions
from compat.service.records import Job, Version
from compat.service.registry.checks import newest_of_job
from compat.service.registry.jobs import LAST_FORCED, VERSIONS, jobs_of, version_from


class Order(StrEnum):
    """An order of jobs."""

    NAME = "name"
    VERDICT = "verdict"
    CHECKED = "checked"


class VersionOrder(StrEnum):
    """An order of the versions of a job."""

    NEWEST = "newest"
    OLDEST = "oldest"
    AUTHOR = "author"
    OPERATORS = "operators"


class Standing(StrEnum):
    """The standing of a version: promoted, promoted by force, or never; ``ANY`` of these."""

    ANY = ""
    PROMOTED = "promoted"
    FORCED = "forced"
    NEVER = "never"


UNCHECKED = "none"
"""The verdict of a job that was never checked."""

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
        """True if every job matches."""
        return not (self.text or self.verdict or self.after)


class WantedVersions(Struct, frozen=True, kw_only=True):
    """The versions of a job that are looked for: ``text`` is in their number, commit, author, token, program or image."""

    text: str = ""
    standing: Standing = Standing.ANY
    order: VersionOrder = VersionOrder.NEWEST

    @property
    def all(self) -> bool:
        """True if every version matches."""
        return not (self.text or self.standing)


class Overview:
    """Finds jobs and versions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: Wanted, limit: int, page: int = 1) -> list[Job]:
        """A page, from 1, of the wanted jobs, in their order."""
        with self._database.read() as connection:
            return jobs_of(connection, _query(wanted).limit(limit).offset((page - 1) * limit))

    def count(self, wanted: Wanted) -> int:
        """The number of jobs that are wanted."""
        with self._database.read() as connection:
            found = connection.execute(select(func.count()).select_from(_query(wanted).order_by(None).subquery()))
            return int(found.scalar_one())

    def versions(self, job: str, wanted: WantedVersions, limit: int, page: int = 1) -> list[Version]:
        """A page, from 1, of the wanted versions of a job, in their order."""
        query = _versions_query(job, wanted).limit(limit).offset((page - 1) * limit)
        with self._database.read() as connection:
            return [version_from(row) for row in connection.execute(query)]

    def count_versions(self, job: str, wanted: WantedVersions) -> int:
        """The number of versions of a job that are wanted."""
        with self._database.read() as connection:
            query = _versions_query(job, wanted).order_by(None).subquery()
            return int(connection.execute(select(func.count()).select_from(query)).scalar_one())


def _versions_query(job: str, wanted: WantedVersions) -> Select[Any]:
    query = VERSIONS.where(jobs.c.name == job)
    if wanted.text:
        told = (versions.c.commit, versions.c.author, versions.c.pushed_by, versions.c.image, plans.c.program)
        text = wanted.text.lower()
        number = cast(versions.c.number, String) == text.rpartition("@")[2]
        query = query.where(or_(number, *(func.lower(each).contains(text, autoescape=True) for each in told)))
    match wanted.standing:
        case Standing.PROMOTED:
            query = query.where(LAST_FORCED.is_not(None))
        case Standing.FORCED:
            query = query.where(LAST_FORCED.is_(True))
        case Standing.NEVER:
            query = query.where(LAST_FORCED.is_(None))
    newest = versions.c.number.desc()
    match wanted.order:
        case VersionOrder.OLDEST:
            return query.order_by(versions.c.number)
        case VersionOrder.AUTHOR:
            return query.order_by(func.lower(func.coalesce(versions.c.author, versions.c.pushed_by)), newest)
        case VersionOrder.OPERATORS:
            return query.order_by(plans.c.operators.desc(), newest)
    return query.order_by(newest)


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

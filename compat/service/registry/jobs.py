"""Jobs, their versions, and the running version."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, and_, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from compat.service.database import AnyRow, Database
from compat.service.database.tables import jobs, numbers, plans, promotions, versions
from compat.service.records import Acceptance, Action, Check, Compatibility, Job, Promotion, Version
from compat.service.registry.audit import note
from compat.service.registry.checks import last_checks
from compat.service.registry.errors import Conflict, NotFound
from compat.service.registry.plans import DESCRIPTION, PackedPlan, keep, plan_of


class Pushed(msgspec.Struct, frozen=True):
    """The version that a push gave; ``new`` is False if the same plan and commit had been pushed last already."""

    version: Version
    new: bool


class Jobs:
    """Jobs by name, versions by number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self, limit: int | None = None, after: str | None = None) -> list[Job]:
        """All jobs, by name; or the next ``limit``, after the name ``after``."""
        if limit is None:
            found: list[Job] = []
            while page := self.all(1000, found[-1].name if found else after):
                found += page
            return found
        query = select(jobs).order_by(jobs.c.name).limit(limit)
        with self._database.read() as connection:
            return jobs_of(connection, query if after is None else query.where(jobs.c.name > after))

    def get(self, name: str) -> Job:
        """A job. Raises NotFound."""
        with self._database.read() as connection:
            found = jobs_of(connection, select(jobs).where(jobs.c.name == name))
        if not found:
            raise _no_job(name)
        return found[0]

    def versions(self, name: str, limit: int = 100, before: int | None = None) -> list[Version]:
        """The versions of a job, newest first; those below number ``before``. Raises NotFound."""
        query = VERSIONS.where(jobs.c.name == name).order_by(versions.c.number.desc()).limit(limit)
        with self._database.read() as connection:
            job_row(connection, name)
            rows = connection.execute(query if before is None else query.where(versions.c.number < before))
            return [version_from(row) for row in rows]

    def version(self, name: str, number: int | None = None) -> Version:
        """A version of a job; without a number, the running one. Raises NotFound."""
        with self._database.read() as connection:
            job = job_row(connection, name)
            if number is None and job.current is None:
                raise _none_runs(name)
            return version_of(connection, name, job.current if number is None else number)

    def running(self, name: str) -> int:
        """The number of the version that runs. Raises NotFound if there is none, or no such job."""
        row = self._database.look("SELECT current FROM jobs WHERE name = :name", name=name)
        if row is None:
            raise _no_job(name)
        if row[0] is None:
            raise _none_runs(name)
        return int(row[0])

    def has(self, name: str, number: int) -> bool:
        """True if there is such a version; with SQLite, this takes some microseconds."""
        return self._database.look(_HAS, name=name, number=number) is not None

    def with_image(self, image: str, limit: int = 1000) -> list[Version]:
        """The versions that were pushed with a container image, by the image's digest; newest first."""
        query = VERSIONS.where(versions.c.image == image).order_by(versions.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            return [version_from(row) for row in connection.execute(query)]

    def push(
        self,
        name: str,
        packed: PackedPlan,
        *,
        commit: str | None,
        author: str | None,
        by: str,
        image: str | None = None,
        built: bool = False,
    ) -> Pushed:
        """Register a plan as the newest version of a job, which is made if it is new.

        A push of the newest version's plan and commit again, with its image or without one, changes nothing. So a push whose
        answer was lost can be repeated.
        """
        for _ in range(3):
            try:
                with self._database.write() as connection:
                    return _push(connection, name, packed, commit, author, image, by, built)
            except IntegrityError:
                continue  # another server made the job at the same moment
        raise Conflict(f"Job {name!r} is being made by others at this moment; push again.")

    def promote(
        self,
        name: str,
        number: int,
        *,
        expected: int | None,
        by: str,
        check: int | None,
        reason: str | None = None,
        accepted: tuple[Acceptance, ...] = (),
    ) -> Promotion:
        """Make a version the one that runs, provided that ``expected`` runs now.

        ``check`` is the check that allowed it, ``reason`` why it was forced, ``accepted`` the findings that pass. Raises
        NotFound, and Conflict if another version runs than was expected.
        """
        with self._database.write() as connection:
            job = job_row(connection, name, lock=True)
            version_of(connection, name, number)
            if job.current != expected:
                raise Conflict(
                    f"Version {job.current} of job {name!r} runs by now, not {expected}: check against it and promote again."
                )
            connection.execute(update(jobs).where(jobs.c.id == job.id).values(current=number))
            at, forced = time.time(), reason is not None
            inserted = connection.execute(
                insert(promotions).values(
                    job=job.id,
                    number=number,
                    by=by,
                    at=at,
                    check=check,
                    forced=forced,
                    reason=reason,
                    accepted=msgspec.json.encode(accepted).decode() if accepted else None,
                )
            )
            id = int(inserted.inserted_primary_key[0])  # type: ignore[index]
            action = Action.FORCE if forced else Action.PROMOTE
            before = {"version": number, "instead_of": expected, "check": check, "reason": reason}
            note(connection, by, action, name, **before, accepted=len(accepted))
        return Promotion(
            id=id,
            job=name,
            number=number,
            by=by,
            at=at,
            check=check,
            forced=forced,
            reason=reason,
            accepted=accepted,
        )

    def ran(self, name: str, limit: int) -> list[Version]:
        """The last ``limit`` versions that were promoted and are still there, each once, the one promoted last first."""
        last = func.max(promotions.c.id)
        query = (
            VERSIONS.join(
                promotions, and_(promotions.c.job == versions.c.job, promotions.c.number == versions.c.number)
            )
            .where(jobs.c.name == name)
            .group_by(*(column for column in VERSIONS.selected_columns if column.name != "forced"))
            .order_by(last.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            return [version_from(row) for row in connection.execute(query)]

    def ask(self, name: str, asked: Compatibility, by: str) -> None:
        """Set the state that a new version of a job has to restore from now on. Raises NotFound."""
        with self._database.write() as connection:
            job = job_row(connection, name, lock=True)
            text = msgspec.json.encode(asked).decode()
            connection.execute(update(jobs).where(jobs.c.id == job.id).values(compatibility=text))
            before = _compatibility(job.compatibility)
            note(connection, by, Action.MODE, name, restores=asked.told, instead_of=before.told)

    def forced(self) -> frozenset[str]:
        """The labels of the versions, of all jobs, whose last promotion was forced."""
        query = select(jobs.c.name, promotions.c.number).join(jobs, promotions.c.job == jobs.c.id)
        newest = select(func.max(promotions.c.id)).group_by(promotions.c.job, promotions.c.number)
        with self._database.read() as connection:
            rows = connection.execute(query.where(promotions.c.forced.is_(True), promotions.c.id.in_(newest)))
            return frozenset(f"{row.name}@{row.number}" for row in rows)

    def promotions(self, name: str, limit: int = 100) -> list[Promotion]:
        """The promotions of a job's versions, with their times, newest first. Raises NotFound."""
        with self._database.read() as connection:
            job = job_row(connection, name)
            rows = connection.execute(
                select(promotions).where(promotions.c.job == job.id).order_by(promotions.c.id.desc()).limit(limit)
            )
            return [
                Promotion(
                    id=row.id,
                    job=name,
                    number=row.number,
                    by=row.by,
                    at=row.at,
                    check=row.check,
                    forced=row.forced,
                    reason=row.reason,
                    accepted=_accepted(row.accepted),
                )
                for row in rows
            ]


_HAS = (
    "SELECT 1 FROM versions JOIN jobs ON versions.job = jobs.id WHERE jobs.name = :name AND versions.number = :number"
)


def _accepted(text: str | None) -> tuple[Acceptance, ...]:
    return () if text is None else msgspec.json.decode(text, type=tuple[Acceptance, ...])


_last = promotions.alias("last_promotion")
LAST_FORCED = (
    select(_last.c.forced)
    .where(_last.c.job == versions.c.job, _last.c.number == versions.c.number)
    .order_by(_last.c.id.desc())
    .limit(1)
    .scalar_subquery()
)
"""Whether the last promotion of a version was forced; NULL where it was never promoted."""

VERSIONS: Select[Any] = (
    select(versions, jobs.c.name.label("job_label"), *DESCRIPTION, LAST_FORCED.label("forced"))
    .join(jobs, versions.c.job == jobs.c.id)
    .join(plans, versions.c.plan == plans.c.digest)
)
"""Versions with the names of their jobs, their plans, and how they were promoted last."""


def _push(
    connection: Connection,
    name: str,
    packed: PackedPlan,
    commit: str | None,
    author: str | None,
    image: str | None,
    by: str,
    built: bool,
) -> Pushed:
    now = time.time()
    query = select(jobs).where(jobs.c.name == name).with_for_update()
    job = connection.execute(query).first()
    if job is None:
        connection.execute(insert(jobs).values(name=name, created_at=now))
        job = connection.execute(query).one()
    newest = connection.execute(
        VERSIONS.where(versions.c.job == job.id).order_by(versions.c.number.desc()).limit(1)
    ).first()
    same = newest is not None and (newest.plan, newest.commit) == (packed.plan.digest, commit)
    if newest is not None and same and image in (None, newest.image) and built <= bool(newest.built):
        return Pushed(version_from(newest), new=False)
    keep(connection, packed)
    number = _next_number(connection, name)
    connection.execute(
        insert(versions).values(
            job=job.id,
            number=number,
            plan=packed.plan.digest,
            commit=commit,
            author=author,
            image=image,
            built=built,
            pushed_by=by,
            pushed_at=now,
        )
    )
    return Pushed(version_of(connection, name, number), new=True)


def _compatibility(text: str | None) -> Compatibility:
    return Compatibility() if text is None else msgspec.json.decode(text, type=Compatibility)


def _next_number(connection: Connection, name: str) -> int:
    """A number that no version of a job of that name ever had; the job is locked."""
    last = connection.execute(select(numbers.c.last).where(numbers.c.job == name)).scalar()
    if last is None:
        connection.execute(insert(numbers).values(job=name, last=1))
        return 1
    connection.execute(update(numbers).where(numbers.c.job == name).values(last=last + 1))
    return int(last) + 1


def jobs_of(connection: Connection, query: Select[Any]) -> list[Job]:
    """The jobs of a query for rows of their table, in its order."""
    rows = connection.execute(query).all()
    ids = [row.id for row in rows]
    counts = {
        row[0]: int(row[1])
        for row in connection.execute(
            select(versions.c.job, func.count()).where(versions.c.job.in_(ids)).group_by(versions.c.job)
        )
    }
    current = {
        row.job: version_from(row)
        for row in connection.execute(VERSIONS.where(versions.c.job.in_(ids), versions.c.number == jobs.c.current))
    }
    checks: dict[int, Check] = last_checks(connection, ids)
    return [
        Job(
            name=row.name,
            created_at=row.created_at,
            versions=counts.get(row.id, 0),
            current=current.get(row.id),
            last_check=checks.get(row.id),
            compatibility=_compatibility(row.compatibility),
        )
        for row in rows
    ]


def job_row(connection: Connection, name: str, lock: bool = False) -> AnyRow:
    """The row of a job, locked if it is about to change. Raises NotFound."""
    query = select(jobs).where(jobs.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).first()
    if row is None:
        raise _no_job(name)
    return row


def _no_job(name: str) -> NotFound:
    return NotFound(f"There is no job {name!r}. 'compat registry push' makes it.")


def _none_runs(name: str) -> NotFound:
    return NotFound(f"No version of job {name!r} runs: none was promoted.")


def version_of(connection: Connection, name: str, number: int) -> Version:
    """A version of a job. Raises NotFound."""
    row = connection.execute(VERSIONS.where(jobs.c.name == name, versions.c.number == number)).first()
    if row is None:
        raise NotFound(f"Job {name!r} has no version {number}.")
    return version_from(row)


def version_from(row: AnyRow) -> Version:
    """The version in a row of :data:`VERSIONS`."""
    return Version(
        id=row.id,
        job=row.job_label,
        number=row.number,
        plan=plan_of(row),
        commit=row.commit,
        author=row.author,
        pushed_by=row.pushed_by,
        pushed_at=row.pushed_at,
        image=row.image,
        built=bool(row.built),
        forced=bool(row.forced),
    )

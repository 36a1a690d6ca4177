"""Past checks, with their reports."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlalchemy import Connection, ScalarSelect, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from compat.service.database import AnyRow, Database
from compat.service.database.tables import checks, jobs, promotions
from compat.service.options import Options
from compat.service.records import Acceptance, Action, Check, CheckSide
from compat.service.registry.acceptances import accept
from compat.service.registry.audit import note
from compat.service.registry.errors import Conflict, NotFound
from compat.service.registry.packing import unpack
from compat.service.registry.plans import PackedPlan, forget, keep


class NewCheck(Struct, frozen=True, kw_only=True):
    """A check to be recorded; ``report`` is deflated JSON, ``plans`` those that the registry may not have yet.

    ``accepted`` is what this check was told to let pass from now on.
    """

    job: str | None
    old: CheckSide
    new: CheckSide
    verdict: str
    sentence: str
    errors: int
    warnings: int
    commit: str | None
    author: str | None
    by: str
    seconds: float
    report: bytes
    options: str | None = None
    plans: tuple[PackedPlan, ...] = ()
    accepted: tuple[Acceptance, ...] = ()


class Checks:
    """Checks by number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, made: NewCheck, kept: int) -> Check:
        """Keep a check and its plans; of the checks of one job, or of none, the newest ``kept`` stay.

        Checks that a promotion depends on always stay. Raises NotFound if there is no such job, and Conflict if a version
        that was checked was deleted meanwhile.
        """
        try:
            return self._recorded(made, kept)
        except IntegrityError as error:
            raise Conflict("What was checked was deleted meanwhile: check what there is now.") from error

    def _recorded(self, made: NewCheck, kept: int) -> Check:
        at = time.time()
        with self._database.write() as connection:
            job = _job_id(connection, made.job)
            for packed in made.plans:
                keep(connection, packed)
            inserted = connection.execute(insert(checks).values(_values(made, job, at)))
            id = int(inserted.inserted_primary_key[0])  # type: ignore[index]
            if job is not None and made.old.digest is not None and made.new.digest is not None:
                accept(connection, job, made.old.digest, made.new.digest, made.accepted)
                for each in made.accepted:
                    told = {"fingerprint": each.fingerprint, "rule": each.rule, "reason": each.reason}
                    note(connection, each.by, Action.ACCEPT, made.job, check=id, **told)
            _forget(connection, job, kept)
        return Check(
            id=id,
            at=at,
            **{name: getattr(made, name) for name in ("job", "old", "new", *_PLAIN)},
        )

    def get(self, id: int) -> Check:
        """A check. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(_CHECKS.where(checks.c.id == id)).first()
        if row is None:
            raise NotFound(f"There is no check {id}.")
        return _check(row)

    def report(self, id: int) -> dict[str, Any]:
        """The report of a check, as ``compat schema report`` describes it. Raises NotFound."""
        report: dict[str, Any] = json.loads(self.report_text(id))
        return report

    def report_text(self, id: int) -> bytes:
        """The JSON of that report. Raises NotFound."""
        with self._database.read() as connection:
            packed = connection.execute(select(checks.c.report).where(checks.c.id == id)).scalar()
        if packed is None:
            raise NotFound(f"There is no check {id}.")
        return unpack(packed)

    def decided(self, old: CheckSide, new: CheckSide, options: Options) -> tuple[Check, bytes] | None:
        """A check of two plans under the same names, of any job, with the same options; with its deflated report."""
        query = _CHECKS.add_columns(checks.c.report).where(
            checks.c.old_plan == old.digest,
            checks.c.new_plan == new.digest,
            checks.c.old_label == old.label,
            checks.c.new_label == new.label,
            checks.c.options == options.key,
        )
        with self._database.read() as connection:
            row = connection.execute(query.limit(1)).first()
        return None if row is None else (_check(row), row.report)

    def list(self, job: str | None = None, limit: int = 100, before: int | None = None) -> list[Check]:
        """Checks, newest first: of one job or of all; those with an id below ``before``."""
        query = _CHECKS.order_by(checks.c.id.desc()).limit(limit)
        if job is not None:
            query = query.where(jobs.c.name == job)
        if before is not None:
            query = query.where(checks.c.id < before)
        with self._database.read() as connection:
            return [_check(row) for row in connection.execute(query)]

    def between(self, job: str, old_plan: str, new_plan: str, options: Options) -> Check | None:
        """The newest check of a job of one plan against another, with the same options."""
        query = _CHECKS.where(
            jobs.c.name == job,
            checks.c.old_plan == old_plan,
            checks.c.new_plan == new_plan,
            checks.c.options == options.key,
        )
        with self._database.read() as connection:
            row = connection.execute(query.order_by(checks.c.id.desc()).limit(1)).first()
        return None if row is None else _check(row)

    def of_savepoint(self, savepoint: str, new_plan: str, options: Options, since: float) -> Check | None:
        """The newest check of a plan against a savepoint, with the same options, made at ``since`` or later."""
        query = _CHECKS.where(
            checks.c.old_savepoint == savepoint,
            checks.c.new_plan == new_plan,
            checks.c.options == options.key,
            checks.c.at >= since,
        )
        with self._database.read() as connection:
            row = connection.execute(query.order_by(checks.c.id.desc()).limit(1)).first()
        return None if row is None else _check(row)


_PLAIN = ("verdict", "sentence", "errors", "warnings", "commit", "author", "by", "seconds", "options")
"""Fields of a check that are columns of the same name."""

_CHECKS = select(
    *(column for column in checks.c if column.name not in ("report", "job")), jobs.c.name.label("job_label")
).outerjoin(jobs, checks.c.job == jobs.c.id)


def newest_of_job() -> ScalarSelect[int]:
    """The id of the newest check of a job, in a query of jobs: a look into an index, however many checks there are."""
    of_job = checks.alias()
    return select(func.max(of_job.c.id)).where(of_job.c.job == jobs.c.id).correlate(jobs).scalar_subquery()


def last_checks(connection: Connection, job_ids: Sequence[int]) -> dict[int, Check]:
    """The newest check of each of some jobs, by the job's id."""
    newest = select(newest_of_job()).where(jobs.c.id.in_(job_ids))
    rows = connection.execute(_CHECKS.add_columns(checks.c.job.label("job_id")).where(checks.c.id.in_(newest)))
    return {row.job_id: _check(row) for row in rows}


def _job_id(connection: Connection, name: str | None) -> int | None:
    if name is None:
        return None
    id = connection.execute(select(jobs.c.id).where(jobs.c.name == name)).scalar()
    if id is None:
        raise NotFound(f"There is no job {name!r}.")
    return int(id)


def _values(made: NewCheck, job: int | None, at: float) -> dict[str, Any]:
    values: dict[str, Any] = {"job": job, "at": at}
    for prefix, side in (("old", made.old), ("new", made.new)):
        values |= {
            f"{prefix}_label": side.label,
            f"{prefix}_kind": side.kind,
            f"{prefix}_plan": side.digest,
            f"{prefix}_version": side.version,
            f"{prefix}_savepoint": side.savepoint,
        }
    for name in (*_PLAIN, "report"):
        values[name] = getattr(made, name)
    return values


def _check(row: AnyRow) -> Check:
    return Check(
        id=row.id,
        job=row.job_label,
        old=CheckSide(
            label=row.old_label,
            kind=row.old_kind,
            digest=row.old_plan,
            version=row.old_version,
            savepoint=row.old_savepoint,
        ),
        new=CheckSide(
            label=row.new_label,
            kind=row.new_kind,
            digest=row.new_plan,
            version=row.new_version,
            savepoint=row.new_savepoint,
        ),
        verdict=row.verdict,
        sentence=row.sentence,
        errors=row.errors,
        warnings=row.warnings,
        commit=row.commit,
        author=row.author,
        by=row.by,
        at=row.at,
        seconds=row.seconds,
        options=row.options,
    )


def _forget(connection: Connection, job: int | None, kept: int) -> None:
    """Delete what is beyond ``kept`` in number, with the plans that nothing else names."""
    same = checks.c.job.is_(None) if job is None else checks.c.job == job
    oldest = connection.execute(select(checks.c.id).where(same).order_by(checks.c.id.desc()).offset(kept).limit(1))
    bound = oldest.scalar()
    if bound is None:
        return
    promoted = select(promotions.c.check).where(promotions.c.check.is_not(None))
    gone = (same, checks.c.id <= bound, checks.c.id.not_in(promoted))
    digests = {
        digest
        for row in connection.execute(select(checks.c.old_plan, checks.c.new_plan).where(*gone))
        for digest in row
        if digest is not None
    }
    connection.execute(delete(checks).where(*gone))
    forget(connection, digests)

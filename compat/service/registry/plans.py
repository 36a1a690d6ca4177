"""Plans, each kept once, under the digest of its canonical JSON."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct
from sqlalchemy import Connection, delete, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from compat.plan.reading import read
from compat.service.database import AnyRow, Database
from compat.service.database.tables import checks, plans, versions
from compat.service.records import Plan
from compat.service.registry.errors import NotFound
from compat.service.registry.packing import unpack
from compat.state.model.job import Plan as JobPlan
from compat.state.model.job import Refused

DESCRIPTION = (plans.c.digest, plans.c.job_name, plans.c.flink, plans.c.operators, plans.c.size, plans.c.program)


class PackedPlan(Struct, frozen=True):
    """A plan that was read and found valid, ready to be kept: ``body`` is its canonical JSON, deflated."""

    plan: Plan
    body: bytes


class Plans:
    """Gives plans by their digest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, digest: str) -> Plan:
        """The description of a plan. Raises NotFound."""
        with self._database.read() as connection:
            row = connection.execute(select(*DESCRIPTION).where(plans.c.digest == digest)).first()
        if row is None:
            raise NotFound(f"There is no plan {digest}.")
        return plan_of(row)

    def document(self, digest: str) -> JobPlan | Refused:
        """The plan itself. Raises NotFound."""
        return read(self.text(digest))

    def text(self, digest: str) -> bytes:
        """The canonical JSON of a plan. Raises NotFound."""
        with self._database.read() as connection:
            body = connection.execute(select(plans.c.body).where(plans.c.digest == digest)).scalar()
        if body is None:
            raise NotFound(f"There is no plan {digest}.")
        return unpack(body)


def keep(connection: Connection, packed: PackedPlan) -> None:
    """Store a plan, unless it is there already."""
    plan = packed.plan
    insert = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(plans)
    connection.execute(
        insert.on_conflict_do_nothing(),
        {
            "digest": plan.digest,
            "job_name": plan.job_name,
            "flink": plan.flink,
            "operators": plan.operators,
            "size": plan.size,
            "program": plan.program,
            "body": packed.body,
        },
    )


def forget(connection: Connection, digests: Collection[str]) -> None:
    """Delete those of some plans that no version and no check names any more."""
    named = or_(
        select(versions.c.id).where(versions.c.plan == plans.c.digest).exists(),
        select(checks.c.id)
        .where(or_(checks.c.old_plan == plans.c.digest, checks.c.new_plan == plans.c.digest))
        .exists(),
    )
    if digests:
        connection.execute(delete(plans).where(plans.c.digest.in_(digests), ~named))


def plan_of(row: AnyRow) -> Plan:
    """A plan's description from a row that has its columns."""
    return Plan(
        digest=row.digest,
        job_name=row.job_name,
        flink=row.flink,
        operators=row.operators,
        size=row.size,
        program=row.program,
    )

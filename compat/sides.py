"""The possible sides of a check: the jobs of a program, a snapshot of a job on Spark, or a savepoint of Flink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from compat.state.model.job import Plan, Refused

if TYPE_CHECKING:
    from compat.loader.request import Loads
    from compat.savepoint.load import OldSavepoint


class Jobs(Struct, frozen=True):
    """The plans of the jobs that a program submits, and those of a second build with another hash seed, if there was one.

    ``notes`` are remarks on how they were made, ``loads`` the files that the program used meanwhile, if that was
    watched and nothing else built it.
    """

    plans: tuple[Plan | Refused, ...]
    rebuilt: tuple[Plan | Refused, ...] = ()
    notes: tuple[str, ...] = ()
    loads: Loads | None = None


class Kept(Struct, frozen=True):
    """The plan of one job, from a file."""

    plan: Plan | Refused


class Snapshot(Struct, frozen=True):
    """A checkpoint or savepoint of a job on Spark: the plan of that job, with the sizes of its states."""

    plan: Plan | Refused


class Savepoint(Struct, frozen=True):
    """A savepoint or checkpoint of Flink, and the operator names given with it."""

    recorded: OldSavepoint


New = Jobs | Kept | Snapshot
Old = New | Savepoint
Job = Plan | Refused | Savepoint
"""One job of a side: the old or the new one of a check."""


def job_count(side: Old, other: Old) -> int | None:
    """The number of jobs of a side; None for a side without a number, which is compared with the job that the user chooses."""
    if isinstance(side, Jobs):
        return len(side.plans)
    if isinstance(side, Kept):
        return None if isinstance(other, Jobs) else 1
    return None


def job_of(side: Old, number: int) -> Job:
    """The job of this number, or the only job of a side without numbers."""
    if isinstance(side, Jobs):
        return side.plans[number]
    return side if isinstance(side, Savepoint) else side.plan


def plan_of(side: Old, number: int) -> Plan | Refused | None:
    """The plan of the job of this number; None for a savepoint of Flink, which has none."""
    job = job_of(side, number)
    return None if isinstance(job, Savepoint) else job


def said_of(*sides: Old) -> tuple[str, ...]:
    """The remarks on how the jobs of sides were made, each once."""
    told = (
        side.notes if isinstance(side, Jobs) else side.recorded.notes
        for side in sides
        if isinstance(side, Jobs | Savepoint)
    )
    return tuple(dict.fromkeys(note for notes in told for note in notes))


def rebuilt(side: Old, number: int) -> Plan | None:
    """The second build of a job, if there was one."""
    if isinstance(side, Jobs) and number < len(side.rebuilt):
        plan = side.rebuilt[number]
        return plan if isinstance(plan, Plan) else None
    return None

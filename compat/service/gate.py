"""The gate's verdict on two versions of a job, from the registry. Nothing is checked here.

The gate always asks the same question: can NEW restore the state of OLD, under NEW's Flink, with no finding ignored
except those that an admin accepted for these two plans. Other checks of the same plans do not count. Each job's mode names the
OLD sides: the running version, the last versions that ran, or a savepoint.
"""

from __future__ import annotations

from msgspec import Struct

from compat.migration.recipe import Recipe
from compat.service.options import Accepted, Options
from compat.service.records import Acceptance, Check, Job, Mode, Version
from compat.service.registry import Registry


class Decided(Struct, frozen=True):
    """The newest check that the gate uses, None if there is none yet, and the findings that admins accepted between the
    plans.
    """

    check: Check | None
    accepted: tuple[Acceptance, ...]


def states(registry: Registry, job: Job) -> tuple[Version, ...]:
    """The versions of a job whose state a new one has to restore, the running one first. Blocks."""
    running = () if job.current is None else (job.current,)
    if job.compatibility.mode is not Mode.ROLLBACK:
        return running
    numbers = {version.number for version in running}
    ran = registry.jobs.ran(job.name, job.compatibility.versions or 1)
    return (*running, *(version for version in ran if version.number not in numbers))


def decided(registry: Registry, job: str, old: Version, new: Version, recipe: Recipe | None = None) -> Decided:
    """The known decision on ``new`` in place of ``old``, whose state a recipe may have moved. Blocks."""
    plans = old.plan.digest, new.plan.digest
    accepted = registry.acceptances.between(job, *plans)
    options = gate_options(new, accepted, recipe)
    return Decided(registry.checks.between(job, *plans, options), accepted)


def gate_options(new: Version, accepted: tuple[Acceptance, ...] = (), recipe: Recipe | None = None) -> Options:
    """The gate's options for a check of ``new``."""
    accept = tuple(Accepted(each.fingerprint, each.reason) for each in accepted)
    return Options(flink=new.plan.flink, accept=accept, recipe=recipe)

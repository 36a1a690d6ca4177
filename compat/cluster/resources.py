"""Slots, and which jobs get them. Flink: ``ResourceManager``, ``SlotManager``, ``SlotSharingGroup``.

A job needs as many slots as its slot sharing groups have together. Jobs get them in the order of their submission: one that
waits for many is not overtaken by those behind it that need few, so that each has its turn.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from compat.cluster.records import ClusterJob
from compat.compiler.executiongraph.states import JobStatus
from compat.state.frozen import frozen


@frozen
class Grant:
    """A job that gets its slots, and the number of its fair pool in Spark: pools are used again, as Spark forgets none."""

    job: ClusterJob
    pool: int


class NotEnoughSlots(ValueError):
    """A job needs more slots than the cluster has."""


def refuse_too_wide(slots: int, total: int) -> None:
    """Raise NotEnoughSlots for a job that could never run here."""
    if slots > total:
        raise NotEnoughSlots(
            f"The job needs {slots} slots, and the cluster has {total}: give it a lower parallelism (-p), or start the cluster "
            f"with --slots {slots}."
        )


def has_slots(job: ClusterJob) -> bool:
    """True for a job that holds its slots: those that wait have no pool."""
    return job.pool is not None and not job.status.terminal


def free_slots(jobs: Iterable[ClusterJob], total: int) -> int:
    """The slots that no job has."""
    return total - sum(job.slots for job in jobs if has_slots(job))


def grants(jobs: Iterable[ClusterJob], total: int, first: Container[str] = ()) -> list[Grant]:
    """The waiting jobs that get their slots now, in order. ``jobs`` are those that have not ended.

    Those whose ids are in ``first`` come before all others: they take the place of one that had slots.
    """
    jobs = sorted(jobs, key=lambda job: (job.id not in first, job.number))
    free = free_slots(jobs, total)
    taken = {job.pool for job in jobs if has_slots(job)}
    found = []
    for job in jobs:
        if job.status is not JobStatus.CREATED or has_slots(job):
            continue
        if job.slots > free:
            break
        pool = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(pool)
        free -= job.slots
        found.append(Grant(job=job, pool=pool))
    return found


def waiting_for(job: ClusterJob, jobs: Iterable[ClusterJob], total: int) -> str:
    """What a job waits for, in words; nothing for one that has its slots."""
    if job.status is not JobStatus.CREATED or has_slots(job):
        return ""
    jobs = list(jobs)
    ahead = sum(other.number < job.number and other.status is JobStatus.CREATED for other in jobs)
    behind = f", behind {ahead} job{'s' * (ahead != 1)}" if ahead else ""
    return f"waiting for {job.slots} slots, {free_slots(jobs, total)} free{behind}"

"""Slots, and the jobs that get them. Flink: ``ResourceManager``, ``SlotManager``, ``SlotSharingGroup``.

A job needs the slots of all its slot sharing groups, and the resources that these ask for. Jobs get them in the order of their
submission: small jobs do not overtake one that waits for many slots, so that each has its turn.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct

from compat.cluster.records import ClusterJob, Room
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.machines import executors, this_machine
from compat.compiler.spark.driver.masters import in_containers, is_standalone
from compat.compiler.spark.resources import GroupNeeds, Machine, Machines, lack


class Grant(Struct, frozen=True, kw_only=True):
    """A job that gets its slots, and the number of its fair pool in Spark: pools are used again, as Spark forgets none."""

    job: ClusterJob
    pool: int


class NotEnoughSlots(ValueError):
    """A job needs more slots, or larger ones, than the cluster has."""


class Capacity(Struct, frozen=True, kw_only=True):
    """The resources of a cluster: slots, and the machines that they are on, if known."""

    slots: int
    machines: Machines | None = None

    @classmethod
    def of(cls, slots: int, master: str, options: Mapping[str, str]) -> Capacity:
        """The resources of a cluster with a Spark of its own: machines of this master, or the executors that it starts."""
        if in_containers(master):
            return cls(slots=slots, machines=executors(options))
        if is_standalone(master):
            return cls(slots=slots)
        return cls(slots=slots, machines=this_machine("start the cluster where there is more (--master)"))

    @property
    def room(self) -> Room:
        """The whole room; unknown resources are infinite."""
        together = Machine() if self.machines is None else self.machines.together
        return Room(slots=self.slots, cores=together.cores, memory=together.memory)

    def refuse(self, slots: int, groups: Sequence[GroupNeeds] = ()) -> None:
        """Raise NotEnoughSlots for a job that could never run here."""
        if slots > self.slots:
            raise NotEnoughSlots(
                f"The job needs {slots} slots, and the cluster has {self.slots}: give it a lower parallelism (-p), or start "
                f"the cluster with --slots {slots}."
            )
        problem = None if self.machines is None else lack(groups, self.machines)
        if problem is not None:
            raise NotEnoughSlots(problem)


def has_slots(job: ClusterJob) -> bool:
    """True for a job that has its slots: waiting jobs have no pool."""
    return job.pool is not None and not job.status.terminal


def free_room(jobs: Iterable[ClusterJob], total: Room) -> Room:
    """The room that no job has."""
    for job in jobs:
        if has_slots(job):
            total -= job.room
    return total


def grants(jobs: Iterable[ClusterJob], total: Room, first: Container[str] = ()) -> list[Grant]:
    """The waiting jobs that get their slots now, in order. ``jobs`` are those that have not ended.

    Those whose ids are in ``first`` come before all others: they take the place of one that had slots.
    """
    jobs = sorted(jobs, key=lambda job: (job.id not in first, job.number))
    free = free_room(jobs, total)
    taken = {job.pool for job in jobs if has_slots(job)}
    found = []
    for job in jobs:
        if job.status is not JobStatus.CREATED or has_slots(job):
            continue
        if not free.holds(job.room):
            break
        pool = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(pool)
        free -= job.room
        found.append(Grant(job=job, pool=pool))
    return found


def waiting_for(job: ClusterJob, jobs: Iterable[ClusterJob], total: Room) -> str:
    """The resources that a job waits for, in words; nothing for a job with its slots."""
    if job.status is not JobStatus.CREATED or has_slots(job):
        return ""
    jobs = list(jobs)
    ahead = sum(other.number < job.number and other.status is JobStatus.CREATED for other in jobs)
    behind = f", behind {ahead} job{'s' * (ahead != 1)}" if ahead else ""
    return f"waiting for {job.room}, {free_room(jobs, total).beside(job.room)} free{behind}"

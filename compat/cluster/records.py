"""The records of a cluster, as frozen values. Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.resources import ROUNDING, GroupNeeds
from compat.compiler.transformations.resources import amount


class Action(StrEnum):
    """The requests to a running job, by the words of the job's mailbox."""

    SAVEPOINT = "savepoint"
    STOP = "stop"
    CANCEL = "cancel"


class Room(Struct, frozen=True, kw_only=True):
    """The room that jobs need, have, or leave: slots, and the cores and bytes of memory that their groups request."""

    slots: int
    cores: float = 0.0
    memory: float = 0

    @classmethod
    def of(cls, slots: int, groups: Sequence[GroupNeeds]) -> Room:
        """The room for a job whose groups need that."""
        return cls(
            slots=slots, cores=sum(group.cores for group in groups), memory=sum(group.memory for group in groups)
        )

    def __sub__(self, other: Room) -> Room:
        return Room(slots=self.slots - other.slots, cores=self.cores - other.cores, memory=self.memory - other.memory)

    def holds(self, other: Room) -> bool:
        """True if the other one fits into this one; resources that it does not request do not count."""
        return (
            other.slots <= self.slots
            and (other.cores == 0 or other.cores <= self.cores + ROUNDING)
            and (other.memory == 0 or other.memory <= self.memory)
        )

    def beside(self, asked: Room) -> str:
        """As it is told beside what somebody asks for: as far as that goes."""
        return str(self) if asked.cores or asked.memory else str(self.slots)

    def __str__(self) -> str:
        asked = amount(self.cores, self.memory) if self.cores or self.memory else ""
        return f"{self.slots} slots{asked and ' with '}{asked}"


class ClusterJob(Struct, frozen=True, kw_only=True):
    """A job of a cluster.

    ``attempt`` is the number of the last process started for it, which is also its fencing token; 0 before it got its slots.
    ``pool`` is its fair pool in Spark while it has slots. ``stopped_with`` is the savepoint from its stop.
    ``cores`` and ``memory``, in bytes, are the sums over its slot sharing groups.
    """

    id: str
    number: int
    name: str
    program: str
    slots: int
    status: JobStatus
    attempt: int
    pool: int | None
    by: str
    submitted_at: float
    started_at: float | None
    ended_at: float | None
    restored_from: str | None
    stopped_with: str | None
    message: str
    cores: float = 0.0
    memory: int = 0

    @property
    def room(self) -> Room:
        """The room that it needs to run."""
        return Room(slots=self.slots, cores=self.cores, memory=self.memory)


class FormerJob(Struct, frozen=True, kw_only=True):
    """The last job of a name that had state, and is no longer listed. ``state`` is its state's path, None if it is gone."""

    name: str
    job: str
    number: int
    status: JobStatus
    state: str | None

    @classmethod
    def of(cls, job: ClusterJob, state: str | None) -> FormerJob:
        """A job that is about to be removed, and leaves that state."""
        return cls(name=job.name, job=job.id, number=job.number, status=job.status, state=state)


class JobRequest(Struct, frozen=True, kw_only=True):
    """A request to a job; ``done_at`` is None until it has an outcome: a ``location`` or an ``error``."""

    id: str
    job: str
    action: Action
    path: str | None
    drain: bool
    at: float
    done_at: float | None
    location: str | None
    error: str | None


class JobFailure(Struct, frozen=True, kw_only=True):
    """The unrequested end of an attempt."""

    at: float
    attempt: int
    cause: str


class Leader(Struct, frozen=True, kw_only=True):
    """The leader of a cluster: ``token`` grows with each, ``url`` is the address at which it listens."""

    token: int
    holder: str
    url: str
    renewed_at: float

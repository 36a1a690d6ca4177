"""The state of a job, from the file in its directory, as ``compat job list`` shows it."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import mmh3
import msgspec
from msgspec.structs import asdict, replace

from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.state.stores.paths import Place

if TYPE_CHECKING:
    from compat.state.delta.past import Ended

NOT_ENDED = frozenset(status.value for status in JobStatus if not status.terminal)
_TO_GO_ON = NOT_ENDED | {JobStatus.FAILED.value}
ENTRY, _DIGEST = "job.json", "digest"
"""The file with the entry of a job, which contains the digest of its other contents."""


class JobEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A job as ``compat job list`` shows it. Times are seconds since 1970; ``fingerprint`` is that of its physical
    plan, ``source`` that of its program's file.

    ``metrics`` are its operators' measurements since its driver started, ``vertices`` the states of its tasks. ``fence`` is the
    fencing token of the driver that wrote this, ``stopped_with`` the savepoint of its stop. ``occurrence`` counts the jobs of
    that name which the program had submitted before; ``arguments`` are the program's arguments, ``host`` is the machine of its
    driver. ``retention`` is the program's rule for checkpoints of ended jobs, if it has one.
    """

    job_id: str
    name: str
    status: str
    pid: int
    program: str = ""
    savepoint: str | None = None
    fingerprint: str = ""
    source: str = ""
    started: float = 0.0
    ended: float | None = None
    epoch: int = 0
    records: int = 0
    message: str = ""
    metrics: list[dict[str, Any]] = msgspec.field(default_factory=list)
    vertices: list[VertexStatus] = msgspec.field(default_factory=list)
    fence: int = 0
    stopped_with: str | None = None
    occurrence: int = 0
    retention: str = ""
    host: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """True for a job that never continues."""
        return self.status not in _TO_GO_ON

    def yields_to(self, other: JobEntry) -> bool:
        """True if ``other``, which exists, must not be replaced by this one: a later driver wrote it, or the job has ended."""
        return other.fence > self.fence or (other.fence == self.fence and other.over and other.status != self.status)

    def ended_as(self, ended: Ended, epoch: int) -> JobEntry:
        """The same job, with the end that its log records."""
        return replace(
            self, status=ended.status, stopped_with=ended.savepoint, ended=self.ended or time.time(), epoch=epoch
        )

    @classmethod
    def read(cls, data: dict[str, Any]) -> JobEntry:
        """The entry that was written, without fields that only later versions know. Raises TypeError for anything else."""
        vertices = [VertexStatus(**_known(VertexStatus, each)) for each in data.get("vertices", [])]
        return cls(**{**_known(cls, data), "vertices": vertices, "arguments": tuple(data.get("arguments", ()))})

    @property
    def tasks(self) -> Counter[str]:
        """The number of its tasks in each state, by the state's name."""
        found: Counter[str] = Counter()
        for vertex in self.vertices:
            found.update(vertex.tasks)
        return found

    @property
    def failed_tasks(self) -> list[str]:
        """The tasks in which the present attempt failed."""
        failed = [vertex for vertex in self.vertices if ExecutionState.FAILED.value in vertex.tasks]
        return [vertex.failed_task for vertex in failed if vertex.failed_task is not None]


def _known(kind: type[msgspec.Struct], data: dict[str, Any]) -> dict[str, Any]:
    """The fields that a record has of those that were written."""
    return {name: value for name, value in data.items() if name in kind.__struct_fields__}


class ListedJob(JobEntry, frozen=True, kw_only=True):
    """A job in a list of a store or of a cluster.

    ``alive`` says whether its driver runs, ``interrupted`` whether it goes on when its program is run again. A cluster also
    gives the number of ``slots`` that a job holds (0 for none), the number of its ``attempt``, and what it is ``waiting`` for.
    """

    alive: bool
    interrupted: bool
    slots: int = 0
    attempt: int = 0
    waiting: str = ""

    @classmethod
    def of(cls, entry: JobEntry, **known: Any) -> ListedJob:
        """An entry, with the other facts about its job."""
        return cls(**{**asdict(entry), **known})


def read_entry(directory: Place) -> JobEntry:
    """The entry of the job of a directory. Raises OSError, and ValueError, TypeError or AttributeError if it is damaged.

    One with a name or an argument that changed would be another program's, and the job would be begun anew beside it.
    """
    told = json.loads((directory / ENTRY).read())
    if told.pop(_DIGEST, None) not in (None, _digest_of(told)):  # those of former versions have none
        raise ValueError("it is not what was written")
    entry = JobEntry.read(told)
    JobStatus(entry.status)  # raises ValueError: an unknown one would end the job's followers
    return entry


def told_by(entry: JobEntry) -> dict[str, Any]:
    """The contents of an entry's file."""
    told = msgspec.to_builtins(entry)
    return {**told, _DIGEST: _digest_of(told)}


def _digest_of(told: dict[str, Any]) -> str:
    return f"{mmh3.hash128(json.dumps(told).encode()):032x}"

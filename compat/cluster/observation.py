"""The visible state of a cluster and its jobs, read from records and files, at most once a second.

No job's process is asked, and all readers share one look.
"""

from __future__ import annotations

import os
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from msgspec import Struct

from compat.cluster import resources
from compat.cluster.cache import Recent
from compat.cluster.history import History, HistoryReader
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import ClusterJob, JobFailure, JobRequest, Room
from compat.cluster.registry import Jobs
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.operators.metrics import RECORDS_IN, RECORDS_OUT
from compat.execution.narration import last_line

SECONDS = 1.0
"""The maximum age of shown data, in seconds."""
MOST_REQUESTS = 10
LAST_ENDED = 20
LARGEST_LOG = 1024 * 1024
"""The maximum bytes of a log that are read at once, from its end."""
_MOST_SEEN = 32
"""The number of jobs whose observed state is kept in memory."""
_MOST_ENDED = 1000
"""The number of ended jobs whose entry alone is kept."""
_EXCEPTION = re.compile(r"([A-Za-z_][\w.]{0,200})(?:: |$)")


class JobSeen(Struct, frozen=True, kw_only=True):
    """A job with its entry in the store: its progress, and the state of its tasks; None before it began."""

    job: ClusterJob
    entry: JobEntry | None
    waiting: str


class ClusterSeen(Struct, frozen=True, kw_only=True):
    """The jobs that have not ended, and the last of those that have, the newest first; the slots, and how many jobs have each
    status. ``spark`` is True while there is one to attach to.
    """

    unfinished: tuple[JobSeen, ...]
    ended: tuple[JobSeen, ...]
    slots: int
    free: int
    counts: Mapping[JobStatus, int]
    spark: bool


class Failure(Struct, frozen=True, kw_only=True):
    """A failure of a job, ``at`` seconds since 1970: ``cause`` is a whole traceback if there is one.

    ``delay`` are the seconds after which the job itself started again, None if its process was replaced, or the job ended.
    """

    at: float
    attempt: int
    cause: str
    task: str | None = None
    delay: float | None = None

    @property
    def headline(self) -> str:
        """The line that names the failure."""
        return last_line(self.cause) or "no cause is known"

    @property
    def exception(self) -> str:
        """The class of the exception; nothing if it was none."""
        match = _EXCEPTION.match(self.headline)
        return match[1] if match is not None else ""


class VertexSeen(Struct, frozen=True, kw_only=True):
    """A vertex: the state of its tasks, the metrics of its operators, and the records that it read and wrote.

    A number is None if nothing is counted, as with the records that a sink writes.
    """

    status: VertexStatus
    metrics: tuple[Mapping[str, Any], ...]
    read: int | None
    written: int | None


class JobDetails(Struct, frozen=True, kw_only=True):
    """All visible facts about a job. ``failures`` has the newest first, of all attempts; ``looked`` tells one look at
    the job
    from another.
    """

    looked: float
    seen: JobSeen
    vertices: tuple[VertexSeen, ...]
    failures: tuple[Failure, ...]
    history: History
    requests: tuple[JobRequest, ...]

    @property
    def job(self) -> ClusterJob:
        """The job."""
        return self.seen.job


class LogTail(Struct, frozen=True, kw_only=True):
    """The end of a log: its text, and the number of bytes before it that are left out."""

    text: str
    before: int


class Observer:
    """Looks at a cluster for all readers."""

    def __init__(self, folder: ClusterFolder, jobs: Jobs, total: Room) -> None:
        self._folder, self._jobs, self._total = folder, jobs, total
        self._clusters = Recent(self._look_at_cluster, SECONDS, 1)
        self._details = Recent(self._look_at_job, SECONDS, _MOST_SEEN)
        self._over: OrderedDict[str, JobEntry] = OrderedDict()
        self._readers: OrderedDict[str, HistoryReader] = OrderedDict()
        self._lock = Lock()

    def cluster(self) -> ClusterSeen:
        """The cluster as it is, or was a moment ago."""
        return self._clusters.get(None)

    def job(self, id: str) -> JobDetails:
        """A job, by its id or the beginning of it, as it is, or was a moment ago. Raises UnknownJob."""
        return self._details.get(self._jobs.get(id).id)

    def ended(
        self, *, limit: int, before: int | None = None, text: str = "", status: JobStatus | None = None
    ) -> list[JobSeen]:
        """Jobs that have ended, as :meth:`~compat.cluster.registry.Jobs.ended` finds them."""
        return [self._seen(job, []) for job in self._jobs.ended(limit=limit, before=before, text=text, status=status)]

    def entry(self, job: ClusterJob) -> JobEntry | None:
        """A job's progress as its process last wrote it; for an ended job, this is read once."""
        if not job.status.terminal:
            return self._folder.store.entry(job.id)
        with self._lock:
            entry = self._over.get(job.id)
        if entry is None:
            entry = self._folder.store.entry(job.id)
            if entry is not None:
                self._hold(self._over, job.id, entry, _MOST_ENDED)
        return entry

    def changed(self, id: str) -> None:
        """Note that a job got a request: the next look shows it."""
        self._details.forget(id)

    def log(self, id: str, most: int = LARGEST_LOG) -> LogTail:
        """The end of the output of a job's processes, of at most this many bytes, from the beginning of a line on."""
        return tail(self._folder.log_of(id), min(most, LARGEST_LOG))

    def _look_at_cluster(self, _: None) -> ClusterSeen:
        unfinished = self._jobs.unfinished()
        return ClusterSeen(
            unfinished=tuple(self._seen(job, unfinished) for job in reversed(unfinished)),
            ended=tuple(self.ended(limit=LAST_ENDED)),
            slots=self._total.slots,
            free=resources.free_room(unfinished, self._total).slots,
            counts=self._jobs.counts(),
            spark=self._folder.spark.find() is not None,
        )

    def _look_at_job(self, id: str) -> JobDetails:
        job = self._jobs.get(id)
        history = self._reader(id).read()
        found = [_of_process(each) for each in self._jobs.failures(id)]
        found += [
            Failure(at=each.at / 1000, attempt=job.attempt, cause=each.error, task=each.task, delay=each.delay)
            for each in history.restarts
        ]
        seen = self._seen(job, self._jobs.unfinished())
        return JobDetails(
            looked=time.monotonic(),
            seen=seen,
            vertices=tuple(vertices_of(seen.entry)),
            failures=tuple(sorted(found, key=lambda failure: -failure.at)),
            history=history,
            requests=tuple(self._jobs.requests(id, limit=MOST_REQUESTS)),
        )

    def _seen(self, job: ClusterJob, unfinished: list[ClusterJob]) -> JobSeen:
        waiting = resources.waiting_for(job, unfinished, self._total)
        return JobSeen(job=job, entry=self.entry(job), waiting=waiting)

    def _reader(self, id: str) -> HistoryReader:
        with self._lock:
            reader = self._readers.get(id)
        return reader or self._hold(self._readers, id, HistoryReader(self._folder.events(id)), _MOST_SEEN)

    def _hold(self, held: OrderedDict[str, Any], id: str, value: Any, most: int) -> Any:
        with self._lock:
            value = held.setdefault(id, value)
            held.move_to_end(id)
            while len(held) > most:
                held.popitem(last=False)
        return value


def vertices_of(entry: JobEntry | None) -> Iterator[VertexSeen]:
    """The vertices of a job. An operator's metrics are those of the vertex that it is chained into: they come in that order."""
    if entry is None:
        return
    by_vertex: dict[str, list[Mapping[str, Any]]] = {}
    heads, now = {vertex.id for vertex in entry.vertices}, ""
    for each in entry.metrics:
        now = each["operator_id"] if each["operator_id"] in heads else now
        by_vertex.setdefault(now, []).append(each)
    for vertex in entry.vertices:
        metrics = by_vertex.get(vertex.id, [])
        yield VertexSeen(
            status=vertex,
            metrics=tuple(metrics),
            read=_counted(metrics, RECORDS_IN),
            written=_counted(metrics, RECORDS_OUT),
        )


def _counted(metrics: Iterable[Mapping[str, Any]], name: str) -> int | None:
    found = [each["metrics"][name] for each in metrics if name in each["metrics"]]
    return sum(found) if found else None


def tail(path: Path, most: int) -> LogTail:
    """The end of a text file; nothing for a missing one."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - most))
            data = file.read(most)
    except OSError:
        return LogTail(text="", before=0)
    if len(data) < size:
        data = data[data.find(b"\n") + 1 :]
    return LogTail(text=data.decode("utf-8", "replace"), before=size - len(data))


def _of_process(failure: JobFailure) -> Failure:
    return Failure(at=failure.at, attempt=failure.attempt, cause=failure.cause)

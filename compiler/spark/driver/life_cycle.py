"""The states of a job's life, and their record in its store entry. Flink: ``DefaultExecutionGraph``."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from compat.compiler.configuration import CHECKPOINT_RETENTION
from compat.compiler.executiongraph.states import ExecutionState, JobStatus, next_job_status
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.options import source_of
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.task.stream_task import TaskReport
from compat.state.delta.errors import StoreError, Superseded, unwritable

_ENTRY_SECONDS = 1.0
"""The interval at which the entry of a running job is written, as each write waits for the disk."""
_CHANGES_SECONDS = 0.5
"""The same while its tasks come into states."""


class LifeCycle:
    """The life cycle of one job; ``before`` is its entry by a driver that died."""

    def __init__(self, job: DrivenJob, output: Output, before: JobEntry | None) -> None:
        self._job, self._output = job, output
        self._source = source_of(job.options.program)
        self._started = job.store.start_time(time.time()) if before is None else before.started
        self._written = 0.0
        self._replicas: Counter[str] = Counter()
        self._changes: deque[tuple[int, int, ExecutionState]] = deque()
        self._epoch_runs = False
        self._writing = threading.Lock()  # while an epoch runs, another thread writes the entry

    def to(self, status: JobStatus) -> None:
        """Enter a state that is not the last one."""
        self._job.status = next_job_status(self._job.status, status)
        self.write()

    def end(self, status: JobStatus, message: str = "", stopped_with: str | None = None) -> None:
        """Enter the last state. Raises Superseded if another process has taken the job over."""
        job = self._job
        self._output.note_remains()
        self._commit_end(status, stopped_with)
        if status is JobStatus.FAILED and job.status is not JobStatus.FAILING:
            job.status = next_job_status(job.status, JobStatus.FAILING)
        elif status is JobStatus.CANCELED:
            job.status = next_job_status(job.status, JobStatus.CANCELLING)
        if status is JobStatus.FINISHED:
            job.executions.finish()
        else:
            job.executions.cancel()
        job.status = next_job_status(job.status, status)
        self.write(ended=time.time(), message=message, stopped_with=stopped_with)

    def end_as(self, before: JobEntry) -> None:
        """End as the previous driver ended the job, which died before it could record that."""
        self._job.savepoint = before.stopped_with
        self.end(JobStatus(before.status), stopped_with=before.stopped_with)
        if before.status == JobStatus.FINISHED.value and before.stopped_with is None:
            self.tell_finished()
        else:
            self.tell_stopped(before.stopped_with)

    def tell_finished(self) -> None:
        """Report that the job's input has ended."""
        self._job.tell("finished", records=self._job.records, **self._told_at_the_end())

    def tell_stopped(self, path: str | None) -> None:
        """Report that the job was stopped, with a savepoint or without."""
        self._job.tell("stopped", path=path, **self._told_at_the_end())

    def _told_at_the_end(self) -> dict[str, Any]:
        return {"metrics": self._job.measured.all(), "replicas": dict(self._replicas)}

    def ran(self, reports: list[TaskReport]) -> Counter[str]:
        """Count where the subtasks of an epoch found their local state; the counts are for this epoch only."""
        found = Counter(report.replica for report in reports if report.replica is not None)
        self._replicas += found
        return found

    def hear(self, vertex: int, subtask: int, state: ExecutionState) -> None:
        """Note that a subtask entered a state."""
        self._changes.append((vertex, subtask, state))

    def begin_epoch(self) -> None:
        """Accept messages about subtasks from now on."""
        self._epoch_runs = True

    def end_epoch(self) -> None:
        """Ignore messages from now on: they are from an attempt that is no longer wanted."""
        with self._writing:
            self._epoch_runs = False
            self._changes.clear()

    def write_changes(self) -> None:
        """Write the task states that changed in the running epoch."""
        with self._writing:
            if not self._epoch_runs or not self._changes or time.monotonic() - self._written < _CHANGES_SECONDS:
                return
            while self._changes:
                self._job.executions.told(*self._changes.popleft())
            with suppress(Superseded):  # the job's thread finds out
                self.write()

    def write_in_time(self, *, news: bool) -> None:
        """Write the entry if it has changed, or is old."""
        if news or time.monotonic() - self._written > _ENTRY_SECONDS:
            self.write()

    def write(self, **changes: Any) -> None:
        """Write the entry, with these changes. Raises Superseded if another process drives the job."""
        job = self._job
        entry = self._entry()
        self._written = time.monotonic()
        if job.lease.lost:
            return  # whoever drives the job now writes down how it is
        try:
            job.store.write(replace(entry, **changes))
        except Superseded:
            if not job.status.terminal:  # else the log has said how the job ended
                raise
        # A full disk must not hide the job's end; a job with an old entry counts as interrupted.
        except StoreError:
            if job.status is JobStatus.CREATED:
                raise
        except OSError as error:
            if job.status is JobStatus.CREATED:
                raise unwritable("The store", job.store.root, error, "give another with --store") from error

    def _entry(self) -> JobEntry:
        job = self._job
        return JobEntry(
            job_id=job.job_id,
            name=job.plan.job_name,
            status=job.status.value,
            pid=os.getpid(),
            program=job.options.program,
            savepoint=job.options.savepoint,
            fingerprint=job.plan.fingerprint,
            source=self._source,
            started=self._started,
            epoch=job.coordinator.epoch,
            records=job.records,
            metrics=job.measured.all(),
            vertices=job.executions.summary(),
            fence=job.lease.token,
            occurrence=job.options.occurrence,
            host=socket.gethostname(),
            arguments=job.options.arguments,
            retention=job.plan.options.get(CHECKPOINT_RETENTION, ""),
        )

    def _commit_end(self, status: JobStatus, stopped_with: str | None) -> None:
        """Have the log say that the job has ended, before anybody else hears it: who takes the job over goes by the log.

        Raises Superseded if somebody has taken it over. A store that cannot be written must not hide why a job fails.
        """
        try:
            self._job.coordinator.log.end(status.value, stopped_with)
        except Superseded:
            raise
        except StoreError:
            if status is JobStatus.FINISHED:
                raise

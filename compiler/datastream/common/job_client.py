"""The handle of a submitted job. Flink: ``JobClient``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat.compiler.datastream.common.completable_future import CompletableFuture
from compat.compiler.datastream.common.job_execution_result import JobExecutionResult
from compat.compiler.datastream.common.job_id import JobID
from compat.compiler.datastream.common.job_status import JobStatus

__all__ = ["JobClient"]

SAVEPOINT = "savepoint-of-a-planned-job"
"""The name of the savepoints that planned jobs claim to have taken."""


class JobClient:
    """The client of a job that is planned and not run. An executor that runs jobs gives a subclass.

    A planned job stays CREATED, so a loop that waits for its end never ends. All other calls are answered at once, so that the
    program goes on. A savepoint has a path without a file, ``SAVEPOINT`` in the given directory. The result has the job's id,
    no running time and no accumulators. Cancelling does nothing, and there are no records.
    """

    def __init__(self, job_id: JobID | None = None) -> None:
        self._job_id = job_id or JobID()

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_job_status(self) -> CompletableFuture:
        """A future of the job's :class:`JobStatus`."""
        return CompletableFuture.completed(JobStatus.CREATED)

    def cancel(self) -> CompletableFuture:
        """Cancel the job."""
        return CompletableFuture.completed(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Take a savepoint and stop; a future of the savepoint's path."""
        return CompletableFuture.completed(_savepoint_in(savepoint_directory))

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Take a savepoint; a future of its path."""
        return CompletableFuture.completed(_savepoint_in(savepoint_directory))

    def get_accumulators(self) -> CompletableFuture:
        """A future of the accumulators' present values by name."""
        return CompletableFuture.completed({})

    def get_job_execution_result(self) -> CompletableFuture:
        """A future of the :class:`JobExecutionResult`."""
        return CompletableFuture.completed(JobExecutionResult(self._job_id))

    def collect(self) -> Iterator[Any]:
        """The records of ``execute_and_collect``, as they come."""
        return iter(())


def _savepoint_in(directory: str | None) -> str:
    return f"{(directory or 'file:').rstrip('/')}/{SAVEPOINT}"

"""The handle of a submitted job. Flink: ``JobClient``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compat.compiler.datastream.common.completable_future import CompletableFuture
from compat.compiler.datastream.common.job_execution_result import JobExecutionResult
from compat.compiler.datastream.common.job_id import JobID
from compat.compiler.datastream.common.job_status import JobStatus
from compat.compiler.errors import ProgramError

__all__ = ["JobClient"]


class JobClient:
    """The client of a job that is planned and not run: it counts as finished, and has no records.

    An executor that runs jobs gives a subclass.
    """

    def __init__(self, job_id: JobID | None = None) -> None:
        self._job_id = job_id or JobID()

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_job_status(self) -> CompletableFuture:
        """A future of the job's :class:`JobStatus`."""
        return CompletableFuture.completed(JobStatus.FINISHED)

    def cancel(self) -> CompletableFuture:
        """Cancel the job."""
        return CompletableFuture.completed(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Take a savepoint and stop; a future of the savepoint's path."""
        return CompletableFuture(self._no_savepoint)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Take a savepoint; a future of its path."""
        return CompletableFuture(self._no_savepoint)

    def get_accumulators(self) -> CompletableFuture:
        """A future of the accumulators' present values by name."""
        return CompletableFuture.completed({})

    def get_job_execution_result(self) -> CompletableFuture:
        """A future of the :class:`JobExecutionResult`."""
        return CompletableFuture.completed(JobExecutionResult(self._job_id))

    def collect(self) -> Iterator[Any]:
        """The records of ``execute_and_collect``, as they come."""
        return iter(())

    def _no_savepoint(self) -> str:
        raise ProgramError(
            f"Job {self._job_id} is only planned, not running, so there is no state to save: "
            "run the program with 'compat run'."
        )

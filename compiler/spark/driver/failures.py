"""The errors that end jobs, or attempts of jobs."""

from __future__ import annotations

from compat.compiler.spark.driver.source_coordinator import SourceFailure
from compat.compiler.spark.task.epochs import EpochLost, TaskFailure
from compat.state.delta.errors import StoreError


class JobFailed(Exception):
    """The job failed, and its restart strategy gave up. ``failure`` has the record that made the program fail, if known."""

    def __init__(self, failure: TaskFailure) -> None:
        self.failure = failure
        where = f"Task {failure.task} failed in operator {failure.operator!r}."
        if not failure.operator:
            where = f"Task {failure.task} failed."
        elif not failure.task:
            where = f"The driver's side of operator {failure.operator!r} failed."
        given = f"The record: {failure.record}\n" if failure.record else ""
        super().__init__(f"{where}\n{given}{failure.cause}" if failure.task or failure.operator else failure.cause)


class JobCancelled(Exception):
    """The job was cancelled. Flink: ``JobCancellationException``."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"Job {job_id} was cancelled.")


class AttemptFailed(Exception):
    """An attempt of the job failed in a subtask."""

    def __init__(self, failure: TaskFailure) -> None:
        super().__init__(failure.cause)
        self.failure = failure


class Abandoned(Exception):
    """The process ends, but the job does not: it continues when the program is run again."""


def failure_of(error: Exception) -> TaskFailure:
    """The failure that ends an attempt of the job."""
    match error:
        case AttemptFailed():
            return error.failure
        case SourceFailure():
            return TaskFailure("", error.operator, None, error.cause)
        case StoreError():
            return TaskFailure("", None, None, str(error))
        case EpochLost():
            return TaskFailure("", None, None, str(error), lost=True)
        case _:
            return TaskFailure(
                "", None, None, f"The job cannot go on from its last checkpoint: {type(error).__name__}: {error}"
            )

"""The cluster's answers over HTTP, in the words of Flink's REST API if it has them. Times are milliseconds since 1970."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from compat import __version__
from compat.cluster import resources
from compat.cluster.deployments.answers import DeploymentSummary, StepTaken
from compat.cluster.deployments.records import Deployment, Taken
from compat.cluster.history import Checkpoint, History, SavepointWritten, Started
from compat.cluster.observation import ClusterSeen, Failure, VertexSeen, vertices_of
from compat.cluster.records import ClusterJob, JobFailure, JobRequest, Room
from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry, ListedJob

Json = dict[str, Any]
_NEVER = -1
MOST = 100
"""The number of checkpoints that are listed."""
MOST_EXCEPTIONS = 20
"""The number of failures that are listed by default."""


class CheckpointCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``CheckpointingStatistics.Counts``. Epochs that fail are tried again and count as failures of the job."""

    restored: int
    total: int
    completed: int
    in_progress: int = 0
    failed: int = 0


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``StatsSummaryDto``."""

    min: int = 0
    max: int = 0
    avg: int = 0
    p50: float = 0.0
    p90: float = 0.0
    p95: float = 0.0
    p99: float = 0.0
    p999: float = 0.0


class CheckpointSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``CheckpointingStatistics.Summary``: of the checkpoints that are listed, in milliseconds and bytes."""

    end_to_end_duration: Spread
    state_size: Spread
    checkpointed_size: Spread


class CompletedCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``CompletedCheckpointStatistics``; ``state_size`` are all bytes of state, ``checkpointed_size`` those written."""

    is_savepoint: bool
    trigger_timestamp: int
    latest_ack_timestamp: int
    external_path: str
    id: int | None = None
    status: str = "COMPLETED"
    end_to_end_duration: int | None = None
    state_size: int | None = None
    checkpointed_size: int | None = None
    records: int | None = None


class RestoredCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``RestoredCheckpointStatistics``."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str


class LatestCheckpoints(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``CheckpointingStatistics.LatestCheckpoints``."""

    completed: CompletedCheckpoint | None
    savepoint: CompletedCheckpoint | None
    restored: RestoredCheckpoint | None
    failed: None = None


class CheckpointingStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``CheckpointingStatistics``; an epoch is a checkpoint. The newest is first."""

    counts: CheckpointCounts
    summary: CheckpointSummary
    latest: LatestCheckpoints
    history: list[CompletedCheckpoint]


class ExceptionEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Flink: ``JobExceptionsInfoWithHistory.RootExceptionInfo``. ``attempt`` is the number of the process."""

    exception_name: str
    stacktrace: str
    timestamp: int
    task_name: str | None
    attempt: int


class ExceptionEntries(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``JobExceptionsInfoWithHistory.JobExceptionHistory``."""

    entries: list[ExceptionEntry]
    truncated: bool


class ExceptionHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``JobExceptionsInfoWithHistory``."""

    history: ExceptionEntries = msgspec.field(name="exceptionHistory")


class IOMetrics(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """Flink: ``IOMetricsInfo``: None for what is not counted, as the records that a sink writes."""

    read_records: int | None
    write_records: int | None


class OperatorMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics of an operator since the job's process started."""

    operator_id: str
    name: str
    metrics: Json


class VertexDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``JobVertexDetailsInfo``, its subtasks counted by state."""

    id: str
    name: str
    parallelism: int
    status: str
    attempt: int
    since: int
    tasks: dict[str, int]
    failure: str | None
    failed_task: str | None = msgspec.field(name="failed-task")
    metrics: IOMetrics
    operators: list[OperatorMetrics]
    now: int


def overview(seen: ClusterSeen) -> Json:
    """Flink: ``ClusterOverviewWithVersion``."""
    return {
        "taskmanagers": 1,
        "slots-total": seen.slots,
        "slots-available": seen.free,
        "jobs-running": len(seen.unfinished),
        "jobs-finished": seen.counts.get(JobStatus.FINISHED, 0),
        "jobs-cancelled": seen.counts.get(JobStatus.CANCELED, 0),
        "jobs-failed": seen.counts.get(JobStatus.FAILED, 0),
        "flink-version": f"compat {__version__}",
        "flink-commit": "",
    }


def listed(jobs: Sequence[ClusterJob]) -> Json:
    """Flink: ``JobIdsWithStatusOverview``."""
    return {"jobs": [{"id": job.id, "status": job.status.value} for job in jobs]}


def listed_job(job: ClusterJob, entry: JobEntry | None, jobs: Sequence[ClusterJob], total: Room) -> ListedJob:
    """A job as those of a store are listed. What the cluster has decided counts before what the job's process wrote."""
    known = entry if entry is not None else JobEntry(job_id=job.id, name=job.name, status="", pid=0)
    return ListedJob.of(
        known,
        name=job.name,
        status=job.status.value,
        program=job.program,
        savepoint=job.restored_from,
        started=job.started_at or 0.0,
        ended=job.ended_at,
        message=job.message,
        stopped_with=job.stopped_with,
        fence=job.attempt,
        alive=resources.has_slots(job),
        interrupted=False,
        slots=job.slots,
        attempt=job.attempt,
        waiting=resources.waiting_for(job, jobs, total),
    )


def job_overview(job: ClusterJob, entry: JobEntry | None, jobs: Sequence[ClusterJob], total: Room) -> Json:
    """Flink: ``JobDetails``; with what it waits for, and how far it is."""
    begun = job.started_at or job.submitted_at
    ended = job.ended_at
    tasks = _tasks(entry)
    return {
        "jid": job.id,
        "name": job.name,
        "state": job.status.value,
        "start-time": _millis(begun),
        "end-time": _millis(ended),
        "duration": int(1000 * ((ended or time.time()) - begun)),
        "last-modification": _millis(ended or begun),
        "tasks": {"total": sum(tasks.values()), **tasks},
        "failed-tasks": [] if entry is None else entry.failed_tasks,
        "slots": job.slots,
        "attempt": job.attempt,
        "checkpoint": entry.epoch if entry is not None else 0,
        "records": entry.records if entry is not None else 0,
        "waiting": resources.waiting_for(job, jobs, total),
        "program": job.program,
    }


def job_details(
    job: ClusterJob, entry: JobEntry | None, failures: Sequence[JobFailure], jobs: Sequence[ClusterJob], total: Room
) -> Json:
    """Flink: ``JobDetailsInfo``; with the failures and their causes."""
    seen = job_overview(job, entry, jobs, total)
    return {
        **seen,
        "isStoppable": not job.status.terminal and job.status is not JobStatus.CREATED,
        "now": _millis(time.time()),
        "status-counts": seen["tasks"],
        "vertices": [
            {
                "id": each.status.id,
                "name": each.status.name,
                "parallelism": each.status.parallelism,
                "status": each.status.status,
                "tasks": {state.value: each.status.tasks.get(state.value, 0) for state in ExecutionState},
                "failure": each.status.failure,
                "failed-task": each.status.failed_task,
                "metrics": {"read-records": each.read, "write-records": each.written},
            }
            for each in vertices_of(entry)
        ],
        "restored-from": job.restored_from,
        "stopped-with": job.stopped_with,
        "message": job.message,
        "submitted-by": job.by,
        "failures": [{**asdict(failure), "at": _millis(failure.at)} for failure in failures],
        "metrics": [] if entry is None else entry.metrics,
    }


def checkpoints(history: History, directory: str) -> CheckpointingStatistics:
    """The checkpoints and savepoints of a job. Retained ones are below ``directory``."""
    completed = [_checkpoint(each, directory) for each in history.checkpoints[:MOST]]
    savepoints = [_savepoint(each) for each in history.savepoints]
    restored = [each for each in history.starts if each.restored is not None or each.checkpoint]
    total = history.committed + len(savepoints)
    return CheckpointingStatistics(
        counts=CheckpointCounts(restored=len(restored), total=total, completed=total),
        summary=_summary(history.checkpoints[:MOST]),
        latest=LatestCheckpoints(
            completed=completed[0] if completed else None,
            savepoint=savepoints[0] if savepoints else None,
            restored=_restored(restored[0], directory) if restored else None,
        ),
        history=sorted([*completed, *savepoints], key=lambda each: -each.latest_ack_timestamp),
    )


def _checkpoint(found: Checkpoint, directory: str) -> CompletedCheckpoint:
    took = round(1000 * found.seconds)
    return CompletedCheckpoint(
        id=found.epoch,
        is_savepoint=False,
        trigger_timestamp=found.at - took,
        latest_ack_timestamp=found.at,
        end_to_end_duration=took,
        state_size=found.state_bytes,
        checkpointed_size=found.added_bytes,
        records=found.records,
        external_path=f"{directory}@{found.epoch}",
    )


def _savepoint(found: SavepointWritten) -> CompletedCheckpoint:
    return CompletedCheckpoint(
        is_savepoint=True,
        trigger_timestamp=found.at,
        latest_ack_timestamp=found.at,
        external_path=found.path,
    )


def _restored(found: Started, directory: str) -> RestoredCheckpoint:
    path = f"{directory}@{found.checkpoint}" if found.restored is None else found.restored.path
    return RestoredCheckpoint(
        id=found.checkpoint, restore_timestamp=found.at, is_savepoint=found.restored is not None, external_path=path
    )


def _summary(found: Sequence[Checkpoint]) -> CheckpointSummary:
    return CheckpointSummary(
        end_to_end_duration=_spread([round(1000 * each.seconds) for each in found]),
        state_size=_spread([each.state_bytes for each in found]),
        checkpointed_size=_spread([each.added_bytes for each in found if each.added_bytes is not None]),
    )


def _spread(values: Sequence[int]) -> Spread:
    if not values:
        return Spread()
    ordered = sorted(values)

    def below(share: float) -> float:
        return float(ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)])

    return Spread(
        min=ordered[0],
        max=ordered[-1],
        avg=sum(ordered) // len(ordered),
        p50=below(0.5),
        p90=below(0.9),
        p95=below(0.95),
        p99=below(0.99),
        p999=below(0.999),
    )


def exceptions(failures: Sequence[Failure], most: int) -> ExceptionHistory:
    """The last failures of a job."""
    entries = [
        ExceptionEntry(
            exception_name=each.exception,
            stacktrace=each.cause,
            timestamp=_millis(each.at),
            task_name=each.task,
            attempt=each.attempt,
        )
        for each in failures[:most]
    ]
    return ExceptionHistory(history=ExceptionEntries(entries=entries, truncated=len(failures) > most))


def vertex(found: VertexSeen) -> VertexDetails:
    """A vertex of a job."""
    status = found.status
    return VertexDetails(
        id=status.id,
        name=status.name,
        parallelism=status.parallelism,
        status=status.status,
        attempt=status.attempt,
        since=_millis(status.since),
        tasks={state.value: status.tasks.get(state.value, 0) for state in ExecutionState},
        failure=status.failure,
        failed_task=status.failed_task,
        metrics=IOMetrics(read_records=found.read, write_records=found.written),
        operators=[OperatorMetrics(**each) for each in found.metrics],
        now=_millis(time.time()),
    )


def deployment(found: Deployment, steps: Sequence[Taken] = ()) -> DeploymentSummary:
    """A deployment, and its steps so far."""
    return DeploymentSummary(
        id=found.id,
        job=found.job,
        program=found.program,
        fingerprint=found.fingerprint,
        step=found.step.value,
        over=found.step.over,
        message=found.message,
        old=found.old,
        new=found.new,
        runs=found.runs,
        savepoint=found.savepoint,
        version=found.version,
        watch=found.watch,
        by=found.by,
        start_time=_millis(found.at),
        end_time=_millis(found.ended_at),
        steps=[StepTaken(step=each.step.value, at=_millis(each.at), message=each.message) for each in steps],
        checked=found.checked,
    )


def operation(request: JobRequest) -> Json:
    """Flink: ``AsynchronousOperationResult`` of a savepoint."""
    if request.done_at is None:
        return {"status": {"id": "IN_PROGRESS"}, "operation": None}
    if request.error is not None:
        cause = {"class": "SavepointFailed", "stack-trace": request.error, "message": request.error}
        return {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": cause}}
    return {"status": {"id": "COMPLETED"}, "operation": {"location": request.location}}


def _tasks(entry: JobEntry | None) -> dict[str, int]:
    counted = Counter[str]() if entry is None else entry.tasks
    return {state.value.lower(): counted[state.value] for state in ExecutionState}


def _millis(seconds: float | None) -> int:
    return _NEVER if seconds is None else int(seconds * 1000)

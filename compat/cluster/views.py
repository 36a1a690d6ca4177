"""What the cluster tells over HTTP, in the words of Flink's REST API where it has them. Times are milliseconds since 1970."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from compat import __version__
from compat.cluster import resources
from compat.cluster.deployments import Deployment, Taken
from compat.cluster.records import ClusterJob, JobFailure, JobRequest
from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.compiler.spark.driver.store import JobEntry, ListedJob

Json = dict[str, Any]
_NEVER = -1


def overview(jobs: Sequence[ClusterJob], slots: int) -> Json:
    """Flink: ``ClusterOverviewWithVersion``."""
    by_status = Counter(job.status for job in jobs)
    ended = (JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.FAILED)
    return {
        "taskmanagers": 1,
        "slots-total": slots,
        "slots-available": resources.free_slots(jobs, slots),
        "jobs-running": sum(count for status, count in by_status.items() if not status.terminal),
        "jobs-finished": by_status[ended[0]],
        "jobs-cancelled": by_status[ended[1]],
        "jobs-failed": by_status[ended[2]],
        "flink-version": f"compat {__version__}",
        "flink-commit": "",
    }


def listed(jobs: Sequence[ClusterJob]) -> Json:
    """Flink: ``JobIdsWithStatusOverview``."""
    return {"jobs": [{"id": job.id, "status": job.status.value} for job in jobs]}


def listed_job(job: ClusterJob, entry: JobEntry | None, jobs: Sequence[ClusterJob], slots: int) -> ListedJob:
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
        waiting=resources.waiting_for(job, jobs, slots),
    )


def job_overview(job: ClusterJob, entry: JobEntry | None, jobs: Sequence[ClusterJob], slots: int) -> Json:
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
        "slots": job.slots,
        "attempt": job.attempt,
        "checkpoint": entry.epoch if entry is not None else 0,
        "records": entry.records if entry is not None else 0,
        "waiting": resources.waiting_for(job, jobs, slots),
        "program": job.program,
    }


def job_details(
    job: ClusterJob, entry: JobEntry | None, failures: Sequence[JobFailure], jobs: Sequence[ClusterJob], slots: int
) -> Json:
    """Flink: ``JobDetailsInfo``; with the failures and their causes."""
    seen = job_overview(job, entry, jobs, slots)
    vertices = [] if entry is None else entry.vertices
    return {
        **seen,
        "isStoppable": not job.status.terminal and job.status is not JobStatus.CREATED,
        "now": _millis(time.time()),
        "status-counts": seen["tasks"],
        "vertices": [
            {
                "id": vertex.id,
                "name": vertex.name,
                "parallelism": vertex.parallelism,
                "status": vertex.status,
                "tasks": {state.value: vertex.tasks.get(state.value, 0) for state in ExecutionState},
                "failure": vertex.failure,
            }
            for vertex in vertices
        ],
        "restored-from": job.restored_from,
        "stopped-with": job.stopped_with,
        "message": job.message,
        "submitted-by": job.by,
        "failures": [{**asdict(failure), "at": _millis(failure.at)} for failure in failures],
        "metrics": [] if entry is None else entry.metrics,
    }


def checkpoints(found: Sequence[Json], directory: str) -> Json:
    """Flink: ``CheckpointingStatistics``; an epoch is a checkpoint."""
    history = [
        {
            "id": each["epoch"],
            "status": "COMPLETED",
            "is_savepoint": False,
            "trigger_timestamp": each["time"],
            "latest_ack_timestamp": each["time"],
            "records": each.get("records"),
            "external_path": f"{directory}@{each['epoch']}",
        }
        for each in found
    ]
    return {
        "counts": {
            "restored": 0,
            "total": len(history),
            "in_progress": 0,
            "completed": len(history),
            "failed": 0,
        },
        "latest": {"completed": history[0] if history else None, "savepoint": None, "failed": None, "restored": None},
        "history": history,
    }


def deployment(found: Deployment, steps: Sequence[Taken]) -> Json:
    """A deployment, and the steps that it has taken."""
    return {
        "id": found.id,
        "job": found.job,
        "program": found.program,
        "fingerprint": found.fingerprint,
        "step": found.step.value,
        "over": found.step.over,
        "message": found.message,
        "old": found.old,
        "new": found.new,
        "runs": found.runs,
        "savepoint": found.savepoint,
        "version": found.version,
        "watch": found.watch,
        "by": found.by,
        "start-time": _millis(found.at),
        "end-time": _millis(found.ended_at),
        "steps": [{"step": each.step.value, "at": _millis(each.at), "message": each.message} for each in steps],
    }


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

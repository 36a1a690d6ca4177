"""Requests to jobs: a savepoint, a stop, a cancel. Each waits in a thread until its JobMaster has answered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy.exc import SQLAlchemyError

from compat.cluster import resources
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action, ClusterJob, JobRequest
from compat.cluster.registry import Jobs, LeadershipLost
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.service.telemetry import log
from compat.state.delta.errors import StoreError
from compat.state.delta.savepoint import read_description
from compat.state.stores.paths import place_of

_SECONDS = 0.1
"""Between two looks whether a job can be asked."""
_ASKING = 600.0
"""Seconds after which a request that no JobMaster answers is given up."""
_MOST = 16
"""So many are asked at once."""


class Requests:
    """Passes the requests in the registry on to JobMasters.

    ``lock`` is the dispatcher's. ``rests`` says whether a job's process has ended; ``forget`` stops the watch on its attempts;
    ``answered`` is called when there is an outcome.
    """

    def __init__(
        self,
        folder: ClusterFolder,
        jobs: Jobs,
        lock: threading.RLock,
        rests: Callable[[str], bool],
        forget: Callable[[str], None],
        answered: Callable[[], None],
    ) -> None:
        self.folder, self.jobs, self.lock = folder, jobs, lock
        self._rests, self._forget, self._answered = rests, forget, answered
        self._asked: set[str] = set()
        self._closed = threading.Event()
        self._askers = ThreadPoolExecutor(_MOST, thread_name_prefix="asking")

    def look(self) -> None:
        """Begin the open requests."""
        for request in self.jobs.open_requests():
            if request.id not in self._asked:
                self._asked.add(request.id)
                self._askers.submit(self._serve, request)

    def close(self) -> None:
        """Stop passing requests on."""
        self._closed.set()
        self._askers.shutdown(wait=False, cancel_futures=True)

    def _serve(self, request: JobRequest) -> None:
        """Ask the JobMaster of a job, whichever attempt it is, until there is an outcome."""
        try:
            location, error = self._outcome(request)
            self.jobs.answered(request.id, location=location, error=error)
        except (LeadershipLost, SQLAlchemyError, OSError) as failed:
            log("request", level="warning", request=request.id, error=str(failed))
        finally:
            self._asked.discard(request.id)
            self._answered()

    def _outcome(self, request: JobRequest) -> tuple[str | None, str | None]:
        while not self._closed.is_set():
            with self.lock:
                job = self.jobs.get(request.job)
                if job.status.terminal:
                    return _of_ended(job, request)
                if not resources.has_slots(job):
                    if request.action is Action.CANCEL:
                        self._cancel_waiting(job)
                        return None, None
                    return None, f"Job {job.id} has not begun: there is nothing to save. It can be cancelled."
                if request.action is Action.CANCEL and self._rests(job.id):  # perhaps no process would get it for long
                    self._cancel_waiting(job)
                    self._forget(job.id)
                    return None, None
            if self.folder.store.driver(job.id) is not None:
                answer = self._answer(job, request)
                if "error" not in answer:
                    return answer.get("path"), None
                if (there := saved(job, request)) is not None:
                    return there, None
                same = self.jobs.get(job.id).attempt == job.attempt
                if same and self.folder.store.driver(job.id) is not None:
                    return None, answer["error"]
            elif time.time() - request.at > _ASKING:
                return None, f"Job {job.id} did not answer within {_ASKING:.0f} s: it does not stay up."
            time.sleep(_SECONDS)
        raise LeadershipLost("This dispatcher ends.")

    def _answer(self, job: ClusterJob, request: JobRequest) -> dict[str, str]:
        mailbox, action = Mailbox(self.folder.store.directory(job.id)), request.action
        match action:
            case Action.CANCEL:
                return mailbox.ask(action)
            case Action.SAVEPOINT:
                return mailbox.ask(action, path=request.path)
            case Action.STOP:
                return mailbox.ask(action, path=request.path, drain=request.drain)

    def _cancel_waiting(self, job: ClusterJob) -> None:
        self.jobs.end(job.id, JobStatus.CANCELED)
        self.folder.events(job.id).add(
            {"event": "stopped", "job_id": job.id, "path": None, "metrics": [], "replicas": {}}
        )


def _of_ended(job: ClusterJob, request: JobRequest) -> tuple[str | None, str | None]:
    """The outcome of what is asked of a job that has ended: perhaps just by that."""
    if request.action is Action.STOP and job.stopped_with is not None:
        return job.stopped_with, None
    if request.action is Action.CANCEL and job.status is JobStatus.CANCELED:
        return None, None
    if (there := saved(job, request)) is not None:
        return there, None
    return None, f"Job {job.id} does not run: it is {job.status.value}."


def saved(job: ClusterJob, request: JobRequest) -> str | None:
    """The requested savepoint, if it was written before the process that asked died."""
    if request.action is not Action.SAVEPOINT or request.path is None:
        return None
    try:
        description = read_description(request.path)
    except StoreError:
        return None
    of_job = description.get("job_id") == job.id and description.get("time", 0) >= request.at
    return str(place_of(request.path, "The savepoint").absolute()) if of_job else None

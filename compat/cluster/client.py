"""A cluster as seen by its users' programs and commands. Flink: ``RestClusterClient``, ``ClusterClientJobClientAdapter``."""

from __future__ import annotations

import time
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from compat.cluster.deployments.answers import Begun, DeploymentSummary, SituationSummary
from compat.cluster.submission import DEPLOYMENT, SUBMISSION, DeploymentRequest, Submission
from compat.compiler.spark.driver.job_entry import ListedJob
from compat.transport import ServerError, call

T = TypeVar("T")
Event = dict[str, Any]

_PATIENCE = 60.0
"""Seconds for which a dispatcher that does not answer is asked again, as it may just be restarting."""
_POLL = 20.0
_ASKING = 0.1


class JobRefused(Exception):
    """A request to a job failed; the message says why."""


class JobSummary(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    """A job as ``/jobs/overview`` shows it. Times are milliseconds since 1970; ``waiting`` says what it waits for.

    ``tasks`` counts its tasks by state, and as their total.
    """

    jid: str
    name: str
    state: str
    start_time: int
    end_time: int
    slots: int = 0
    attempt: int = 0
    checkpoint: int = 0
    records: int = 0
    waiting: str = ""
    program: str = ""
    tasks: dict[str, int] = {}
    failed_tasks: list[str] = []

    @property
    def over(self) -> bool:
        """True for a job that has ended."""
        return self.end_time >= 0


class _Jobs(msgspec.Struct, frozen=True):
    jobs: list[JobSummary]


class _Entries(msgspec.Struct, frozen=True):
    jobs: list[ListedJob]


class _Submitted(msgspec.Struct, frozen=True):
    jobid: str


class _Asked(msgspec.Struct, frozen=True):
    request: str = msgspec.field(name="request-id")


class _Status(msgspec.Struct, frozen=True):
    id: str


class _Cause(msgspec.Struct, frozen=True):
    message: str = ""


class _Operation(msgspec.Struct, frozen=True):
    location: str | None = None
    failure: _Cause | None = msgspec.field(default=None, name="failure-cause")


class _Outcome(msgspec.Struct, frozen=True):
    status: _Status
    operation: _Operation | None = None


class Portion(msgspec.Struct, frozen=True):
    """Events of a job, and where the next ones are; ``ended`` when there are no more."""

    events: list[Event]
    next: str
    status: str
    ended: bool


class Cluster:
    """A cluster at an address. Every call raises ServerError if the cluster does not answer within ``patience`` seconds."""

    def __init__(self, url: str, token: str | None = None, patience: float = _PATIENCE) -> None:
        self.url = url.rstrip("/")
        self._token, self._patience = token, patience

    def submit(self, submission: Submission) -> str:
        """Submit a job; gives its id. The client chooses the id, so it may repeat a submission whose answer was lost."""
        job_id = uuid.uuid4().hex
        data = submission.encoded()
        return self._call(f"/jobs/{job_id}", _Submitted, "PUT", data, SUBMISSION).jobid

    def jobs(self) -> list[JobSummary]:
        """The last jobs, the newest first."""
        return self._call("/jobs/overview", _Jobs).jobs

    def entries(self) -> list[ListedJob]:
        """The last jobs, the newest first, with the details that a store gives."""
        return self._call("/jobs/entries", _Entries).jobs

    def find(self, job: str) -> JobSummary:
        """A job by its id or the beginning of it. Raises ServerError."""
        return self._call(_path(job), JobSummary)

    def situation(self, job: str, called: str) -> SituationSummary:
        """The situation of the job that a program with this name will upgrade."""
        return self._call(f"/situation?{urlencode({'job': job, 'called': called})}", SituationSummary)

    def deploy(self, id: str, request: DeploymentRequest) -> Begun:
        """Begin a deployment under an id; it may be repeated if the answer was lost."""
        return self._call(f"/deployments/{id}", Begun, "PUT", msgspec.msgpack.encode(request), DEPLOYMENT)

    def deployment(self, id: str) -> DeploymentSummary:
        """The state of a deployment."""
        return self._call(f"/deployments/{id}", DeploymentSummary)

    def savepoint(self, job: str, path: str | None = None) -> str:
        """Write a savepoint of a running job; gives its path. Raises JobRefused."""
        return self._done(job, "savepoints", {"target-directory": path})

    def stop(self, job: str, path: str | None = None, drain: bool = False) -> str:
        """Stop a job with a savepoint; gives its path. Raises JobRefused."""
        return self._done(job, "stop", {"targetDirectory": path, "drain": drain})

    def cancel(self, job: str) -> None:
        """End a job without a savepoint. Raises JobRefused."""
        asked = self._call(_path(job) + "?mode=cancel", _Asked, "PATCH")
        self._outcome(job, asked.request)

    def discard(self, job: str) -> None:
        """Remove an ended job and its checkpoints. Raises ServerError if the job has not ended."""
        self._call(_path(job), dict[str, str], "DELETE")

    def state(self, job: str, operator: str, limit: int | None = None) -> list[dict[str, Any]]:
        """The rows of an operator's state."""
        query = "" if limit is None else f"?limit={limit}"
        return self._call(f"{_path(job)}/state/{quote(operator, safe='')}{query}", list[dict[str, Any]])

    def events(self, job: str) -> Iterator[tuple[Event, str]]:
        """The events of a job from its start to its end, each with the job's status then."""
        cursor = "0.0"
        while True:
            query = urlencode({"after": cursor, "wait": _POLL})
            found = self._call(f"{_path(job)}/events?{query}", Portion)
            for event in found.events:
                yield event, found.status
            if found.ended:
                return
            cursor = found.next

    def _done(self, job: str, what: str, body: dict[str, Any]) -> str:
        asked = self._call(f"{_path(job)}/{what}", _Asked, "POST", msgspec.json.encode(body))
        return str(self._outcome(job, asked.request))

    def _outcome(self, job: str, request: str) -> str | None:
        """Wait for what was asked of a job. Raises JobRefused."""
        wait = _ASKING
        while True:
            found = self._call(f"{_path(job)}/savepoints/{request}", _Outcome)
            if found.status.id == "COMPLETED":
                assert found.operation is not None
                if found.operation.failure is not None:
                    raise JobRefused(found.operation.failure.message)
                return found.operation.location
            time.sleep(wait)
            wait = min(1.0, wait * 1.3)

    def _call(
        self,
        path: str,
        kind: type[T],
        method: str | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
    ) -> T:
        """Call, and again where the dispatcher was killed before it answered: nothing is done twice by that."""
        return _patiently(
            lambda: call(self.url, path, kind, method=method, body=body, content_type=content_type, token=self._token),
            self._patience,
        )


def _patiently(ask: Callable[[], T], patience: float) -> T:
    end = time.monotonic() + patience
    while True:
        try:
            return ask()
        except ServerError as error:
            if error.status not in (0, 503) or time.monotonic() > end or _is_wrong(error):
                raise
        time.sleep(0.3)


def _is_wrong(error: ServerError) -> bool:
    """True for what stays as it is however often one asks: an answer that is not a cluster's, a name that nobody has."""
    text = str(error)
    return "no compat service" in text or "Name or service not known" in text


def _path(job: str) -> str:
    return f"/jobs/{quote(job, safe='')}"


def value_of(event: Event) -> Any:
    """The record in the form that the program expects, from the client's JSON."""
    from compat.state.serializers import load

    return load(b64decode(event["value"]))

"""The part of Flink's REST API that a check uses: read-only requests, and the one that takes a savepoint.

Flink: ``JobsOverviewHandler``, ``JobDetailsHandler``, ``CheckpointingStatisticsHandler``, ``SavepointHandlers``.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from functools import cached_property
from http.client import HTTPException
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import Request

import msgspec

from compat.escaping import visible
from compat.transport import MOST_TOLD, exchanged

T = TypeVar("T")

_NO_PATH = "<"
"""The prefix of Flink's text in place of a path: ``<checkpoint-not-externally-addressable>``."""
_ASK_AGAIN = 0.5
"""Seconds between two polls for a result."""
_LOOKS_ANEW = 4.0
"""Seconds in which a cluster has refreshed its list of jobs (Flink: ``web.refresh-interval``, 3 seconds)."""


class ClusterError(Exception):
    """A cluster does not answer, refuses, or answers unlike Flink; the message says which and where."""


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster's description of itself: its version of Flink."""

    version: str = msgspec.field(name="flink-version")

    @property
    def flink(self) -> str:
        """The minor version: ``1.20`` of ``1.20.1``."""
        return ".".join(self.version.split(".")[:2])


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """A job in a cluster's list. Times are milliseconds since 1970."""

    id: str = msgspec.field(name="jid")
    name: str
    state: str
    started: int = msgspec.field(name="start-time", default=0)


class Overview(msgspec.Struct, frozen=True):
    """The jobs of a cluster: the running ones, and the last that ended."""

    jobs: tuple[Listed, ...]


class Vertex(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A vertex of a running job: the id is that of the first operator of its chain, the name is that of all of them."""

    id: str
    name: str
    parallelism: int
    max_parallelism: int = -1

    @property
    def chain(self) -> tuple[str, ...]:
        """The names of its operators; those behind a fork stand together in parentheses."""
        return tuple(self.name.split(" -> "))


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """A job as a cluster runs it."""

    id: str = msgspec.field(name="jid")
    name: str
    state: str
    vertices: tuple[Vertex, ...] = ()


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A completed checkpoint or savepoint. Times are milliseconds since 1970."""

    id: int
    is_savepoint: bool = False
    at: int = msgspec.field(name="trigger_timestamp", default=0)
    external_path: str = ""
    discarded: bool = False

    @property
    def path(self) -> str | None:
        """Its path; None if it is only in the JobManager's memory."""
        return None if not self.external_path or self.external_path.startswith(_NO_PATH) else self.external_path

    @property
    def kind(self) -> str:
        """Its kind, in words."""
        return "savepoint" if self.is_savepoint else "checkpoint"


class _Latest(msgspec.Struct, frozen=True, kw_only=True):
    completed: Taken | None = None
    savepoint: Taken | None = None


class _Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    latest: _Latest = _Latest()


class _Task(msgspec.Struct, frozen=True, kw_only=True):
    state_size: int = 0


class _Detailed(msgspec.Struct, frozen=True, kw_only=True):
    tasks: dict[str, _Task] = msgspec.field(default_factory=dict)


class _Status(msgspec.Struct, frozen=True):
    id: str


class _Cause(msgspec.Struct, frozen=True):
    text: str = msgspec.field(name="stack-trace", default="")
    type: str = msgspec.field(name="class", default="")

    @property
    def last(self) -> str:
        """The innermost cause."""
        lines = self.text.splitlines()
        causes = [line for line in lines if line.startswith("Caused by: ")] or lines[:1]
        return causes[-1].removeprefix("Caused by: ").strip().rstrip(".") if causes else self.type


class _Written(msgspec.Struct, frozen=True):
    location: str | None = None
    cause: _Cause | None = msgspec.field(name="failure-cause", default=None)


class _Savepoint(msgspec.Struct, frozen=True):
    status: _Status
    operation: _Written | None = None


class _Triggered(msgspec.Struct, frozen=True):
    id: str = msgspec.field(name="request-id")


class NotThere(ClusterError):
    """The cluster has nothing of that name: no such job, or a job without checkpoints."""


class Way(Protocol):
    """How requests reach a cluster."""

    @property
    def shown(self) -> str:
        """The cluster's name in messages."""
        ...

    def get(self, path: str) -> bytes:
        """The cluster's answer. Raises ClusterError."""
        ...

    def post(self, path: str, body: bytes) -> bytes:
        """The answer to the one request that changes something. Raises ClusterError."""
        ...


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """The requirements of clusters: headers of requests, a file with the authorities to trust, one with the client's
    certificate and key.
    """

    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    ca: str | None = None
    certificate: str | None = None

    def context(self) -> ssl.SSLContext:
        """The TLS context. Raises ClusterError for files that cannot be used."""
        try:
            made = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                made.load_cert_chain(self.certificate)
            return made
        except (OSError, ssl.SSLError) as error:
            wrong = " or ".join(filter(None, (self.ca, self.certificate)))
            raise ClusterError(f"{wrong} cannot be used for TLS: {visible(str(error))}.") from error


class ByHttp:
    """Requests by HTTP."""

    def __init__(self, url: str, access: Access) -> None:
        self.shown = url.rstrip("/")
        self._headers = {"Accept": "application/json", **access.headers}
        self._context = access.context()

    def get(self, path: str) -> bytes:
        """The cluster's answer. Raises ClusterError."""
        return self._answer(Request(self.shown + path, headers=self._headers))

    def post(self, path: str, body: bytes) -> bytes:
        """The answer to a request that changes something. Raises ClusterError."""
        headers = {**self._headers, "Content-Type": "application/json"}
        return self._answer(Request(self.shown + path, data=body, headers=headers, method="POST"))

    def _answer(self, request: Request) -> bytes:
        try:
            return exchanged(request, context=self._context)
        except HTTPError as error:
            with error:
                said = error.read(MOST_TOLD).decode("utf-8", "replace")
            asks = " It asks who you are: --flink-headers." if error.code in (401, 403) else ""
            kind = NotThere if error.code == 404 else ClusterError
            raise kind(f"{self.shown} answers with status {error.code}.{asks} {visible(said)}".rstrip()) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            cause = error.reason if isinstance(error, URLError) else error
            reason = str(cause.strerror or cause) if isinstance(cause, OSError) else str(cause)
            raise ClusterError(f"{self.shown} does not answer: {visible(reason)[:MOST_TOLD]}.") from error


class Cluster:
    """A cluster of Flink, accessed read-only, except by :meth:`take_savepoint`."""

    def __init__(self, way: Way) -> None:
        self._way = way

    @property
    def shown(self) -> str:
        """The cluster's name in messages."""
        return self._way.shown

    @cached_property
    def config(self) -> Config:
        """Its configuration. Raises ClusterError."""
        return self._get("/config", Config)

    def jobs(self) -> tuple[Listed, ...]:
        """Its jobs, the newest first. Raises ClusterError."""
        return tuple(sorted(self._get("/jobs/overview", Overview).jobs, key=lambda job: -job.started))

    def details(self, job: str) -> Details:
        """A job, by its id. Raises ClusterError."""
        return self._get(f"/jobs/{job}", Details)

    def latest(self, job: str, *, runs: bool) -> Taken | None:
        """The last completed checkpoint or savepoint of a job, whichever is later; None for none. Raises ClusterError.

        One that is not only in the JobManager's memory is preferred. If the job ``runs``, others may follow.
        """
        try:
            latest = self._latest(job, _LOOKS_ANEW if runs else 0.0)
        except NotThere:  # the job takes no checkpoints
            return None
        taken = [one for one in (latest.completed, latest.savepoint) if one is not None and not one.discarded]
        return max(taken, key=lambda one: (one.path is not None, one.at), default=None)

    def _latest(self, job: str, patience: float) -> _Latest:
        """What the cluster tells of the last ones.

        It looks at its jobs anew every few seconds only: the checkpoint that it tells may have been discarded for a later one.
        """
        end = time.monotonic() + patience
        while True:
            latest = self._get(f"/jobs/{job}/checkpoints", _Checkpoints).latest
            if latest.completed is None or not latest.completed.discarded or time.monotonic() >= end:
                return latest
            time.sleep(_ASK_AGAIN)

    def sizes(self, job: str, checkpoint: int) -> dict[str, int]:
        """The bytes of state in a checkpoint, by vertex. Raises ClusterError."""
        found = self._get(f"/jobs/{job}/checkpoints/details/{checkpoint}", _Detailed)
        return {vertex: task.state_size for vertex, task in found.tasks.items()}

    def take_savepoint(self, job: str, folder: str | None, patience: float) -> str:
        """Have a job write a savepoint, and go on; gives its path. Raises ClusterError.

        The folder has to be reachable for the cluster; None for its configured one.
        """
        body = msgspec.json.encode({"cancel-job": False, **({"target-directory": folder} if folder else {})})
        place = f"/jobs/{job}/savepoints"
        request = self._decoded(self._way.post(place, body), _Triggered).id
        end = time.monotonic() + patience
        while time.monotonic() < end:
            found = self._get(f"{place}/{request}", _Savepoint)
            if found.status.id == "COMPLETED":
                written = found.operation or _Written()
                if written.location is not None:
                    return written.location
                why = "it does not say why" if written.cause is None else written.cause.last
                raise ClusterError(f"{self.shown} could not take a savepoint: {visible(why)[:MOST_TOLD]}.")
            time.sleep(_ASK_AGAIN)
        raise ClusterError(f"The savepoint was not written within {patience:g} s; it may be, later.")

    def _get(self, path: str, kind: type[T]) -> T:
        return self._decoded(self._way.get(path), kind)

    def _decoded(self, answer: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(answer, type=kind)
        except (ValueError, RecursionError) as error:
            raise ClusterError(f"{self.shown} is no REST API of Flink: {visible(str(error))}.") from error


def read_headers(path: Path) -> dict[str, str]:
    """The headers in a file, one ``Name: value`` per line. Raises ValueError for any other line, OSError."""
    return parse_headers(path.read_text(encoding="utf-8"))


def parse_headers(text: str) -> dict[str, str]:
    """The headers in a text, one ``Name: value`` per line. Raises ValueError for any other line."""
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, colon, value = line.partition(":")
        if line.strip():
            if not colon or not name.strip() or not name.isascii() or " " in name.strip():
                raise ValueError(f"line {number} is no header: write Name: value")
            found[name.strip()] = value.strip()
    return found

"""A client of a service over HTTP, with the standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from compat.plan.writing import encoded
from compat.service.requests import job_name
from compat.transport import call

T = TypeVar("T")


class Server(Struct, frozen=True):
    """A service at an address. Every call raises ServerError."""

    url: str
    token: str | None = None

    def get(self, path: str, kind: type[T]) -> T:
        """The answer at an address below ``/api/v1``."""
        return self._call(path, None, kind)

    def post(self, path: str, value: Mapping[str, Any], kind: type[T]) -> T:
        """The server's answer to a JSON value."""
        return self._call(path, encoded(value), kind)

    def page(self, path: str) -> str:
        """The address of a page for people."""
        return self.url.rstrip("/") + path

    def _call(self, path: str, body: bytes | None, kind: type[T]) -> T:
        return call(self.url, "/api/v1" + path, kind, body=body, token=self.token)


def job_path(job: str) -> str:
    """The address of a job, below ``/api/v1``. Raises RefusedBody for an invalid job name."""
    return f"/jobs/{quote(job_name(job), safe='')}"

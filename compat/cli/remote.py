"""The service as the command line talks to it, with nothing but the standard library."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, BinaryIO, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import click
import msgspec

from compat.escaping import visible
from compat.plan.writing import encoded
from compat.state.regular import open_regular

T = TypeVar("T")

TIMEOUT = 330.0
MOST_TOLD = 1000
"""Characters of what a server says of itself that are shown."""

LARGEST, CHUNK = 512 * 1024 * 1024, 1024 * 1024
"""Bytes of the largest answer that is read, and of those read at once."""

PATIENCE = 15.0
"""Seconds for which a server that refuses connections is asked again."""


class ServerError(Exception):
    """A server refused a request or cannot be reached. ``status`` is HTTP's, 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0, document: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.document = document or {}


class _NoRedirect(HTTPRedirectHandler):
    """A token goes to the server that the user named, and nowhere else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Server:
    """A service at an address. Every call raises ServerError."""

    url: str
    token: str | None = None

    def get(self, path: str, kind: type[T]) -> T:
        """What is at an address below ``/api/v1``."""
        return self._call(path, None, kind)

    def post(self, path: str, value: Mapping[str, Any], kind: type[T]) -> T:
        """The server's answer to a JSON value."""
        return self._call(path, encoded(value), kind)

    def page(self, path: str) -> str:
        """The address of a page for people."""
        return self.url.rstrip("/") + path

    def _call(self, path: str, body: bytes | None, kind: type[T]) -> T:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            request = Request(self.page("/api/v1" + path), data=body, headers=headers)
            text = _answer(request)
        except HTTPError as error:
            raise _refused(self.url, error) from error
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = visible(str(getattr(error, "reason", None) or error))[:MOST_TOLD]
            raise ServerError(f"{self.url} does not answer: {reason}.") from error
        return read(text, kind, self.url)


def read(text: bytes, kind: type[T], url: str) -> T:
    """What a server answered, of the shape that is expected. Raises ServerError."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise ServerError(f"{url} is no compat service, or one of another version: {visible(str(error))}.") from error
    except (ValueError, RecursionError) as error:
        raise ServerError(f"{url} is no compat service: its answer is not JSON.") from error


def _answer(request: Request) -> bytes:
    """The body of the answer; a server that is about to start, or starts again, is waited for."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with build_opener(_NoRedirect).open(request, timeout=TIMEOUT) as answer:
                return _body(answer, time.monotonic() + TIMEOUT)
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > end:
                raise
            time.sleep(0.2)


def _body(answer: BinaryIO | HTTPError, end: float) -> bytes:
    """All of an answer. Raises OSError for one that is too large or takes too long."""
    chunks, size = [], 0
    while chunk := answer.read(CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST:
            raise OSError(f"its answer has more than {LARGEST:,} bytes")
        if time.monotonic() > end:
            raise OSError(f"its answer did not come within {TIMEOUT:g} seconds")
    return b"".join(chunks)


def _refused(url: str, error: HTTPError) -> ServerError:
    try:
        document = msgspec.json.decode(_body(error, time.monotonic() + TIMEOUT), type=dict[str, Any])
    except (ValueError, RecursionError, OSError, HTTPException):
        document = {}
    detail = visible(str(document.get("detail") or f"{url} answers with status {error.code}."))[:MOST_TOLD]
    if error.code == 401:
        detail += " The token is taken from COMPAT_TOKEN or --token-file."
    return ServerError(detail, error.code, document)


def job_path(job: str) -> str:
    """The address of a job, below ``/api/v1``. Raises a usage error for what no job is called."""
    from compat.service.requests import job_name
    from compat.service.untrusted import RefusedBody

    try:
        job_name(job)
    except RefusedBody as error:
        raise click.BadParameter(str(error), param_hint="'--job'") from error
    return f"/jobs/{quote(job, safe='')}"


def server_of(url: str, token_file: str | None) -> Server:
    """The server that the options name. Raises a usage error for what is no address or token."""
    if not _is_address(url):
        raise click.BadParameter(f"{url!r} is no address such as https://compat.example.org.", param_hint="'--server'")
    token = os.environ.get("COMPAT_TOKEN")
    if token_file is not None:
        try:
            with open_regular(token_file) as file:
                token = file.read(1000).decode("ascii")
        except (OSError, ValueError) as error:
            raise click.UsageError(f"The token in {token_file} cannot be read: {error}.") from error
    token = (token or "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise click.UsageError("The token holds characters that no token has.")
    return Server(url, token or None)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def origin(path: str, commit: str | None, author: str | None) -> dict[str, str | None]:
    """Where a program is from: what was said, else what git says of its folder."""
    folder = os.path.dirname(os.path.abspath(path)) if os.path.exists(path) else os.getcwd()
    return {"commit": commit or _git(folder, "%H"), "author": author or _git(folder, "%an <%ae>")}


def _git(folder: str, form: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", folder, "log", "-1", f"--format={form}"], capture_output=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = result.stdout.decode("utf-8", "replace").strip()[:500]
    return text if result.returncode == 0 and text else None

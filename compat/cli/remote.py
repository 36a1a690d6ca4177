"""The service as the command line talks to it, with nothing but the standard library."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import click

from compat.escaping import visible
from compat.plan.writing import encoded

TIMEOUT = 330.0
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

    def get(self, path: str) -> dict[str, Any]:
        """The JSON at an address below ``/api/v1``."""
        return self._call(path, None)

    def post(self, path: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """The server's answer to a JSON value."""
        return self._call(path, encoded(value))

    def page(self, path: str) -> str:
        """The address of a page for people."""
        return self.url.rstrip("/") + path

    def _call(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        request = Request(self.page("/api/v1" + path), data=body, headers=headers)
        try:
            found = json.loads(_answer(request))
        except HTTPError as error:
            raise _refused(self.url, error) from error
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServerError(f"{self.url} does not answer: {reason}.") from error
        except ValueError as error:
            raise ServerError(f"{self.url} is no compat service: its answer is not JSON.") from error
        if not isinstance(found, dict):
            raise ServerError(f"{self.url} is no compat service: its answer is no JSON object.")
        return found


def _answer(request: Request) -> bytes:
    """The body of the answer; a server that is about to start, or starts again, is waited for."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            with build_opener(_NoRedirect).open(request, timeout=TIMEOUT) as answer:
                body: bytes = answer.read()
                return body
        except URLError as error:
            if not isinstance(error.reason, ConnectionRefusedError) or time.monotonic() > end:
                raise
            time.sleep(0.2)


def _refused(url: str, error: HTTPError) -> ServerError:
    try:
        document = json.loads(error.read())
    except (ValueError, OSError, HTTPException):
        document = {}
    if not isinstance(document, dict):
        document = {}
    detail = visible(str(document.get("detail") or f"{url} answers with status {error.code}."))
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
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise click.BadParameter(f"{url!r} is no address such as https://compat.example.org.", param_hint="'--server'")
    token = os.environ.get("COMPAT_TOKEN")
    if token_file is not None:
        with open(token_file, encoding="utf-8") as file:
            token = file.read(1000)
    token = (token or "").strip()
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise click.UsageError("The token holds characters that no token has.")
    return Server(url, token or None)


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

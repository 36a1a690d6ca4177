"""The service as the command line talks to it, with nothing but the standard library."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import click

from compat.plan.writing import encoded
from compat.state.regular import open_regular
from compat.transport import ServerError, call, is_address

__all__ = ["Server", "ServerError", "cluster_of", "job_path", "origin", "server_of"]

T = TypeVar("T")


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
        return call(self.url, "/api/v1" + path, kind, body=body, token=self.token)


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
    return Server(_address(url, "'--server'"), _token(token_file))


def cluster_of(url: str, token_file: str | None) -> Server:
    """The address and token of the cluster that the options name. Raises a usage error for what is none."""
    return Server(_address(url, "'--cluster'"), _token(token_file))


def _address(url: str, option: str) -> str:
    if not is_address(url):
        raise click.BadParameter(f"{url!r} is no address such as https://compat.example.org.", param_hint=option)
    return url


def _token(token_file: str | None) -> str | None:
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
    return token or None


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

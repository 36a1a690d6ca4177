"""The servers named by a command line: the service and clusters."""

from __future__ import annotations

import os
import subprocess

import click

from compat.service.client import Server
from compat.state.safe_open import open_regular
from compat.transport import ServerError, is_address

__all__ = ["Server", "ServerError", "cluster_of", "job_path", "origin", "server_of"]


def job_path(job: str) -> str:
    """The address of a job, below ``/api/v1``. Raises a usage error for an invalid job name."""
    from compat.service import client
    from compat.service.untrusted import RefusedBody

    try:
        return client.job_path(job)
    except RefusedBody as error:
        raise click.BadParameter(str(error), param_hint="'--job'") from error


def server_of(url: str, token_file: str | None, option: str = "--server") -> Server:
    """The server that the options name. Raises a usage error for an invalid address or token."""
    return Server(_address(url, f"'{option}'"), _token(token_file))


def cluster_of(url: str, token_file: str | None) -> Server:
    """The address and token of the cluster that the options name. Raises a usage error for an invalid address or token."""
    return Server(_address(url, "'--cluster'"), _token(token_file))


def _address(url: str, option: str) -> str:
    if not is_address(url):
        raise click.BadParameter(f"{url!r} is not an address such as https://compat.example.org.", param_hint=option)
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
        raise click.UsageError("The token contains characters that tokens do not have.")
    return token or None


def origin(path: str, commit: str | None, author: str | None) -> dict[str, str | None]:
    """The origin of a program: as given, else as git says of its folder."""
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

"""Folders of this machine: which paths name them, and how files in them are on the disk when they are said to be there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from compat.state.delta.errors import StoreError

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://(?P<host>[^/]*))?(?=/|$)")
"""As Flink reads a path; a single letter is a drive."""
_SHARED = "The folder has to be one that all machines of the job share. Nothing was committed."


def why_not_local(path: str) -> str | None:
    """Why a path names no folder that this machine can open; None for one that does."""
    found = _SCHEME.match(path)
    if found is None or (found["scheme"].lower() == "file" and found["host"] in (None, "", "localhost")):
        return None
    return (
        f"{path} is not on this machine's file system, and jobs on Spark write and read nothing else: give a folder that all "
        "machines of the job have mounted"
    )


def local_path(path: str | Path, what: str) -> Path:
    """The folder or file that a path names, relative ones as they are. ``what`` it is for begins the error.

    Raises StoreError for another storage's: nothing may end up in a local folder of that name.
    """
    text = str(path)
    problem = why_not_local(text)
    if problem is not None:
        raise StoreError(f"{what}: {problem}.")
    return Path(without_scheme(text))


def without_scheme(path: str) -> str:
    """A local path without the ``file:`` that it may begin with."""
    found = _SCHEME.match(path)
    return path if found is None or found["scheme"].lower() != "file" else path[found.end() :]


def prove_written(path: str | Path, size: int) -> None:
    """Raise a StoreError unless a file that a task wrote is here too, whole. It is opened: file servers tell old sizes else."""
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        raise StoreError(f"A task wrote {path}, and the driver finds no such file. {_SHARED}") from None
    except OSError as error:
        raise StoreError(f"A task wrote {path}, and the driver cannot open it: {error}. {_SHARED}") from error
    if found != size:
        raise StoreError(f"A task wrote {size} bytes to {path}, and the driver finds {found}. {_SHARED}")


def sync_directory(path: str | Path) -> None:
    """Have the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Folders of this machine: which paths name them, and how files in them are on the disk when they are said to be there."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

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


def prove_files(files: Iterable[tuple[str, int]]) -> None:
    """Prove that files of a path and a size each are here, and have their names survive a power cut. Raises StoreError."""
    folders: dict[str, None] = {}
    for path, size in files:
        prove_written(path, size)
        folders[os.path.dirname(path)] = None
    for folder in folders:
        sync(folder)


def make_folder(path: str | Path) -> None:
    """Make a folder, and those that it is in, where they are not there; their names survive a power cut."""
    path = Path(path)
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync(path.parent)


def named_files(path: str) -> set[str]:
    """The data files that the commits of a table add or remove, as far back as they are kept: older versions need these.

    Raises StoreError where a commit cannot be read.
    """
    found: set[str] = set()
    try:
        for commit in Path(path, "_delta_log").glob("*.json"):
            for line in commit.read_text(encoding="utf-8").splitlines():
                action = json.loads(line)
                found.update(unquote(action[kind]["path"]) for kind in ("add", "remove") if kind in action)
    except (OSError, ValueError) as error:
        raise StoreError(f"The store {path} cannot be read: {error}.") from error
    return found


def sync_commit(table: str, version: int) -> None:
    """Have a version of a Delta table survive a power cut."""
    log = os.path.join(table, "_delta_log")
    with suppress(FileNotFoundError):  # it is in a checkpoint already, and another one follows on it
        sync(os.path.join(log, f"{version:020d}.json"))
    sync(log)


def sync(path: str | Path) -> None:
    """Have a file's contents, or the names in a folder, survive a power cut, where the file system can: what counts must."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:
        return  # somebody else's folder, which was there before
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # of file systems that know no folders
            raise
    finally:
        os.close(descriptor)

"""Files that tasks wrote and a commit names: they have to be where the driver looks for them, to stay."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import unquote

from compat.state.delta.errors import StoreError
from compat.state.stores.local import sync
from compat.state.stores.places import Place, place_of

_SHARED = "The folder has to be one that all machines of the job share. Nothing was committed."


def prove_written(path: str, size: int) -> None:
    """Raise a StoreError unless a file that a task wrote is here too, whole. It is opened: file servers tell old sizes else."""
    try:
        found = _size(place_of(path))
    except OSError as error:
        raise StoreError(f"A task wrote {path}, and the driver cannot open it: {error}. {_SHARED}") from error
    if found is None:
        raise StoreError(f"A task wrote {path}, and the driver finds no such file. {_SHARED}")
    if found != size:
        raise StoreError(f"A task wrote {size} bytes to {path}, and the driver finds {found}. {_SHARED}")


def _size(place: Place) -> int | None:
    if not place.local:
        return place.size()
    try:
        with open(place, "rb") as file:
            return os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return None


def prove_files(files: Iterable[tuple[str, int]]) -> None:
    """Prove that files of a path and a size each are here, and have their names survive a power cut. Raises StoreError."""
    folders: dict[str, None] = {}
    for path, size in files:
        prove_written(path, size)
        folders[os.path.dirname(path)] = None
    for folder in folders:
        if place_of(folder).local:
            sync(folder)


def named_files(table: Place) -> set[str]:
    """The data files that the commits of a table add or remove, as far back as they are kept: older versions need these.

    Raises StoreError where a commit cannot be read.
    """
    found: set[str] = set()
    log = table / "_delta_log"
    try:
        for entry in log.list():
            if entry.name.endswith(".json"):
                for line in (log / entry.name).read().splitlines():
                    action = json.loads(line)
                    found.update(unquote(action[kind]["path"]) for kind in ("add", "remove") if kind in action)
    except FileNotFoundError:
        return found  # no table yet
    except (OSError, ValueError) as error:
        raise StoreError(f"The store {table} cannot be read: {error}.") from error
    return found


def remove(table: Place, names: Iterable[str]) -> None:
    """Remove files of a table that no commit names, as far as that can be: what stays is swept."""
    for name in names:
        with suppress(OSError):
            (table / name).delete()


def sync_commit(table: Place, version: int) -> None:
    """Have a version of a Delta table survive a power cut."""
    if not table.local:
        return  # it does, once it has its name
    log = os.path.join(table, "_delta_log")
    with suppress(FileNotFoundError):  # it is in a checkpoint already, and another one follows on it
        sync(os.path.join(log, f"{version:020d}.json"))
    sync(log)

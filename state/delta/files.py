"""Files that tasks wrote and a commit names: proves that the driver finds them where it looks, and that they last."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from urllib.parse import unquote

from compat.state.delta.errors import StoreError
from compat.state.stores.local import sync
from compat.state.stores.paths import Place, place_of

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
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        return None


def prove_files(files: Iterable[tuple[str, int]]) -> None:
    """Prove that files with these paths and sizes exist, and make their names survive a power cut. Raises StoreError."""
    folders: dict[str, None] = {}
    for path, size in files:
        prove_written(path, size)
        folders[os.path.dirname(path)] = None
    for folder in folders:
        if place_of(folder).local:
            sync(folder)


def named_files(table: Place, known: dict[str, frozenset[str]] | None = None) -> set[str]:
    """The data files that the commits of a table add or remove, as far back as they are kept: older versions need these.

    ``known`` has the commits that were read before, by their names; new ones are added. A commit never changes.
    Raises StoreError if one cannot be read.
    """
    before = {} if known is None else dict(known)
    found: dict[str, frozenset[str]] = {} if known is None else known
    found.clear()
    log = table / "_delta_log"
    try:
        for entry in log.list():
            if entry.name.endswith(".json"):
                names = before.get(entry.name)
                found[entry.name] = _named(log / entry.name) if names is None else names
    except FileNotFoundError:
        pass  # no table yet
    except (OSError, ValueError) as error:
        raise StoreError(f"The store {table} cannot be read: {error}.") from error
    return set().union(*found.values())


def _named(commit: Place) -> frozenset[str]:
    actions = map(json.loads, commit.read().splitlines())
    return frozenset(unquote(each[kind]["path"]) for each in actions for kind in ("add", "remove") if kind in each)


def remove(table: Place, names: Iterable[str]) -> None:
    """Remove files of a table that no commit names, as far as possible: the rest is swept later."""
    for name in names:
        with suppress(OSError):
            (table / name).delete()


def sync_commit(table: Place, version: int) -> None:
    """Make a version of a Delta table survive a power cut."""
    if not table.local:
        return  # it does, once it has its name
    log = os.path.join(table, "_delta_log")
    with suppress(FileNotFoundError):  # it is in a checkpoint already, and another one follows on it
        sync(os.path.join(log, f"{version:020d}.json"))
    sync(log)

"""Files that tasks wrote and a commit names: they have to be where the driver looks for them, to stay."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pyarrow as pa

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


def sync_commit(table: Place, version: int) -> None:
    """Have a version of a Delta table survive a power cut."""
    if not table.local:
        return  # it does, once it has its name
    log = os.path.join(table, "_delta_log")
    with suppress(FileNotFoundError):  # it is in a checkpoint already, and another one follows on it
        sync(os.path.join(log, f"{version:020d}.json"))
    sync(log)


def parquet_source(place: Place) -> Any:
    """What pyarrow reads all of a Parquet file from."""
    return place.path if place.local else pa.BufferReader(place.read())

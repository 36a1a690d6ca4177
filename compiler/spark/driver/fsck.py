"""Verifies the files of jobs: those of a whole store, of one job, or of savepoints."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import Struct

from compat.compiler.spark.driver.job_entry import read_entry
from compat.compiler.spark.driver.job_folders import prove_not_behind, state_of
from compat.state.delta.errors import DamagedLog, StoreError
from compat.state.delta.fsck import Verified, verify
from compat.state.delta.log import SnapshotLog
from compat.state.delta.savepoint import METADATA, PLAN, read_description
from compat.state.stores.paths import Place, place_of

_JOB, _SAVEPOINT = "job", "savepoint"


class Checked(Struct, frozen=True):
    """The result for a job or a savepoint: its checkpoint, its files and bytes, and the faults found."""

    kind: str
    path: str
    epoch: int
    files: int
    size: int
    problems: tuple[str, ...]


def fsck(path: str) -> Iterator[Checked]:
    """Verify the jobs and savepoints of a store or folder, or a path that is one. Raises StoreError if there is none."""
    root = place_of(path, "The store").absolute()
    found = list(_below(root))
    if not found:
        raise StoreError(
            f"{path} is no store, and no job or savepoint of jobs on Spark is in it. Give the folder of --store, or one of a "
            "savepoint. compat inspect reads savepoints of Flink."
        )
    for kind, place in found:
        yield _checked(kind, place)


def _below(root: Place) -> Iterator[tuple[str, Place]]:
    """The jobs and savepoints of a place: itself, or those in it."""
    try:
        if kind := _kind(root):
            yield kind, root
            return
        for folder in (root, root / "jobs", root / "savepoints"):
            for entry in folder.list():
                if entry.size is None and (kind := _kind(folder / entry.name)):
                    yield kind, folder / entry.name
    except OSError as error:
        raise StoreError(f"{root} cannot be read: {error}.") from error


def _kind(place: Place) -> str | None:
    if (place / METADATA).exists():
        return _SAVEPOINT
    return _JOB if (place / "job.json").exists() or _has_log(state_of(place)) else None


def _checked(kind: str, place: Place) -> Checked:
    table = place if kind == _SAVEPOINT else state_of(place)
    try:
        found = verify(table) if kind == _SAVEPOINT or _has_log(table) else Verified(0, 0, 0, ())
    except StoreError as error:
        found = Verified(0, 0, 0, (str(error),))
    if kind == _SAVEPOINT:
        problems = [*_wrong_in_savepoint(place, found.epoch), *_wrong_in_json(place, PLAN)]
    else:
        problems = [*_wrong_in_job(place, table), *_wrong_in_json(place, PLAN), *_wrong_in_entry(place)]
    return Checked(kind, str(place), found.epoch, found.files, found.size, (*found.problems, *problems))


def _has_log(table: Place) -> bool:
    return (table / "_delta_log").exists()


def _wrong_in_savepoint(place: Place, epoch: int) -> Iterator[str]:
    try:
        told = read_description(place).get("epoch", epoch)
    except StoreError as error:
        yield str(error)
        return
    if told != epoch:
        yield f"{place / METADATA} is of checkpoint {told}, and the table is at {epoch}."


def _wrong_in_job(place: Place, table: Place) -> Iterator[str]:
    try:
        prove_not_behind(place, SnapshotLog.open(table) if _has_log(table) else None)
    except DamagedLog:
        return  # told with the table's problems
    except StoreError as error:
        yield str(error)


def _wrong_in_entry(place: Place) -> Iterator[str]:
    try:
        read_entry(place)
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, AttributeError) as error:
        yield f"The entry of the job in {place} is damaged: {error}."


def _wrong_in_json(place: Place, name: str) -> Iterator[str]:
    try:
        json.loads((place / name).read())
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        yield f"{place / name} cannot be read: {error}."

"""Finds savepoints, checkpoints and jobs' state tables below a folder, and reads their descriptions.

A folder may be written by jobs that the operator does not trust. So no symbolic link is followed, and no file outside of it is
opened; the readers do the same with the files that metadata names. Nothing is unpickled. The folder may be on an object store,
which has no links: a file is in a folder if its name begins with the folder's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, BinaryIO

from msgspec import Struct

from compat.compiler.gc_policy import collection_paused
from compat.escaping import visible
from compat.service.registry.packing import canonical, pack
from compat.service.registry.savepoints import SeenSavepoint
from compat.service.settings import Folder
from compat.service.untrusted import MOST_VALUES, most_values, nesting
from compat.state.safe_open import open_regular
from compat.state.stores.paths import Place as StoredPlace
from compat.state.stores.paths import place_of
from compat.state.stores.schemes import is_remote

FLINK, DELTA_SAVEPOINT, DELTA_JOB = "flink", "delta-savepoint", "delta-job"
FLINK_FILE, DELTA_FILE, DELTA_LOG = "_metadata", "_savepoint.json", "_delta_log"
JOB_FILE, PLAN_FILE = "job.json", "plan.json"
_FORMS = {FLINK: ":digest"}
"""The version of descriptions: older ones are read again."""
DEEPEST = 6
MOST_ENTRIES = 200_000
LARGEST_DESCRIPTION = 128 * 1024 * 1024
DEEPEST_VALUE = 100


class Place(Struct, frozen=True):
    """A directory with a snapshot, as it was seen; ``fingerprint`` changes when its describing file does."""

    id: str
    path: str
    kind: str
    job: str | None
    modified_at: float
    fingerprint: str


def places(folder: Folder) -> list[Place]:
    """The snapshots below a folder, at most six levels down."""
    if is_remote(folder.path):
        return list(_below_place(place_of(folder.path), folder.job, DEEPEST, [MOST_ENTRIES]))
    return list(_below(folder.path, folder.job, DEEPEST, [MOST_ENTRIES]))


def _below(path: str, job: str | None, depth: int, left: list[int]) -> Iterator[Place]:
    try:
        with os.scandir(path) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    left[0] -= len(entries)
    if left[0] < 0:
        return
    names = {entry.name: entry for entry in entries}
    for name, kind in ((FLINK_FILE, FLINK), (DELTA_FILE, DELTA_SAVEPOINT), (JOB_FILE, DELTA_JOB)):
        entry = names.get(name)
        if entry is not None and entry.is_file(follow_symlinks=False) and _fits(path, kind):
            yield _place(path, kind, job, entry)
            break
    else:
        if DELTA_LOG in names:
            return
    for entry in entries:
        if depth and entry.is_dir(follow_symlinks=False) and entry.name != DELTA_LOG:
            yield from _below(entry.path, job, depth - 1, left)


def _below_place(folder: StoredPlace, job: str | None, depth: int, left: list[int]) -> Iterator[Place]:
    """The same in a bucket."""
    entries = folder.list()
    left[0] -= len(entries)
    if left[0] < 0:
        return
    names = {entry.name: entry for entry in entries}
    for name, kind in ((FLINK_FILE, FLINK), (DELTA_FILE, DELTA_SAVEPOINT), (JOB_FILE, DELTA_JOB)):
        entry = names.get(name)
        if entry is not None and entry.size is not None:
            yield Place(
                id=sha256(folder.path.encode("utf-8", "replace")).hexdigest()[:32],
                path=folder.path,
                kind=kind,
                job=job,
                modified_at=entry.modified,
                fingerprint=f"{entry.modified}:{entry.size}{_FORMS.get(kind, '')}",
            )
            break
    else:
        if DELTA_LOG in names:
            return
    for entry in entries:
        if depth and entry.size is None and entry.name != DELTA_LOG:
            yield from _below_place(folder / entry.name, job, depth - 1, left)


def _fits(path: str, kind: str) -> bool:
    log = os.path.join(path, "state", DELTA_LOG)
    return kind != DELTA_JOB or (os.path.isdir(log) and os.path.realpath(log) == os.path.join(path, "state", DELTA_LOG))


def _place(path: str, kind: str, job: str | None, entry: os.DirEntry[str]) -> Place:
    stat = entry.stat(follow_symlinks=False)
    return Place(
        id=sha256(os.fsencode(path)).hexdigest()[:32],
        path=os.fsencode(path).decode("utf-8", "replace"),
        kind=kind,
        job=job,
        modified_at=stat.st_mtime,
        fingerprint=f"{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}{_FORMS.get(kind, '')}",
    )


def read(place: Place) -> SeenSavepoint:
    """The description of a snapshot; for an unreadable one, the reason."""
    reader = {FLINK: _flink, DELTA_SAVEPOINT: _delta_savepoint, DELTA_JOB: _delta_job}[place.kind]
    try:
        return reader(place)
    except RecursionError:
        return unreadable(place, "it is nested too deeply")
    except Exception as error:  # files of others may hold anything
        return unreadable(place, f"it has no shape that is known ({type(error).__name__}: {visible(str(error))[:200]})")


def unreadable(place: Place, reason: str) -> SeenSavepoint:
    """A snapshot that could not be read, with the reason."""
    return _seen(place, status="unreadable", error=reason)


def _seen(place: Place, **fields: Any) -> SeenSavepoint:
    known: dict[str, Any] = {
        "id": place.id,
        "path": place.path,
        "kind": place.kind,
        "job": place.job,
        "status": "ok",
        "error": None,
        "checkpoint": None,
        "operators": None,
        "size": None,
        "modified_at": place.modified_at,
        "fingerprint": place.fingerprint,
        "inspection": None,
    }
    return SeenSavepoint(**known | fields)


def _flink(place: Place) -> SeenSavepoint:
    from compat.state.flink import SavepointError, inspect_savepoint
    from compat.state.flink.remote import read_savepoint

    try:
        found = inspect_savepoint(read_savepoint(place.path))
    except SavepointError as error:
        return unreadable(place, str(error))
    return _seen(
        place,
        checkpoint=_checkpoint(found["checkpoint_id"]),
        operators=len(found["operators"]),
        size=found["total_bytes"],
        inspection=pack(canonical(_clean(found))),
    )


def _delta_savepoint(place: Place) -> SeenSavepoint:
    try:
        found = _description(place, DELTA_FILE)
    except (OSError, ValueError) as error:
        return unreadable(place, f"{DELTA_FILE} cannot be read: {error}")
    return _described(place, found)


def _delta_job(place: Place) -> SeenSavepoint:
    try:
        found = _description(place, JOB_FILE)
    except (OSError, ValueError) as error:
        return unreadable(place, f"{JOB_FILE} cannot be read: {error}")
    checkpoints, problem = _checkpoints(os.path.join(place.path, "state"))
    return _described(place, found | {"checkpoints": checkpoints, "checkpoints_unknown": problem})


def _described(place: Place, found: dict[str, Any]) -> SeenSavepoint:
    try:
        plan = _description(place, PLAN_FILE)
    except FileNotFoundError:
        plan = None
    except (OSError, ValueError) as error:
        return unreadable(place, f"{PLAN_FILE} cannot be read: {error}")
    name, epoch = found.get("job_name", found.get("name")), found.get("epoch")
    operators = None if plan is None else plan.get("operators")
    return _seen(
        place,
        job=place.job or (_clean(name) if isinstance(name, str) else None),
        checkpoint=_checkpoint(epoch),
        operators=len(operators) if isinstance(operators, list) else None,
        size=_size(place.path),
        inspection=pack(canonical(_clean({**found, "plan": plan}))),
    )


def _checkpoint(number: Any) -> int | None:
    """The number of a checkpoint or epoch, where it can be one."""
    return number if type(number) is int and 0 <= number < 2**63 else None


def _description(place: Place, name: str) -> dict[str, Any]:
    with _opened(place, name) as file:
        text = file.read(LARGEST_DESCRIPTION + 1)
    if len(text) > LARGEST_DESCRIPTION:
        raise ValueError(f"it has more than {LARGEST_DESCRIPTION} bytes")
    if most_values(text) > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES} values")
    if nesting(text) > DEEPEST_VALUE:
        raise ValueError("it is nested too deeply")
    with collection_paused():
        found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found


def _opened(place: Place, name: str) -> BinaryIO:
    if is_remote(place.path):
        return (place_of(place.path) / name).open()
    return open_regular(os.path.join(place.path, name), links=False)


def _checkpoints(path: str) -> tuple[list[dict[str, Any]], str | None]:
    """The checkpoints that a state table's log tells of, newest first, and why there are none to tell."""
    try:
        from compat.state.delta.errors import StoreError
        from compat.state.delta.log import SnapshotLog
    except ModuleNotFoundError as error:
        return [], f"{error.name} is not installed: pip install 'stream-compat[spark]'"
    try:
        return SnapshotLog.open(path).checkpoints(), None
    except (StoreError, OSError, ValueError, KeyError) as error:
        return [], f"the log cannot be read: {error}"


def _size(path: str) -> int:
    if is_remote(path):
        return _size_of(place_of(path), [MOST_ENTRIES])
    total = 0
    for folder, _, names in os.walk(path, followlinks=False):
        for name in names:
            try:
                total += os.lstat(os.path.join(folder, name)).st_size
            except OSError:
                continue
    return total


def _size_of(folder: StoredPlace, left: list[int]) -> int:
    """The bytes below a folder of a bucket; of one with very many files, those of the first ones."""
    entries = folder.list()
    left[0] -= len(entries)
    if left[0] < 0:
        return 0
    return sum(_size_of(folder / entry.name, left) if entry.size is None else entry.size for entry in entries)


def _clean(value: Any) -> Any:
    """``value`` in a form that databases keep: bytes that are not Unicode (in names of files) are replaced, and so is NUL."""
    if isinstance(value, str):
        told = value if value.isascii() else value.encode("utf-8", "replace").decode()
        return told.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_clean(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return str(value)
    return value if value is None or isinstance(value, int | float) else str(value)

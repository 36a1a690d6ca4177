"""Finds state files: relative names, absolute URIs, and URIs of a savepoint that was moved since.

A savepoint may come from anybody. So a name in it opens no file outside the savepoint's own folders: that of `_metadata`, and
for checkpoints `shared/` and `taskowned/` beside it. An absolute URI is looked up in those folders by its last parts. This
works for moved savepoints and for others. Only the files of another savepoint are found outside of these folders (`elsewhere`).
"""

from __future__ import annotations

import os

from msgspec import Struct

from compat.state.flink.handles import RelativeFile, Segment, StateFile
from compat.state.flink.savepoint import Savepoint
from compat.state.flink.storage import LOCAL_FILES, Storage

LOCAL = "local"
"""In the savepoint's own folders, wherever these are."""
MISSING = "missing"
SHORT = "shorter than recorded"
REMOTE = "remote"
REFUSED = "outside the savepoint"

SHARED_FOLDERS = ("shared", "taskowned")
"""Flink's names for the folders that a job's checkpoints share (`AbstractFsCheckpointStorageAccess`)."""

_DEEPEST = 2
"""Files lie in a shared folder itself or, with file merging, in one below it."""


class Location(Struct, frozen=True):
    """The location of a state file: `status` is one of this module's constants, `path` the file if any."""

    status: str
    name: str
    path: str | None = None


def locate(savepoint: Savepoint, file: StateFile | RelativeFile | Segment) -> Location:
    """Find the file of a handle. Opens no state file, fetches nothing, raises nothing."""
    found = in_own_folders(savepoint, file)
    if found.status != MISSING or isinstance(file, RelativeFile) or savepoint.storage is not LOCAL_FILES:
        return found
    # Imported when it is needed: few savepoints refer to the files of another one.
    from compat.state.flink.elsewhere import belongs_to_a_savepoint

    path = os.path.join("/", *_split(file.uri)[1])
    needed = file.start + file.size if isinstance(file, Segment) else file.size
    if not os.path.isfile(path) or not belongs_to_a_savepoint(path):
        return found
    return _judge(savepoint.storage, file.uri, path, os.path.dirname(path), needed, remote=False)


def in_own_folders(savepoint: Savepoint, file: StateFile | RelativeFile | Segment) -> Location:
    """Find the file in the savepoint's own folders. Opens nothing, fetches nothing, raises nothing."""
    name = file.relative_path if isinstance(file, RelativeFile) else file.uri
    needed = file.start + file.size if isinstance(file, Segment) else file.size
    if "\0" in name:
        return Location(REFUSED, name)
    if isinstance(file, RelativeFile):
        candidate, root, remote = os.path.join(savepoint.folder, name), savepoint.folder, False
    else:
        scheme, parts = _split(name)
        remote = scheme not in ("", "file")
        candidate, root = _candidate(savepoint, parts)
    return _judge(savepoint.storage, name, candidate, root, needed, remote)


def _judge(storage: Storage, name: str, candidate: str, root: str, needed: int, remote: bool) -> Location:
    try:
        real = storage.resolve(candidate)
        if not _within(real, storage.resolve(root)):
            return Location(REFUSED, name)
        size = storage.size(real)
    except (OSError, ValueError):
        return Location(REMOTE if remote else MISSING, name)
    if size is None:
        return Location(MISSING, name)
    return Location(SHORT if size < needed else LOCAL, name, real)


def _split(uri: str) -> tuple[str, list[str]]:
    """The scheme and the path's parts of what Flink's `Path.toString` gives, which escapes nothing."""
    head, colon, path = uri.partition(":")
    # A single letter is the drive of a Windows path, not a scheme.
    if not colon or len(head) < 2 or "/" in head:
        head, path = "", uri
    if path.startswith("//"):
        path = path[2:].partition("/")[2]
    return head, [part for part in path.replace("\\", "/").split("/") if part]


def _candidate(savepoint: Savepoint, parts: list[str]) -> tuple[str, str]:
    """The one place where the file can be, and the folder that it must not leave."""
    if _is_checkpoint(savepoint):
        # Only the last parts count: the folders above may be called anything, `shared` too.
        for at in range(len(parts) - 2, max(-1, len(parts) - 2 - _DEEPEST), -1):
            if parts[at].startswith("chk-"):
                break
            if parts[at] in SHARED_FOLDERS:
                root = os.path.join(os.path.dirname(savepoint.folder), parts[at])
                return os.path.join(root, *parts[at + 1 :]), root
    return os.path.join(savepoint.folder, parts[-1] if parts else ""), savepoint.folder


def _is_checkpoint(savepoint: Savepoint) -> bool:
    if savepoint.properties is not None and savepoint.properties.is_savepoint is not None:
        return not savepoint.properties.is_savepoint
    return os.path.basename(savepoint.folder).startswith("chk-")


def _within(path: str, root: str) -> bool:
    return path.startswith(os.path.join(root, ""))

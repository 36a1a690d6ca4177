"""State files outside a savepoint's own folders: those of another savepoint that still exists and names them itself.

A savepoint with changed ids refers to the files of the original one. Anybody may have written the names in it. So a name counts
only if the file is in the folders of a savepoint or checkpoint whose `_metadata` names the file, too.
"""

from __future__ import annotations

import os
from functools import lru_cache

from compat.state.flink.errors import SavepointError
from compat.state.flink.files import files_of
from compat.state.flink.locate import LOCAL, SHARED_FOLDERS, in_own_folders
from compat.state.flink.metadata import METADATA_FILE, read_metadata
from compat.state.flink.storage import LOCAL_FILES

_REMEMBERED = 64
_DEEPEST = 3
"""A file of a checkpoint lies at most this many folders below that of the job: `taskowned/<folder>/<file>`."""


def belongs_to_a_savepoint(path: str) -> bool:
    """True if a local file is a state file of a savepoint or checkpoint in whose folders it is."""
    try:
        real = os.path.realpath(path)
        return any(real in _files_named_by(file, *_stamp(file)) for file in _neighbours(real))
    except (OSError, ValueError):
        return False


def _neighbours(path: str) -> list[str]:
    """The metadata files of which a file at this place can be: the one beside it, or those of the checkpoints of its job."""
    folder = os.path.dirname(path)
    found = [os.path.join(folder, METADATA_FILE)]
    for _ in range(_DEEPEST):
        folder, name = os.path.split(folder)
        if name in SHARED_FOLDERS:
            found += [entry.path + "/" + METADATA_FILE for entry in os.scandir(folder) if entry.name.startswith("chk-")]
    return [file for file in found if os.path.isfile(file)]


def _stamp(file: str) -> tuple[int, int]:
    status = os.stat(file)
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=_REMEMBERED)
def _files_named_by(file: str, changed: int, size: int) -> frozenset[str]:
    """The state files in the savepoint's own folders that it names; none if it cannot be read."""
    try:
        savepoint = read_metadata(file, LOCAL_FILES)
    except SavepointError:
        return frozenset()
    places = (in_own_folders(savepoint, named) for operator in savepoint.operators for named in files_of(operator))
    return frozenset(place.path for place in places if place.status == LOCAL and place.path is not None)

"""Savepoints and checkpoints below a folder."""

from __future__ import annotations

import os

_METADATA = "_metadata"
_NOT_ENTERED = frozenset({"shared", "taskowned"})


def find_savepoints(folder: str) -> list[str]:
    """The folders at or below ``folder`` that hold Flink's metadata, in the order of their names; links are not followed."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_ENTERED)
        if _METADATA in files:
            found.append(path)
    return found

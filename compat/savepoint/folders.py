"""Savepoints and checkpoints below a folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from compat.state.safe_open import open_regular

_METADATA = "_metadata"
_NOT_ENTERED = frozenset({"shared", "taskowned"})
_OF_A_JOB = re.compile(r"(?P<job>chk-|savepoint-[0-9a-f]{6}-)[0-9a-f]+")
_HEAD = 16
"""Bytes of metadata up to the checkpoint's id: a magic number, the format's version, the id."""


def find_savepoints(folder: str) -> list[str]:
    """The folders at or below ``folder`` that hold Flink's metadata, in the order of their names; links are not followed."""
    found = []
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NOT_ENTERED)
        if _METADATA in files:
            found.append(path)
    return found


def newer_snapshot(folder: str, checkpoint_id: int) -> str | None:
    """The latest snapshot of the same job beside the one in ``folder``, if it was taken after that one.

    Flink puts the checkpoints of a job into one folder (``chk-7``), and names savepoints by the job (``savepoint-1a2b3c-…``).
    """
    here = Path(folder)
    named = _OF_A_JOB.fullmatch(here.name)
    if named is None:
        return None
    newest: tuple[int, str] = (checkpoint_id, "")
    try:
        for other in here.parent.iterdir():
            same = _OF_A_JOB.fullmatch(other.name)
            if same is not None and same["job"] == named["job"] and other.name != here.name:
                newest = max(newest, (_checkpoint_id(other / _METADATA), str(other)))
    except OSError:
        return None
    return newest[1] or None


def _checkpoint_id(metadata: Path) -> int:
    """The id of a checkpoint as its metadata has it, -1 where there is none."""
    try:
        with open_regular(metadata) as file:
            head = file.read(_HEAD)
    except OSError:
        return -1
    return int.from_bytes(head[8:], signed=True) if len(head) == _HEAD else -1

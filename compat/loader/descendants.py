"""The processes below a process, and how to end them.

A program may start processes in sessions of their own, which no signal to its group reaches.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36
"""The number of Linux's request to become the parent of orphaned descendants."""

_ROUNDS = 200
_PAUSE = 0.005


def keep_orphans() -> None:
    """Stay the ancestor of all processes below this one, so that they can be found; does nothing on systems other than
    Linux.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_all_below(pid: int) -> None:
    """End all processes below ``pid``, also those that they start meanwhile; ``pid`` itself keeps running."""
    for _ in range(_ROUNDS):
        below = _living_below(pid) or _living_below(pid)  # Linux may pass over a child while another one ends
        if not below:
            return
        for child in below:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        time.sleep(_PAUSE)


def _living_below(pid: int) -> list[int]:
    return [child for child in descendants(pid) if _lives(child)]


def descendants(pid: int) -> Iterator[int]:
    """The processes below ``pid``; none if the system does not list them."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(text) for text in file.read().split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from descendants(child)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return False

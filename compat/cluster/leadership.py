"""Becoming the one dispatcher of a cluster: at once where the last one is dead, after its lease where it only seems so."""

from __future__ import annotations

import fcntl
import os
import time
from typing import Any

from compat.cluster.places import ClusterFolder
from compat.cluster.records import Leader
from compat.cluster.registry import Jobs

_LOCK = "dispatcher.lock"
_SECONDS = 0.2


class Led(Exception):
    """Another dispatcher leads the cluster, and lives."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        super().__init__(f"A dispatcher leads this cluster already, at {leader.url}.")


def become_leader(folder: ClusterFolder, jobs: Jobs, url: str, lease: float, *, wait: bool = False) -> Any:
    """Lead the cluster in a folder; gives what this process has to hold as long as it does.

    A lock that the system lets go of tells that the last dispatcher is dead. One that holds it and gives no sign of life for
    ``lease`` seconds has lost its place, too. Raises Led where it gives signs; with ``wait``, that is waited for without end.
    """
    end = time.monotonic() + 1.5 * lease
    while True:
        lock = _lock(folder)
        if jobs.lead(url, lease, dead=lock is not None):
            return lock or _replaced(folder)
        leader = jobs.leader()
        if not wait and leader is not None and (time.monotonic() > end or time.time() - leader.renewed_at < lease / 2):
            raise Led(leader)
        time.sleep(_SECONDS)


def dispatcher_process(folder: ClusterFolder) -> int | None:
    """The process of the dispatcher that lives; None for none."""
    try:
        with open(folder.path / _LOCK) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0)
    except (OSError, ValueError):
        pass
    return None


def _lock(folder: ClusterFolder) -> Any:
    file = open(folder.path / _LOCK, "a+")  # noqa: SIM115 - held on purpose
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return _signed(file)


def _replaced(folder: ClusterFolder) -> Any:
    """A lock in the place of that which a dispatcher holds that lost its place."""
    fresh = folder.path / f"{_LOCK}.{os.getpid()}"
    file = open(fresh, "a+")  # noqa: SIM115 - held on purpose
    fcntl.flock(file, fcntl.LOCK_EX)
    os.replace(fresh, folder.path / _LOCK)
    return _signed(file)


def _signed(file: Any) -> Any:
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file

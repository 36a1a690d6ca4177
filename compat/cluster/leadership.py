"""Becoming the only dispatcher of a cluster: at once if the last one is dead, after its lease if it only seems so."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Leader
from compat.cluster.registry import Jobs
from compat.service.telemetry import log

_LOCK = "dispatcher.lock"
_SECONDS = 0.2


class Led(Exception):
    """Another dispatcher leads the cluster, and is alive."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader
        super().__init__(f"A dispatcher leads this cluster already, at {leader.url}.")


def become_leader(folder: ClusterFolder, jobs: Jobs, url: str, lease: float, *, wait: bool = False) -> Any:
    """Lead the cluster in a folder; gives what this process has to hold as long as it does.

    If the system released the lock, the last dispatcher is dead. A dispatcher that holds it without a sign of life for
    ``lease`` seconds has lost its place, too. If it stopped during a write to the database's file, which blocks all writers,
    its process is ended. Raises Led if it is alive; with ``wait``, waits for its end. Raises
    SQLAlchemyError if the database cannot be written for another reason.
    """
    end = time.monotonic() + 1.5 * lease
    while True:
        lock = _lock(folder)
        try:
            if jobs.lead(url, lease, dead=lock is not None):
                return lock or _replaced(folder)
        except SQLAlchemyError:
            if lock is not None:
                lock.close()
            if not wait and time.monotonic() > end:
                raise
            _end_sleeper(folder, jobs, lease)
        leader = jobs.leader()
        if not wait and leader is not None and (time.monotonic() > end or time.time() - leader.renewed_at < lease / 2):
            raise Led(leader)
        time.sleep(_SECONDS)


def _end_sleeper(folder: ClusterFolder, jobs: Jobs, lease: float) -> None:
    """Kill the dispatcher that has the lock and gave no sign of life, where it is seen to have the database's file open."""
    leader, pid, file = jobs.leader(), dispatcher_process(folder), jobs.file
    silent = leader is not None and time.time() - leader.renewed_at > lease
    if silent and pid and file is not None and _has_open(pid, file):
        log("killed", "warning", pid=pid, why="a dispatcher without a sign of life stopped in the midst of a write")
        os.kill(pid, signal.SIGKILL)


def _has_open(pid: int, file: Path) -> bool:
    """True if a process of this machine has a file open, as far as that can be seen."""
    try:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            if descriptor.exists() and descriptor.samefile(file):
                return True
    except OSError:
        pass
    return False


def dispatcher_process(folder: ClusterFolder) -> int | None:
    """The process of the living dispatcher; None for none."""
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
    """A lock in place of that which a dispatcher holds that lost its place."""
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

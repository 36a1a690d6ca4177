"""The right to drive a job: held by one process at a time, as long as it gives signs of life.

A driver has a lease: a file for each term. Creating the file fails if the name is taken, so only one of several drivers gets
the term. The driver touches its file again and again, or rewrites it on storage without times of change; a lease without change
for :data:`LEASE_SECONDS` is over. A driver that wants its place watches for that long, because the clocks of two machines are
not compared. The end of a process on this machine is seen at once. But a living process may not get to run, so it is watched,
too.

A driver that was stopped, or slept, may wake after its term. It learns this before it commits, and the log itself refuses its
commit (:meth:`~compat.state.delta.log.SnapshotLog.lead`). Flink: ``LeaderElectionService``, whose leader
session ids
are the terms.

A dispatcher decides alone who drives a job: with its fencing token it takes the job from its driver, alive or not.
"""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import asdict, replace

from compat.state.delta.errors import StoreError, Superseded, unwritable
from compat.state.delta.in_use import boot_id
from compat.state.stores.paths import Place

LEASE_SECONDS = 15.0
"""The time after a driver's last sign of life when another process may drive its job."""
_RENEWALS = 4
"""The least number of renewals of a lease in that time."""
_SIGNS = 1.0
"""Seconds between two signs on this machine, where they cost nothing."""
_LONG_OVER = 60.0
"""Seconds without a sign of life after which a driver is shown as gone: whoever wants its place waits for certainty."""
_LOOKS = 20
"""The number of retries if a sign is replaced while it is read."""
_FOLDER = "driver"
_TERM = re.compile(r"(\d{20})\.json")
_STILL: set[tuple[str, _Sign]] = set()
"""The drivers that this process has watched for a whole lease without a sign of life, so that they are not watched again."""


class LeaseLost(Superseded):
    """Another process has the lease: this one may not commit, publish or write anything of the job any more."""


class Held(StoreError):
    """Another process has the lease; ``by`` says which, since when."""

    def __init__(self, directory: Place, by: str) -> None:
        self.by = by
        super().__init__(
            f"Job {directory.name} is run by another process{f': {by}' if by else ''}. compat job list shows it; stop it with "
            "compat job stop."
        )


class StoreUnsure(StoreError):
    """It is unknown whether another process drives the job: the storage is unreachable."""


class _Sign(Struct, frozen=True, kw_only=True):
    """What a driver says of itself: its term, how often it said so, which process it is, on which host and since when.

    ``assigned`` is the token with which a dispatcher chose it, 0 for none.
    """

    term: int
    beat: int = 0
    assigned: int = 0
    released: bool = False
    machine: str = ""
    pid: int = 0
    started: str = ""
    host: str = ""
    since: float = 0.0
    modified: float = 0.0

    @classmethod
    def of_this_process(cls, term: int, assigned: int) -> _Sign:
        """The first sign of a term."""
        return cls(
            term=term,
            assigned=assigned,
            machine=_machine(),
            pid=os.getpid(),
            started=_started(os.getpid()),
            host=socket.gethostname(),
            since=time.time(),
        )

    @property
    def over(self) -> bool:
        """True if it is certain that nobody has the term: it was given back, or its process is seen to be gone."""
        return self.released or (self.is_here and _started(self.pid) != self.started)

    @property
    def is_here(self) -> bool:
        """True if the process is one that can be seen from this one."""
        return self.machine != "" and self.machine == _machine()


class Lease:
    """The right to drive a job, until it is closed or this process ends. ``token`` grows with each driver.

    ``lost`` is True once another driver is known to have the right. While ``moves`` says that the driver makes no progress, the
    lease gives no signs of life, so that another driver may take the job.
    """

    def __init__(self, folder: Place, sign: _Sign) -> None:
        self.token = sign.term
        self.lost = False
        self.moves: Callable[[], bool] = lambda: True
        self._folder, self._sign = folder, sign
        self._writing = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._renew_again, name=f"lease-{sign.term}", daemon=True)
        self._thread.start()

    def prove(self) -> None:
        """Raise LeaseLost if another process now has the right, StoreUnsure if that is unknown."""
        if not self.lost:
            try:
                self.lost = _highest(self._folder) != self.token
            except OSError as error:
                raise StoreUnsure(
                    f"Whether this process still drives the job of {self._folder.parent} cannot be told: {error}."
                ) from error
        if self.lost:
            raise LeaseLost(
                f"Another process drives the job of {self._folder.parent} by now, or has removed it: this one was without a "
                f"sign of life for more than {LEASE_SECONDS:g} s, or was replaced, and ends. Nothing is lost."
            )

    def close(self, gone: bool = False) -> None:
        """Give the lease back; ``gone`` if the job is removed."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._thread.join(5)
        if gone or self.lost:
            return
        with self._writing:
            _write(self._folder, replace(self._sign, released=True))

    def _renew(self) -> None:
        with self._writing:
            if self._closed.is_set() or not self.moves():
                return
            if _highest(self._folder) != self.token:
                self.lost = True
            elif self._folder.local:
                os.utime(_place(self._folder, self.token))
            else:
                self._sign = replace(self._sign, beat=self._sign.beat + 1)
                _write(self._folder, self._sign)

    def _renew_again(self) -> None:
        while not self.lost and not self._closed.wait(_between_signs(self._folder)):
            with suppress(OSError):  # the storage is away; a commit finds out
                self._renew()


def take(directory: Place, store: Place, token: int = 0, leader: Callable[[], int] = lambda: 0) -> Lease:
    """Become the driver of the job of a directory of a store; the lease ends with this process, however that happens.

    With a dispatcher's ``token`` this takes the job from its driver, unless that was chosen later. If there was no lease,
    ``leader`` gives the greatest token in the job's log. Raises Held if another driver has it, StoreError if the store cannot
    be written.
    """
    folder = directory / _FOLDER
    try:
        if folder.local and os.path.isfile(folder):
            folder.delete()  # of a version that locked a file
        while True:
            seen = _read(folder)
            if token and seen is not None and seen.assigned > token:
                raise LeaseLost(f"Another process drives the job of {directory}: it was chosen after this one.")
            if not token and seen is not None and not seen.over and _lives(folder, seen):
                since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seen.since))
                raise Held(directory, f"process {seen.pid} on {seen.host}, since {since}" if seen.pid else "")
            sign = _Sign.of_this_process(max((leader() if seen is None else seen.term) + 1, token), token)
            if _place(folder, sign.term).create(_encoded(sign)):
                for entry in folder.list():
                    if 0 < _term_of(entry.name) < sign.term:
                        (folder / entry.name).delete()
                return Lease(folder, sign)
    except OSError as error:
        raise unwritable("The store", store, error, "give another with --store") from error


def is_held(directory: Place, patient: bool = False) -> bool:
    """True while a process drives the job of a directory.

    A driver that was stopped, or runs on another machine, may hang or be dead. ``patient`` waits until that is certain;
    otherwise its process or the clock decides, which is good enough for display.
    """
    folder = directory / _FOLDER
    try:
        seen = _read(folder)
        if seen is None or seen.over:
            return False
        if patient:
            return _lives(folder, seen)
        return seen.is_here or time.time() - seen.modified < _LONG_OVER
    except OSError as error:
        raise StoreError(f"The store {directory} cannot be read: {error}.") from error


def was_left(directory: Place) -> bool:
    """True if the last driver of the job of a directory is known to have ended without giving its lease back."""
    seen = _seen(directory)
    return seen is not None and seen.over and not seen.released


def driver(directory: Place) -> int | None:
    """The process of this machine that drives the job of a directory, or None."""
    seen = _seen(directory)
    return seen.pid if seen is not None and seen.is_here and not seen.over else None


def sign_of_life(directory: Place) -> float:
    """The last sign of life of the last driver of a directory's job, in seconds since 1970; 0 if there is none."""
    seen = _seen(directory)
    return 0.0 if seen is None else seen.modified


def _seen(directory: Place) -> _Sign | None:
    try:
        return _read(directory / _FOLDER)
    except OSError:
        return None


def _between_signs(folder: Place) -> float:
    """Seconds between two signs of life in a folder."""
    return min(LEASE_SECONDS / _RENEWALS, _SIGNS if folder.local else LEASE_SECONDS)


def _lives(folder: Place, seen: _Sign) -> bool:
    """True if there is another sign of life within the time that a lease has. Waits for it."""
    if (folder.path, seen) in _STILL:
        return False
    end, over = time.monotonic() + LEASE_SECONDS, False
    while not over:
        time.sleep(min(max(end - time.monotonic(), 0.0), _between_signs(folder) / 2))
        over = time.monotonic() >= end
        now = _read(folder)  # also at the end: this process may have slept itself
        if now is None or now.over:
            return False
        if now != seen:
            return True
    _STILL.add((folder.path, seen))
    return False


def _place(folder: Place, term: int) -> Place:
    return folder / f"{term:020d}.json"


def _term_of(name: str) -> int:
    """The term that a file is of; 0 for anything else."""
    found = _TERM.fullmatch(name)
    return int(found[1]) if found else 0


def _highest(folder: Place) -> int:
    return max((_term_of(entry.name) for entry in folder.list()), default=0)


def _read(folder: Place) -> _Sign | None:
    """What the driver of the last term said of itself; None if there was none yet. Raises OSError."""
    for _ in range(_LOOKS):
        try:
            last = max(folder.list(), key=lambda entry: _term_of(entry.name), default=None)
        except NotADirectoryError:
            return None  # of a version that locked a file
        if last is None or not (term := _term_of(last.name)):
            return None
        with suppress(FileNotFoundError):  # somebody takes the job this moment, or removes it
            said = (folder / last.name).read()
            # Lists of folders that several machines have mounted may be older.
            modified = (folder / last.name).modified() if folder.local else last.modified
            try:
                return replace(_Sign(**json.loads(said)), modified=modified)
            except (ValueError, TypeError):
                return _Sign(term=term, modified=modified)
    raise OSError(f"{folder} changes all the time")


def _write(folder: Place, sign: _Sign) -> None:
    _place(folder, sign.term).write(_encoded(sign))


def _encoded(sign: _Sign) -> bytes:
    told = asdict(sign)
    del told["modified"]
    return json.dumps(told).encode()


def _machine() -> str:
    """What tells this machine, since its start, and its table of processes from all others."""
    try:
        return f"{boot_id()} {os.stat('/proc/self/ns/pid').st_ino}" if boot_id() else platform.node()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process of this machine started, by the system's count; empty if there is none, or it is dead."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return "" if os.path.exists("/proc/self/stat") else _there(pid)
    return "" if fields[0] in ("Z", "X") else fields[19]


def _there(pid: int) -> str:
    """The same on a system that does not tell: a process that has the number of a dead one is watched until that shows."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        pass  # somebody else's
    return "there"

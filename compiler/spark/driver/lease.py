"""Who drives a job: one process at a time, for as long as it lives.

On a file system of this machine that is a locked file, which ends with the process. Elsewhere it is a lease: an object for each
term, made by a put that fails where the name is taken, so that one of several that try has the term. Its driver writes it again
and again, and one that stands still for :data:`LEASE_SECONDS` is over. Whoever wants its place watches for that long: clocks of
two machines are not compared. A driver that was paused may wake when its term is over: it is told so before it commits, and the
log itself refuses what it commits (:meth:`~compat.state.delta.log.SnapshotLog.lead`). Flink: ``LeaderElectionService``, whose
leader session ids are the terms.

A dispatcher decides by itself who drives a job: with its fencing token the job is taken from the driver that has it, be that
one alive or not.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from compat.state.delta.errors import StoreError, Superseded, unwritable
from compat.state.delta.in_use import boot_id
from compat.state.stores.places import Place

LEASE_SECONDS = 15.0
"""So long after a driver's last sign of life somebody else may drive its job."""
_RENEWALS = 4
"""So often a lease is renewed in that time."""
_LONG_OVER = 60.0
"""Seconds without a sign of life after which a driver is shown as gone: whoever wants its place waits for certainty."""
_FOLDER = "driver"
_INSTEAD = "give another with --store"


class LeaseLost(Superseded):
    """Somebody else has the lease: this process may not commit, publish or write anything of the job any more."""


class StoreUnsure(StoreError):
    """Whether somebody else drives the job cannot be told: the storage is away."""


class Lease(Protocol):
    """The right to drive a job. ``token`` grows with each driver that may have to fence off one before it; it is 0 for one
    that nobody can take anything from.
    """

    token: int

    @property
    def lost(self) -> bool:
        """True once it is known that somebody else has the right."""

    def prove(self) -> None:
        """Raise LeaseLost where somebody else has the right by now, StoreUnsure where that cannot be told."""

    def close(self, gone: bool = False) -> None:
        """Give it back; ``gone`` where the job is removed."""


class LockedFile:
    """The lease of a job in a folder of this machine."""

    token = 0
    lost = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def prove(self) -> None:
        """It is held until it is closed."""

    def close(self, gone: bool = False) -> None:
        """Unlock it."""
        self._file.close()


class AssignedFile(LockedFile):
    """The same for a driver that a dispatcher has chosen: its file stands in the place of the one before."""

    def __init__(self, file: Any, path: str, token: int) -> None:
        super().__init__(file)
        self._path = path
        self.token = token

    @property
    def lost(self) -> bool:  # type: ignore[override]
        """True where another driver's file is there."""
        try:
            return not os.path.samestat(os.stat(self._path), os.fstat(self._file.fileno()))
        except (OSError, ValueError):
            return True

    def prove(self) -> None:
        """As of :class:`Lease`."""
        if self.lost:
            raise LeaseLost(f"Another process drives the job of {os.path.dirname(self._path)} by now. Nothing is lost.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sign:
    """What a driver says of itself: its term, how often it said so, and which process it is."""

    term: int
    beat: int = 0
    released: bool = False
    machine: str = ""
    pid: int = 0
    started: str = ""
    modified: float = 0.0

    @property
    def over(self) -> bool:
        """True where it is certain that nobody has the term: it was given back, or its process is seen to be gone."""
        return self.released or (self.is_here and _started(self.pid) != self.started)

    @property
    def is_here(self) -> bool:
        """True where the process is one that can be seen from this one."""
        return self.machine != "" and self.machine == _machine()


class StoreLease:
    """The lease of a job on storage that has no locks."""

    def __init__(self, folder: Place, sign: _Sign) -> None:
        self.token = sign.term
        self._folder, self._sign = folder, sign
        self.lost = False
        self._writing = threading.Lock()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._renew_again, name=f"lease-{sign.term}", daemon=True)
        self._thread.start()

    def prove(self) -> None:
        """As of :class:`Lease`."""
        if not self.lost:
            try:
                self.lost = _highest(self._folder) > self.token
            except OSError as error:
                raise StoreUnsure(
                    f"Whether this process still drives the job of {self._folder.parent} cannot be told: {error}."
                ) from error
        if self.lost:
            raise LeaseLost(
                f"Another process drives the job of {self._folder.parent} by now: this one was without a sign of life for more "
                f"than {LEASE_SECONDS:g} s, and ends. Nothing is lost."
            )

    def close(self, gone: bool = False) -> None:
        """As of :class:`Lease`."""
        self._closed.set()
        self._thread.join(5)
        if gone or self.lost:
            return
        with self._writing:
            _write(self._folder, replace(self._sign, released=True))

    def _renew(self) -> None:
        with self._writing:
            if self._closed.is_set():
                return
            if _highest(self._folder) > self.token:
                self.lost = True
                return
            self._sign = replace(self._sign, beat=self._sign.beat + 1)
            _write(self._folder, self._sign)

    def _renew_again(self) -> None:
        while not self.lost and not self._closed.wait(LEASE_SECONDS / _RENEWALS):
            try:
                self._renew()
            except OSError:
                continue  # the storage is away; a commit finds out


def take(directory: Place, store: Place, token: int = 0) -> Lease:
    """Become the driver of the job of a directory of a store; the lease ends with this process, however that happens.

    With a dispatcher's ``token`` the job is taken from the driver that has it. Raises StoreError where another driver has it,
    or where the store cannot be written.
    """
    if directory.local:
        if token:
            path = os.path.join(directory, _FOLDER)
            if _told(directory)[1] > token:  # it was chosen before the one that has the job, and comes late
                raise LeaseLost(f"Another process drives the job of {directory}: it was chosen after this one.")
            file = _locked(directory, store, f"{_FOLDER}.{token}", token)
            os.replace(f"{path}.{token}", path)
            return AssignedFile(file, path, token)
        return LockedFile(_locked(directory, store, _FOLDER))
    folder = directory / _FOLDER
    try:
        while True:
            seen = _read(folder)
            if not token and seen is not None and not seen.over and _lives(folder, seen):
                raise _driven(directory)
            term = max((0 if seen is None else seen.term) + 1, token)
            sign = _Sign(term=term, machine=_machine(), pid=os.getpid(), started=_started(os.getpid()))
            if _place(folder, term).create(_encoded(sign)):
                for entry in folder.list():
                    if _term_of(entry.name) < term:
                        (folder / entry.name).delete()
                return StoreLease(folder, sign)
    except OSError as error:
        raise unwritable("The store", store, error, _INSTEAD) from error


def is_held(directory: Place, patient: bool = False) -> bool:
    """True while a process drives the job of a directory.

    A lease of a process that cannot be seen from here may be of one that died a moment ago: ``patient`` waits until that is
    certain; else the clock tells, which is good enough to be shown.
    """
    if directory.local:
        return driver(directory) is not None
    folder = directory / _FOLDER
    try:
        seen = _read(folder)
        if seen is None or seen.over:
            return False
        if patient and not seen.is_here:
            return _lives(folder, seen)
        return seen.is_here or time.time() - seen.modified < _LONG_OVER
    except OSError as error:
        raise StoreError(f"The store {directory} cannot be read: {error}.") from error


def _driven(directory: Place) -> StoreError:
    return StoreError(
        f"Job {directory.name} is run by another process. compat list shows it; stop it with compat stop."
    )


def _locked(directory: Place, store: Place, name: str, token: int = 0) -> Any:
    try:
        os.makedirs(directory, exist_ok=True)
        file = open(os.path.join(directory, name), "a")  # noqa: SIM115 - held on purpose, and another's until it is locked
    except OSError as error:
        raise unwritable("The store", store, error, _INSTEAD) from error
    for _ in range(20):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.truncate(0)
            file.write(f"{os.getpid()} {token}")
            file.flush()
            return file
        except OSError:
            time.sleep(0.05)  # someone may be looking whether the job runs
    file.close()
    raise _driven(directory)


def driver(directory: Place) -> int | None:
    """The process that drives the job of a directory of this machine; 0 where it has not said which; None for none."""
    try:
        with open(os.path.join(directory, _FOLDER)) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _parsed(file.read())[0]
    except OSError:
        pass
    return None


def beat(directory: Place) -> None:
    """Give a sign of life as the driver of a job of this machine: the time of its file. Another's file is left alone. A
    lease on other storage gives signs by itself.
    """
    if not directory.local:
        return
    path = os.path.join(directory, _FOLDER)
    with suppress(OSError), open(path) as file:
        if _parsed(file.read())[0] == os.getpid():
            os.utime(file.fileno())


def _told(directory: Place) -> tuple[int, int]:
    """The process and the token of the last driver of a job of this machine, whether or not it lives; zeros for none."""
    try:
        with open(os.path.join(directory, _FOLDER)) as file:
            return _parsed(file.read())
    except OSError:
        return 0, 0


def _parsed(text: str) -> tuple[int, int]:
    pid, _, token = text.partition(" ")
    return int(pid) if pid.isdigit() else 0, int(token) if token.isdigit() else 0


def _lives(folder: Place, seen: _Sign) -> bool:
    """True if there is another sign of life within the time that a lease has. Waits for it."""
    end = time.monotonic() + LEASE_SECONDS
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LEASE_SECONDS / _RENEWALS / 2))
        now = _read(folder)
        if now is None or now.over:
            return False
        if (now.term, now.beat) != (seen.term, seen.beat):
            return True
    return False


def _place(folder: Place, term: int) -> Place:
    return folder / f"{term:020d}.json"


def _term_of(name: str) -> int:
    number = name.partition(".")[0]
    return int(number) if number.isdigit() else 0


def _highest(folder: Place) -> int:
    return max((_term_of(entry.name) for entry in folder.list()), default=0)


def _read(folder: Place) -> _Sign | None:
    """What the driver of the last term said of itself; None where there was none yet."""
    last = max(folder.list(), key=lambda entry: _term_of(entry.name), default=None)
    if last is None or not _term_of(last.name):
        return None
    try:
        data = json.loads((folder / last.name).read())
        return replace(_Sign(**data), modified=last.modified)
    except (ValueError, TypeError):
        return _Sign(term=_term_of(last.name), modified=last.modified)


def _write(folder: Place, sign: _Sign) -> None:
    _place(folder, sign.term).write(_encoded(sign))


def _encoded(sign: _Sign) -> bytes:
    told = asdict(sign)
    del told["modified"]
    return json.dumps(told).encode()


def _machine() -> str:
    """What tells this machine, since its start, and its table of processes from all others; empty where it cannot be told."""
    try:
        return f"{boot_id()} {os.stat('/proc/self/ns/pid').st_ino}" if boot_id() else ""
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When a process of this machine started, by the system's count; empty where there is none, or it is dead."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in ("Z", "X") else fields[19]

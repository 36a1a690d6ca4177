"""The jobs of a store: their drivers, those that are continued, and the remains of those that ended."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256

from msgspec.structs import replace

from compat.compiler.datastream.common.job_id import is_job_id
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.job_entries import JobEntries
from compat.compiler.spark.driver.job_entry import ENTRY, NOT_ENDED, JobEntry, read_entry
from compat.compiler.spark.driver.job_folders import CHECKPOINT, RETAINED, beside, caches_below, last_written, state_of
from compat.compiler.spark.driver.lease import Held, Lease, LeaseLost
from compat.state.delta.errors import DamagedLog, StoreError, unwritable
from compat.state.stores.paths import Place

_OF_NO_JOB = frozenset({"driver", "state", "shipped", "plan"})
"""The files in the directory of a job before it has an entry, by prefixes of their names."""
_FORGOTTEN = 3600.0
"""Seconds after which a job that never got an entry is not about to begin."""
_FEW = 20
"""The number of former starts that the start of a job examines, so that they become fewer."""


class JobStore(JobEntries):
    """A store: ``jobs/<id>/``, ``caches/<id>/``, ``savepoints/``, ``ended/``, ``starts/``.

    Raises StoreError for a root on no storage that we know.
    """

    def lock(self, job_id: str, fence: int = 0) -> Lease:
        """Become the driver of a job, until the lease is closed or this process ends, however that happens.

        A fencing token takes the job from its driver, which may hang. Raises StoreError if another
        driver has it, or the store cannot be written.
        """

        def leader() -> int:  # a job whose leases were not kept, such as a copied one
            log = self.log(job_id)
            return 0 if log is None else log.leader

        return lease.take(self.directory(job_id), self.root, fence, leader)

    @property
    def _starts(self) -> Place:
        """The folder with the leases of those who begin jobs. Their terms are never used twice: old ones are removed."""
        return self.root / "starts"

    @contextmanager
    def starting(
        self, program: str, name: str, occurrence: int, arguments: tuple[str, ...]
    ) -> Iterator[Callable[[], None]]:
        """While this is entered, no other process looks for a job of a program to go on with, or begins one.

        Gives a function that raises a StoreError if this no longer holds, because this process was paused. Raises StoreError if
        another process is starting jobs now.
        """
        command = sha256(json.dumps([program, name, occurrence, arguments]).encode()).hexdigest()[:32]
        second = "--fresh begins a second one beside it, which writes to the same sinks."
        try:
            held = lease.take(self._starts / command, self.root, leader=lambda: int(time.time() * 1000))
        except Held as error:
            raise StoreError(
                f"{program} is being started by another process: {error.by}. compat job list shows its job once it is there. "
                f"{second}"
            ) from error

        def prove() -> None:
            try:
                held.prove()
            except LeaseLost as error:
                raise StoreError(
                    f"Another process started {program} at the same time, or while this one stood still. compat job "
                    "list shows its "
                    f"job. {second}"
                ) from error

        try:
            yield prove
        finally:
            with suppress(OSError):  # it ends by itself
                held.close()
                self._forget_starts(time.time())

    def _forget_starts(self, now: float) -> None:
        """Remove what is left of some starts that are over; elsewhere that would be many requests, and little is gained."""
        for entry in self._starts.list()[:_FEW] if self.root.local else ():
            if now - lease.sign_of_life(self._starts / entry.name) > _FORGOTTEN:
                (self._starts / entry.name).remove()

    def unfinished(
        self, program: str, name: str, savepoint: str | None, occurrence: int = 0, arguments: tuple[str, ...] = ()
    ) -> JobEntry | None:
        """The last job of that program and name, begun from that savepoint, if it failed or its driver died before it was done
        with saying that the job has ended: it may be over.

        If a program submits several jobs of the same name, ``occurrence`` selects one. Raises StoreError if the job runs with
        the same arguments, as a second one would write to the same sinks. Raises it, too, if no job is found, but a damaged
        entry may belong to it.
        """
        entries, damaged = self._entries()
        for entry in entries:
            if (entry.program, entry.name, entry.occurrence) == (program, name, occurrence):
                if entry.status in NOT_ENDED and self._held(entry.job_id, patient=True):
                    if entry.arguments == arguments:
                        raise _runs_already(entry)
                    continue
                same = entry.savepoint == savepoint or savepoint is None
                if not same or (entry.over and not lease.was_left(self.directory(entry.job_id))):
                    return None
                return self.settled(entry)
        if damaged and savepoint is None:
            raise StoreError(
                f"{damaged[0] / ENTRY} is damaged or gone, so that it is not known which job it is of. If it is of this "
                f"program, go on from its state with -s {damaged[0]}; if not, or to start anew, remove {damaged[0]}."
            )
        return None

    def alive(self, entry: JobEntry) -> bool:
        """True while a driver of the job runs: on this host, if the store is on its file system."""
        return entry.status in NOT_ENDED and self._held(entry.job_id)

    def interrupted(self, entry: JobEntry) -> bool:
        """True for a job whose driver ended before it did: it continues when its program is run again."""
        return entry.status in NOT_ENDED and not self._held(entry.job_id)

    def _held(self, job_id: str, patient: bool = False) -> bool:
        """True while a process is the driver of a job, even if the job has just ended."""
        return lease.is_held(self.directory(job_id), patient)

    def driver(self, job_id: str) -> int | None:
        """The process of this machine that drives a job, even one that has just ended; None if there is none."""
        return lease.driver(self.directory(job_id))

    def sign_of_life(self, job_id: str) -> float:
        """The last sign of life of a job's driver, in seconds since 1970; 0 if there is none."""
        return lease.sign_of_life(self.directory(job_id))

    def give_up(self, job_id: str) -> JobEntry:
        """Have an interrupted or failed job count as cancelled, so that its program starts anew; its last checkpoint stays.

        Raises StoreError if a driver has the job.
        """
        with closing(self.lock(job_id)) as held:
            with suppress(DamagedLog):  # one who sleeps finds the lease lost
                self._fence(job_id, held)
            before = read_entry(self.directory(job_id))
            entry = self.settled(before)
            if not entry.over:
                entry = replace(
                    entry, status=JobStatus.CANCELED.value, ended=time.time(), fence=max(entry.fence, held.token)
                )
            if entry is not before:
                self.write(entry)
            return entry

    def fence_off(self, job_id: str) -> None:
        """Keep a sleeping driver of a job from committing when it wakes. Raises StoreError, also if a driver has the job."""
        with closing(self.lock(job_id)) as held:
            self._fence(job_id, held)

    def _fence(self, job_id: str, held: Lease) -> None:
        if (log := self.log(job_id)) is not None:
            log.lead(held.token)

    def discard(self, job_id: str) -> None:
        """Remove a job that does not run, with its checkpoints; savepoints stay. Raises StoreError if a driver has it."""
        with self._removing(job_id):
            self.clear(job_id)

    def reduce(self, job_id: str) -> None:
        """Leave of a job that has ended only its last checkpoint, with the plan to check it by; the job is not listed any more.

        Raises StoreError if a driver has it, or the store cannot be written.
        """
        directory = self.directory(job_id)
        with self._removing(job_id):
            (directory / RETAINED).write(b"")
            for entry in directory.list():
                if entry.name not in CHECKPOINT:
                    found = directory / entry.name
                    found.remove() if found.size() is None else found.delete()

    @contextmanager
    def _removing(self, job_id: str) -> Iterator[None]:
        """While this is entered, no driver has a job, nor afterwards what leads to one."""
        driving = self.lock(job_id)
        try:
            yield
        except OSError as error:
            raise unwritable("The store", self.root, error, "remove the job's folder yourself") from error
        finally:
            driving.close(gone=True)

    def reduced(self, job_id: str) -> bool:
        """True for a job that was reduced to its last checkpoint, or is being reduced. Raises OSError."""
        return (self.directory(job_id) / RETAINED).exists()

    def clear(self, job_id: str) -> None:
        """Remove all files of a job that the caller drives. Raises OSError."""
        directory = self.directory(job_id)
        state = state_of(directory)
        if state.system != directory.system or (state.local and os.path.islink(state)):
            folder = beside(state)  # one of the job's own, see place_state
            (caches_below(folder.parent) / job_id).remove()
            folder.remove()
        (self.caches / job_id).remove()
        directory.remove()

    def sweep(self, now: float) -> None:
        """Remove the remains of jobs that failed before they began, because the store was unreachable: they have no entry.

        It examines only directories that had no entry when a job's start last read the jobs, so kept jobs cost no requests.
        Directories whose names are not job ids are left alone. Raises StoreError.
        """
        if self._without_entry is None:
            self._entries()
        for directory in self._without_entry or ():
            if not is_job_id(directory.name):
                continue
            with suppress(OSError, StoreError):
                names = {entry.name.partition(".")[0] for entry in directory.list()}
                if names <= _OF_NO_JOB and now - last_written(directory) > _FORGOTTEN:
                    self.discard(directory.name)


def _runs_already(entry: JobEntry) -> StoreError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started))
    return StoreError(
        f"Job {entry.job_id} of this program runs already: process {entry.pid} on {entry.host or 'another machine'} drives it "
        f"since {since}. compat job stop {entry.job_id[:8]} ends it with a savepoint. --fresh begins a second job "
        "beside it, which "
        "writes to the same sinks."
    )

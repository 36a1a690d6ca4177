"""Where jobs keep what they need: a directory a job, with its state table, its plan, its status and its mailbox."""

from __future__ import annotations

import json
import math
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmh3
import msgspec
from msgspec.structs import asdict, replace

from compat.compiler.datastream.common.job_id import is_job_id
from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import ExecutionState, JobStatus
from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.lease import Held, Lease, LeaseLost
from compat.state.delta.errors import DamagedLog, StoreError, Superseded, unwritable
from compat.state.stores.paths import Place, place_of
from compat.state.stores.schemes import is_remote, without_scheme

if TYPE_CHECKING:
    from compat.state.delta.log import SnapshotLog
    from compat.state.delta.past import Ended

_NOT_ENDED = frozenset(status.value for status in JobStatus if not status.terminal)
_TO_GO_ON = _NOT_ENDED | {JobStatus.FAILED.value}


class JobEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A job as ``compat job list`` shows it. Times are seconds since 1970; ``fingerprint`` is that of its physical
    plan, ``source`` that of its program's file.

    ``metrics`` are what its operators measured since its driver started, ``vertices`` how its tasks are. ``fence`` is the
    fencing token of the driver that wrote this, ``stopped_with`` the savepoint that the job was stopped with. ``occurrence``
    counts the jobs of that name which the program had submitted before; ``arguments`` are what the program was given, ``host``
    is the machine of its driver. ``retention`` is what the program says of checkpoints
    of jobs that ended, if anything.
    """

    job_id: str
    name: str
    status: str
    pid: int
    program: str = ""
    savepoint: str | None = None
    fingerprint: str = ""
    source: str = ""
    started: float = 0.0
    ended: float | None = None
    epoch: int = 0
    records: int = 0
    message: str = ""
    metrics: list[dict[str, Any]] = msgspec.field(default_factory=list)
    vertices: list[VertexStatus] = msgspec.field(default_factory=list)
    fence: int = 0
    stopped_with: str | None = None
    occurrence: int = 0
    retention: str = ""
    host: str = ""
    arguments: tuple[str, ...] = ()

    @property
    def over(self) -> bool:
        """True for a job that never goes on."""
        return self.status not in _TO_GO_ON

    def yields_to(self, other: JobEntry) -> bool:
        """True where ``other``, which is there, is not to be replaced by this: a later driver wrote it, or the job is over."""
        return other.fence > self.fence or (other.fence == self.fence and other.over and other.status != self.status)

    def ended_as(self, ended: Ended, epoch: int) -> JobEntry:
        """The same job, over as its log says it."""
        return replace(
            self, status=ended.status, stopped_with=ended.savepoint, ended=self.ended or time.time(), epoch=epoch
        )

    @classmethod
    def read(cls, data: dict[str, Any]) -> JobEntry:
        """The entry that was written, without what only later versions know. Raises TypeError for what is none."""
        vertices = [VertexStatus(**_known(VertexStatus, each)) for each in data.get("vertices", [])]
        return cls(**{**_known(cls, data), "vertices": vertices, "arguments": tuple(data.get("arguments", ()))})

    @property
    def tasks(self) -> Counter[str]:
        """How many of its tasks are in each state, by its name."""
        found: Counter[str] = Counter()
        for vertex in self.vertices:
            found.update(vertex.tasks)
        return found

    @property
    def failed_tasks(self) -> list[str]:
        """The tasks that the present attempt failed in."""
        failed = [vertex for vertex in self.vertices if ExecutionState.FAILED.value in vertex.tasks]
        return [vertex.failed_task for vertex in failed if vertex.failed_task is not None]


def _known(kind: type[msgspec.Struct], data: dict[str, Any]) -> dict[str, Any]:
    """The fields that a record has of those that were written."""
    return {name: value for name, value in data.items() if name in kind.__struct_fields__}


class ListedJob(JobEntry, frozen=True, kw_only=True):
    """A job as it is listed, be it of a store or of a cluster.

    ``alive`` tells whether a driver of it runs, ``interrupted`` whether it goes on when its program is run again. A cluster
    also says how many ``slots`` a job takes (0 where there are none), which ``attempt`` it is, and what it is ``waiting`` for.
    """

    alive: bool
    interrupted: bool
    slots: int = 0
    attempt: int = 0
    waiting: str = ""

    @classmethod
    def of(cls, entry: JobEntry, **known: Any) -> ListedJob:
        """An entry, with what is known besides."""
        return cls(**{**asdict(entry), **known})


_ENTRY, _DIGEST = "job.json", "digest"
"""The file with the entry of a job, which tells the digest of all else that is in it."""
_POINTER = "state.at"
"""The file that names the state table of a job where it lies on another storage than the job's directory."""
_RETAINED = "retained"
"""The empty file that tells that only a checkpoint was kept of a job."""
_PUBLISHED = "published"
"""The file with the number of the last checkpoint whose records a job has published, or begun to."""
_CHECKPOINT = ("state", _POINTER, "plan.json", _RETAINED, _PUBLISHED)
"""What is a checkpoint of a job's directory."""
_OF_NO_JOB = frozenset({"driver", "state", "shipped", "plan"})
"""What is in the directory of a job before it has an entry, without the ends of the names."""
_FORGOTTEN = 3600.0
"""Seconds after which a job that never got an entry is not about to begin."""
_FEW = 20
"""So many former starts are looked at as a job starts: they become fewer."""
_SLOW = 1.0
"""Seconds between two looks into a mailbox on a storage where each is a request."""


def logs_of(store: str) -> Path:
    """The folder of this machine for logs, of a store that may be elsewhere."""
    if not is_remote(store):
        return Path(without_scheme(store), "logs")
    from compat.compiler.spark.task.epochs import private_folder

    return Path(private_folder("logs"))


def _last_written(directory: Place) -> float:
    """When something was last written below a folder, in seconds since 1970."""
    files = [file.modified() for file in directory.walk()]
    return max([directory.modified(), *files] if directory.local else files, default=math.inf)


def state_of(directory: Place) -> Place:
    """The state table of the job of a directory. Raises OSError."""
    try:
        return place_of((directory / _POINTER).read().decode())
    except (FileNotFoundError, NotADirectoryError):
        return directory / "state"


def prove_not_behind(directory: Place, log: SnapshotLog | None) -> None:
    """Raise a StoreError where the log of the job of a directory lacks checkpoints whose records were published.

    Their commits are gone or empty: from what is left, the job would publish the same records again. A table that somebody
    restored to an earlier version has had those checkpoints, and is what it is meant to be. None is a log that is not there.
    """
    told = _published(directory)
    if told <= _reached(log):
        return
    log = _log_at(state_of(directory))  # a driver that lives may have committed and published since
    last = 0 if log is None else log.epoch
    if told > _reached(log):
        instead = f"-s {directory}@{last} goes on from checkpoint {last}" if last else "--fresh starts anew"
        raise StoreError(
            f"The state of job {directory.name} is at checkpoint {last}, and its records up to checkpoint {told} are "
            f"published: a commit in {state_of(directory)}/_delta_log is gone or empty. Put it back from a copy; "
            f"compat fsck {directory} tells what else is damaged. {instead} all the same, and publishes again what came after."
        )


def read_entry(directory: Place) -> JobEntry:
    """The entry of the job of a directory. Raises OSError, and ValueError, TypeError or AttributeError where it is damaged.

    One with a name or an argument that changed would be another program's, and the job would be begun anew beside it.
    """
    told = json.loads((directory / _ENTRY).read())
    if told.pop(_DIGEST, None) not in (None, _digest_of(told)):  # those of former versions have none
        raise ValueError("it is not what was written")
    entry = JobEntry.read(told)
    JobStatus(entry.status)  # raises ValueError: one that nobody knows would end whoever follows the job
    return entry


def _digest_of(told: dict[str, Any]) -> str:
    return f"{mmh3.hash128(json.dumps(told).encode()):032x}"


def _published(directory: Place) -> int:
    """The last checkpoint of the job of a directory that is known to have been committed."""
    told = [0]
    with suppress(OSError, ValueError):
        told.append(int((directory / _PUBLISHED).read()))
    with suppress(OSError, ValueError, TypeError, AttributeError):
        told.append(read_entry(directory).epoch)
    return max(told)


def _reached(log: SnapshotLog | None) -> int:
    """The last checkpoint that a log has ever had."""
    return 0 if log is None else log.next_epoch - 1


def _log_at(state: Place) -> SnapshotLog | None:
    """The log of a state table; None where there is none as yet. Raises StoreError."""
    from compat.state.delta.log import SnapshotLog

    try:
        return SnapshotLog.open(state) if (state / "_delta_log").exists() else None
    except OSError as error:
        raise StoreError(f"The store {state} cannot be read: {error}.") from error


def _runs_already(entry: JobEntry) -> StoreError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.started))
    return StoreError(
        f"Job {entry.job_id} of this program runs already: process {entry.pid} on {entry.host or 'another machine'} drives it "
        f"since {since}. compat job stop {entry.job_id[:8]} ends it with a savepoint. --fresh begins a second job "
        "beside it, which "
        "writes to the same sinks."
    )


def _beside(state: Place) -> Place:
    """The folder of a job's state table, where that really is."""
    return place_of(os.path.realpath(state)).parent if state.local else state.parent


def caches_below(root: Place) -> Place:
    """The folder with what jobs wrote of cached streams, in a folder of each job's own."""
    return root / "caches"


def prove_conditional(place: Place, what: str) -> None:
    """Raise a StoreError unless a storage takes a file only where there is none: on that the exactness of jobs rests."""
    if place.local:
        return
    probe = place / f".probe-{uuid.uuid4().hex}"
    try:
        taken = [probe.create(b"1"), probe.create(b"2")]
        probe.delete()
    except OSError as error:
        raise unwritable(what, place, error, "give another") from error
    if taken != [True, False]:
        raise StoreError(
            f"{what} {place} does not do conditional puts (If-None-Match): two drivers could commit the same epoch. Give a "
            "storage that does, such as S3 itself, or a folder that all machines of the job have mounted."
        )


class JobStore:
    """A store: ``jobs/<id>/``, ``caches/<id>/``, ``savepoints/``, ``ended/``, ``starts/``.

    Raises StoreError for a root on no storage that we know.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = place_of(root, "The store").absolute()
        self._looked: dict[str, float] = {}
        self._without_entry: list[Place] | None = None

    def prove(self) -> None:
        """Raise a StoreError where the storage cannot do what jobs need of it."""
        prove_conditional(self.root, "The store")

    @property
    def logs(self) -> Path:
        """The folder of this machine for what Spark says."""
        return logs_of(str(self.root))

    @property
    def caches(self) -> Place:
        """The folder with what jobs wrote of cached streams."""
        return caches_below(self.root)

    def directory(self, job_id: str) -> Place:
        """The directory of a job."""
        return self.root / "jobs" / job_id

    def state(self, job_id: str) -> str:
        """The state table of a job."""
        try:
            return str(state_of(self.directory(job_id)))
        except OSError as error:
            raise StoreError(f"The store {self.root} cannot be read: {error}.") from error

    def shipped(self, job_id: str) -> Place:
        """The folder for what a job's functions need: where its machines see it, which is where they see its state.

        Raises StoreError.
        """
        return _beside(place_of(self.state(job_id))) / "shipped"

    def place_state(self, job_id: str, folder: str) -> None:
        """Have a new job's state lie in ``folder``, in one of the job's own, as Flink lays checkpoints there.

        Raises StoreError.
        """
        given = place_of(folder, "The directory for checkpoints").absolute()
        prove_conditional(given, "The directory for checkpoints")
        directory, target = self.directory(job_id), given / job_id / "state"
        try:
            if directory.local and target.local:
                if not os.path.lexists(directory / "state"):
                    os.makedirs(target, exist_ok=True)
                    os.symlink(target, directory / "state")
            else:
                (directory / _POINTER).create(str(target).encode())
        except OSError as error:
            instead = "give another directory for checkpoints (execution.checkpointing.dir)"
            raise unwritable("The directory for checkpoints", folder, error, instead) from error

    def savepoint_path(self, job_id: str) -> Place:
        """A new path for a savepoint, in Flink's spelling."""
        return self.root / "savepoints" / f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"

    def lock(self, job_id: str, fence: int = 0) -> Lease:
        """Become the driver of a job, until the lease is closed or this process ends, however that happens.

        With a fencing token, the job is taken from the driver that has it, which may hang. Raises StoreError where another
        driver has it, or the store cannot be written.
        """

        def leader() -> int:  # of a job whose leases were not kept, as of one that was brought from elsewhere
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

        Gives what raises a StoreError where that is so no longer, because this process stood still. Raises StoreError where
        another process does so now.
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

    def alive(self, entry: JobEntry) -> bool:
        """True while a driver of the job runs, on this host where the store is on its file system."""
        return entry.status in _NOT_ENDED and self._held(entry.job_id)

    def interrupted(self, entry: JobEntry) -> bool:
        """True for a job whose driver ended before it did: it goes on when its program is run again."""
        return entry.status in _NOT_ENDED and not self._held(entry.job_id)

    def settled(self, entry: JobEntry) -> JobEntry:
        """How a job without a driver is by its log: at its last checkpoint, and over where that says so.

        Its entry may be behind: a driver died after the job's last commit, or one that was held to be dead wrote over it.
        """
        if entry.over:
            return entry
        from compat.state.delta.log import SnapshotLog

        try:
            log = SnapshotLog.open(self.state(entry.job_id))
            ended = log.ended
            return replace(entry, epoch=log.epoch) if ended is None else entry.ended_as(ended, log.epoch)
        except StoreError:
            return entry

    def give_up(self, job_id: str) -> JobEntry:
        """Have an interrupted or failed job count as cancelled, so that its program starts anew; its last checkpoint stays.

        Raises StoreError where a driver has the job.
        """
        with closing(self.lock(job_id)) as held:
            with suppress(DamagedLog):  # one who sleeps finds the lease lost
                self._fence(job_id, held)
            before = self._read_now(job_id)
            entry = self.settled(before)
            if not entry.over:
                entry = replace(
                    entry, status=JobStatus.CANCELED.value, ended=time.time(), fence=max(entry.fence, held.token)
                )
            if entry is not before:
                self.write(entry)
            return entry

    def fence_off(self, job_id: str) -> None:
        """Have a driver of a job that sleeps commit nothing when it wakes. Raises StoreError, where a driver has it, too."""
        with closing(self.lock(job_id)) as held:
            self._fence(job_id, held)

    def _fence(self, job_id: str, held: Lease) -> None:
        log = self.log(job_id)
        if log is not None:
            log.lead(held.token)

    def log(self, job_id: str) -> SnapshotLog | None:
        """The log of a job's state; None where there is none as yet. Raises StoreError."""
        return _log_at(place_of(self.state(job_id)))

    def discard(self, job_id: str) -> None:
        """Remove a job that does not run, with its checkpoints; savepoints stay. Raises StoreError where a driver has it."""
        driving = self.lock(job_id)
        try:
            self.clear(job_id)
        except OSError as error:
            raise unwritable("The store", self.root, error, "remove the job's folder yourself") from error
        finally:
            driving.close(gone=True)

    def reduce(self, job_id: str) -> None:
        """Leave of a job that has ended only its last checkpoint, with the plan to check it by; the job is not listed any more.

        Raises StoreError where a driver has it, or the store cannot be written.
        """
        driving = self.lock(job_id)
        directory = self.directory(job_id)
        try:
            (directory / _RETAINED).write(b"")
            for entry in directory.list():
                found = directory / entry.name
                if entry.name in _CHECKPOINT:
                    continue
                if found.size() is None:
                    found.remove()
                else:
                    found.delete()
        except OSError as error:
            raise unwritable("The store", self.root, error, "remove the job's folder yourself") from error
        finally:
            driving.close(gone=True)

    def reduced(self, job_id: str) -> bool:
        """True for a job of which only its last checkpoint was kept, or is just being kept. Raises OSError."""
        return (self.directory(job_id) / _RETAINED).exists()

    def clear(self, job_id: str) -> None:
        """Remove all that there is of a job whose driver the caller is. Raises OSError."""
        directory = self.directory(job_id)
        state = state_of(directory)
        if state.system != directory.system or (state.local and os.path.islink(state)):
            beside = _beside(state)  # a folder of the job's own, see place_state
            (caches_below(beside.parent) / job_id).remove()
            beside.remove()
        (self.caches / job_id).remove()
        directory.remove()

    def sweep(self, now: float) -> None:
        """Remove what was left of jobs that failed before they began, because the store was away: nobody knows of them.

        Looked into are directories only that had no entry when the jobs were last read, which is done as a job starts: kept
        jobs cost no request. What is named as no job is, is somebody else's. Raises StoreError.
        """
        if self._without_entry is None:
            self._entries()
        for directory in self._without_entry or ():
            if not is_job_id(directory.name):
                continue
            with suppress(OSError, StoreError):
                names = {entry.name.partition(".")[0] for entry in directory.list()}
                if names <= _OF_NO_JOB and now - _last_written(directory) > _FORGOTTEN:
                    self.discard(directory.name)

    def is_over(self, job_id: str) -> bool:
        """True for a job that never goes on, or is not kept any more. Raises OSError where that cannot be told."""
        try:
            return self.settled(self._read_now(job_id)).over
        except (FileNotFoundError, NotADirectoryError):
            return True
        except (ValueError, TypeError, AttributeError):
            return False  # damaged: somebody may be at it

    def _read_now(self, job_id: str) -> JobEntry:
        return read_entry(self.directory(job_id))

    def _held(self, job_id: str, patient: bool = False) -> bool:
        """True while a process is the driver of a job, be it that the job has just ended."""
        return lease.is_held(self.directory(job_id), patient)

    def driver(self, job_id: str) -> int | None:
        """The process of this machine that is the driver of a job, be it that the job has just ended; None for none."""
        return lease.driver(self.directory(job_id))

    def sign_of_life(self, job_id: str) -> float:
        """When the driver of a job last gave one, in seconds since 1970; 0 where there is none."""
        return lease.sign_of_life(self.directory(job_id))

    def entry(self, job_id: str) -> JobEntry | None:
        """How the job of exactly that id is; None where nobody wrote it, or it is damaged."""
        try:
            return self._read_now(job_id)
        except (ValueError, TypeError, AttributeError, OSError):
            return None

    def write(self, entry: JobEntry) -> None:
        """Put down how a job is. Raises Superseded where a later driver has, or the job is over.

        Not every storage can compare and replace at once. A driver that stands still between the two leaves an entry behind its
        job, which the job's log tells: :meth:`settled` goes by that.
        """
        there = self.entry(entry.job_id)
        if there is not None and entry.yields_to(there):
            raise Superseded(
                f"Another process drives the job of {self.directory(entry.job_id)} by now, or did until it ended: it is "
                f"{there.status}. Nothing is lost."
            )
        told = msgspec.to_builtins(entry)
        self._put(self.directory(entry.job_id) / _ENTRY, {**told, _DIGEST: _digest_of(told)})

    def publishes(self, job_id: str, epoch: int) -> None:
        """Put down that the records of a committed epoch are about to be published. Raises StoreError.

        On this machine that waits for no disk: it is there to show what became of the log, not of the machine.
        """
        place, text = self.directory(job_id) / _PUBLISHED, b"%020d" % epoch
        try:
            if place.local:
                with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644), "wb", buffering=0) as file:
                    file.write(text)  # over what was there: a driver that is killed leaves one or the other
            else:
                place.write(text)
        except OSError as error:
            raise unwritable("The store", self.root, error, "give another with --store") from error

    def plan(self, job_id: str) -> dict[str, Any] | None:
        """The plan of a job that was kept, or None."""
        try:
            found: dict[str, Any] = json.loads((self.directory(job_id) / "plan.json").read())
        except (OSError, ValueError):
            return None
        return found

    def write_plan(self, job_id: str, plan: dict[str, Any]) -> None:
        """Keep the plan of a job, for checks against its checkpoints; beside its state too, where that is elsewhere."""
        directory = self.directory(job_id)
        state = state_of(directory)
        for place in dict.fromkeys((directory, _beside(state))):
            self._put(place / "plan.json", plan)

    @staticmethod
    def _put(place: Place, data: dict[str, Any]) -> None:
        """Replace a file by one that is there to stay, whole, before it has the name."""
        place.write(json.dumps(data).encode())

    def read(self, job_id: str) -> JobEntry | None:
        """How a job is; None if there is none of that id (or of that beginning of one, or several)."""
        found = [entry for entry in self.jobs() if job_id and entry.job_id.startswith(job_id)]
        return found[0] if len(found) == 1 else next((entry for entry in found if entry.job_id == job_id), None)

    def jobs(self) -> list[JobEntry]:
        """All jobs whose entries can be read, the newest first."""
        return self._entries()[0]

    def start_time(self, now: float) -> float:
        """When a job starts that starts now: later than all that started before it, also where the clock was set back."""
        return max([now, *(math.nextafter(entry.started, math.inf) for entry in self.jobs())])

    def _entries(self) -> tuple[list[JobEntry], list[Place]]:
        """The jobs, the newest first, and the directories whose entry is damaged. Raises StoreError."""
        entries: list[JobEntry] = []
        damaged: list[Place] = []
        without: list[Place] = []
        for directory in self._directories():
            try:
                entries.append(read_entry(directory))
            except FileNotFoundError:
                (damaged if self._lost_its_entry(directory) else without).append(directory)
            except (ValueError, TypeError, AttributeError, OSError):
                damaged.append(directory)
        self._without_entry = without
        return sorted(entries, key=lambda entry: -entry.started), damaged

    @staticmethod
    def _lost_its_entry(directory: Place) -> bool:
        """True for a job that has published something, and of which more than its last checkpoint was kept."""
        try:
            return not (directory / _RETAINED).exists() and (directory / _PUBLISHED).exists()
        except OSError:
            return True

    def _directories(self) -> list[Place]:
        jobs = self.root / "jobs"
        try:
            return [jobs / entry.name for entry in jobs.list()]
        except NotADirectoryError:
            return []
        except OSError as error:
            raise StoreError(f"The store {self.root} cannot be read: {error}.") from error

    def unfinished(
        self, program: str, name: str, savepoint: str | None, occurrence: int = 0, arguments: tuple[str, ...] = ()
    ) -> JobEntry | None:
        """The last job of that program and name, begun from that savepoint, if it failed or its driver died before it was done
        with saying that the job has ended: it may be over.

        Of several jobs of the same name that a program submits, it is the one of the same ``occurrence``.

        Raises StoreError where it runs, with the same arguments: a second one would write to the same sinks; and where there is
        none, but a job whose entry is damaged may be it.
        """
        entries, damaged = self._entries()
        for entry in entries:
            if (entry.program, entry.name, entry.occurrence) == (program, name, occurrence):
                if entry.status in _NOT_ENDED and self._held(entry.job_id, patient=True):
                    if entry.arguments == arguments:
                        raise _runs_already(entry)
                    continue
                same = entry.savepoint == savepoint or savepoint is None
                if not same or (entry.over and not lease.was_left(self.directory(entry.job_id))):
                    return None
                return self.settled(entry)
        if damaged and savepoint is None:
            raise StoreError(
                f"{damaged[0] / _ENTRY} is damaged or gone, so that it is not known which job it is of. If it is of this "
                f"program, go on from its state with -s {damaged[0]}; if not, or to start anew, remove {damaged[0]}."
            )
        return None

    def request(self, job_id: str, action: str, timeout: float = 300.0, **arguments: Any) -> dict[str, Any]:
        """Ask the driver of a job for something and wait for its answer; ``error`` in it says why there is none."""
        box = self.directory(job_id) / "mailbox"
        number = uuid.uuid4().hex
        answer = box / f"{number}.answer"
        self._put(box / f"{number}.request", {"action": action, **arguments})
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            over = not self._held(job_id)
            if answer.exists():
                found: dict[str, Any] = json.loads(answer.read())
                answer.delete()
                return found
            if over:
                return {"error": f"Job {job_id} is not running any more."}
            time.sleep(0.05 if box.local else _SLOW / 2)
        return {"error": f"Job {job_id} gave no answer within {timeout:.0f} s."}

    def requests(self, job_id: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        """The requests to a job, each with the place where its answer goes."""
        box = self.directory(job_id) / "mailbox"
        if not box.local:
            now = time.monotonic()
            if now - self._looked.get(job_id, -_SLOW) < _SLOW:
                return
            self._looked[job_id] = now
        for entry in box.list():
            if entry.name.endswith(".request"):
                data = json.loads((box / entry.name).read())
                (box / entry.name).delete()
                yield box / f"{entry.name.removesuffix('.request')}.answer", data

    @classmethod
    def answer(cls, place: Place, data: dict[str, Any]) -> None:
        """Answer a request."""
        cls._put(place, data)

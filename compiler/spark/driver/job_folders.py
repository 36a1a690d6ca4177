"""The layout of a store: one directory per job, with its state table and its plan, and the folders beside them."""

from __future__ import annotations

import json
import math
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compat.compiler.spark.driver.job_entry import read_entry
from compat.state.delta.errors import StoreError, unwritable
from compat.state.stores.paths import Place, place_of
from compat.state.stores.schemes import is_remote, without_scheme

if TYPE_CHECKING:
    from compat.state.delta.log import SnapshotLog

_POINTER = "state.at"
"""The file that names the state table of a job where it lies on another storage than the job's directory."""
RETAINED = "retained"
"""The empty file that marks a job that is reduced to its last checkpoint."""
PUBLISHED = "published"
"""The file with the number of the last checkpoint whose records a job has published, or begun to publish."""
CHECKPOINT = ("state", _POINTER, "plan.json", RETAINED, PUBLISHED)
"""The files and folders of a checkpoint in a job's directory."""


def logs_of(store: str) -> Path:
    """This machine's folder for the logs of a store, which may be elsewhere."""
    if not is_remote(store):
        return Path(without_scheme(store), "logs")
    from compat.compiler.spark.task.epochs import private_folder

    return Path(private_folder("logs"))


def log_of_spark(store: str) -> str:
    """The file for the output of this process's Spark."""
    return str(logs_of(store) / f"spark-{os.getpid()}.log")


def last_written(directory: Place) -> float:
    """The time of the last write below a folder, in seconds since 1970."""
    files = [file.modified() for file in directory.walk()]
    return max([directory.modified(), *files] if directory.local else files, default=math.inf)


def state_of(directory: Place) -> Place:
    """The state table of the job of a directory. Raises OSError."""
    try:
        return place_of((directory / _POINTER).read().decode())
    except (FileNotFoundError, NotADirectoryError):
        return directory / "state"


def prove_not_behind(directory: Place, log: SnapshotLog | None) -> None:
    """Raise a StoreError if the log of the job of a directory lacks checkpoints whose records were published.

    If their commits are missing or empty, the job would go on from an earlier checkpoint, and publish the same records again. A
    table that
    somebody restored to an earlier version has had those checkpoints, and is correct. None stands for a missing log.
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


def _published(directory: Place) -> int:
    """The last checkpoint of the job of a directory that is known to have been committed."""
    told = [0]
    with suppress(OSError, ValueError):
        told.append(int((directory / PUBLISHED).read()))
    with suppress(OSError, ValueError, TypeError, AttributeError):
        told.append(read_entry(directory).epoch)
    return max(told)


def _reached(log: SnapshotLog | None) -> int:
    """The last checkpoint that a log has ever had."""
    return 0 if log is None else log.next_epoch - 1


def _log_at(state: Place) -> SnapshotLog | None:
    """The log of a state table; None if there is none as yet. Raises StoreError."""
    from compat.state.delta.log import SnapshotLog

    try:
        return SnapshotLog.open(state) if (state / "_delta_log").exists() else None
    except OSError as error:
        raise StoreError(f"The store {state} cannot be read: {error}.") from error


def beside(state: Place) -> Place:
    """The real folder that contains a job's state table."""
    return place_of(os.path.realpath(state)).parent if state.local else state.parent


def caches_below(root: Place) -> Place:
    """The folder of cached streams, with a folder for each job that wrote some."""
    return root / "caches"


def prove_conditional(place: Place, what: str) -> None:
    """Raise a StoreError unless a storage can write a file only if it does not exist: the exactness of jobs rests on that."""
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


class JobFolders:
    """The folders of a store. Raises StoreError for a root on an unknown storage."""

    def __init__(self, root: str | Path) -> None:
        self.root = place_of(root, "The store").absolute()

    @property
    def logs(self) -> Path:
        """This machine's folder for Spark's output."""
        return logs_of(str(self.root))

    @property
    def caches(self) -> Place:
        """The folder of the cached streams that jobs wrote."""
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
        """The folder for the dependencies of a job's functions: beside its state, which all of its machines see.

        Raises StoreError.
        """
        return beside(place_of(self.state(job_id))) / "shipped"

    def place_state(self, job_id: str, folder: str) -> None:
        """Put a new job's state into ``folder``, in a folder of the job's own, as Flink does with checkpoints.

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

    def log(self, job_id: str) -> SnapshotLog | None:
        """The log of a job's state; None if there is none yet. Raises StoreError."""
        return _log_at(place_of(self.state(job_id)))

    def plan(self, job_id: str) -> dict[str, Any] | None:
        """The stored plan of a job, or None."""
        try:
            found: dict[str, Any] = json.loads((self.directory(job_id) / "plan.json").read())
        except (OSError, ValueError):
            return None
        return found

    def write_plan(self, job_id: str, plan: dict[str, Any]) -> None:
        """Store the plan of a job, for checks against its checkpoints; also beside its state, if that is elsewhere."""
        directory = self.directory(job_id)
        state = state_of(directory)
        for place in dict.fromkeys((directory, beside(state))):
            self._put(place / "plan.json", plan)

    def publishes(self, job_id: str, epoch: int) -> None:
        """Put down that the records of a committed epoch are about to be published. Raises StoreError.

        On this machine that waits for no disk: it is there to show what happened to the log, not of the machine.
        """
        place, text = self.directory(job_id) / PUBLISHED, b"%020d" % epoch
        try:
            if place.local:
                with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644), "wb", buffering=0) as file:
                    file.write(text)  # over the old one: a killed driver leaves one or the other
            else:
                place.write(text)
        except OSError as error:
            raise unwritable("The store", self.root, error, "give another with --store") from error

    @staticmethod
    def _put(place: Place, data: dict[str, Any]) -> None:
        """Replace a file by one that is there to stay, whole, before it has the name."""
        place.write(json.dumps(data).encode())

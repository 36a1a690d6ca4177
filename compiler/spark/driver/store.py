"""Where jobs keep what they need: a directory a job, with its state table, its plan, its status and its mailbox."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from compat.compiler.executiongraph.executions import VertexStatus
from compat.compiler.executiongraph.states import JobStatus
from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.files import local_path, sync

_NOT_ENDED = frozenset(status.value for status in JobStatus if not status.terminal)
_TO_GO_ON = _NOT_ENDED | {JobStatus.FAILED.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job as ``compat list`` shows it. Times are seconds since 1970; ``fingerprint`` is that of its physical plan, ``source``
    that of its program's file.

    ``metrics`` are what its operators measured since its driver started, ``vertices`` how its tasks are. ``fence`` is the
    fencing token of the driver that wrote this, ``stopped_with`` the savepoint that the job was stopped with.
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
    metrics: list[dict[str, Any]] = field(default_factory=list)
    vertices: list[VertexStatus] = field(default_factory=list)
    fence: int = 0
    stopped_with: str | None = None

    @classmethod
    def read(cls, data: dict[str, Any]) -> JobEntry:
        """The entry that was written. Raises TypeError for what is none."""
        return cls(**{**data, "vertices": [VertexStatus(**each) for each in data.get("vertices", [])]})

    @property
    def tasks(self) -> Counter[str]:
        """How many of its tasks are in each state, by its name."""
        found: Counter[str] = Counter()
        for vertex in self.vertices:
            found.update(vertex.tasks)
        return found


class JobStore:
    """A store: ``jobs/<id>/`` and ``savepoints/``. Raises StoreError for a root that is no local path."""

    def __init__(self, root: str | Path) -> None:
        self.root = local_path(root, "The store").absolute()

    def directory(self, job_id: str) -> Path:
        """The directory of a job."""
        return self.root / "jobs" / job_id

    def state(self, job_id: str) -> str:
        """The state table of a job."""
        return str(self.directory(job_id) / "state")

    def place_state(self, job_id: str, folder: str) -> None:
        """Have a new job's state lie in ``folder``, in one of the job's own, as Flink lays checkpoints there.

        Raises StoreError.
        """
        link, target = self.directory(job_id) / "state", Path(folder).absolute() / job_id / "state"
        try:
            if not os.path.lexists(link):
                target.mkdir(parents=True, exist_ok=True)
                link.symlink_to(target)
        except OSError as error:
            instead = "give another directory for checkpoints (execution.checkpointing.dir)"
            raise unwritable("The directory for checkpoints", folder, error, instead) from error

    def savepoint_path(self, job_id: str) -> Path:
        """A new path for a savepoint, in Flink's spelling."""
        return self.root / "savepoints" / f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"

    def lock(self, job_id: str, fence: int = 0) -> Any:
        """Become the driver of a job: a file that is held until it is closed or this process ends, however that happens.

        With a fencing token, the job is taken from the driver that has it, which may hang: what that one is about to commit
        is refused by the job's log (:meth:`~compat.state.delta.log.SnapshotLog.lead`). Raises StoreError where another driver
        has it, or the store cannot be written.
        """
        directory = self.directory(job_id)
        path = directory / (f"driver.{fence}" if fence else "driver")
        try:
            directory.mkdir(parents=True, exist_ok=True)
            file = open(path, "w")  # noqa: SIM115 - held on purpose
        except OSError as error:
            raise unwritable("The store", self.root, error, "give another with --store") from error
        for _ in range(20):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                file.write(str(os.getpid()))
                file.flush()
                if fence:
                    os.replace(path, directory / "driver")
                return file
            except OSError:
                time.sleep(0.05)  # someone may be looking whether the job runs
        file.close()
        raise StoreError(f"Job {job_id} is run by another process. compat list shows it; stop it with compat stop.")

    def holds(self, job_id: str, lock: Any) -> bool:
        """True while nobody else became the driver of a job since :meth:`lock` gave this."""
        try:
            return os.path.samestat(os.stat(self.directory(job_id) / "driver"), os.fstat(lock.fileno()))
        except (OSError, ValueError):
            return False

    def alive(self, entry: JobEntry) -> bool:
        """True while a driver of the job runs on this host."""
        return entry.status in _NOT_ENDED and self._held(entry.job_id)

    def interrupted(self, entry: JobEntry) -> bool:
        """True for a job whose driver ended before it did: it goes on when its program is run again."""
        return entry.status in _NOT_ENDED and not self._held(entry.job_id)

    def checkpoint(self, entry: JobEntry) -> int:
        """The number of a job's last checkpoint: an entry whose driver was killed may be behind."""
        from compat.state.delta.log import SnapshotLog

        try:
            return SnapshotLog.open(self.state(entry.job_id)).epoch
        except StoreError:
            return entry.epoch

    def give_up(self, job_id: str) -> JobEntry:
        """Have an interrupted or failed job count as cancelled, so that its program starts anew; its last checkpoint stays.

        Raises StoreError where a driver has the job.
        """
        with self.lock(job_id):
            entry = self._read_now(job_id)
            if entry.status in _TO_GO_ON:
                entry = replace(entry, status=JobStatus.CANCELED.value, ended=time.time())
                self.write(entry)
            return entry

    def discard(self, job_id: str) -> None:
        """Remove a job that does not run, with its checkpoints; savepoints stay. Raises StoreError where a driver has it."""
        with self.lock(job_id):
            shutil.rmtree(self.directory(job_id), ignore_errors=True)

    def _read_now(self, job_id: str) -> JobEntry:
        return JobEntry.read(json.loads((self.directory(job_id) / "job.json").read_text()))

    def _held(self, job_id: str) -> bool:
        """True while a process is the driver of a job, be it that the job has just ended."""
        return self.driver(job_id) is not None

    def driver(self, job_id: str) -> int | None:
        """The process that is the driver of a job, be it that the job has just ended; None for none."""
        try:
            with open(self.directory(job_id) / "driver") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    text = file.read()
                    return int(text) if text.isdigit() else 0
        except OSError:
            return None
        return None

    def sign_of_life(self, job_id: str) -> float:
        """When the driver of a job last gave one, in seconds since 1970; 0 where there is none."""
        try:
            return os.stat(self.directory(job_id) / "driver").st_mtime
        except OSError:
            return 0.0

    def entry(self, job_id: str) -> JobEntry | None:
        """How the job of exactly that id is; None where nobody wrote it, or it is damaged."""
        try:
            return self._read_now(job_id)
        except (ValueError, TypeError, AttributeError, OSError):
            return None

    def write(self, entry: JobEntry) -> None:
        """Put down how a job is."""
        self._put(self.directory(entry.job_id) / "job.json", asdict(entry))

    def plan(self, job_id: str) -> dict[str, Any] | None:
        """The plan of a job that was kept, or None."""
        try:
            found: dict[str, Any] = json.loads((self.directory(job_id) / "plan.json").read_text())
        except (OSError, ValueError):
            return None
        return found

    def write_plan(self, job_id: str, plan: dict[str, Any]) -> None:
        """Keep the plan of a job, for checks against its checkpoints; beside its state too, where that is elsewhere."""
        directory = self.directory(job_id)
        for place in dict.fromkeys((directory, (directory / "state").resolve().parent)):
            self._put(place / "plan.json", plan)

    @staticmethod
    def _put(path: Path, data: dict[str, Any]) -> None:
        """Replace a file by one that is on the disk, whole, before it has the name."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}.new")
        with open(fresh, "w", encoding="utf-8") as file:
            file.write(json.dumps(data))
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
        sync(path.parent)

    def read(self, job_id: str) -> JobEntry | None:
        """How a job is; None if there is none of that id (or of that beginning of one, or several)."""
        found = [entry for entry in self.jobs() if job_id and entry.job_id.startswith(job_id)]
        return found[0] if len(found) == 1 else next((entry for entry in found if entry.job_id == job_id), None)

    def jobs(self) -> list[JobEntry]:
        """All jobs whose entries can be read, the newest first."""
        return self._entries()[0]

    def _entries(self) -> tuple[list[JobEntry], list[Path]]:
        """The jobs, the newest first, and the directories whose entry is damaged."""
        entries, damaged = [], []
        for file in (self.root / "jobs").glob("*/job.json"):
            try:
                entries.append(JobEntry.read(json.loads(file.read_text())))
            except (ValueError, TypeError, AttributeError, OSError):
                damaged.append(file.parent)
        return sorted(entries, key=lambda entry: -entry.started), damaged

    def unfinished(self, program: str, name: str, savepoint: str | None) -> JobEntry | None:
        """The last job of that program and name, begun from that savepoint, if it failed or its driver died before it ended.

        Raises StoreError where there is none, but a job whose entry is damaged may be it.
        """
        entries, damaged = self._entries()
        for entry in entries:
            if (entry.program, entry.name) == (program, name):
                same = entry.savepoint == savepoint or savepoint is None
                return entry if same and entry.status in _TO_GO_ON and not self.alive(entry) else None
        if damaged and savepoint is None:
            raise StoreError(
                f"{damaged[0] / 'job.json'} is damaged, so that it is not known which job it is of. If it is of this program, "
                f"go on from its state with -s {damaged[0]}; if not, or to start anew, remove {damaged[0]}."
            )
        return None

    def request(self, job_id: str, action: str, timeout: float = 300.0, **arguments: Any) -> dict[str, Any]:
        """Ask the driver of a job for something and wait for its answer; ``error`` in it says why there is none."""
        box = self.directory(job_id) / "mailbox"
        box.mkdir(parents=True, exist_ok=True)
        number = uuid.uuid4().hex
        answer = box / f"{number}.answer"
        self._put(box / f"{number}.request", {"action": action, **arguments})
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            over = not self._held(job_id)
            if answer.exists():
                found: dict[str, Any] = json.loads(answer.read_text())
                answer.unlink()
                return found
            if over:
                return {"error": f"Job {job_id} is not running any more."}
            time.sleep(0.05)
        return {"error": f"Job {job_id} gave no answer within {timeout:.0f} s."}

    def requests(self, job_id: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """The requests to a job, each with the place where its answer goes."""
        for file in sorted((self.directory(job_id) / "mailbox").glob("*.request")):
            data = json.loads(file.read_text())
            file.unlink()
            yield file.with_suffix(".answer"), data

    @classmethod
    def answer(cls, path: Path, data: dict[str, Any]) -> None:
        """Answer a request."""
        cls._put(path, data)

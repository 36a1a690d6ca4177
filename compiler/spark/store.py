"""Where jobs keep what they need: a directory a job, with its state table, its status and its mailbox."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEntry:
    """A job as ``compat list`` shows it. Times are seconds since 1970."""

    job_id: str
    name: str
    status: str
    pid: int
    program: str = ""
    started: float = 0.0
    ended: float | None = None
    epoch: int = 0
    records: int = 0
    message: str = ""

    @property
    def alive(self) -> bool:
        """True while the job's driver runs on this host."""
        if self.status not in ("RUNNING", "RESTARTING", "CREATED"):
            return False
        try:
            os.kill(self.pid, 0)
        except OSError:
            return False
        return not _is_zombie(self.pid)


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return False


class JobStore:
    """A store: ``jobs/<id>/`` and ``savepoints/``."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).absolute()

    def directory(self, job_id: str) -> Path:
        """The directory of a job."""
        return self.root / "jobs" / job_id

    def state(self, job_id: str) -> str:
        """The state table of a job."""
        return str(self.directory(job_id) / "state")

    def savepoint_path(self, job_id: str) -> Path:
        """A new path for a savepoint, in Flink's spelling."""
        return self.root / "savepoints" / f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"

    def write(self, entry: JobEntry) -> None:
        """Put down how a job is."""
        directory = self.directory(entry.job_id)
        directory.mkdir(parents=True, exist_ok=True)
        fresh = directory / f"job.json.{os.getpid()}"
        fresh.write_text(json.dumps(asdict(entry)))
        os.replace(fresh, directory / "job.json")

    def read(self, job_id: str) -> JobEntry | None:
        """How a job is; None if there is none of that id (or of that beginning of one)."""
        found = [entry for entry in self.jobs() if entry.job_id.startswith(job_id)]
        return found[0] if len(found) == 1 else next((entry for entry in found if entry.job_id == job_id), None)

    def jobs(self) -> list[JobEntry]:
        """All jobs, the newest first."""
        entries = []
        for file in (self.root / "jobs").glob("*/job.json"):
            try:
                entries.append(JobEntry(**json.loads(file.read_text())))
            except (ValueError, TypeError, OSError):
                continue
        return sorted(entries, key=lambda entry: -entry.started)

    def interrupted(self, program: str, name: str) -> JobEntry | None:
        """A job of that program and name whose driver died before the job ended."""
        for entry in self.jobs():
            if (entry.program, entry.name) == (program, name) and not entry.alive:
                return entry if entry.status in ("RUNNING", "RESTARTING", "CREATED") else None
        return None

    def request(self, job_id: str, action: str, timeout: float = 300.0, **arguments: Any) -> dict[str, Any]:
        """Ask the driver of a job for something and wait for its answer."""
        box = self.directory(job_id) / "mailbox"
        box.mkdir(parents=True, exist_ok=True)
        number = uuid.uuid4().hex
        answer = box / f"{number}.answer"
        fresh = box / f"{number}.new"
        fresh.write_text(json.dumps({"action": action, **arguments}))
        os.replace(fresh, box / f"{number}.request")
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if answer.exists():
                found: dict[str, Any] = json.loads(answer.read_text())
                answer.unlink()
                return found
            entry = self.read(job_id)
            if entry is None or not entry.alive:
                if answer.exists():
                    continue
                return {"error": f"Job {job_id} is not running any more."}
            time.sleep(0.05)
        return {"error": f"Job {job_id} gave no answer within {timeout:.0f} s."}

    def requests(self, job_id: str) -> Iterator[tuple[Path, dict[str, Any]]]:
        """What is asked of a job, with where the answer goes."""
        for file in sorted((self.directory(job_id) / "mailbox").glob("*.request")):
            data = json.loads(file.read_text())
            file.unlink()
            yield file.with_suffix(".answer"), data

    @staticmethod
    def answer(path: Path, data: dict[str, Any]) -> None:
        """Answer a request."""
        fresh = path.with_suffix(".writing")
        fresh.write_text(json.dumps(data))
        os.replace(fresh, path)

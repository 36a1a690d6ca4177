"""The folder of a cluster: its database, its jobs and savepoints, and the address of its Spark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from compat.cluster.events import EventLog
from compat.cluster.submission import Submission, decoded
from compat.compiler.spark.driver.masters import is_elsewhere
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.shared import AttachedSpark, SparkPlace
from compat.compiler.spark.driver.store import JobStore

_SUBMISSION = "submission"


class ClusterFolder:
    """The folder of a cluster; a job's own is that of the store. ``master`` is that of its Spark, for who runs jobs."""

    def __init__(self, path: str | Path, master: str | None = None) -> None:
        self.path = Path(path).absolute()
        self.master = master
        self.store = JobStore(self.path)
        self.spark = SparkPlace(self.path)

    @property
    def database(self) -> str:
        """The address of the registry if no other is given."""
        return f"sqlite:///{self.path / 'cluster.db'}"

    @property
    def logs(self) -> Path:
        """The folder for the output of processes."""
        return self.path / "logs"

    @property
    def replicas(self) -> Path:
        """The folder for jobs' local state."""
        return self.path / "replicas"

    @property
    def replicas_of_tasks(self) -> str | None:
        """The same folder for tasks; None if each machine has a folder of its own for that."""
        return None if is_elsewhere(self.master) else str(self.replicas)

    def attached(self, pool: str) -> Spark:
        """The Spark of the cluster, for a job in that fair pool."""
        return AttachedSpark(self.spark, pool)

    def job(self, job_id: str) -> Path:
        """The folder of a job."""
        return self.path / "jobs" / job_id

    def events(self, job_id: str) -> EventLog:
        """The events of a job."""
        return EventLog(self.job(job_id))

    def log_of(self, job_id: str) -> Path:
        """The output of a job's processes."""
        return self.job(job_id) / "master.log"

    def keep(self, job_id: str, data: bytes) -> None:
        """Store a submission completely on disk, before the job is visible."""
        folder = self.job(job_id)
        folder.mkdir(parents=True, exist_ok=True)
        fresh = folder / f"{_SUBMISSION}.new"
        with open(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, folder / _SUBMISSION)

    def copy(self, job_id: str, other: str) -> None:
        """Store the submission of a job as another one's, too, even if this version cannot decode it. Raises OSError."""
        self.keep(other, (self.job(job_id) / _SUBMISSION).read_bytes())

    def remove(self, job_id: str, *, checkpoint: bool) -> None:
        """Remove the files of an ended job; its last ``checkpoint`` stays if asked. Raises StoreError."""
        shutil.rmtree(self.replicas / job_id, ignore_errors=True)
        if checkpoint:
            self.store.reduce(job_id)
        else:
            self.store.discard(job_id)

    def submission(self, job_id: str) -> Submission:
        """The stored submission. Raises OSError, SubmissionRefused."""
        return decoded((self.job(job_id) / _SUBMISSION).read_bytes())

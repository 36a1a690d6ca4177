"""The driver of one job in a foreign cluster: a process of the job's own Spark application, which outlives its client.

Spark's master picks a machine and starts it there, with the environment and the submission. When it dies, YARN starts
another one, which goes on from the job's last checkpoint. Flink: ``ApplicationClusterEntryPoint``.
"""

from __future__ import annotations

import os
import sys

from compat.cluster.events import EventLog
from compat.cluster.layout import ClusterFolder
from compat.cluster.master import JobProcess
from compat.cluster.submission import Submission, decoded
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.options import Assigned
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.shared import ApplicationSpark
from compat.compiler.spark.driver.store import JobStore

SUBMISSION = "submission"
"""The file with the submission, in the folder in which the driver is started."""


class ApplicationFolder(ClusterFolder):
    """The folder of the application's driver; it is removed with the driver. Lasting data is in the store."""

    def __init__(self, path: str, store: str, master: str) -> None:
        super().__init__(path)
        self.store = JobStore(store)
        self._of = master

    @property
    def replicas_of_tasks(self) -> str | None:
        return None

    def attached(self, pool: str) -> Spark:
        return ApplicationSpark(self._of)

    def events(self, job_id: str) -> EventLog:
        self.job(job_id).mkdir(parents=True, exist_ok=True)
        return EventLog(self.job(job_id))

    def submission(self, job_id: str) -> Submission:
        return decoded((self.path / SUBMISSION).read_bytes())


def attempt_of(container: str) -> int:
    """The number of this attempt to run the application, from YARN's container name; 1 elsewhere.

    >>> attempt_of("container_e17_1410901177871_0001_02_000001")
    2
    """
    parts = container.split("_")
    return int(parts[-2]) if len(parts) >= 5 and parts[-2].isdigit() else 1


def main(job_id: str, store: str, master: str) -> int:
    """Run the job of this application; gives exit code 0 unless the job has failed, in any attempt."""
    place = ApplicationFolder(os.getcwd(), store, master)
    code = JobProcess(place, Assigned(job_id, attempt_of(os.environ.get("CONTAINER_ID", ""))), "").run()
    entry = place.store.entry(job_id)
    failed = entry is not None and entry.status == JobStatus.FAILED.value
    return code or int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Jobs as separate Spark applications, whose drivers run in a foreign cluster. Flink: ``YarnClusterDescriptor``.

A job is built here, and ``spark-submit`` starts its driver there. The store, which all machines see, records where the driver
runs and what happens to the job. Savepoints, stops and cancellations reach the job through the store, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from compat.cluster.application import SUBMISSION
from compat.cluster.client import Event, JobRefused, JobSummary
from compat.cluster.execution import ClusterExecutor, Listener
from compat.cluster.master import end_event
from compat.cluster.submission import Submission
from compat.compiler.driver import Compilation
from compat.compiler.errors import ProgramError
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.job import Job
from compat.compiler.own_code import PACKAGE
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.machines import refuse_lacking, yarn_nodes
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.compiler.spark.driver.masters import YARN, in_containers, refuse_incomplete, refuse_unreachable
from compat.compiler.spark.driver.packing import PYTHON
from compat.compiler.spark.driver.session import Spark, find_java
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.plan import PhysicalPlan
from compat.execution.failures import Refused
from compat.execution.snapshots import Plans
from compat.state.stores.schemes import is_remote

_LOOKS = 1.0
"""Seconds between two looks at a job's state."""
_DRIVER = os.path.join(PACKAGE, "cluster", "application.py")
_UPLOADS = "spark.kubernetes.file.upload.path"
_SHOWN = 15


class Application(Struct, frozen=True, kw_only=True):
    """A job's application: its id, the store that all its machines see, Spark's settings and the file with Spark's output."""

    job: str
    name: str
    store: str
    master: str
    settings: Mapping[str, str]
    log: str


def refuse_no_cluster(master: str | None, store: str) -> None:
    """Raise a ProgramError if this master or this store allows no driver on another machine."""
    if master is None or not in_containers(master):
        raise ProgramError(
            "--deploy-mode cluster has the driver run in a cluster, which takes --master yarn or k8s://URL: Spark's own "
            "masters take no drivers in Python. compat cluster start keeps drivers for them."
        )
    if not is_remote(store):
        raise ProgramError(
            f"--deploy-mode cluster has the driver run on another machine, which does not see {store}: give a --store that all "
            "machines see, hdfs://HOST:PORT/FOLDER or s3://BUCKET/FOLDER."
        )


def command_of(application: Application, submission: str, *, attached: bool) -> list[str]:
    """The command that starts an application; with ``attached`` it ends when the application ends."""
    import pyspark

    settings = dict(application.settings)
    if application.master == YARN:
        settings.setdefault("spark.yarn.appMasterEnv.PYSPARK_PYTHON", settings.get("spark.pyspark.python", PYTHON))
        settings["spark.yarn.submit.waitAppCompletion"] = str(attached).lower()
    else:
        settings["spark.kubernetes.submission.waitAppCompletion"] = str(attached).lower()
    given = [part for name, text in sorted(settings.items()) for part in ("--conf", f"{name}={text}")]
    return [
        os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-submit"),
        *("--master", application.master, "--deploy-mode", "cluster", "--name", application.name),
        *given,
        *("--files", f"{submission}#{SUBMISSION}"),
        *(_DRIVER, application.job, application.store, application.master),
    ]


class Applications:
    """The applications that this process started, by job id; it has the methods of a cluster's client."""

    def __init__(self, store: str) -> None:
        self._store = JobStore(store)
        self._running: dict[str, tuple[Application, subprocess.Popen[bytes]]] = {}

    @property
    def logs(self) -> Path:
        """The folder with Spark's output of a submission."""
        return self._store.logs

    def start(self, application: Application, submission: Submission, *, attached: bool) -> None:
        """Start an application; without a waiting client, returns once the cluster has accepted it. Raises Refused."""
        Path(application.log).parent.mkdir(parents=True, exist_ok=True)
        environment = {name: text for name, text in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
        with tempfile.TemporaryDirectory(prefix="compat-submission-") as folder:
            file = os.path.join(folder, SUBMISSION)
            with open(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as written:
                written.write(submission.encoded())
            with open(application.log, "ab") as log:
                process = subprocess.Popen(
                    command_of(application, file, attached=attached),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                )
            self._running[application.job] = application, process
            while process.poll() is None and (not attached or self._store.entry(application.job) is None):
                time.sleep(_LOOKS / 4)
        if process.returncode:
            raise Refused(_refusal(application), "")

    def find(self, job: str) -> JobSummary:
        """The state of a job."""
        entry = self._store.entry(job)
        state = JobStatus.CREATED.value if entry is None else entry.status
        return JobSummary(jid=job, name="", state=state, start_time=-1, end_time=-1)

    def savepoint(self, job: str, path: str | None = None) -> str:
        """Write a savepoint of a running job; gives its path. Raises JobRefused."""
        return str(self._asked(job, "savepoint", path=path)["path"])

    def stop(self, job: str, path: str | None = None, drain: bool = False) -> str:
        """Stop a job with a savepoint; gives its path. Raises JobRefused."""
        return str(self._asked(job, "stop", path=path, drain=drain)["path"])

    def cancel(self, job: str) -> None:
        """End a job without a savepoint. Raises JobRefused."""
        self._asked(job, "cancel")

    def events(self, job: str) -> Iterator[tuple[Event, str]]:
        """The events of a job until it has ended, as recorded in the store."""
        application, process = self._running[job]
        told: JobEntry | None = None
        began = time.monotonic()
        while True:
            ended = process.poll() is not None  # before the look, which then finds its last output
            entry = self._store.entry(job)
            if entry is not None and (entry.over or entry.status == JobStatus.FAILED.value):
                yield end_event(entry), entry.status
                return
            if entry is not None and entry.status == JobStatus.RUNNING.value:
                if told is None:
                    yield _started(entry), entry.status
                elif entry.epoch > told.epoch:
                    yield _progressed(told, entry, time.monotonic() - began), entry.status
                if told is None or entry.epoch > told.epoch:
                    told, began = entry, time.monotonic()
            if ended:
                yield {"event": "refused", "job_id": job, "error": _refusal(application), "detail": ""}, ""
                return
            time.sleep(_LOOKS)

    def _asked(self, job: str, action: str, **arguments: Any) -> dict[str, Any]:
        answer = Mailbox(self._store.directory(job)).ask(action, **arguments)
        if "error" in answer:
            raise JobRefused(answer["error"])
        return answer


class ApplicationExecutor(ClusterExecutor):
    """Compiles the jobs of a program here, and runs each as a separate application."""

    def __init__(
        self,
        applications: Applications,
        master: str,
        store: str,
        how: dict[str, Any],
        setup_of: Callable[[], Callable[[], None]],
        plans_of: Callable[[Compilation], Plans],
        listener: Listener,
        *,
        flink: str | None = None,
        detached: bool = False,
        folders: tuple[str, ...] = (),
    ) -> None:
        cluster: Any = applications
        super().__init__(cluster, how, setup_of, plans_of, listener, flink)
        self._applications, self._master, self._store = applications, master, store
        self._detached, self._folders = detached, folders

    def refuse_options(self, made: PhysicalPlan) -> None:
        """Accept all options of Spark, as Spark is started for this job only."""
        refuse_incomplete(made.options, self._master)
        if made.groups and self._master == YARN:
            refuse_lacking(made.groups, yarn_nodes())
        if self._master != YARN and not made.options.get(_UPLOADS):
            raise ProgramError(
                f"--deploy-mode cluster with Kubernetes needs a storage by which files reach the driver's pod: give "
                f"-D {_UPLOADS}=s3a://BUCKET/FOLDER."
            )

    def run(self, submission: Submission, options: Mapping[str, str]) -> str:
        """Start the application of a job; gives the job's id."""
        job = uuid.uuid4().hex
        spark = Spark(self._master, None, self._folders, "", ship=True)
        spark.add(options)
        spark.size_for(submission.groups, submission.slots)
        application = Application(
            job=job,
            name=submission.name,
            store=self._store,
            master=self._master,
            settings=spark.settings(),
            log=str(self._applications.logs / f"submit-{job[:8]}.log"),
        )
        self._applications.start(application, submission, attached=not self._detached)
        return job

    def submitted(self, job: Job) -> str:
        """Submit a job to the foreign cluster. Raises ProgramError, Refused."""
        find_java()
        refuse_unreachable(self._master)
        if job.collect is not None:
            raise ProgramError(
                "execute_and_collect() has this process take the records, and the driver runs in the cluster: write them to a "
                "sink, or run the job with --deploy-mode client, or on a cluster of compat's.",
                location=job.location,
            )
        return self.run(self.submission(job), job.settings.options)


def _started(entry: JobEntry) -> Event:
    return {
        "event": "started",
        "job_id": entry.job_id,
        "name": entry.name,
        "checkpoint": entry.epoch,
        "resumed": False,
        "restored": None,
    }


def _progressed(before: JobEntry, entry: JobEntry, seconds: float) -> Event:
    return {
        "event": "checkpoint",
        "job_id": entry.job_id,
        "epoch": entry.epoch,
        "records": entry.records - before.records,
        "seconds": seconds,
        "state_bytes": 0,
        "watermark": None,
        "watermark_lag": None,
    }


def _refusal(application: Application) -> str:
    """Why an application ended without telling anything of its job, from what Spark said."""
    lines = Path(application.log).read_text(encoding="utf-8", errors="replace").splitlines()
    telling = [line.strip() for line in lines if re.search(r"Exception|Error|diagnostics|FAILED", line)]
    why = " / ".join(dict.fromkeys(telling[-3:] or lines[-_SHOWN:]))[:1000]
    return f"The application of job {application.job} ended without running it: {why} (all of it: {application.log})"

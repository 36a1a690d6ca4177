"""Sends the jobs of a program to a cluster, which runs them. Flink: ``RemoteExecutor``, ``AbstractSessionClusterExecutor``."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from compat.cluster.client import Cluster, Event, JobRefused, value_of
from compat.cluster.submission import Submission, packed, pickled
from compat.compiler.datastream.common.completable_future import CompletableFuture
from compat.compiler.datastream.common.job_client import JobClient
from compat.compiler.datastream.common.job_execution_result import JobExecutionResult
from compat.compiler.datastream.common.job_id import JobID
from compat.compiler.datastream.common.job_status import JobStatus as ClientStatus
from compat.compiler.driver import Compilation, compile_job
from compat.compiler.errors import ProgramError
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.job import Job
from compat.compiler.spark.driver.dependencies import find_dependencies
from compat.compiler.spark.driver.failures import JobCancelled, JobFailed
from compat.compiler.spark.driver.masters import refuse_unsafe
from compat.compiler.spark.driver.notes import Notes
from compat.compiler.spark.driver.restarts import is_of_strategy
from compat.compiler.spark.driver.support import refuse_ignored, refuse_unsupported
from compat.compiler.spark.plan import PhysicalPlan, plan
from compat.compiler.spark.task.epochs import TaskFailure
from compat.compiler.versions import LATEST_FLINK
from compat.execution.failures import Refused
from compat.execution.snapshots import Plans
from compat.state.serializers import load
from compat.state.stores.paths import place_of
from compat.transport import ServerError

Listener = Callable[[Event], None]


class RemoteJob(JobClient):
    """The client of a job on a cluster; the job runs without it, too. ``listener`` gets the events during :meth:`wait`."""

    def __init__(self, cluster: Cluster, job_id: str, listener: Listener) -> None:
        super().__init__(JobID(job_id))
        self.job_id = job_id
        self.epoch = 0
        self.error: BaseException | None = None
        self.told = False
        self._cluster, self._listener = cluster, listener
        self._began = time.monotonic()
        self._waited = False
        self._savepoint: str | None = None
        self._accumulators: dict[str, Any] = {}
        self._status: JobStatus | None = None

    @property
    def over(self) -> bool:
        """True once its end was reported."""
        return self._status is not None

    def wait(self) -> None:
        """Wait for the end; raises the job's error, or JobCancelled. After that ``told`` is True."""
        for _ in self._follow():
            pass

    def get_job_status(self) -> CompletableFuture:
        return CompletableFuture(lambda: getattr(ClientStatus, self._cluster.find(self.job_id).state))

    def cancel(self) -> CompletableFuture:
        self.told = True
        return CompletableFuture(lambda: self._asked(lambda: self._cluster.cancel(self.job_id)))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        self.told = True
        path = absolute(savepoint_directory)
        return CompletableFuture(
            lambda: self._asked(lambda: self._cluster.stop(self.job_id, path, advance_to_end_of_event_time))
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        path = absolute(savepoint_directory)
        return CompletableFuture(lambda: self._asked(lambda: self._cluster.savepoint(self.job_id, path)))

    def get_job_execution_result(self) -> CompletableFuture:
        def result() -> JobExecutionResult:
            self.wait()
            runtime = int((time.monotonic() - self._began) * 1000)
            return JobExecutionResult(self.get_job_id(), runtime, self._accumulators)

        return CompletableFuture(result)

    def get_accumulators(self) -> CompletableFuture:
        return CompletableFuture(lambda: self._accumulators)

    def collect(self) -> Iterator[Any]:
        """The records as they are committed; closing the iterator cancels the job."""
        try:
            yield from self._follow()
        finally:
            if not self.over:
                self.told = True
                self._cluster.cancel(self.job_id)

    @staticmethod
    def _asked(ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except JobRefused as error:
            raise RuntimeError(str(error)) from None

    def _follow(self) -> Iterator[Any]:
        """Hear all events to the end; gives the records that the program wants back."""
        try:
            if not self.over:
                for event, _ in self._cluster.events(self.job_id):
                    yield from self._take(event)
                if self._status is None:
                    self._status = JobStatus(self._cluster.find(self.job_id).state)
            self.told = True
            if self.error is None and self._status is JobStatus.CANCELED:
                self.error = JobCancelled(self.job_id)
            if self.error is None and self._status is JobStatus.FAILED:
                self.error = JobFailed(TaskFailure("", None, None, "The job failed; its log on the cluster says why."))
        except ServerError as error:
            self.told, self.error = True, error
        if self.error is not None:
            raise self.error

    def _take(self, event: Event) -> Iterator[Any]:
        match event["event"]:
            case "collected":
                yield value_of(event)
                return
            case "accumulators":
                self._accumulators = load(bytes.fromhex(event["values"]))
                return
            case "superseded":
                return  # another process goes on with the job
            case "refused":
                self._status = JobStatus.FAILED
                self.error = Refused(event["error"], event["detail"])
                return
            case "checkpoint":
                self.epoch = event["epoch"]
            case "finished":
                self._status = JobStatus.FINISHED
            case "stopped":
                self._status = JobStatus.CANCELED if event["path"] is None else JobStatus.FINISHED
                self._savepoint = event["path"]
            case "failed":
                self._status = JobStatus.FAILED
                self.error = JobFailed(TaskFailure("", None, None, event["error"]))
        self._listener(event)


class ClusterExecutor:
    """Compiles the jobs of a program here; a cluster runs them. ``how`` has the fields of each
    :class:`~compat.cluster.submission.Submission` that come from the command line; ``setup_of`` gives the setup of a process
    for the program's functions, with its modules, when a job is submitted.
    """

    ran_here = False
    """False: Spark never runs in the process that submits."""

    def __init__(
        self,
        cluster: Cluster,
        how: dict[str, Any],
        setup_of: Callable[[], Callable[[], None]],
        plans_of: Callable[[Compilation], Plans],
        listener: Listener,
        flink: str | None = None,
    ) -> None:
        self.clients: list[RemoteJob] = []
        self.cluster = cluster
        self._how, self._setup_of, self._plans_of = how, setup_of, plans_of
        self._listener, self._flink = listener, flink
        self._notes = Notes(listener)

    def submit(self, job: Job) -> RemoteJob:
        """Submit a job. Raises ProgramError for one that cannot run there, ServerError."""
        client = RemoteJob(self.cluster, self.submitted(job), self._listener)
        self.clients.append(client)
        return client

    def submitted(self, job: Job) -> str:
        """Hand a job over; gives its id. Raises ProgramError, ServerError."""
        return self.cluster.submit(self.submission(job))

    def submission(self, job: Job) -> Submission:
        """The submission of a job. Raises ProgramError."""
        refuse_ignored(job)
        self._notes.tell(job, None)
        if self._flink is not None:
            job = replace(job, settings=replace(job.settings, flink=self._flink))
        compilation = compile_job(job)
        made = plan(compilation)
        refuse_unsupported(made)
        refuse_unsafe(made.options, None)
        self.refuse_options(made)
        shipped, files = _shipped(made, job)
        plans = self._plans_of(compilation)
        return Submission(
            name=made.job_name,
            slots=made.slots,
            groups=made.groups,
            flink=self._flink or LATEST_FLINK,
            job=pickled(job),
            setup=pickled(self._setup_of()),
            plan=json.dumps(plans.as_run).encode(),
            registered=plans.registered,
            shipped=shipped,
            files=files,
            restarts={name: text for name, text in made.options.items() if is_of_strategy(name)},
            **self._how,
        )

    def refuse_options(self, made: PhysicalPlan) -> None:
        """Raise a ProgramError for options of Spark, which is running already."""
        given = sorted(name for name in made.options if name.startswith("spark."))
        if given:
            raise ProgramError(
                f"{', '.join(given)}: the cluster's Spark is up already, and all jobs share it. Give its options where it is "
                f"started: compat cluster start -D {given[0]}={made.options[given[0]]}"
            )

    def abandon(self) -> None:
        """Do nothing: the process ends, the jobs go on."""

    def close(self) -> None:
        """Do nothing: the process ends, the jobs go on."""


def absolute(path: str | None) -> str | None:
    """An absolute path on this machine; the path of a store elsewhere unchanged. Raises StoreError."""
    return None if path is None else str(place_of(path, "The snapshot").absolute())


def _shipped(made: PhysicalPlan, job: Job) -> tuple[bytes | None, bytes]:
    """The dependencies of a job, and their files."""
    dependencies = find_dependencies(made.options, job.location, here=False)
    if dependencies is None:
        return None, b""
    with tempfile.TemporaryDirectory(prefix="compat-shipped-") as folder:
        shipped = dependencies.ship(place_of(Path(folder, "shipped")))
        return pickled(shipped), packed(Path(shipped.folder))

"""Takes the jobs of a program and runs them. Flink: ``PipelineExecutor``, ``MiniCluster``, ``JobClient``."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from compiler.datastream.common.completable_future import CompletableFuture
from compiler.datastream.common.job_client import JobClient
from compiler.datastream.common.job_execution_result import JobExecutionResult
from compiler.datastream.common.job_id import JobID
from compiler.datastream.common.job_status import JobStatus as ClientStatus
from compiler.executiongraph.states import JobStatus
from compiler.job import Job
from compiler.spark.epochs import EpochRunner, InProcessRunner
from compiler.spark.master import JobMaster, Listener, RunOptions
from compiler.spark.plan import PhysicalPlan, plan
from compiler.spark.store import JobStore

_END = object()


class RunningJob(JobClient):
    """The client of a job that runs in a thread of this process."""

    def __init__(self, job: Job, make: Callable[[Callable[[list[Any]], None]], JobMaster]) -> None:
        self._records: queue.Queue[Any] = queue.Queue()
        self.master = make(self._records.put)
        super().__init__(JobID(self.master.job_id))
        self._error: BaseException | None = None
        self._began = time.monotonic()
        self.master.prepare()
        self._thread = threading.Thread(target=self._run, name=f"job-{self.master.job_id[:8]}", daemon=job.attached)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.master.run()
        except BaseException as error:
            self._error = error
        finally:
            self._records.put(_END)

    def wait(self) -> None:
        """Wait for the end; raises what the job failed with."""
        while self._thread.is_alive():
            self._thread.join(0.2)
        if self._error is not None:
            raise self._error

    def get_job_status(self) -> CompletableFuture:
        return CompletableFuture.completed(getattr(ClientStatus, self.master.status.value))

    def cancel(self) -> CompletableFuture:
        self.master.cancel()
        return CompletableFuture(self.wait)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        self.master.stop(advance_to_end_of_event_time, savepoint_directory)
        return CompletableFuture(self._savepoint)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        def ask() -> str:
            answer = self.master.store.request(self.master.job_id, "savepoint", path=savepoint_directory)
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return str(answer["path"])

        return CompletableFuture(ask)

    def get_job_execution_result(self) -> CompletableFuture:
        def result() -> JobExecutionResult:
            self.wait()
            return JobExecutionResult(self.get_job_id(), int((time.monotonic() - self._began) * 1000))

        return CompletableFuture(result)

    def collect(self) -> Iterator[Any]:
        """The records as they are committed; closing the iterator cancels the job."""
        try:
            while (records := self._records.get()) is not _END:
                yield from records
            self.wait()
        finally:
            if self.master.status is JobStatus.RUNNING:
                self.master.cancel()

    def _savepoint(self) -> str | None:
        self.wait()
        return self.master.savepoint


class SparkExecutor:
    """Runs jobs on Spark: in this process by default, or on a master. One session for all jobs of the program."""

    def __init__(
        self,
        store: str,
        *,
        master: str | None = None,
        options: RunOptions | None = None,
        listener: Listener = lambda event: None,
        printer: Callable[[str], None] = print,
    ) -> None:
        self._store = JobStore(store)
        self._master = master
        self._options = options or RunOptions()
        self._listener, self._printer = listener, printer
        self._session: Any = None
        self.clients: list[RunningJob] = []

    def submit(self, job: Job) -> RunningJob:
        """Plan the job, restore what is to be restored, and start it."""
        made = plan(job)
        options = self._resumed(made)

        def make(collector: Callable[[list[Any]], None]) -> JobMaster:
            return JobMaster(
                job,
                made,
                self._store,
                self.runner,
                options,
                listener=self._listener,
                printer=self._printer,
                collector=collector,
            )

        client = RunningJob(job, make)
        self.clients.append(client)
        return client

    def _resumed(self, made: PhysicalPlan) -> RunOptions:
        """The options, with the id of the job to go on with where its driver died before its end."""
        options = self._options
        if options.job_id is not None or options.savepoint is not None or not options.program:
            return options
        before = self._store.interrupted(options.program, made.job_name)
        return options if before is None else replace(options, job_id=before.job_id)

    def runner(self, made: PhysicalPlan) -> EpochRunner:
        """What runs the epochs of a plan."""
        from compiler.spark.runner import SparkRunner, session

        if self._session is None:
            cores = max(2, min(made.partitions[0] if made.partitions else 2, 4))
            master = self._master or f"local[{cores}]"
            self._session = session(master, dict(made.options), self._options.worker_folders)
        return SparkRunner(made, self._session, self._options.worker_setup)

    def close(self) -> None:
        """Stop the session."""
        if self._session is not None:
            self._session.stop()
            self._session = None


class InProcessExecutor(SparkExecutor):
    """The same without Spark: for tests."""

    def runner(self, made: PhysicalPlan) -> EpochRunner:
        return InProcessRunner(made)

"""Takes the jobs of a program and runs them. Flink: ``PipelineExecutor``, ``MiniCluster``, ``JobClient``."""

from __future__ import annotations

import os
import queue
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compat.compiler.datastream.common.completable_future import CompletableFuture
from compat.compiler.datastream.common.job_client import JobClient
from compat.compiler.datastream.common.job_execution_result import JobExecutionResult
from compat.compiler.datastream.common.job_id import JobID
from compat.compiler.datastream.common.job_status import JobStatus as ClientStatus
from compat.compiler.driver import Compilation, compile_job
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.job import Job
from compat.compiler.spark.driver.caches import Caches, NotTheSame, places_read, writing
from compat.compiler.spark.driver.dependencies import Ships, find_dependencies
from compat.compiler.spark.driver.directories import without_checkpoint_directory
from compat.compiler.spark.driver.failures import JobCancelled
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.job_folders import log_of_spark, prove_conditional, prove_not_behind
from compat.compiler.spark.driver.machines import executors, refuse_lacking, this_machine, yarn_nodes
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.compiler.spark.driver.master import Hearers, JobMaster, Resources
from compat.compiler.spark.driver.masters import (
    YARN,
    in_containers,
    is_standalone,
    refuse_incomplete,
    refuse_unreachable,
    refuse_unsafe,
)
from compat.compiler.spark.driver.notes import Notes
from compat.compiler.spark.driver.options import Assigned, Listener, RunOptions, source_of, with_recovery
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.driver.support import refuse_ignored, refuse_unsupported, with_placed_sinks
from compat.compiler.spark.plan import PhysicalPlan, plan
from compat.compiler.spark.resources import Machines
from compat.compiler.spark.runtime_api.splits import Split
from compat.compiler.spark.task.epochs import EpochRunner, InProcessRunner
from compat.compiler.spark.task.hosts import HostedRunner
from compat.state.delta.work import HERE, Workers
from compat.state.stores.paths import Place

if TYPE_CHECKING:
    from compat.compiler.spark.driver.session import EarlyJvm

_END = object()


class RunningJob(JobClient):
    """The client of a job that runs in a thread of this process. ``alone`` raises a StoreError if it must not begin."""

    def __init__(
        self,
        job: Job,
        make: Callable[[Callable[[list[Any]], None]], JobMaster],
        alone: Callable[[], None] = lambda: None,
    ) -> None:
        self.collects = job.collect is not None
        self._records: queue.Queue[Any] = queue.Queue()
        self.master = make(self._records.put)
        super().__init__(JobID(self.master.job.job_id))
        self.error: BaseException | None = None
        self.told = False
        self._began = time.monotonic()
        self.master.prepare(alone)
        self._thread = threading.Thread(target=self._run, name=f"job-{self.master.job.job_id[:8]}", daemon=job.attached)
        self._thread.start()

    @property
    def job_id(self) -> str:
        """The id of the job."""
        return self.master.job.job_id

    @property
    def over(self) -> bool:
        """True for a job that has ended."""
        return self.master.job.status.terminal

    @property
    def ended(self) -> bool:
        """True once no part of it runs in this process."""
        return not self._thread.is_alive()

    @property
    def epoch(self) -> int:
        """The job's last checkpoint."""
        return self.master.job.coordinator.epoch

    def _run(self) -> None:
        try:
            self.master.run()
        except BaseException as error:
            self.error = error
        finally:
            self._records.put(_END)

    def wait(self) -> None:
        """Wait for the end; raises the job's error, or JobCancelled. ``told`` is True from then on."""
        self._join()
        self.told = True
        if self.error is not None:
            raise self.error
        if self.master.job.status is JobStatus.CANCELED:
            raise JobCancelled(self.master.job.job_id)

    def _join(self) -> None:
        while self._thread.is_alive():
            self._thread.join(0.2)

    def get_job_status(self) -> CompletableFuture:
        return CompletableFuture.completed(getattr(ClientStatus, self.master.job.status.value))

    def cancel(self) -> CompletableFuture:
        self.master.cancel()
        self.told = True  # the program knows
        return CompletableFuture(self._join)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        asked = self.master.stop(advance_to_end_of_event_time, savepoint_directory)

        def savepoint() -> str | None:
            while self._thread.is_alive() and not asked.refused:
                self._thread.join(0.1)
            if asked.refused:
                raise RuntimeError(asked.refused)
            self.wait()
            return self.master.job.savepoint

        return CompletableFuture(savepoint)

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        def ask() -> str:
            answer = Mailbox(self.master.job.store.directory(self.master.job.job_id)).ask(
                "savepoint", path=savepoint_directory
            )
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return str(answer["path"])

        return CompletableFuture(ask)

    def get_job_execution_result(self) -> CompletableFuture:
        def result() -> JobExecutionResult:
            self.wait()
            runtime = int((time.monotonic() - self._began) * 1000)
            return JobExecutionResult(self.get_job_id(), runtime, self.master.job.measured.accumulators())

        return CompletableFuture(result)

    def get_accumulators(self) -> CompletableFuture:
        return CompletableFuture(self.master.job.measured.accumulators)

    def records(self) -> Iterator[Any]:
        """The records that the program wants back, as they are committed."""
        while (records := self._records.get()) is not _END:
            yield from records

    def collect(self) -> Iterator[Any]:
        """The same records; raises the job's error, and closing the iterator cancels the job."""
        try:
            yield from self.records()
            self.wait()
        finally:
            if not self.master.job.status.terminal:
                self.told = True
                self.master.cancel()


class SparkExecutor:
    """Runs jobs on Spark: in this process by default, or on a master. One Spark for all jobs of the program.

    ``ran_here`` is True once a Spark of this machine's own has been stopped. ``early`` is the JVM that one may have.
    """

    def __init__(
        self,
        store: str,
        *,
        master: str | None = None,
        options: RunOptions | None = None,
        listener: Listener = lambda event: None,
        printer: Callable[[str], None] = print,
        early: EarlyJvm | None = None,
    ) -> None:
        self.options = options or RunOptions()
        self._early = early
        self.clients: list[RunningJob] = []
        self._store = JobStore(store)
        prove_conditional(self._store.root, "The store")
        self.caches = Caches(self._store.caches)
        self._master = master
        self._listener, self._printer = listener, printer
        self._spark: Any = None
        self.ran_here = False
        self._submitted: Counter[str] = Counter()
        self._notes = Notes(listener)

    def submit(self, job: Job) -> RunningJob:
        """Plan the job, restore its snapshot if it has one, and start it."""
        self.check()
        refuse_ignored(job)
        if self.options.flink is not None:
            job = replace(job, settings=replace(job.settings, flink=self.options.flink))
        given = job
        job, read = self.caches.reading(given)
        compilation, made = self._compiled(job)
        dependencies = self.dependencies(made, job)
        options = self._occurring(made)
        with self._alone(options, made) as alone:
            options, before = self._resumed(options, made, compilation)
            assigned = options.assigned.job_id if options.assigned is not None else None
            job_id = assigned or (uuid.uuid4().hex if before is None else before.job_id)
            if assigned is None:  # the sender of an assigned job was told
                self._notes.tell(job, job_id)
            made, written = writing(made, self.caches.begun(job_id), anew=before is None)

            def make(collector: Callable[[list[Any]], None]) -> JobMaster:
                return JobMaster(
                    compilation,
                    made,
                    self._store,
                    Resources(self.runner, self.workers),
                    options,
                    Hearers(self._listener, self._printer, collector),
                    job_id=job_id,
                    before=before,
                    dependencies=dependencies,
                    made_again=lambda *damaged: self._made_again(given, *damaged),
                )

            client = RunningJob(job, make, alone)
        self.clients.append(client)
        if before is not None or options.savepoint is None:  # the snapshot does not have its job's output
            self.caches.written(job_id, written, lambda: client.master.job.has_read_all)
        self.caches.read(read, lambda: client.over)
        return client

    def _compiled(self, job: Job) -> tuple[Compilation, PhysicalPlan]:
        """A job and its plan, which can be run. Raises ProgramError."""
        compilation = compile_job(job)
        made = plan(compilation)
        refuse_unsupported(made)
        refuse_unsafe(made.options, self._master)
        refuse_incomplete(made.options, self._master)
        if made.groups:
            refuse_lacking(made.groups, self.machines(made))
        return compilation, with_placed_sinks(made)

    def _made_again(self, job: Job, cache: int, read: list[Split], wanted: Callable[[], bool]) -> None:
        """Make the records of a cached stream again, for a job that began to ``read`` these files of it.

        Raises NotTheSame if the job cannot go on with them.
        """
        if self.caches.is_whole(cache, read):
            return
        folder = self.caches.begun(uuid.uuid4().hex)
        try:
            client = self._maker(job, cache, folder)
            while not client.ended:
                if not wanted():
                    client.cancel()
                time.sleep(0.02)
            try:
                client.wait()
            except JobCancelled:
                return
            except Exception as error:
                raise NotTheSame(f"to make them again failed: {error}") from error
            self.caches.restore(cache, folder / str(cache), read)
        finally:
            folder.remove()

    def _maker(self, given: Job, cache: int, folder: Place) -> RunningJob:
        """A job that makes the records of a cached stream for another one: nobody else hears of it."""
        settings = replace(given.settings, options=without_checkpoint_directory(given.settings.options))
        job = replace(self.caches.making(given, cache), settings=settings)
        compilation, made = self._compiled(job)
        dependencies = self.dependencies(made, job)
        made, _ = writing(made, folder, anew=True)
        options = replace(
            self.options,
            savepoint=None,
            claim=False,
            epochs=None,
            program="",
            plan_of=None,
            check=None,
            assigned=None,
        )

        def make(collector: Callable[[list[Any]], None]) -> JobMaster:
            return JobMaster(
                compilation,
                made,
                JobStore(str(folder / "store")),
                Resources(self.runner, self.workers),
                options,
                Hearers(),
                job_id=uuid.uuid4().hex,
                dependencies=dependencies,
                made_again=lambda *damaged: self._made_again(given, *damaged),
            )

        return RunningJob(job, make)

    def _occurring(self, made: PhysicalPlan) -> RunOptions:
        """How to run a job, which is one of those of its name that the program submits."""
        options = replace(with_recovery(self.options, made.options), occurrence=self._submitted[made.job_name])
        self._submitted[made.job_name] += 1
        return options

    def _alone(self, options: RunOptions, made: PhysicalPlan) -> AbstractContextManager[Callable[[], None]]:
        """While this is entered, the same command begins no job elsewhere; gives what proves that."""
        if options.assigned is not None or not options.program or options.fresh:
            return nullcontext(lambda: None)
        return self._store.starting(options.program, made.job_name, options.occurrence, options.arguments)

    def _resumed(
        self, options: RunOptions, made: PhysicalPlan, compilation: Compilation
    ) -> tuple[RunOptions, JobEntry | None]:
        """How to run, and the job to go on with: the one of the same program that failed, or whose driver died before its end.

        If an edit changed the program's operators or states, its last checkpoint is restored like a savepoint: checked, into a
        new job. An edit is reported in any case. If the driver died after the job's end, but before it recorded that, the
        record is completed and nothing runs.
        """
        if options.assigned is not None:
            return options, self._begun(options.assigned, made)
        if not options.program or options.fresh:
            return options, None
        before = self._store.unfinished(
            options.program, made.job_name, options.savepoint, options.occurrence, options.arguments
        )
        if before is None:
            return options, None
        goes_on = self._has_checkpoint(before.job_id)
        edited = before.source not in ("", source_of(options.program))
        if before.fingerprint == made.fingerprint and self._keeps_states(before, compilation):
            if edited and not before.over:
                self._say(before, "Its operators and states are the same, so that job goes on")
            return options, before
        if before.over:
            self._store.give_up(before.job_id)
            return options, None
        if not goes_on:
            return options, None
        self._say(before, "Its state is restored into a new job, after a check")
        self._store.fence_off(before.job_id)
        return replace(options, savepoint=str(self._store.directory(before.job_id)), recipe=None, claim=False), None

    def _begun(self, assigned: Assigned, made: PhysicalPlan) -> JobEntry | None:
        """The job that was assigned, where an attempt before this one has committed something of it."""
        if not self._has_checkpoint(assigned.job_id):
            return None
        found = self._store.read(assigned.job_id)
        return found or JobEntry(job_id=assigned.job_id, name=made.job_name, status=JobStatus.RUNNING.value, pid=0)

    def _has_checkpoint(self, job_id: str) -> bool:
        """True if the table of a job's state has a committed epoch. Raises StoreError, also if it lacks some."""
        log = self._store.log(job_id)
        prove_not_behind(self._store.directory(job_id), log)
        return log is not None and log.epoch > 0

    def _keeps_states(self, before: JobEntry, compilation: Compilation) -> bool:
        """Whether a job's operators have the states that they had when it ran; True if its plan was not kept."""
        old = self._store.plan(before.job_id)
        if old is None or self.options.plan_of is None:
            return True
        return _states(old) == _states(self.options.plan_of(compilation))

    def _say(self, before: JobEntry, what: str) -> None:
        name = os.path.relpath(self.options.program)
        ended = f"Job {before.job_id} ended at checkpoint {before.epoch}, and {name} was edited since."
        text = f"{ended} {what}; --fresh starts anew."
        self._listener({"event": "note", "job_id": before.job_id, "text": text})

    def check(self) -> None:
        """Raise a StoreError or ProgramError if no job can be run."""
        from compat.compiler.spark.driver.session import find_java

        find_java()
        if self._spark is None:
            refuse_unreachable(self._master)

    def machines(self, made: PhysicalPlan) -> Machines | None:
        """The machines with slots for a job whose groups request resources; None if unknown before it starts."""
        if self._runs_here:
            return this_machine()
        if self._spark is not None and in_containers(self._master or ""):  # they are as the first job asked for them
            return executors(self._spark.settings())
        if is_standalone(self._master or ""):
            return self.workers_of_master(made)
        return yarn_nodes() if self._master == YARN else None

    def workers_of_master(self, made: PhysicalPlan) -> Machines:
        """The workers of a standalone master, which Spark knows once it has started."""
        workers: Machines = self.spark(made).workers()
        return workers

    def dependencies(self, made: PhysicalPlan, job: Job) -> Ships | None:
        """The dependencies sent with a job. Raises ProgramError."""
        return find_dependencies(made.options, job.location, here=self._runs_here)

    @property
    def _runs_here(self) -> bool:
        """True if tasks run on this machine only."""
        return self._master is None or self._master.startswith("local")

    def _worker_setup(self) -> Callable[[], None]:
        return self.options.worker_setup(not self._runs_here)

    def runner(self, made: PhysicalPlan) -> EpochRunner:
        """The runner of a plan's epochs."""
        from compat.compiler.spark.driver.runner import SparkRunner

        return SparkRunner(made, self.spark(made), self._worker_setup())

    def workers(self, made: PhysicalPlan, job_id: str) -> Workers:
        """The workers for a job with large state."""
        from compat.compiler.spark.driver.workers import SparkWorkers

        return SparkWorkers(lambda: self.spark(made), job_id, setup=self._worker_setup())

    def spark(self, made: PhysicalPlan) -> Any:
        """The one Spark, started when it is first needed."""
        from compat.compiler.spark.driver.session import Spark, ships

        if self._spark is None:
            ship, log = ships(self._master, made.options, self.options.ship), log_of_spark(str(self._store.root))
            self._spark = Spark(self._master, made, self.options.worker_folders, log, ship=ship, early=self._early)
        return self._spark

    def abandon(self) -> None:
        """The process ends: its jobs do nothing more, and count as interrupted."""
        for client in self.clients:
            client.master.abandon()

    def close(self) -> None:
        """Stop Spark, and drop cached streams unless a job will need them when the program is run again."""
        masters = [client.master for client in self.clients]
        if masters and all(master.job.status in (JobStatus.FINISHED, JobStatus.CANCELED) for master in masters):
            sources = [source for master in masters for source in master.job.coordinator.sources.values()]
            with suppress(OSError):  # they are in nobody's way
                self.caches.close(place for source in sources for place in places_read(source.function, source.splits))
        if self._spark is not None:
            self._spark.stop()
            self._spark = None
            self.ran_here = self._runs_here


def _states(plan: dict[str, Any]) -> dict[str, Any]:
    """The states of a plan's operators, by their ids, without where in the source they are."""
    return {
        operator["operator_id"]: operator["states"]
        and [{key: value for key, value in state.items() if key != "source"} for state in operator["states"]]
        for operator in plan["operators"]
    }


class InProcessExecutor(SparkExecutor):
    """The executor without Spark, for tests."""

    def check(self) -> None:
        """Nothing is needed."""

    def runner(self, made: PhysicalPlan) -> EpochRunner:
        return InProcessRunner(made) if made.shipped is None else HostedRunner(made, self._worker_setup())

    def workers(self, made: PhysicalPlan, job_id: str) -> Workers:
        return HERE

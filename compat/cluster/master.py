"""The process of one job: takes up its assigned job where the last attempt left it, and runs it to its end."""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from compat.cluster.layout import ClusterFolder
from compat.cluster.submission import Submission, SubmissionRefused, job_of, refuse_other, setup_of, travelled
from compat.compiler.errors import ProgramError
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.job import Job
from compat.compiler.spark.driver.caches import Caches
from compat.compiler.spark.driver.executor import RunningJob, SparkExecutor
from compat.compiler.spark.driver.failures import JobCancelled, JobFailed
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.job_folders import caches_below
from compat.compiler.spark.driver.master import JobMaster
from compat.compiler.spark.driver.masters import is_standalone
from compat.compiler.spark.driver.options import Assigned, RunOptions
from compat.compiler.spark.driver.restore import RestoreRefused
from compat.execution.failures import Refused
from compat.execution.narration import last_line
from compat.execution.snapshots import checker
from compat.migration.on_spark import SparkRecipe
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from compat.state.serializers import dump
from compat.state.stores.paths import place_of

if TYPE_CHECKING:
    from compat.compiler.spark.driver.dependencies import Ships
    from compat.compiler.spark.plan import PhysicalPlan
    from compat.compiler.spark.resources import Machines
    from compat.compiler.spark.task.epochs import EpochRunner

_SECONDS = 1.0
"""Seconds between two checks whether the job hangs."""
_HANGS = "The job stood still for longer than an epoch may take (execution.checkpointing.timeout); its log says where."


class _AssignedExecutor(SparkExecutor):
    """Runs the one job of this process on the cluster's Spark."""

    def __init__(self, folder: ClusterFolder, submission: Submission, pool: str, **how: Any) -> None:
        super().__init__(str(folder.store.root), **how)
        if submission.directories.checkpoints:  # tasks write cached streams
            self.caches = Caches(caches_below(place_of(submission.directories.checkpoints)))
        self._folder, self._submission, self._pool = folder, submission, pool

    def check(self) -> None:
        """Nothing is needed: Spark is there."""

    def machines(self, made: PhysicalPlan) -> Machines | None:
        """Those of a standalone master; else None: who gave this process the job knew what there is."""
        return self.workers_of_master(made) if is_standalone(self._folder.master or "") else None

    def dependencies(self, made: PhysicalPlan, job: Job) -> Ships | None:
        return travelled(self._submission)

    def runner(self, made: PhysicalPlan) -> EpochRunner:
        from compat.compiler.spark.driver.runner import SparkRunner

        return SparkRunner(made, self.spark(made), self._worker_setup(), self.options.assigned)

    def spark(self, made: PhysicalPlan) -> Any:
        if self._spark is None:
            self._spark = self._folder.attached(self._pool)
        return self._spark


class JobProcess:
    """The life of an attempt to run a job. ``pool`` is its fair pool in Spark."""

    def __init__(self, folder: ClusterFolder, assigned: Assigned, pool: str) -> None:
        self._folder, self._assigned, self._pool = folder, assigned, pool
        self._events = folder.events(assigned.job_id)
        self._over = threading.Event()
        self._master: JobMaster | None = None

    def run(self) -> int:
        """Run the job; gives the exit code: 0 if it ended as asked or another process has it."""
        store, job_id, fence = self._folder.store, self._assigned.job_id, self._assigned.fence
        try:
            lock = store.lock(job_id, fence)
        except Superseded:
            return 0
        self._assigned = Assigned(job_id, lock.token, lock)
        threading.Thread(target=self._watch, name="watch", daemon=True).start()
        try:
            if self._ended_before():
                return 0
            submission = self._folder.submission(job_id)
            refuse_other(submission)
            setup = setup_of(submission)
            setup()
            return self._run(submission, setup)
        except Superseded:
            return 0
        except SubmissionRefused as error:
            return self._fail(f"{error} {self._kept()}".rstrip())
        finally:
            self._over.set()
            lock.close()

    def _run(self, submission: Submission, setup: Callable[[], None]) -> int:
        executor = _AssignedExecutor(
            self._folder,
            submission,
            self._pool,
            options=self._options(submission, setup),
            listener=self._events.add,
            printer=lambda line: self._events.add({"event": "printed", "line": line}),
        )
        try:
            client = executor.submit(_placed(job_of(submission), submission))
            self._master = client.master
            collecting = threading.Thread(target=self._collect, args=(client,), daemon=True)
            if client.collects:
                collecting.start()
            client.wait()
            if client.collects:
                collecting.join()
            self._events.add({"event": "accumulators", "values": dump(client.master.job.measured.accumulators()).hex()})
        except Superseded:
            raise
        except Refused as error:
            return self._refused(executor, submission, str(error), error.detail)
        except (RestoreRefused, ProgramError, StoreError) as error:
            return self._refused(executor, submission, str(error), "")
        except JobFailed:
            return 1  # the job itself told of it
        except JobCancelled:
            return 0
        except Exception as error:
            return self._refused(executor, submission, f"{type(error).__name__}: {error}", "")
        finally:
            executor.close()
        return 0

    def _options(self, submission: Submission, setup: Callable[[], None]) -> RunOptions:
        plan = json.loads(submission.plan)
        return RunOptions(
            savepoint=submission.savepoint,
            recipe=None if submission.recipe is None else SparkRecipe(submission.recipe, submission.checked),
            allow_non_restored=submission.allow_non_restored,
            claim=submission.claim,
            epochs=submission.epochs,
            epoch_records=submission.epoch_records,
            replicas=self._folder.replicas_of_tasks,
            plan_of=lambda _: plan,
            check=checker(submission.program, self._note),
            worker_setup=lambda _: setup,
            flink=submission.flink,
            assigned=self._assigned,
        )

    def _ended_before(self) -> bool:
        """Whether an attempt before this one has committed the job's end, and died before it was told."""
        store, job_id = self._folder.store, self._assigned.job_id
        try:
            log = SnapshotLog.open(store.state(job_id))
        except StoreError:
            return False  # nothing was begun
        log.lead(self._assigned.fence)
        ended = log.ended
        if ended is None:
            return False
        entry = store.read(job_id) or JobEntry(job_id=job_id, name="", status="", pid=0, epoch=log.epoch)
        done = replace(entry.ended_as(ended, log.epoch), fence=self._assigned.fence)
        store.write(done)
        self._events.add(end_event(done))
        return True

    def _refused(self, executor: SparkExecutor, submission: Submission, message: str, detail: str) -> int:
        """Say that the job cannot be run at all, or that what it began with cannot be gone on with."""
        if executor.clients:
            return 1  # it ran, and reported its end
        return self._fail(message, detail, submission.name)

    def _fail(self, message: str, detail: str = "", name: str = "") -> int:
        """Say that this job is not run; gives the exit code."""
        store, job_id, now = self._folder.store, self._assigned.job_id, time.time()
        former = store.entry(job_id) or JobEntry(job_id=job_id, name=name, status="", pid=0, started=now)
        told = {"event": "refused", "job_id": job_id, "error": last_line(message), "detail": detail or message}
        failed = {"status": JobStatus.FAILED.value, "pid": os.getpid(), "ended": now, "message": message}
        store.write(replace(former, fence=self._assigned.fence, retention="", **failed))
        self._events.add(told)
        return 2

    def _kept(self) -> str:
        """Where the state of a job is that cannot be loaded any more, and how it is gone on with."""
        state = self._folder.store.state(self._assigned.job_id)
        try:
            epoch = SnapshotLog.open(state).epoch
        except StoreError:
            return ""
        return (
            f"Its state is kept, at checkpoint {epoch} in {state}: compat deploy goes on from there." if epoch else ""
        )

    def _note(self, text: str) -> None:
        self._events.add({"event": "note", "job_id": self._assigned.job_id, "text": text})

    def _collect(self, client: RunningJob) -> None:
        """Hand the records out that the program wants back."""
        for value in client.records():
            self._events.add({"event": "collected", "value": b64encode(dump(value)).decode()})

    def _watch(self) -> None:
        """End this process where the job's own thread hangs."""
        while not self._over.wait(_SECONDS):
            if self._master is not None and self._master.job.pulse.hangs:
                faulthandler.dump_traceback(2)
                print(_HANGS, file=sys.__stderr__, flush=True)
                os._exit(1)


def _placed(job: Job, submission: Submission) -> Job:
    """The job with the cluster's restart strategy and directories where its program names none."""
    options = submission.directories.beside({**submission.restarts, **job.settings.options})
    return replace(job, settings=replace(job.settings, options=options))


def end_event(entry: JobEntry) -> dict[str, Any]:
    """The event for a job that has ended, from its entry."""
    base = {"job_id": entry.job_id, "metrics": entry.metrics, "replicas": {}}
    if entry.status == JobStatus.FAILED.value:
        return {"event": "failed", "error": entry.message, **base}
    if entry.stopped_with is not None or entry.status == JobStatus.CANCELED.value:
        return {"event": "stopped", "path": entry.stopped_with, **base}
    return {"event": "finished", "records": entry.records, **base}


def main(folder: ClusterFolder, job_id: str, fence: int, pool: str) -> int:
    """An attempt to run a job, in this process; gives the exit code."""
    return JobProcess(folder, Assigned(job_id, fence), pool).run()

"""The driver of a job: epoch after epoch, until the input ends or someone stops it. Flink: ``JobMaster``, ``DefaultScheduler``."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from compiler.executiongraph.states import JobStatus, next_job_status
from compiler.spark.checkpoints import CheckpointCoordinator, new_token
from compiler.spark.epochs import EpochRunner, EpochSpec, TaskFailure, default_replicas
from compiler.spark.plan import PhysicalPlan
from compiler.spark.restarts import RestartStrategy
from compiler.spark.restore import restore
from compiler.spark.sinks import committer_of
from compiler.spark.store import JobEntry, JobStore
from compiler.spark.task import TaskReport
from compiler.streamgraph.model import Task
from state.delta.log import SnapshotLog
from state.delta.savepoint import compact, write_savepoint
from state.serializers import key_codec_of

COMPACT_AFTER = 64
"""Data files after which the log is rewritten."""
_LARGEST = 2_000_000


class JobFailed(Exception):
    """The job failed, and its restart strategy gave up. ``record`` is the one that the program failed on, if known."""

    def __init__(self, failure: TaskFailure) -> None:
        self.failure = failure
        where = f"Task {failure.task} failed" + (f" in operator {failure.operator!r}." if failure.operator else ".")
        given = f"\nThe record: {failure.record}" if failure.record else ""
        super().__init__(f"{where}{given}\n{failure.cause}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a job is run.

    ``epochs`` stops with a savepoint after so many, ``epoch_records`` bounds each source's input of an epoch, ``job_id``
    names a job of the store to go on with, ``snapshot_plan`` gives the plan that a savepoint carries.
    """

    savepoint: str | None = None
    allow_non_restored: bool = False
    epochs: int | None = None
    epoch_records: int | None = None
    program: str = ""
    job_id: str | None = None
    replicas: str | None = None
    snapshot_plan: Callable[[Any], Any] | None = None
    clock: Callable[[], int] | None = None
    worker_setup: Callable[[], None] | None = None
    worker_folders: tuple[str, ...] = ()


Listener = Callable[[dict[str, Any]], None]


class JobMaster:
    """Runs one job. ``listener`` is told what happens, ``printer`` gets lines, ``collector`` gets records."""

    def __init__(
        self,
        job: Any,
        plan: PhysicalPlan,
        store: JobStore,
        runner: Callable[[PhysicalPlan], EpochRunner],
        options: RunOptions,
        *,
        listener: Listener = lambda event: None,
        printer: Callable[[str], None] = print,
        collector: Callable[[list[Any]], None] = lambda records: None,
    ) -> None:
        self.job, self.plan, self.store, self.options = job, plan, store, options
        self.job_id = options.job_id or uuid.uuid4().hex
        self.status = JobStatus.INITIALIZING
        self.savepoint: str | None = None
        self.records = 0
        self._make_runner = runner
        self._runner: EpochRunner | None = None
        self._listener, self._printer, self._collector = listener, printer, collector
        self._strategy = RestartStrategy.of(plan.options, job.settings.checkpointing)
        self._target = max((job.settings.checkpoint_interval or 1000) / 1000, 0.05)
        self._attempt = 0
        self._drain = False
        self._stopping: list[Any] = []
        self._cancelled = False
        self._started = time.time()
        self._next_timer: int | None = None
        self.coordinator: CheckpointCoordinator

    def prepare(self) -> None:
        """Open the store and restore what there is. Raises RestoreRefused or StoreError before anything runs."""
        fresh = self.options.job_id is None
        log = SnapshotLog.create(self.store.state(self.job_id))
        if fresh and self.options.savepoint is not None:
            restore(self.options.savepoint, self.plan, log, self.job, self.options.allow_non_restored)
        self.coordinator = CheckpointCoordinator(self.plan, log)
        self.coordinator.restore(exact=not fresh)
        self._to(JobStatus.CREATED)

    def run(self) -> JobStatus:
        """Run to the end. Raises JobFailed when the job fails for good."""
        self._to(JobStatus.RUNNING)
        self._tell("started", name=self.plan.job_name)
        try:
            self._runner = self._make_runner(self.plan)
            self._publish(self.coordinator.pending)
            self._loop()
        except Exception as error:
            self._end(JobStatus.FAILED, str(error))
            self._tell("failed", error=str(error))
            raise
        except BaseException:
            self._end(JobStatus.CANCELED, "interrupted")
            raise
        finally:
            if self._runner is not None:
                self._runner.close()
        return self.status

    def cancel(self) -> None:
        """End the job after the present epoch, without a savepoint."""
        self._cancelled = True

    def stop(self, drain: bool = False, path: str | None = None) -> None:
        """End the job with a savepoint."""
        self._stopping.append((None, drain, path))

    def take_savepoint(self, path: str | None = None) -> str:
        """Write a savepoint of the last committed epoch; gives its path."""
        target = path if path and not os.path.isdir(path) else None
        if target is None:
            made = self.store.savepoint_path(self.job_id)
            target = str(made if path is None else os.path.join(path, made.name))
        description = {
            "job_id": self.job_id,
            "job_name": self.plan.job_name,
            "epoch": self.coordinator.epoch,
            "time": time.time(),
            "plan": self.options.snapshot_plan(self.job) if self.options.snapshot_plan is not None else None,
        }
        self.savepoint = write_savepoint(self.coordinator.log, target.removeprefix("file://"), description)
        self._tell("savepoint", path=self.savepoint)
        return self.savepoint

    def _loop(self) -> None:
        started_at = self.coordinator.epoch
        while True:
            if self._answer_requests() or self._finished():
                return
            if self.options.epochs is not None and self.coordinator.epoch - started_at >= self.options.epochs:
                self.take_savepoint()
                self._end(JobStatus.FINISHED)
                self._tell("stopped", path=self.savepoint)
                return
            if not self._wait_for_work():
                continue
            try:
                failure = self._epoch()
            except Exception as error:
                failure = TaskFailure("epoch", None, None, f"{type(error).__name__}: {error}")
                if not self._restartable(error):
                    raise
            if failure is not None:
                self._recover(failure)

    @staticmethod
    def _restartable(error: Exception) -> bool:
        """Failures of Spark itself, such as a lost worker, are worth another attempt; those of the store are not."""
        return type(error).__module__.startswith(("py4j", "pyspark"))

    def _finished(self) -> bool:
        total = sum(task.parallelism for task in self.plan.tasks)
        if len(self.coordinator.ended) < total:
            return False
        if self._stopping:
            self._stop_now()
            return True
        self._end(JobStatus.FINISHED)
        self._tell("finished", records=self.records)
        return True

    def _answer_requests(self) -> bool:
        """Do what was asked for; True when the job is over by it."""
        if self._cancelled:
            self._end(JobStatus.CANCELED)
            self._tell("stopped", path=None)
            return True
        for answer, request in self.store.requests(self.job_id):
            try:
                if request["action"] == "savepoint":
                    self.store.answer(answer, {"path": self.take_savepoint(request.get("path"))})
                elif request["action"] == "cancel":
                    self._end(JobStatus.CANCELED)
                    self.store.answer(answer, {"status": "CANCELED"})
                    self._tell("stopped", path=None)
                    return True
                else:
                    self._stopping.append((answer, request.get("drain", False), request.get("path")))
            except Exception as error:
                self.store.answer(answer, {"error": str(error)})
        if not self._stopping:
            return False
        self._drain = any(drain for _, drain, _ in self._stopping)
        if self._drain:
            return False
        self._stop_now()
        return True

    def _stop_now(self) -> None:
        path = self.take_savepoint(self._stopping[0][2])
        self._end(JobStatus.FINISHED)
        for answer, _, _ in self._stopping:
            if answer is not None:
                self.store.answer(answer, {"path": path})
        self._tell("stopped", path=path)

    def _wait_for_work(self) -> bool:
        coordinator = self.coordinator
        for source in coordinator.sources.values():
            source.discover()
        due = self._next_timer is not None and self._next_timer <= self._now()
        if (
            self._drain
            or due
            or any(coordinator.feedback.values())
            or any(source.has_work() for source in coordinator.sources.values())
            or all(source.done for source in coordinator.sources.values())
        ):
            return True
        time.sleep(0.02)
        return False

    def _now(self) -> int:
        return self.options.clock() if self.options.clock is not None else int(time.time() * 1000)

    def _epoch(self) -> TaskFailure | None:
        coordinator = self.coordinator
        began = time.monotonic()
        token, epoch = new_token(), coordinator.epoch + 1
        spec = EpochSpec(
            job_id=self.job_id,
            epoch=epoch,
            attempt=self._attempt,
            token=token,
            committed=coordinator.position,
            store=coordinator.log.path,
            replicas=self.options.replicas or default_replicas(),
            options=self.plan.options,
            runtimes=coordinator.runtimes,
            work=self._assign(),
            floors=coordinator.floors,
            described=coordinator.described,
            clock=self.options.clock,
        )
        assert self._runner is not None
        results = self._runner.run(spec)
        failure = next((each for each in results if isinstance(each, TaskFailure)), None)
        if failure is not None:
            return failure
        reports = sorted(
            (each for each in results if isinstance(each, TaskReport)), key=lambda r: (r.vertex, r.subtask)
        )
        records = sum(report.records for report in reports if report.source is not None)
        coordinator.commit(epoch, token, reports, records)
        self.records += records
        self._publish(coordinator.pending)
        self._hand_out(reports)
        timers = [report.next_timer for report in reports if report.next_timer is not None and not report.ended]
        self._next_timer = min(timers, default=None)
        seconds = time.monotonic() - began
        self._adapt(seconds)
        self._after(epoch, records, reports, seconds)
        return None

    def _assign(self) -> dict[tuple[int, int], dict[int, Any]]:
        coordinator = self.coordinator
        work: dict[tuple[int, int], dict[int, Any]] = {}
        for source in coordinator.sources.values():
            for subtask, assigned in source.assign(self.options.epoch_records, self._drain).items():
                if (source.task.vertex, subtask) not in coordinator.ended:
                    work.setdefault((source.task.vertex, subtask), {})[source.spec.node] = assigned
        over = all(source.done for source in coordinator.sources.values()) or self._drain
        for task, spec in self.plan.operators():
            if spec.task is Task.ITERATION_HEAD:
                assert spec.loop is not None
                back = coordinator.feedback.get(spec.loop, [])
                last = over and not back and self._sources_ended()
                for subtask in range(task.parallelism):
                    own = [(values, times) for at, values, times in back if at == subtask]
                    if (task.vertex, subtask) not in coordinator.ended:
                        work.setdefault((task.vertex, subtask), {})[spec.node] = (own, last)
        return work

    def _sources_ended(self) -> bool:
        return all(
            (source.task.vertex, subtask) in self.coordinator.ended
            for source in self.coordinator.sources.values()
            for subtask in range(source.task.parallelism)
        )

    def _publish(self, pending: Iterable[tuple[str, Any]]) -> None:
        """Publish what the last epoch's writers wrote; after a crash once more."""
        epoch = self.coordinator.epoch
        for id, committables in pending:
            spec = next(spec for _, spec in self.plan.operators() if spec.id == id)
            assert spec.operator is not None
            committer = committer_of(spec.operator.function)
            if committer is not None and committables:
                committer.commit(committables, (f"{self.job_id}-{id}", epoch))

    def _hand_out(self, reports: list[TaskReport]) -> None:
        for report in reports:
            for what, data in report.published:
                if what == "print":
                    for line in data:
                        self._printer(line)
                elif what == "collect":
                    self._collector(data)

    def _adapt(self, seconds: float) -> None:
        """Larger epochs while they are short, smaller ones when they take too long."""
        for source in self.coordinator.sources.values():
            if source.full and seconds < self._target / 2:
                source.limit = min(source.limit * 4, _LARGEST)
            elif seconds > self._target * 2:
                source.limit = max(source.limit // 2, 1000)

    def _after(self, epoch: int, records: int, reports: list[TaskReport], seconds: float) -> None:
        mark = min((report.watermark for report in reports), default=0)
        changed = sum(report.changed for report in reports)
        self._tell(
            "checkpoint", epoch=epoch, records=records, seconds=round(seconds, 3), changed=changed, watermark=mark
        )
        self._write()
        log = self.coordinator.log
        if epoch % COMPACT_AFTER == 0:
            cuts = {
                spec.id: key_codec_of(spec.key_type.field_types[0]).identity
                for _, spec in self.plan.operators()
                if spec.key_type is not None
            }
            compact(log, lambda id: cuts.get(id, lambda data: data))

    def _recover(self, failure: TaskFailure) -> None:
        delay = self._strategy.next_delay()
        if delay is None:
            raise JobFailed(failure)
        self._to(JobStatus.RESTARTING)
        self._tell("restarting", delay=delay, error=failure.cause)
        time.sleep(delay)
        self._attempt += 1
        self.coordinator.log.refresh()
        limits = {id: source.limit for id, source in self.coordinator.sources.items()}
        self.coordinator = CheckpointCoordinator(self.plan, self.coordinator.log)
        self.coordinator.restore(exact=True)
        for id, limit in limits.items():
            self.coordinator.sources[id].limit = limit
        self._publish(self.coordinator.pending)
        self._to(JobStatus.RUNNING)

    def _to(self, status: JobStatus) -> None:
        self.status = next_job_status(self.status, status)
        self._write()

    def _end(self, status: JobStatus, message: str = "") -> None:
        if status is JobStatus.FAILED and self.status is not JobStatus.FAILING:
            self.status = next_job_status(self.status, JobStatus.FAILING)
        elif status is JobStatus.CANCELED:
            self.status = next_job_status(self.status, JobStatus.CANCELLING)
        self.status = next_job_status(self.status, status)
        self._write(ended=time.time(), message=message)

    def _write(self, **changes: Any) -> None:
        entry = JobEntry(
            job_id=self.job_id,
            name=self.plan.job_name,
            status=self.status.value,
            pid=os.getpid(),
            program=self.options.program,
            started=self._started,
            epoch=self.coordinator.epoch if hasattr(self, "coordinator") else 0,
            records=self.records,
        )
        self.store.write(replace(entry, **changes))

    def _tell(self, event: str, **details: Any) -> None:
        self._listener({"event": event, "job_id": self.job_id, **details})

"""The driver of a job: epoch after epoch, until the input ends or someone stops it.

Flink: ``JobMaster``, ``DefaultScheduler``.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, assert_never

from msgspec.structs import asdict, replace

from compat.compiler.configuration import CHECKPOINT_RETENTION, parse_duration
from compat.compiler.driver import Compilation
from compat.compiler.executiongraph.executions import Executions
from compat.compiler.executiongraph.states import ExecutionState, JobStatus, next_job_status
from compat.compiler.spark.connectors.sinks import Committer, ProvingCommitter, committer_of, folder_of, prove_output
from compat.compiler.spark.connectors.splits import Split
from compat.compiler.spark.driver import next_epoch, orphan_cleanup
from compat.compiler.spark.driver.caches import NotTheSame, reads_cache
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator, new_token
from compat.compiler.spark.driver.dependencies import Ships
from compat.compiler.spark.driver.directories import checkpoint_directory
from compat.compiler.spark.driver.epoch_sizing import FIRST, Pace
from compat.compiler.spark.driver.job_metrics import Measured
from compat.compiler.spark.driver.lease import Lease, StoreUnsure
from compat.compiler.spark.driver.options import Listener, RunOptions, source_of
from compat.compiler.spark.driver.restarts import RestartStrategy
from compat.compiler.spark.driver.restore import (
    Restoration,
    Snapshot,
    give_up,
    map_operators,
    prepare_restore,
    saved_operators,
    still_claimed,
)
from compat.compiler.spark.driver.savepoints import Savepoint, savepoint_of, with_adopted
from compat.compiler.spark.driver.source_coordinator import SourceFailure
from compat.compiler.spark.driver.store import JobEntry, JobStore, prove_not_behind
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.compiler.spark.driver.watch import Watch
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.task.elements import MAX_WATERMARK, MIN_TIMESTAMP
from compat.compiler.spark.task.epochs import EpochLost, EpochRunner, EpochSpec, TaskFailure, default_replicas
from compat.compiler.spark.task.published import Collected, Printed, SentBack, Written
from compat.compiler.spark.task.stream_task import TaskReport
from compat.compiler.transformations.operators import LegacySink, SinkWriter
from compat.state.delta.errors import StoreError, Superseded, unwritable
from compat.state.delta.log import SnapshotLog
from compat.state.delta.work import Workers
from compat.state.stores.paths import Place

_RETAINED = "execution.checkpointing.num-retained"
_ENTRY_SECONDS = 1.0
"""How often the entry of a running job is written: each time waits for the disk."""
_CHANGES_SECONDS = 0.5
"""The same while its tasks come into states."""


_LOSSES = 3
"""So often an epoch may be lost with its executors before that counts as a failure of the job."""
_AFTER_A_LOSS = 0.1
"""Seconds that are waited after the first loss; twice as long after each that follows."""


TRIES, _A_MOMENT = 3, 0.5
"""So often the store is asked, after so many seconds each, to keep what nobody else knows of a job that ends."""
_TICK = 0.02
"""Seconds until it is looked for input again."""
_TIMELY = 0.5
"""Seconds that an epoch may take although timers are due before: much shorter ones cost more than they do."""
_PATIENCE = 2.0
"""Seconds that a job that is cancelled has for the present epoch."""
_TIMEOUT = "execution.checkpointing.timeout"
_STANDSTILL, _SHORTEST_STANDSTILL = 2.0, 10.0
"""A job hangs whose thread does not move on for so many times the longest epoch, and for so many seconds at least."""
_RESTARTS = "The job restarts after a failure: it can be stopped with a savepoint once its tasks run again."
_LATE = "The epoch was not done within {0:g} s (execution.checkpointing.timeout)."


MadeAgain = Callable[[int, list[Split], Callable[[], bool]], None]
"""Makes the records of a cached stream again, for a job that began to read these files of it, or none as yet; as long as
it is wanted to. Raises NotTheSame where the job cannot go on with them.
"""


class JobFailed(Exception):
    """The job failed, and its restart strategy gave up. ``failure`` has the record that the program failed on, if known."""

    def __init__(self, failure: TaskFailure) -> None:
        self.failure = failure
        where = f"Task {failure.task} failed in operator {failure.operator!r}."
        if not failure.operator:
            where = f"Task {failure.task} failed."
        elif not failure.task:
            where = f"The driver's side of operator {failure.operator!r} failed."
        given = f"The record: {failure.record}\n" if failure.record else ""
        super().__init__(f"{where}\n{given}{failure.cause}" if failure.task or failure.operator else failure.cause)


class JobCancelled(Exception):
    """Somebody cancelled the job. Flink: ``JobCancellationException``."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        super().__init__(f"Job {job_id} was cancelled.")


class _Failed(Exception):
    """An attempt of the job failed."""

    def __init__(self, failure: TaskFailure) -> None:
        super().__init__(failure.cause)
        self.failure = failure


class _Abandoned(Exception):
    """The process ends, the job does not: it goes on when the program is run again."""


@dataclass(slots=True)
class Stop:
    """A wish to end the job with a savepoint. ``answer`` is where another process waits for what becomes of it.

    ``refused`` says why the job goes on instead.
    """

    drain: bool
    path: str | None
    answer: Place | None = None
    refused: str = ""

    @classmethod
    def requested(cls, answer: Place, request: Mapping[str, Any]) -> Stop:
        """The request of another process."""
        return cls(request.get("drain", False), request.get("path"), answer)


class JobMaster:
    """Runs one job. ``listener`` is told what happens, ``printer`` gets lines, ``collector`` gets records.

    ``before`` is the job to go on with, whose driver died; ``dependencies`` are shipped with the job; ``made_again`` is called
    for a cached stream whose records are damaged.
    """

    def __init__(
        self,
        compilation: Compilation,
        plan: PhysicalPlan,
        store: JobStore,
        runner: Callable[[PhysicalPlan], EpochRunner],
        workers: Callable[[PhysicalPlan, str], Workers],
        options: RunOptions,
        *,
        job_id: str,
        before: JobEntry | None = None,
        dependencies: Ships | None = None,
        made_again: MadeAgain | None = None,
        listener: Listener = lambda event: None,
        printer: Callable[[str], None] = print,
        collector: Callable[[list[Any]], None] = lambda records: None,
    ) -> None:
        assert compilation.job is not None
        settings = compilation.job.settings
        self.compilation, self.plan, self.store, self.options = compilation, plan, store, options
        self.job_id = job_id
        self.status = JobStatus.INITIALIZING
        self.savepoint: str | None = None
        self.records = 0 if before is None else before.records
        self._committed = 0
        self._losses = 0
        self._written = 0.0
        self.abandoned = False
        self.superseded = False
        self._before = before
        self._dependencies = dependencies
        self._made_again = made_again
        self._remade: set[int] = set()
        self._make_runner = runner
        self._runner: EpochRunner | None = None
        self._listener, self._printer, self._collector = listener, printer, collector
        self._strategy = RestartStrategy.of(plan.options, settings.checkpointing)
        self._checkpointing = settings.checkpointing
        self._target = max((settings.checkpoint_interval or 1000) / 1000, 0.05)
        self._replicas = options.replicas or default_replicas()
        self._make_workers = workers
        self._upkeep = Upkeep(
            self._workers, int(plan.options.get(_RETAINED, "1")), self._move, lambda: self._lock.prove()
        )
        self._plan_json: dict[str, Any] | None = None
        self._claimed: Snapshot | None = None
        self._source = source_of(options.program)
        self._restored: dict[str, Any] | None = None
        self._drain = False
        self._stopping: list[Stop] = []
        self._asked: deque[tuple[Place, dict[str, Any]]] = deque()
        self._cancels: list[Place] = []
        self._cancelled: float | None = None
        self._since: float | None = None
        self._changes: deque[tuple[int, int, ExecutionState]] = deque()
        self._writing = threading.Lock()  # while an epoch runs, the watch writes the entry
        self._moved = math.inf
        self._timeout = _epoch_timeout(plan.options, settings.checkpointing)
        self._started = store.start_time(time.time()) if before is None else before.started
        self._next_timer: int | None = None
        self._next_behind: int | None = None
        self._replicas_found: Counter[str] = Counter()
        self._empty = 0
        self._rests = 0.0
        self._lock: Lease
        self._specs = {spec.id: spec for _, spec in plan.operators()}
        self.measured = Measured(plan)
        self.executions = Executions(plan.execution_graph)
        self.coordinator: CheckpointCoordinator

    @property
    def has_read_all(self) -> bool:
        """True once the job has finished because its sources had."""
        return self.status is JobStatus.FINISHED and all(source.done for source in self.coordinator.sources.values())

    def prepare(self, alone: Callable[[], None] = lambda: None) -> None:
        """Open the store and restore what there is. Raises RestoreRefused or StoreError before anything runs, as ``alone``
        does where somebody else has begun the job.

        Of a job that does not begin nothing is left.
        """
        if self.options.plan_of is not None:
            self._plan_json = self.options.plan_of(self.compilation)
        restoration = None
        if self._before is None and self.options.savepoint is not None:
            restoration = prepare_restore(self.plan, self._plan_json, self.options)
            self.plan = restoration.plan
        self._lock = self._leased()
        self._lock.moves = lambda: not self.hangs
        try:
            self._take_over(restoration)
            self._ship()
            alone()
            self._to(JobStatus.CREATED)
        except Exception:
            self._lock.close(gone=self._begins and self._undone())
            raise
        except BaseException:
            self._lock.close()
            raise
        if self._begins:
            with suppress(StoreError):
                self.store.sweep(time.time())
            with suppress(OSError):
                orphan_cleanup.sweep(self.store, time.time())

    def _leased(self) -> Lease:
        """The right to drive the job. Raises StoreError where another process has it."""
        assigned = self.options.assigned
        if assigned is None:
            return self.store.lock(self.job_id)
        return assigned.lease or self.store.lock(self.job_id, assigned.fence)

    @property
    def _begins(self) -> bool:
        """True for a job that nobody has heard of before."""
        return self._before is None and self.options.assigned is None

    def _workers(self) -> Workers:
        """Those who do work on much state."""
        return self._make_workers(self.plan, self.job_id)

    def _undone(self) -> bool:
        """Remove what there is of a job that does not begin; False where that fails: it is left to a later job."""
        try:
            self.store.clear(self.job_id)
        except OSError:
            return False
        return True

    def _ship(self) -> None:
        """Put what the job's functions need where its machines see it. Raises StoreError."""
        if self._dependencies is not None:
            shipped = self._dependencies.ship(self.store.shipped(self.job_id))
            self.plan = replace(self.plan, shipped=shipped)

    def _take_over(self, restoration: Restoration | None) -> None:
        """Open the store, with what is restored in it."""
        folder = checkpoint_directory(self.plan.options)
        if folder and self._before is None:
            self.store.place_state(self.job_id, folder)
        log = SnapshotLog.create(self.store.state(self.job_id))
        if self._begins:
            log.fence = self._lock.token
        else:
            log.lead(self._lock.token)
        if restoration is not None:
            restored = restoration.into(log, self._workers())
            self._restored = {"path": self.options.savepoint, **asdict(restored)}
            self._claimed = restoration.snapshot if self.options.claim else None
        elif self._before is not None:
            self._claimed = still_claimed(self.options)
            _, self.plan = map_operators(saved_operators(log), self.plan, True)
        self.coordinator = CheckpointCoordinator(self.plan, log, self.job_id)
        for source in self.coordinator.sources.values():
            source.pace = Pace(self._target, FIRST) if self._checkpointing else Pace(self._target)
        self.coordinator.restore(exact=self._before is not None)
        if restoration is not None or self._before is not None:
            self._next_timer = (
                MIN_TIMESTAMP  # tasks know their timers: the first epoch asks them, be there input or not
            )
        if self._plan_json is not None:
            self._plan_json = with_adopted(self._plan_json, self.plan)
            self.store.write_plan(self.job_id, self._plan_json)
        if self._before is not None:
            self._sweep()

    def run(self) -> JobStatus:
        """Run to the end. Raises JobFailed when the job fails for good, StoreError when its store does."""
        watch = Watch(self._look, f"watch-{self.job_id[:8]}")
        self._move()
        try:
            self.executions.schedule()
            self._to(JobStatus.RUNNING)
            self._tell(
                "started",
                name=self.plan.job_name,
                checkpoint=self.coordinator.epoch,
                resumed=self._before is not None,
                restored=self._restored,
            )
            self._runner = self._make_runner(self.plan)
            self._runner.listen(lambda *change: self._changes.append(change))
            self._loop()
        except _Abandoned:
            pass
        except Superseded as error:
            self._give_way(error)
            if self.options.assigned is None:
                raise
        except Exception as error:
            if not self.abandoned:
                self._fail(error)
        finally:
            watch.close()
            if self._runner is not None and not self.abandoned:
                over = self.status.terminal
                self._runner.close(os.path.join(self._replicas, self.job_id) if over else None)
            if self.status.terminal:
                self._upkeep.give_up()
                self._sweep()
                with suppress(OSError, StoreError):
                    self.store.shipped(self.job_id).remove()
            with suppress(OSError):  # it ends by itself
                self._lock.close()
        return self.status

    def _fail(self, error: Exception) -> None:
        """End the job with what it failed with, which is raised; unless it is another process's by now."""
        try:
            self._end(JobStatus.FAILED, str(error))
        except Superseded as superseded:
            self._give_way(superseded)
            return
        self._tell("failed", error=str(error))
        raise error

    def _give_way(self, error: Superseded) -> None:
        """Do nothing more: another process has the job, and says what becomes of it.

        If it has ended the job already, this one tidies up what it wrote behind its back: nobody else will.
        """
        self.superseded = True
        self._tell("superseded", error=str(error))
        with suppress(StoreError, OSError):
            self._upkeep.give_up()
        for left in reversed(range(TRIES)):
            try:
                self._tidy_up_behind_the_end()
                return
            except (StoreError, OSError):
                time.sleep(_A_MOMENT if left else 0.0)

    def _tidy_up_behind_the_end(self) -> None:
        """Remove what this driver wrote of a job that another one has ended. Raises StoreError or OSError, the store's."""
        entry = self.store.entry(self.job_id)
        if entry is None or not (end := self.store.settled(entry)).over:
            return
        self._follow(SnapshotLog.open(self.coordinator.log.path))
        self._sweep()
        if end is not entry:
            self.store.write(end)

    @property
    def hangs(self) -> bool:
        """True where the job's own thread stands still for much longer than an epoch may take: it waits for what never comes.

        Where epochs have no deadline, nobody can tell.
        """
        return time.monotonic() - self._moved > max(_SHORTEST_STANDSTILL, _STANDSTILL * self._timeout)

    def _move(self) -> None:
        """The job's thread goes on to what is next."""
        self._moved = time.monotonic()

    def cancel(self) -> None:
        """End the job, without a savepoint: after the present epoch if that takes moments only."""
        self._cancelled = self._cancelled or time.monotonic()

    def abandon(self) -> None:
        """Do nothing more: the process ends. The job counts as interrupted."""
        self.abandoned = True

    def stop(self, drain: bool = False, path: str | None = None) -> Stop:
        """End the job with a savepoint; gives what says whether that was refused."""
        asked = Stop(drain, path)
        self._stopping.append(asked)
        return asked

    def take_savepoint(self, path: str | None = None) -> str:
        """Write a savepoint of the last committed epoch; gives its path."""
        self._savepoint_written(self._upkeep.take(self._savepoint_of(path)))
        assert self.savepoint is not None
        return self.savepoint

    def _savepoint_of(self, path: str | None) -> Savepoint:
        return savepoint_of(self.coordinator, self.store, path, self._plan_json)

    def _savepoint_written(self, path: str) -> None:
        self.savepoint = path
        self._tell("savepoint", path=path)

    def _begin_savepoint(self, answer: Place, path: str | None) -> None:
        """Write a savepoint that was asked for, and answer then."""

        def done(result: str | StoreError) -> None:
            if isinstance(result, StoreError):
                self.store.answer(answer, {"error": str(result)})
            else:
                self._savepoint_written(result)
                self.store.answer(answer, {"path": result})

        self._upkeep.begin(self._savepoint_of(path), done)

    def _loop(self) -> None:
        over = False
        while not over:
            failure = None
            try:
                over = self._step()
            except Superseded:
                raise
            except (StoreError, SourceFailure, EpochLost, _Failed) as error:
                failure = _failure_of(error)
            if failure is not None:  # behind the handler, so that what failed is not kept
                self._recover(failure)

    def _step(self) -> bool:
        """Do what is to be done next, an epoch at most; True when the job is over."""
        self._move()
        if self.abandoned:
            raise _Abandoned
        if self._lock.lost:
            self._lock.prove()
        if self._cancelled is not None:
            with suppress(StoreError):  # it is published when the job goes on
                self._publish()
            self._cancel()
            return True
        self._publish()
        self._move()
        if self._before is not None and self._before.over:
            self._end_as(self._before)
            return True
        self._upkeep.settle(self.coordinator)
        if self._answer_requests() or self._finished():
            return True
        if self.options.epochs is not None and self._committed >= self.options.epochs:
            self._stop_now([Stop(False, None)])
            return True
        if self._wait_for_work():
            self._epoch()
        return False

    def _finished(self) -> bool:
        total = sum(task.parallelism for task in self.plan.tasks)
        if len(self.coordinator.ended) < total:
            return False
        self._upkeep.finish_savepoints(self.coordinator)
        if self._stopping:
            self._stop_now(self._stopping)
            return True
        self._end(JobStatus.FINISHED)
        self._tell_finished()
        return True

    def _answer_requests(self) -> bool:
        """Do what was asked for; True when the job is over by it."""
        while self._asked:
            answer, request = self._asked.popleft()
            try:
                if request["action"] == "savepoint":
                    self._begin_savepoint(answer, request.get("path"))
                else:
                    self._stopping.append(Stop.requested(answer, request))
            except StoreError as error:
                self.store.answer(answer, {"error": str(error)})
        self._drain = self._drain or any(asked.drain for asked in self._stopping)
        if self._drain or not self._stopping:
            return False
        return self._stop_now(self._stopping)

    def _cancel(self) -> None:
        self._end(JobStatus.CANCELED)
        for answer in self._cancels:
            self.store.answer(answer, {"status": self.status.value})
        self._tell_stopped(None)

    def _stop_now(self, asked: list[Stop]) -> bool:
        """End the job with a savepoint; False if it cannot be written, and then the job goes on."""
        self._upkeep.finish_savepoints(self.coordinator)
        try:
            path = self.take_savepoint(asked[0].path)
        except StoreError as error:
            if all(each.answer is None for each in asked):
                raise
            self._refuse_stops(f"{error} The job goes on.")
            return False
        self._end(JobStatus.FINISHED, stopped_with=path)
        for each in asked:
            if each.answer is not None:
                self.store.answer(each.answer, {"path": path})
        self._tell_stopped(path)
        return True

    def _refuse_stops(self, reason: str) -> None:
        """Answer whoever wants the job to end with a savepoint that it goes on."""
        refused, self._stopping, self._drain = self._stopping, [], False
        for each in refused:
            each.refused = reason
            if each.answer is not None:
                self.store.answer(each.answer, {"error": reason})

    def _refuse_stops_now(self) -> None:
        """Refuse to end with a savepoint while the job restarts, also where that was asked for before it failed.

        Flink: ``CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING``. A savepoint alone is one of the last commit.
        """
        if self._drain and self.coordinator.ended:
            return  # some have come to their end by it, and cannot go on
        for _ in range(len(self._asked)):  # others may be added meanwhile
            answer, request = self._asked.popleft()
            if request["action"] == "savepoint":
                self._asked.append((answer, request))
            else:
                self._stopping.append(Stop.requested(answer, request))
        self._refuse_stops(_RESTARTS)

    def _wait_for_work(self) -> bool:
        if self._drain:
            return True
        timer = self._next_timer is not None and self._next_timer <= self._now()
        if timer or time.monotonic() >= self._rests:
            due = next_epoch.is_due(
                self.coordinator
            )  # in any case: a source whose splits are not known yet is not at its end
            if due or timer:
                return True
        time.sleep(_TICK)
        return False

    def _rest(self, empty: bool) -> None:
        """Look for input again only later, where there was none although a source was said to have some.

        The longer that goes on, the longer it rests: at most the time between checkpoints.
        """
        self._empty = self._empty + 1 if empty else 0
        self._rests = time.monotonic() + min(_TICK * 2 ** min(self._empty, 10), self._target) if empty else 0.0

    def _share(self) -> float:
        """The part of the time between checkpoints that the next epoch has.

        It is to be over when a timer is due behind an exchange, where tasks run once those before them are done.
        """
        if self._next_behind is None:
            return 1.0
        return min(max((self._next_behind - self._now()) / 1000, _TIMELY) / self._target, 1.0)

    def _now(self) -> int:
        return self.options.clock() if self.options.clock is not None else int(time.time() * 1000)

    def _epoch(self) -> None:
        coordinator = self.coordinator
        token, epoch = new_token(), coordinator.log.next_epoch
        share = self._share()
        first = self.executions.deploy()
        if first:
            with suppress(Superseded):  # the commit finds out
                self._write()
        spec = EpochSpec(
            job_id=self.job_id,
            epoch=epoch,
            attempt=self.executions.attempt,
            token=token,
            committed=coordinator.position,
            store=coordinator.log.path,
            replicas=self._replicas,
            options=self.plan.options,
            now=self._now(),
            runtimes=coordinator.runtimes,
            work=next_epoch.assign(coordinator, self.options.epoch_records, self._drain, share),
            floors=coordinator.floors,
            described=coordinator.described,
            clock=self.options.clock,
            runs=coordinator.runs,
            version=coordinator.log.version,
            first=first,
        )
        assert self._runner is not None
        self._moved = math.inf  # Spark may be starting, for which it has its own time
        self._since = time.monotonic()
        try:
            self._runner.prepare()
            self._since = began = time.monotonic()
            self._move()
            results = self._runner.run(spec)
        except EpochLost as error:
            if time.monotonic() - self._since > self._timeout:
                raise EpochLost(f"{_LATE.format(self._timeout)} {error}") from error
            raise
        finally:
            with self._writing:
                self._since = None
                self._changes.clear()
            self._move()
        failure = next((each for each in results if isinstance(each, TaskFailure)), None)
        if failure is not None:
            raise _Failed(failure)
        reports = sorted(
            (each for each in results if isinstance(each, TaskReport)), key=lambda r: (r.vertex, r.subtask)
        )
        records = sum(report.records for report in reports if report.source is not None)
        self._prove(reports)
        self._lock.prove()
        coordinator.commit(epoch, token, reports, records)
        self._committed += 1
        self._losses = 0
        self._remade.clear()
        self.records += records
        news = [self.executions.reported(report.vertex, report.subtask, report.ended) for report in reports]
        self.measured.take(reports)
        if any(report.published for report in reports):
            self.store.publishes(self.job_id, epoch)
        self._hand_out(reports)
        self._publish()
        timers = [each for each in reports if each.next_timer is not None and not each.ended]
        behind = [each for each in timers if self.plan.tasks[each.vertex].level > 0 and not self.plan.batch]
        self._next_timer = _earliest(timers)
        self._next_behind = _earliest(behind)
        seconds = time.monotonic() - began
        busy: dict[int, float] = {}
        for report in reports:
            level = self.plan.tasks[report.vertex].level
            busy[level] = max(busy.get(level, 0.0), report.busy)
        for source in coordinator.sources.values():
            source.pace.done(seconds, sum(busy.values()), share)
        self._rest(not records and not any(report.changed or report.published for report in reports))
        self._after(epoch, records, reports, seconds, any(news))

    def _look(self) -> None:
        """Hear what the job is asked for; give an epoch up that nobody waits for any more, or that has taken too long."""
        if self._lock.lost:
            return  # what is asked for is asked of who has the job now
        self._write_changes()
        for answer, request in self.store.requests(self.job_id):
            if request["action"] == "cancel":
                self._cancels.append(answer)
                self.cancel()
            else:
                self._asked.append((answer, request))
        since, now = self._since, time.monotonic()
        cancelled = self._cancelled is not None and now - self._cancelled > _PATIENCE
        if since is not None and self._runner is not None and (cancelled or now - since > self._timeout):
            self._runner.cancel()

    def _publish(self) -> None:
        """Publish what the last epoch's writers wrote; after a failure once more. Raises StoreError."""
        for each in self.coordinator.pending:
            committer, name = self._committer(each.operator_id), self._specs[each.operator_id].name
            try:
                if committer is not None:
                    committer.commit(each.committables, (each.transaction, self.coordinator.epoch))
            except Exception as error:
                raise StoreError(
                    f"What operator {name!r} wrote cannot be published: {type(error).__name__}: {error}. "
                    "Nothing is lost: it is published when the job goes on."
                ) from error
        self.coordinator.pending.clear()

    def _prove(self, reports: list[TaskReport]) -> None:
        """Raise a StoreError unless what writers left is where it is published from: behind the commit it would be lost."""
        for each in (each for report in reports for each in report.published):
            if isinstance(each, Written) and (operator := self._specs[each.operator_id].operator) is not None:
                prove_output(operator.function, each.committables)

    def _sweep(self) -> None:
        """Remove what attempts left that failed, or whose driver died: only what is still to be published counts.

        A driver that was held to be dead removes nothing: what it does not know of is of the one that has the job now.
        """
        if self._is_behind():
            return
        with suppress(StoreError):
            self.coordinator.log.sweep()
        pending = {
            path
            for each in self.coordinator.pending
            if isinstance(committer := self._committer(each.operator_id), ProvingCommitter)
            for path, _ in committer.files(each.committables)
        }
        for _, spec in self.plan.operators():
            if isinstance(spec.operator, LegacySink | SinkWriter):
                committer = self._committer(spec.id)
                if isinstance(committer, ProvingCommitter):
                    with suppress(OSError):
                        committer.sweep(self.job_id, self.coordinator.epoch, pending)

    def _is_behind(self) -> bool:
        """True where somebody else committed an epoch of the job since this driver did, or it cannot be told."""
        try:
            log = SnapshotLog.open(self.coordinator.log.path)
            return log.epoch != self.coordinator.epoch or log.next_epoch != self.coordinator.log.next_epoch
        except StoreError:
            return True

    def _committer(self, operator_id: str) -> Committer | None:
        """What publishes the output of an operator."""
        operator = self._specs[operator_id].operator
        return None if operator is None else committer_of(operator.function)

    def _hand_out(self, reports: list[TaskReport]) -> None:
        for report in reports:
            for each in report.published:
                match each:
                    case Printed(lines):
                        for line in lines:
                            self._printer(line)
                    case Collected(values):
                        self._collector(values)
                    case SentBack() | Written():
                        pass  # in the commit
                    case _:
                        assert_never(each)

    def _after(self, epoch: int, records: int, reports: list[TaskReport], seconds: float, news: bool) -> None:
        if self._claimed is not None:
            self._give_up(self._claimed)
            self._claimed = None
        replicas = Counter(report.replica for report in reports if report.replica is not None)
        self._replicas_found += replicas
        mark = min((report.watermark for report in reports), default=MIN_TIMESTAMP)
        known = mark if MIN_TIMESTAMP < mark < MAX_WATERMARK else None
        self._tell(
            "checkpoint",
            epoch=epoch,
            records=records,
            seconds=round(seconds, 3),
            changed=sum(report.changed for report in reports),
            watermark=known,
            watermark_lag=None if known is None else self._now() - known,
            state_bytes=self.coordinator.bytes,
            added_bytes=self.coordinator.added,
            replicas=dict(replicas),
        )
        if news or time.monotonic() - self._written > _ENTRY_SECONDS:
            self._write()
        self._upkeep.compact(self.coordinator)

    def _give_up(self, claimed: Snapshot) -> None:
        """Remove what the job has claimed: that it cannot be removed is no failure of the job."""
        try:
            give_up(claimed)
        except (StoreError, OSError) as error:
            self._tell("note", text=f"The claimed snapshot {claimed.directory} is not removed: {error}")

    def _recover(self, failure: TaskFailure) -> None:
        """Go on from the last commit, as often as the restart strategy says; raises JobFailed when it gives up.

        Raises Superseded where it failed because somebody else drives the job by now.
        """
        with suppress(StoreUnsure):
            self._lock.prove()
        self._upkeep.give_up_compaction()
        while self._cancelled is None:
            self._move()
            try:
                if failure.cache is None:
                    self._wait_to_restart(failure)
                else:
                    self._make_again(failure, failure.cache)
                self._take_up()
            except (Superseded, JobFailed, _Abandoned):
                raise
            except Exception as error:
                failure = _failure_of(error)
                continue
            if failure.lost:
                for source in self.coordinator.sources.values():
                    source.pace.lost()
            self.executions.restart()
            self._to(JobStatus.RUNNING)
            return

    def _wait_to_restart(self, failure: TaskFailure) -> None:
        """Wait as the restart strategy says, at most until the job is cancelled. Raises JobFailed when it gives up."""
        if self.abandoned:
            raise _Abandoned
        self.executions.fail(failure.cause, failure.vertex, failure.subtask)
        delay = self._delay(failure)
        if delay is None:
            raise JobFailed(failure)
        self._to_restarting()
        attempt = self.executions.attempt + 1
        self._tell("restarting", delay=delay, error=failure.cause, task=failure.task or None, attempt=attempt)
        self._sleep(delay)

    def _make_again(self, failure: TaskFailure, cache: int) -> None:
        """Have the damaged records of a cached stream made again. Raises JobFailed where the job cannot go on with them.

        The program did not fail: no restart strategy is asked. Records that are damaged again and again are not made so often.
        """
        if self.abandoned:
            raise _Abandoned
        self.executions.fail(failure.cause, failure.vertex, failure.subtask)
        if self._made_again is None or cache in self._remade:
            raise JobFailed(failure)
        self._to_restarting()
        self._tell("note", text=f"Job {self.job_id}: {failure.cause} Another job does so.")
        committed = CheckpointCoordinator(self.plan, SnapshotLog.open(self.coordinator.log.path), self.job_id)
        committed.restore(exact=True)
        readers = [each for each in committed.sources.values() if reads_cache(each.function, cache)]
        begun = [split for reader in readers for split in reader.splits]
        try:
            self._made_again(cache, begun, lambda: self._cancelled is None and not self.abandoned)
        except NotTheSame as error:
            cause = f"{failure.cause} The job has used a part of them, and cannot go on with others: {error}."
            raise JobFailed(replace(failure, cause=cause)) from error
        self._remade.add(cache)

    def _to_restarting(self) -> None:
        if self.status is not JobStatus.RESTARTING:
            self._to(JobStatus.RESTARTING)
        self._refuse_stops_now()

    def _delay(self, failure: TaskFailure) -> float | None:
        """The seconds to wait after a failure, or None. Executors that are lost are no failures of the program.

        But it may be what they run that they are lost by: where that happens to an epoch again and again, it is counted.
        """
        if failure.lost:
            self._losses += 1
            if self._losses <= _LOSSES:
                return _AFTER_A_LOSS * 2.0 ** (self._losses - 1)
        return self._strategy.next_delay()

    def _take_up(self) -> None:
        """Take up where the last commit is, unless somebody else has. Raises Superseded."""
        self._lock.prove()
        log = SnapshotLog.open(self.coordinator.log.path)
        prove_not_behind(self.store.directory(self.job_id), log)
        log.lead(self._lock.token)
        self._follow(log)
        self._sweep()

    def _follow(self, log: SnapshotLog) -> None:
        """Know what the log has of the job."""
        coordinator = CheckpointCoordinator(self.plan, log, self.job_id)
        coordinator.restore(exact=True)
        for id, source in self.coordinator.sources.items():
            coordinator.sources[id].pace = source.pace
        self.coordinator = coordinator

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._cancelled is None and (left := end - time.monotonic()) > 0:
            self._move()
            if self.abandoned:
                raise _Abandoned
            self._refuse_stops_now()
            time.sleep(min(left, 0.2))

    def _to(self, status: JobStatus) -> None:
        self.status = next_job_status(self.status, status)
        self._write()

    def _end(self, status: JobStatus, message: str = "", stopped_with: str | None = None) -> None:
        self._note_remains()
        self._commit_end(status, stopped_with)
        if status is JobStatus.FAILED and self.status is not JobStatus.FAILING:
            self.status = next_job_status(self.status, JobStatus.FAILING)
        elif status is JobStatus.CANCELED:
            self.status = next_job_status(self.status, JobStatus.CANCELLING)
        if status is JobStatus.FINISHED:
            self.executions.finish()
        else:
            self.executions.cancel()
        self.status = next_job_status(self.status, status)
        self._write(ended=time.time(), message=message, stopped_with=stopped_with)

    def _end_as(self, before: JobEntry) -> None:
        """End as the driver before ended the job, which died before it could say so."""
        self.savepoint = before.stopped_with
        self._end(JobStatus(before.status), stopped_with=before.stopped_with)
        if before.status == JobStatus.FINISHED.value and before.stopped_with is None:
            self._tell_finished()
        else:
            self._tell_stopped(before.stopped_with)

    def _tell_finished(self) -> None:
        self._tell("finished", records=self.records, metrics=self.measured.all(), replicas=dict(self._replicas_found))

    def _tell_stopped(self, path: str | None) -> None:
        self._tell("stopped", path=path, metrics=self.measured.all(), replicas=dict(self._replicas_found))

    def _note_remains(self) -> None:
        """Have a later job look for what attempts of this one write yet. What is still to be published is left alone."""
        if self.coordinator.pending or self._lock.lost:
            return
        sinks = [
            folder_of(spec.operator.function)
            for _, spec in self.plan.operators()
            if isinstance(spec.operator, LegacySink | SinkWriter)
        ]
        found = tuple(dict.fromkeys(folder for folder in sinks if folder is not None))
        noted = orphan_cleanup.Remains(job_id=self.job_id, state=self.coordinator.log.path, sinks=found)
        for left in reversed(range(TRIES)):
            try:
                orphan_cleanup.note(self.store, noted)
                return
            except OSError:  # it must not hide why the job ends
                time.sleep(_A_MOMENT if left else 0.0)

    def _commit_end(self, status: JobStatus, stopped_with: str | None) -> None:
        """Have the log say that the job has ended, before anybody else hears it: who takes the job over goes by the log.

        Raises Superseded where somebody has taken it over. A store that cannot be written must not hide why a job fails.
        """
        try:
            self.coordinator.log.end(status.value, stopped_with)
        except Superseded:
            raise
        except StoreError:
            if status is JobStatus.FINISHED:
                raise

    def _write_changes(self) -> None:
        """Write down the states that tasks came into in the epoch that runs."""
        with self._writing:
            if self._since is None or not self._changes or time.monotonic() - self._written < _CHANGES_SECONDS:
                return
            while self._changes:
                self.executions.told(*self._changes.popleft())
            with suppress(Superseded):  # the job's thread finds out
                self._write()

    def _write(self, **changes: Any) -> None:
        entry = JobEntry(
            job_id=self.job_id,
            name=self.plan.job_name,
            status=self.status.value,
            pid=os.getpid(),
            program=self.options.program,
            savepoint=self.options.savepoint,
            fingerprint=self.plan.fingerprint,
            source=self._source,
            started=self._started,
            epoch=self.coordinator.epoch if hasattr(self, "coordinator") else 0,
            records=self.records,
            metrics=self.measured.all(),
            vertices=self.executions.summary(),
            fence=self._lock.token,
            occurrence=self.options.occurrence,
            host=socket.gethostname(),
            arguments=self.options.arguments,
            retention=self.plan.options.get(CHECKPOINT_RETENTION, ""),
        )
        self._written = time.monotonic()
        if self._lock.lost:
            return  # whoever drives the job now writes down how it is
        try:
            self.store.write(replace(entry, **changes))
        except Superseded:
            if not self.status.terminal:  # else the log has said how the job ended
                raise
        # A full disk must not hide how the job ends; a job whose entry is behind counts as interrupted.
        except StoreError:
            if self.status is JobStatus.CREATED:
                raise
        except OSError as error:
            if self.status is JobStatus.CREATED:
                raise unwritable("The store", self.store.root, error, "give another with --store") from error

    def _tell(self, event: str, **details: Any) -> None:
        self._listener({"event": event, "job_id": self.job_id, **details})


def _earliest(reports: list[TaskReport]) -> int | None:
    """The time of the next timer of some subtasks."""
    return min((each.next_timer for each in reports if each.next_timer is not None), default=None)


def _epoch_timeout(options: Mapping[str, str], checkpointing: bool) -> float:
    """The seconds that an epoch may take: an epoch is a checkpoint. Flink: ``execution.checkpointing.timeout``."""
    return parse_duration(options.get(_TIMEOUT, "10 min")) / 1000 if checkpointing else math.inf


def _failure_of(error: Exception) -> TaskFailure:
    """The failure that ends an attempt of the job."""
    match error:
        case _Failed():
            return error.failure
        case SourceFailure():
            return TaskFailure("", error.operator, None, error.cause)
        case StoreError():
            return TaskFailure("", None, None, str(error))
        case EpochLost():
            return TaskFailure("", None, None, str(error), lost=True)
        case _:
            return TaskFailure(
                "", None, None, f"The job cannot go on from its last checkpoint: {type(error).__name__}: {error}"
            )

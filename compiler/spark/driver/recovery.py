"""The search for a job's earlier state: a savepoint, the work of a driver that died, its last commit after a failure.

Flink: ``ExecutionFailureHandler``, ``CheckpointCoordinator.restoreLatestCheckpointedStateToAll``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import asdict, replace

from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.caches import NotTheSame, reads_cache
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.directories import checkpoint_directory
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.epoch_sizing import Pace
from compat.compiler.spark.driver.failures import Abandoned, JobFailed, failure_of
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.job_folders import prove_not_behind
from compat.compiler.spark.driver.lease import StoreUnsure
from compat.compiler.spark.driver.life_cycle import LifeCycle
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.requests import Requests
from compat.compiler.spark.driver.restarts import RestartStrategy
from compat.compiler.spark.driver.restore import (
    Restoration,
    Snapshot,
    give_up,
    map_operators,
    saved_operators,
    still_claimed,
)
from compat.compiler.spark.driver.savepoints import with_adopted
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.compiler.spark.runtime_api.splits import Split
from compat.compiler.spark.task.epochs import TaskFailure
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from compat.state.delta.work import Workers

_LOSSES = 3
"""The number of times that an epoch may be lost with its executors before that counts as a failure of the job."""
_AFTER_A_LOSS = 0.1
"""Seconds that are waited after the first loss; twice as long after each that follows."""
_A_WHILE = 0.2
"""Seconds after which a job that waits to restart looks whether it still is to."""

MadeAgain = Callable[[int, list[Split], Callable[[], bool]], None]
"""Makes the records of a cached stream again, for a job that began to read these files of it, or none as yet; as long as
it is wanted to. Raises NotTheSame if the job cannot go on with them.
"""


class Recovery:
    """The recovery of one job; ``before`` is its entry by a driver that died.

    ``restored`` is what was restored of a savepoint. ``made_again`` is called for a cached stream whose records are damaged.
    """

    def __init__(
        self,
        job: DrivenJob,
        life: LifeCycle,
        output: Output,
        requests: Requests,
        upkeep: Upkeep,
        strategy: RestartStrategy,
        before: JobEntry | None,
        made_again: MadeAgain | None,
    ) -> None:
        self._job, self._life, self._output, self._requests, self._upkeep = job, life, output, requests, upkeep
        self._strategy, self._before, self._made_again = strategy, before, made_again
        self._claimed: Snapshot | None = None
        self._losses = 0
        self._remade: set[int] = set()
        self.restored: dict[str, object] | None = None

    @property
    def begins(self) -> bool:
        """True for a job without any entry."""
        return self._before is None and self._job.options.assigned is None

    def begin(self, restoration: Restoration | None, workers: Callable[[], Workers], pace: Callable[[], Pace]) -> None:
        """Open the store, with the restored state in it. Raises StoreError or RestoreRefused."""
        job = self._job
        folder = checkpoint_directory(job.plan.options)
        if folder and self._before is None:
            job.store.place_state(job.job_id, folder)
        log = SnapshotLog.create(job.store.state(job.job_id))
        if self.begins:
            log.fence = job.lease.token
        else:
            log.lead(job.lease.token)
        if restoration is not None:
            restored = restoration.into(log, workers())
            self.restored = {"path": job.options.savepoint, **asdict(restored)}
            self._claimed = restoration.snapshot if job.options.claim else None
        elif self._before is not None:
            self._claimed = still_claimed(job.options)
            _, job.plan = map_operators(saved_operators(log), job.plan, True)
        job.coordinator = CheckpointCoordinator(job.plan, log, job.job_id)
        for source in job.coordinator.sources.values():
            source.pace = pace()
        job.coordinator.restore(exact=self._before is not None)
        if job.plan_json is not None:
            job.plan_json = with_adopted(job.plan_json, job.plan)
            job.store.write_plan(job.job_id, job.plan_json)
        if self._before is not None:
            self._output.sweep()

    def committed(self) -> None:
        """Note that an epoch was committed: earlier failures count no more."""
        self._losses = 0
        self._remade.clear()

    def give_up_claimed(self) -> None:
        """Remove the snapshot that the job has claimed; the job does not fail if that is impossible."""
        claimed, self._claimed = self._claimed, None
        if claimed is None:
            return
        try:
            give_up(claimed)
        except (StoreError, OSError) as error:
            self._job.tell("note", text=f"The claimed snapshot {claimed.directory} is not removed: {error}")

    def recover(self, failure: TaskFailure) -> None:
        """Continue from the last commit, as often as the restart strategy allows; raises JobFailed when it gives up.

        Raises Superseded if the job failed because another process drives it by now.
        """
        job = self._job
        with suppress(StoreUnsure):
            job.lease.prove()
        self._upkeep.give_up_compaction()
        while job.cancelled is None:
            job.pulse.move()
            try:
                if failure.cache is None:
                    self._wait_to_restart(failure)
                else:
                    self._make_again(failure, failure.cache)
                self._take_up()
            except (Superseded, JobFailed, Abandoned):
                raise
            except Exception as error:
                failure = failure_of(error)
                continue
            if failure.lost:
                for source in job.coordinator.sources.values():
                    source.pace.lost()
            job.executions.restart()
            self._life.to(JobStatus.RUNNING)
            return

    def follow(self, log: SnapshotLog) -> None:
        """Take over the state of the job's log."""
        job = self._job
        coordinator = CheckpointCoordinator(job.plan, log, job.job_id)
        coordinator.restore(exact=True)
        for id, source in job.coordinator.sources.items():
            coordinator.sources[id].pace = source.pace
        job.coordinator = coordinator

    def _take_up(self) -> None:
        """Take up where the last commit is, unless somebody else has. Raises Superseded."""
        job = self._job
        job.lease.prove()
        log = SnapshotLog.open(job.coordinator.log.path)
        prove_not_behind(job.store.directory(job.job_id), log)
        log.lead(job.lease.token)
        self.follow(log)
        self._output.sweep()

    def _fail(self, failure: TaskFailure) -> None:
        if self._job.abandoned:
            raise Abandoned
        self._job.executions.fail(failure.cause, failure.vertex, failure.subtask)

    def _wait_to_restart(self, failure: TaskFailure) -> None:
        """Wait as the restart strategy says, at most until the job is cancelled. Raises JobFailed when it gives up."""
        self._fail(failure)
        delay = self._delay(failure)
        if delay is None:
            raise JobFailed(failure)
        self._to_restarting()
        attempt = self._job.executions.attempt + 1
        self._job.tell("restarting", delay=delay, error=failure.cause, task=failure.task or None, attempt=attempt)
        self._sleep(delay)

    def _make_again(self, failure: TaskFailure, cache: int) -> None:
        """Have the damaged records of a cached stream made again. Raises JobFailed if the job cannot go on with them.

        The program did not fail: no restart strategy is asked. Records that are damaged again and again are not made so often.
        """
        job = self._job
        self._fail(failure)
        if self._made_again is None or cache in self._remade:
            raise JobFailed(failure)
        self._to_restarting()
        job.tell("note", text=f"Job {job.job_id}: {failure.cause} Another job does so.")
        committed = CheckpointCoordinator(job.plan, SnapshotLog.open(job.coordinator.log.path), job.job_id)
        committed.restore(exact=True)
        readers = [each for each in committed.sources.values() if reads_cache(each.function, cache)]
        begun = [split for reader in readers for split in reader.splits]
        try:
            self._made_again(cache, begun, lambda: job.cancelled is None and not job.abandoned)
        except NotTheSame as error:
            cause = f"{failure.cause} The job has used a part of them, and cannot go on with others: {error}."
            raise JobFailed(replace(failure, cause=cause)) from error
        self._remade.add(cache)

    def _to_restarting(self) -> None:
        if self._job.status is not JobStatus.RESTARTING:
            self._life.to(JobStatus.RESTARTING)
        self._requests.refuse_stops()

    def _delay(self, failure: TaskFailure) -> float | None:
        """The seconds to wait after a failure, or None. Executors that are lost are no failures of the program.

        But it may be what they run that they are lost by: where that happens to an epoch again and again, it is counted.
        """
        if failure.lost:
            self._losses += 1
            if self._losses <= _LOSSES:
                return _AFTER_A_LOSS * 2.0 ** (self._losses - 1)
        return self._strategy.next_delay()

    def _sleep(self, seconds: float) -> None:
        job = self._job
        end = time.monotonic() + seconds
        while job.cancelled is None and (left := end - time.monotonic()) > 0:
            job.pulse.move()
            if job.abandoned:
                raise Abandoned
            self._requests.refuse_stops()
            time.sleep(min(left, _A_WHILE))

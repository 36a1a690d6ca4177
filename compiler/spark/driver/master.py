"""The driver of a job: epoch after epoch, until the input ends or someone stops it.

Its parts share the running job (``driven``), and use one another in this order: the output of sinks (``output``), states and
the entry in the store (``life_cycle``), requests (``requests``), failures (``recovery``), epochs (``epoch_loop``).
Flink: ``JobMaster``, ``DefaultScheduler``.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.driver import Compilation
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver import orphan_cleanup
from compat.compiler.spark.driver.dependencies import Ships
from compat.compiler.spark.driver.driven import DrivenJob, insist
from compat.compiler.spark.driver.epoch_loop import EpochLoop
from compat.compiler.spark.driver.epoch_sizing import FIRST, Pace
from compat.compiler.spark.driver.failures import Abandoned, AttemptFailed, failure_of
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.lease import Lease
from compat.compiler.spark.driver.life_cycle import LifeCycle
from compat.compiler.spark.driver.options import Listener, RunOptions
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.recovery import MadeAgain, Recovery
from compat.compiler.spark.driver.requests import Requests, Stop
from compat.compiler.spark.driver.restarts import RestartStrategy
from compat.compiler.spark.driver.restore import prepare_restore
from compat.compiler.spark.driver.source_coordinator import SourceFailure
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.compiler.spark.driver.watch import Watch
from compat.compiler.spark.plan import PhysicalPlan
from compat.compiler.spark.task.epochs import EpochLost, EpochRunner, default_replicas
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from compat.state.delta.work import Workers

_RETAINED = "execution.checkpointing.num-retained"


class Resources(Struct, frozen=True):
    """The resources of a job: the runners of its epochs, and the workers for large state."""

    runner: Callable[[PhysicalPlan], EpochRunner]
    workers: Callable[[PhysicalPlan, str], Workers]


class Hearers(Struct, frozen=True):
    """The receivers of a job's output: ``listener`` gets events, ``printer`` lines, ``collector`` records."""

    listener: Listener = lambda event: None
    printer: Callable[[str], None] = print
    collector: Callable[[list[Any]], None] = lambda records: None


class JobMaster:
    """Runs one job.

    ``before`` is the job to continue, whose driver died; ``dependencies`` are shipped with the job; ``made_again`` is called
    for a cached stream whose records are damaged. ``superseded`` is True once another process drives the job.
    """

    def __init__(
        self,
        compilation: Compilation,
        plan: PhysicalPlan,
        store: JobStore,
        resources: Resources,
        options: RunOptions,
        hearers: Hearers,
        *,
        job_id: str,
        before: JobEntry | None = None,
        dependencies: Ships | None = None,
        made_again: MadeAgain | None = None,
    ) -> None:
        assert compilation.job is not None
        settings = compilation.job.settings
        self._compilation, self._resources = compilation, resources
        self._before, self._dependencies = before, dependencies
        self._checkpointing = settings.checkpointing
        self._target = max((settings.checkpoint_interval or 1000) / 1000, 0.05)
        self._replicas = options.replicas or default_replicas()
        self.superseded = False
        self.job = job = DrivenJob.of(
            job_id, plan, store, options, checkpointing=settings.checkpointing, listener=hearers.listener
        )
        job.records = 0 if before is None else before.records
        retained = int(plan.options.get(_RETAINED, "1"))
        self._upkeep = upkeep = Upkeep(self._workers, retained, job.pulse.move, lambda: job.lease.prove())
        self._output = output = Output(job, hearers.printer, hearers.collector)
        self._life = life = LifeCycle(job, output, before)
        self._requests = requests = Requests(job, life, upkeep)
        strategy = RestartStrategy.of(plan.options, settings.checkpointing)
        self._recovery = recovery = Recovery(
            job, life, output, requests, upkeep, strategy, before=before, made_again=made_again
        )
        self._epochs = EpochLoop(
            job, life, output, requests, recovery, upkeep, target=self._target, replicas=self._replicas
        )

    def prepare(self, alone: Callable[[], None] = lambda: None) -> None:
        """Open the store and restore the job's state. Raises RestoreRefused or StoreError before anything runs; so does
        ``alone`` if another process has begun the job.

        A job that does not begin leaves nothing behind.
        """
        job, begins = self.job, self._recovery.begins
        if job.options.plan_of is not None:
            job.plan_json = job.options.plan_of(self._compilation)
        restoration = None
        if self._before is None and job.options.savepoint is not None:
            restoration = prepare_restore(job.plan, job.plan_json, job.options)
            job.plan = restoration.plan
        job.lease = self._leased()
        job.lease.moves = lambda: not job.pulse.hangs
        try:
            self._recovery.begin(restoration, self._workers, self._pace)
            if restoration is not None or self._before is not None:
                self._epochs.ask_timers()
            self._ship()
            alone()
            self._life.to(JobStatus.CREATED)
        except Exception:
            job.lease.close(gone=begins and self._undone())
            raise
        except BaseException:
            job.lease.close()
            raise
        if begins:
            with suppress(StoreError):
                job.store.sweep(time.time())
            with suppress(OSError):
                orphan_cleanup.sweep(job.store, time.time())

    def run(self) -> JobStatus:
        """Run to the end. Raises JobFailed when the job fails for good, StoreError when its store does."""
        job = self.job
        watch = Watch(self._look, f"watch-{job.job_id[:8]}")
        job.pulse.move()
        try:
            self._start()
            self._loop()
        except Abandoned:
            pass
        except Superseded as error:
            self._give_way(error)
            if job.options.assigned is None:
                raise
        except Exception as error:
            if not job.abandoned:
                self._fail(error)
        finally:
            watch.close()
            self._close()
        return job.status

    def cancel(self) -> None:
        """End the job, without a savepoint: after the present epoch if that takes moments only."""
        self._requests.cancel()

    def abandon(self) -> None:
        """Stop working: the process ends. The job counts as interrupted."""
        self.job.abandoned = True

    def stop(self, drain: bool = False, path: str | None = None) -> Stop:
        """End the job with a savepoint; the result says whether that was refused."""
        return self._requests.stop(drain, path)

    def take_savepoint(self, path: str | None = None) -> str:
        """Write a savepoint of the last committed epoch; gives its path."""
        return self._requests.take_savepoint(path)

    def _leased(self) -> Lease:
        """The right to drive the job. Raises StoreError if another process has it."""
        job, assigned = self.job, self.job.options.assigned
        if assigned is None:
            return job.store.lock(job.job_id)
        return assigned.lease or job.store.lock(job.job_id, assigned.fence)

    def _workers(self) -> Workers:
        """Those who do work on much state."""
        return self._resources.workers(self.job.plan, self.job.job_id)

    def _pace(self) -> Pace:
        """How much a source reads at a time, to begin with."""
        return Pace(self._target, FIRST) if self._checkpointing else Pace(self._target)

    def _undone(self) -> bool:
        """Remove what there is of a job that does not begin; False if that fails: it is left to a later job."""
        try:
            self.job.store.clear(self.job.job_id)
        except OSError:
            return False
        return True

    def _ship(self) -> None:
        """Put what the job's functions need where its machines see it. Raises StoreError."""
        if self._dependencies is not None:
            job = self.job
            job.plan = replace(job.plan, shipped=self._dependencies.ship(job.store.shipped(job.job_id)))

    def _start(self) -> None:
        """Say that the job runs, and have who runs its epochs."""
        job = self.job
        job.executions.schedule()
        self._life.to(JobStatus.RUNNING)
        job.tell(
            "started",
            name=job.plan.job_name,
            checkpoint=job.coordinator.epoch,
            resumed=self._before is not None,
            restored=self._recovery.restored,
        )
        self._epochs.start(self._resources.runner(job.plan))

    def _loop(self) -> None:
        over = False
        while not over:
            failure = None
            try:
                over = self._step()
            except Superseded:
                raise
            except (StoreError, SourceFailure, EpochLost, AttemptFailed) as error:
                failure = failure_of(error)
            if failure is not None:  # after the handler, so that the failed objects are not kept
                self._recovery.recover(failure)

    def _step(self) -> bool:
        """Do the next step, an epoch at most; True when the job is over."""
        job = self.job
        job.pulse.move()
        if job.abandoned:
            raise Abandoned
        if job.lease.lost:
            job.lease.prove()
        if job.cancelled is not None:
            with suppress(StoreError):  # it is published when the job goes on
                self._output.publish()
            self._requests.end_cancelled()
            return True
        self._output.publish()
        job.pulse.move()
        if self._before is not None and self._before.over:
            self._life.end_as(self._before)
            return True
        self._upkeep.settle(job.coordinator)
        if self._requests.answer():
            return True
        if len(self.job.coordinator.ended) >= sum(task.parallelism for task in self.job.plan.tasks):
            self._requests.end_input()
            return True
        if job.options.epochs is not None and self._epochs.committed >= job.options.epochs:
            self._requests.stop_now([Stop(False, None)])
            return True
        if self._epochs.wait_for_work():
            self._epochs.run()
        return False

    def _look(self) -> None:
        """Hear what the job is asked for; give an epoch up that nobody waits for any more, or that has taken too long."""
        if self.job.lease.lost:
            return  # requests go to the present driver of the job
        self._life.write_changes()
        self._requests.hear()
        self._epochs.give_up_late()

    def _fail(self, error: Exception) -> None:
        """End the job with what it failed with, which is raised; unless it is another process's by now."""
        try:
            self._life.end(JobStatus.FAILED, str(error))
        except Superseded as superseded:
            self._give_way(superseded)
            return
        self.job.tell("failed", error=str(error))
        raise error

    def _give_way(self, error: Superseded) -> None:
        """Do nothing more: another process has the job, and says what happens to it.

        If it has ended the job already, this one tidies up what it wrote behind its back: nobody else will.
        """
        self.superseded = True
        self.job.tell("superseded", error=str(error))
        with suppress(StoreError, OSError):
            self._upkeep.give_up()
        insist(self._tidy_up_behind_the_end)

    def _tidy_up_behind_the_end(self) -> None:
        """Remove what this driver wrote of a job that another one has ended. Raises StoreError or OSError, the store's."""
        job = self.job
        entry = job.store.entry(job.job_id)
        if entry is None or not (end := job.store.settled(entry)).over:
            return
        self._recovery.follow(SnapshotLog.open(job.coordinator.log.path))
        self._output.sweep()
        if end is not entry:
            job.store.write(end)

    def _close(self) -> None:
        """Let go of what the job had, and remove what nobody needs once it is over."""
        job, over = self.job, self.job.status.terminal
        if not job.abandoned:
            self._epochs.close(os.path.join(self._replicas, job.job_id) if over else None)
        if over:
            self._upkeep.give_up()
            self._output.sweep()
            with suppress(OSError, StoreError):
                job.store.shipped(job.job_id).remove()
        with suppress(OSError):  # it ends by itself
            job.lease.close()

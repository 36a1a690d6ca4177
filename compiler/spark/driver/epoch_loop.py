"""The epochs of a job: when the next one is due, its work, and the steps after it has run.

Flink: ``CheckpointCoordinator``, as each epoch is a checkpoint.
"""

from __future__ import annotations

import time
from contextlib import suppress

from msgspec import Struct

from compat.compiler.spark.driver import next_epoch
from compat.compiler.spark.driver.checkpoints import new_token
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.failures import AttemptFailed
from compat.compiler.spark.driver.life_cycle import LifeCycle
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.recovery import Recovery
from compat.compiler.spark.driver.requests import Requests
from compat.compiler.spark.driver.upkeep import Upkeep
from compat.compiler.spark.runtime_api.elements import MAX_WATERMARK, MIN_TIMESTAMP
from compat.compiler.spark.task.epochs import EpochLost, EpochRunner, EpochSpec, TaskFailure
from compat.compiler.spark.task.stream_task import TaskReport
from compat.state.delta.errors import Superseded

_TICK = 0.02
"""Seconds until it is looked for input again."""
_TIMELY = 0.5
"""Seconds that an epoch may take although timers are due before: much shorter ones cost more than they do."""
_PATIENCE = 2.0
"""Seconds that a job that is cancelled has for the present epoch."""
_LATE = "The epoch was not done within {0:g} s (execution.checkpointing.timeout)."


class _Epoch(Struct, frozen=True):
    """An epoch that was committed. ``share`` is the part of the time between checkpoints that it had."""

    number: int
    reports: list[TaskReport]
    share: float
    seconds: float
    news: bool

    @property
    def records(self) -> int:
        """The records that its sources read."""
        return sum(report.records for report in self.reports if report.source is not None)

    @property
    def idle(self) -> bool:
        """True if nothing came of it."""
        return not self.records and not any(report.changed or report.published for report in self.reports)


class EpochLoop:
    """The epoch loop of one job. ``target`` is the seconds between checkpoints, ``replicas`` the folder of hosts' local
    state.

    ``committed`` counts the epochs of this driver.
    """

    def __init__(
        self,
        job: DrivenJob,
        life: LifeCycle,
        output: Output,
        requests: Requests,
        recovery: Recovery,
        upkeep: Upkeep,
        *,
        target: float,
        replicas: str,
    ) -> None:
        self._job, self._life, self._output, self._requests = job, life, output, requests
        self._recovery, self._upkeep = recovery, upkeep
        self._target, self._replicas = target, replicas
        self._runner: EpochRunner | None = None
        self._since: float | None = None
        self._next_timer: int | None = None
        self._next_behind: int | None = None
        self._empty = 0
        self._rests = 0.0
        self.committed = 0

    def start(self, runner: EpochRunner) -> None:
        """Run epochs with this runner from now on."""
        self._runner = runner
        runner.listen(self._life.hear)

    def close(self, replicas: str | None) -> None:
        """Stop running epochs, and remove the folder of the job's local state, if given."""
        if self._runner is not None:
            self._runner.close(replicas)

    def ask_timers(self) -> None:
        """Run the first epoch even without input: only tasks know the timers of the restored state."""
        self._next_timer = MIN_TIMESTAMP

    def give_up_late(self) -> None:
        """Abort an epoch that is no longer wanted, or has taken too long."""
        job, since, now = self._job, self._since, time.monotonic()
        cancelled = job.cancelled is not None and now - job.cancelled > _PATIENCE
        if since is not None and self._runner is not None and (cancelled or now - since > job.pulse.timeout):
            self._runner.cancel()

    def wait_for_work(self) -> bool:
        """True if an epoch is due; otherwise a moment has passed."""
        if self._requests.drain:
            return True
        timer = self._next_timer is not None and self._next_timer <= self._job.now()
        if timer or time.monotonic() >= self._rests:
            # always: a source with unknown splits is not at its end
            due = next_epoch.is_due(self._job.coordinator)
            if due or timer:
                return True
        time.sleep(_TICK)
        return False

    def run(self) -> None:
        """Run the next epoch to its commit, and publish its output. Raises StoreError, EpochLost or AttemptFailed."""
        share = self._share()
        spec = self._spec(share)
        results, began = self._results(spec)
        failure = next((each for each in results if isinstance(each, TaskFailure)), None)
        if failure is not None:
            raise AttemptFailed(failure)
        reports = [each for each in results if isinstance(each, TaskReport)]
        reports.sort(key=lambda report: (report.vertex, report.subtask))
        news = self._commit(spec, reports)
        self._output.publish()
        epoch = _Epoch(spec.epoch, reports, share, time.monotonic() - began, news)
        self._schedule(epoch)
        self._settle(epoch)

    def _spec(self, share: float) -> EpochSpec:
        job, coordinator = self._job, self._job.coordinator
        token, first = new_token(), job.executions.deploy()
        if first:
            with suppress(Superseded):  # the commit finds out
                self._life.write()
        return EpochSpec(
            job_id=job.job_id,
            epoch=coordinator.log.next_epoch,
            attempt=job.executions.attempt,
            token=token,
            committed=coordinator.position,
            store=coordinator.log.path,
            replicas=self._replicas,
            options=job.plan.options,
            now=job.now(),
            runtimes=coordinator.runtimes,
            work=next_epoch.assign(coordinator, job.options.epoch_records, self._requests.drain, share),
            floors=coordinator.floors,
            described=coordinator.described,
            clock=job.options.clock,
            runs=coordinator.runs,
            version=coordinator.log.version,
            first=first,
        )

    def _results(self, spec: EpochSpec) -> tuple[list[TaskReport | TaskFailure], float]:
        """What happened to the subtasks of an epoch, and when it began. Raises EpochLost."""
        assert self._runner is not None
        pulse = self._job.pulse
        pulse.hold()  # Spark may be starting, for which it has its own time
        self._since = time.monotonic()
        self._life.begin_epoch()
        try:
            self._runner.prepare()
            self._since = began = time.monotonic()
            pulse.move()
            return self._runner.run(spec), began
        except EpochLost as error:
            if time.monotonic() - self._since > pulse.timeout:
                raise EpochLost(f"{_LATE.format(pulse.timeout)} {error}") from error
            raise
        finally:
            self._since = None
            self._life.end_epoch()
            pulse.move()

    def _commit(self, spec: EpochSpec, reports: list[TaskReport]) -> bool:
        """Commit an epoch that has run; whether subtasks came into other states by it. Raises StoreError."""
        job = self._job
        self._output.prove(reports)
        job.lease.prove()
        records = sum(report.records for report in reports if report.source is not None)
        job.coordinator.commit(spec.epoch, spec.token, reports, records)
        self.committed += 1
        self._recovery.committed()
        job.records += records
        news = [job.executions.reported(report.vertex, report.subtask, report.ended) for report in reports]
        job.measured.take(reports)
        if any(report.published for report in reports):
            job.store.publishes(job.job_id, spec.epoch)
        self._output.hand_out(reports)
        return any(news)

    def _schedule(self, epoch: _Epoch) -> None:
        """Know when the next epoch is due, and how much its sources are to read."""
        plan = self._job.plan
        timers = [each for each in epoch.reports if each.next_timer is not None and not each.ended]
        behind = [each for each in timers if plan.tasks[each.vertex].level > 0 and not plan.batch]
        self._next_timer = _earliest(timers)
        self._next_behind = _earliest(behind)
        busy: dict[int, float] = {}
        for report in epoch.reports:
            level = plan.tasks[report.vertex].level
            busy[level] = max(busy.get(level, 0.0), report.busy)
        for source in self._job.coordinator.sources.values():
            source.pace.done(epoch.seconds, sum(busy.values()), epoch.share)
        self._rest(epoch.idle)

    def _rest(self, empty: bool) -> None:
        """Look for input again only later, where there was none although a source was said to have some.

        The longer that goes on, the longer it rests: at most the time between checkpoints.
        """
        self._empty = self._empty + 1 if empty else 0
        self._rests = time.monotonic() + min(_TICK * 2 ** min(self._empty, 10), self._target) if empty else 0.0

    def _settle(self, epoch: _Epoch) -> None:
        """Tell of an epoch, write the job's entry, and look after the state."""
        job = self._job
        self._recovery.give_up_claimed()
        mark = min((report.watermark for report in epoch.reports), default=MIN_TIMESTAMP)
        known = mark if MIN_TIMESTAMP < mark < MAX_WATERMARK else None
        job.tell(
            "checkpoint",
            epoch=epoch.number,
            records=epoch.records,
            seconds=round(epoch.seconds, 3),
            changed=sum(report.changed for report in epoch.reports),
            watermark=known,
            watermark_lag=None if known is None else job.now() - known,
            state_bytes=job.coordinator.bytes,
            added_bytes=job.coordinator.added,
            replicas=dict(self._life.ran(epoch.reports)),
        )
        self._life.write_in_time(news=epoch.news)
        self._upkeep.compact(job.coordinator)

    def _share(self) -> float:
        """The part of the time between checkpoints that the next epoch has.

        It is to be over when a timer is due behind an exchange, where tasks run once those before them are done.
        """
        if self._next_behind is None:
            return 1.0
        return min(max((self._next_behind - self._job.now()) / 1000, _TIMELY) / self._target, 1.0)


def _earliest(reports: list[TaskReport]) -> int | None:
    """The time of the next timer of some subtasks."""
    return min((each.next_timer for each in reports if each.next_timer is not None), default=None)

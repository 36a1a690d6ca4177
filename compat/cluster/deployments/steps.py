"""The steps of a deployment.

The old job is stopped with a savepoint; the new one starts from it, is watched, and is promoted, or the old one comes back. The
database records the steps done; the next step follows from these and from the state of its jobs. Every step is idempotent, as
the ids of what it creates were chosen before. So a dispatcher may be killed between any two steps, and the next dispatcher goes
on. Flink's Kubernetes operator does the same with ``upgradeMode: savepoint`` and its rollbacks.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from compat.cluster.deployments.records import Deployment, Deployments, Step
from compat.cluster.gate import GateClosed, RegistryAway, RegistryGate
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import Action, ClusterJob
from compat.cluster.registry import Jobs, LeadershipLost
from compat.cluster.submission import SubmissionRefused
from compat.compiler.executiongraph.states import JobStatus
from compat.execution.narration import last_line
from compat.service.telemetry import log

_MOST_RESTARTS = 3
"""The number of restarts without a checkpoint in between after which a job has failed."""
_GRACE = 30.0
"""The least seconds that a job gets to come up, or to recover from a failure while it is watched."""
_PROMOTING = 600.0
"""Seconds for which a registry that cannot be asked is asked again."""
_ASKING_AGAIN = 2.0


@dataclass(slots=True)
class _Health:
    """How often a job restarted since its last checkpoint, as far as this dispatcher saw, and when it last did."""

    epoch: int | None
    begun: tuple[int, int]
    restarts: int
    since: float = field(default_factory=time.monotonic)

    @classmethod
    def first(cls, epoch: int | None, begun: tuple[int, int]) -> _Health:
        """Of a job that is looked at for the first time: one that was restarted before has yet to show that it runs."""
        return cls(epoch, begun, 1 if begun > (1, 0) else 0)

    def look(self, epoch: int | None, begun: tuple[int, int]) -> None:
        """It is so far, None if it has not said so, in an attempt of its process and one of its tasks."""
        if epoch is not None and self.epoch is not None and epoch > self.epoch:
            self.restarts = 0
        elif begun != self.begun:
            self.restarts += 1
            self.since = time.monotonic()
        self.epoch, self.begun = self.epoch if epoch is None else epoch, begun

    @property
    def settled(self) -> bool:
        """True for a job that did not restart, or has come further since, or has had nothing to do for a while."""
        return self.restarts == 0 or time.monotonic() - self.since >= _GRACE


@dataclass(slots=True)
class Steps:
    """Takes the next step of each deployment, whose jobs it submits and ends.

    ``rests`` says whether the process of a job that holds slots has ended for certain. Call it with the dispatcher's lock.
    """

    folder: ClusterFolder
    jobs: Jobs
    gate: RegistryGate | None
    rests: Callable[[str], bool]
    deployments: Deployments
    _health: dict[str, _Health] = field(default_factory=dict)
    _promotions: dict[str, threading.Thread] = field(default_factory=dict)

    def round(self) -> frozenset[str]:
        """Take the next step of each deployment; gives the jobs that get slots first.

        Each of these replaces a job that had slots. Raises LeadershipLost.
        """
        open = self.deployments.open()
        for deployment in open:
            try:
                while True:  # slots that a step frees are taken by the next, before others get them
                    self._advance(deployment)
                    (after,) = self.deployments.get(deployment.id)
                    if after.step in (deployment.step, Step.PROMOTING) or after.step.over:
                        break
                    deployment = after
            except (OSError, SubmissionRefused) as error:
                log("deployment", level="error", deployment=deployment.id, error=f"{type(error).__name__}: {error}")
        return frozenset(id for each in open for id in (each.new, each.back))

    def _advance(self, deployment: Deployment) -> None:
        match deployment.step:
            case Step.STOPPING:
                self._stop(deployment)
            case Step.STARTING:
                self._start(deployment)
            case Step.WATCHING:
                self._watch(deployment)
            case Step.PROMOTING:
                self._promote(deployment)
            case Step.RETURNING:
                self._return(deployment)
            case _:
                raise AssertionError(deployment.step)

    def _to(self, deployment: Deployment, step: Step, message: str = "", savepoint: str | None = None) -> None:
        if step.over:
            self._health.pop(deployment.id, None)
            if step is not Step.RETURNED and deployment.old is not None and not self.jobs.with_id(deployment.back):
                shutil.rmtree(self.folder.job(deployment.back), ignore_errors=True)
        self.deployments.to(deployment, step, message, savepoint)
        log("deployment", deployment=deployment.id, job=deployment.job, step=step.value, message=message)

    def _stop(self, deployment: Deployment) -> None:
        assert deployment.old is not None
        (old,) = self.jobs.with_id(deployment.old)  # it is held
        asked = self.jobs.request(deployment.old, deployment.stop)
        if old.status.terminal and old.stopped_with is not None:
            self._to(deployment, Step.STARTING, savepoint=old.stopped_with)
        elif old.status.terminal:
            self._to(deployment, Step.ABANDONED, f"Job {old.id} was {old.status.value} before it was stopped.")
        elif asked is None:
            self.jobs.ask(deployment.old, Action.STOP, id=deployment.stop)
        elif asked.error is not None:
            self._to(deployment, Step.ABANDONED, f"Job {old.id} was not stopped with a savepoint: {asked.error}")

    def _start(self, deployment: Deployment) -> None:
        """Have the new job there, and wait until it runs."""
        job = self._job(deployment, deployment.new)
        if job is None:
            return
        if job.status in (JobStatus.RUNNING, JobStatus.FINISHED):
            self._to(deployment, Step.WATCHING)
            return
        cause = self._ended_badly(job) or self._restarts_only(deployment, job)
        patience = max(deployment.watch, _GRACE) + (_GRACE if job.started_at is None else 0.0)
        if cause is None and time.time() - deployment.since > patience:
            cause = f"It did not run within {patience:g} s. {self._failure(job)}".rstrip()
        self._give_up(deployment, job, cause)

    def _watch(self, deployment: Deployment) -> None:
        """Follow the new job for as long as it is watched, and let it recover a while from what happens at the end."""
        job = self._job(deployment, deployment.new)
        assert job is not None
        if job.status is JobStatus.FINISHED:
            self._to(deployment, Step.PROMOTING)
            return
        cause = self._ended_badly(job) or self._restarts_only(deployment, job)
        watched = time.time() - deployment.since
        if cause is None and watched >= deployment.watch:
            if job.status is JobStatus.RUNNING and self._health[deployment.id].settled:
                self._to(deployment, Step.PROMOTING)
                return
            if watched >= deployment.watch + 2 * _GRACE:
                cause = f"It did not come to run again. {self._failure(job)}".rstrip()
        self._give_up(deployment, job, cause)

    def _give_up(self, deployment: Deployment, job: ClusterJob, cause: str | None) -> None:
        if cause is not None and job.status is JobStatus.CANCELED:
            state = f" Its state is in {deployment.savepoint}." if deployment.savepoint else ""
            self._to(deployment, Step.FAILED, cause + state)  # somebody wants it not to run
        elif cause is not None:
            self._to(deployment, Step.RETURNING, cause)

    def _promote(self, deployment: Deployment) -> None:
        """Have the registry know, where there is one: by a thread, as it may take its time."""
        gate, version = self.gate, deployment.version
        if gate is None or version is None:
            self._to(deployment, Step.DEPLOYED)
            return
        known = self._promotions.get(deployment.id)
        if known is not None and known.is_alive():
            return

        def promote() -> None:
            try:
                gate.promote(deployment.job, version, self.folder.submission(deployment.new).recipe)
                self._to(deployment, Step.DEPLOYED)
            except RegistryAway as error:
                if time.time() - deployment.since > _PROMOTING:
                    self._to(deployment, Step.NOT_PROMOTED, str(error))
                else:
                    time.sleep(_ASKING_AGAIN)
            except GateClosed as error:
                self._to(deployment, Step.NOT_PROMOTED, str(error))

        def run() -> None:
            with suppress(LeadershipLost, SQLAlchemyError):  # the next round or dispatcher asks again
                promote()

        self._promotions = {id: each for id, each in self._promotions.items() if each.is_alive()}
        self._promotions[deployment.id] = threading.Thread(target=run, name="promoting", daemon=True)
        self._promotions[deployment.id].start()

    def _return(self, deployment: Deployment) -> None:
        """End the new job, whatever it does, and then start the old one again."""
        (new,) = self.jobs.with_id(deployment.new)
        if not new.status.terminal:
            if self.jobs.request(new.id, deployment.end) is None:
                self.jobs.ask(new.id, Action.CANCEL, id=deployment.end)
            elif self.rests(new.id):
                self.jobs.end(new.id, JobStatus.CANCELED, message=deployment.message)
            return
        if new.status is JobStatus.FINISHED:
            self._to(deployment, Step.PROMOTING)  # it came to its end after all
            return
        if deployment.old is None:
            self._to(deployment, Step.FAILED, f"{deployment.message} Nothing ran before that could run again.")
            return
        try:
            job = self._job(deployment, deployment.back)
            cause = None if job is None else self._ended_badly(job)
        except SubmissionRefused as error:
            job, cause = None, str(error)
        if job is not None and job.status in (JobStatus.RUNNING, JobStatus.FINISHED):
            self._to(deployment, Step.RETURNED)
        elif cause is not None:
            self._to(
                deployment,
                Step.FAILED,
                f"{deployment.message} Nor does the old version run again: {cause} Its state is in {deployment.savepoint}.",
            )

    def _job(self, deployment: Deployment, id: str) -> ClusterJob | None:
        """The job that a deployment starts; None if it was only just submitted."""
        for job in self.jobs.with_id(id):
            return job
        submission = self.folder.submission(id)
        if deployment.savepoint is not None:
            submission = msgspec.structs.replace(submission, savepoint=deployment.savepoint, claim=False, fresh=False)
            if id == deployment.back:  # its first state was moved then
                submission = msgspec.structs.replace(submission, recipe=None, checked=None)
            self.folder.keep(id, submission.encoded())
        self.jobs.add(
            id,
            name=deployment.job,
            program=submission.program,
            slots=submission.slots,
            cores=submission.room.cores,
            memory=submission.room.memory,
            by=deployment.by,
            restored_from=submission.savepoint,
        )
        return None

    def _ended_badly(self, job: ClusterJob) -> str | None:
        """Why a job has ended that was to run on."""
        match job.status:
            case JobStatus.FAILED:
                return f"It failed: {last_line(job.message)}"
            case JobStatus.CANCELED:
                return f"Job {job.id} was cancelled."
        return None

    def _restarts_only(self, deployment: Deployment, job: ClusterJob) -> str | None:
        """Why a job counts as failed that restarts again and again, and comes no further."""
        entry = self.folder.store.entry(job.id)
        epoch = None if entry is None else entry.epoch
        begun = max(job.attempt, 1), 0 if entry is None else max((each.attempt for each in entry.vertices), default=0)
        health = self._health.get(deployment.id)
        if health is None:
            health = self._health[deployment.id] = _Health.first(epoch, begun)
        health.look(epoch, begun)
        if health.restarts < _MOST_RESTARTS:
            return None
        return f"It restarted {health.restarts} times without a checkpoint. {self._failure(job)}".rstrip()

    def _failure(self, job: ClusterJob) -> str:
        """The last failure of a job."""
        entry = self.folder.store.entry(job.id)
        told = [each.failure for each in entry.vertices if each.failure] if entry is not None else []
        told += [each.cause for each in self.jobs.failures(job.id)[:1]]
        return last_line(told[0]) if told else ""

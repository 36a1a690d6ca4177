"""The dispatcher: takes jobs, gives them slots, and restarts dead processes. Flink: ``Dispatcher``.

Its knowledge is in the cluster's database and in the jobs' folders. It may be killed at any time: jobs and Spark go on without
it, and the next one takes over the running jobs. A dispatcher that was paused meanwhile changes nothing (see
:mod:`compat.cluster.registry`).
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from compat.cluster import resources
from compat.cluster.deployments.deploying import Deployed, Deploying
from compat.cluster.gate import RegistryGate, refuse_twin
from compat.cluster.keeping import Pulse, SparkKeeping, end_keeper
from compat.cluster.layout import ClusterFolder
from compat.cluster.masters import Masters
from compat.cluster.records import Action, ClusterJob
from compat.cluster.registry import Jobs, LeadershipLost
from compat.cluster.requests import Requests
from compat.cluster.retention import keeps_checkpoint
from compat.cluster.settings import ClusterSettings
from compat.cluster.starts import Starts, starts_of
from compat.cluster.submission import DeploymentRequest, Submission, SubmissionRefused, decoded, refuse_other
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.restarts import RestartStrategy, names_strategy
from compat.execution.narration import last_line
from compat.service.telemetry import log
from compat.state.delta.errors import StoreError

_SECONDS = 0.1
"""Seconds between two rounds if nothing happens."""
_STARTING = 60.0
"""Seconds that a JobMaster has to become the driver of its job."""
_STOPPING = 20.0
"""Seconds for a cluster's processes to end when asked to."""
_FAREWELL = 1.0
"""Seconds for which a dispatcher that lost the lead still answers requests with that."""
_TIDYING, _TIDYING_AGAIN = 1.0, 60.0
"""Seconds between two searches for expired jobs, and before a failed removal is repeated."""


class JobRuns(Exception):
    """A job cannot be removed: it has not ended."""


@dataclass(slots=True)
class _Attempt:
    """An attempt that this dispatcher started or found: since when, whether it was the driver of its job, and is no more."""

    number: int
    since: float
    seen: bool = False
    over: bool = False
    pulse: Pulse = field(default_factory=Pulse)


class Dispatcher:
    """Leads a cluster, in a thread of its own, until it is closed or another dispatcher leads."""

    def __init__(
        self, folder: ClusterFolder, jobs: Jobs, settings: ClusterSettings, gate: RegistryGate | None = None
    ) -> None:
        """``gate`` decides which jobs may run; without one all may."""
        self.folder, self.jobs, self.settings, self.gate = folder, jobs, settings, gate
        self.lost = threading.Event()
        self.capacity = resources.Capacity.of(settings.slots, settings.master, settings.options)
        self._masters = Masters(folder, settings.master)
        self._attempts: dict[str, _Attempt] = {}
        self._starts: dict[str, Starts] = {}
        self._spark = SparkKeeping(folder, settings, jobs.renew)
        self._replaced: list[tuple[int, float]] = []
        self._tidied = 0.0
        self._stuck: dict[str, float] = {}
        self.lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = threading.Event()
        self._requests = Requests(folder, jobs, self.lock, self._rests, self._forget, self._wake.set)
        self.deploying = Deploying(folder, jobs, self.capacity, gate, self._rests)
        self._thread = threading.Thread(target=self._run, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Take over the running jobs, and begin to lead."""
        self._masters.ready()
        self._thread.start()

    def submit(self, job_id: str, data: bytes, by: str) -> ClusterJob:
        """Accept a job; the same id again gives the same job.

        Raises SubmissionRefused, NotEnoughSlots, GateClosed, LeadershipLost.
        """
        submission = self._taken(data)
        self.capacity.refuse(submission.slots, submission.groups)
        if self.gate is not None and not self.jobs.with_id(job_id):
            self.gate.admit(submission, self.jobs.unfinished())
        with self.lock:
            known = next((job for job in self.jobs.with_id(job_id)), None)
            if known is not None:
                return known
            if self.gate is not None:  # another one may have come while the registry was asked
                refuse_twin(submission.name, self.jobs.unfinished())
            self.folder.keep(job_id, submission.encoded())
            job = self.jobs.add(
                job_id,
                name=submission.name,
                program=submission.program,
                slots=submission.slots,
                cores=submission.room.cores,
                memory=submission.room.memory,
                by=by,
                restored_from=submission.savepoint,
            )
            log("submitted", job=job.id, name=job.name, slots=job.slots, by=by)
            self._schedule()
        self._wake.set()
        return self.jobs.get(job.id)

    def deploy(self, id: str, request: DeploymentRequest, by: str) -> Deployed:
        """Begin an upgrade; the same id again gives its state.

        Raises SubmissionRefused, NotEnoughSlots, GateClosed, DeploymentRefused, LeadershipLost.
        """
        submission = self._taken(request.submission)
        for known in self.deploying.deployments.get(id):
            return Deployed(deployment=known)
        with self.lock:
            situation = self.deploying.refuse(request, submission)
        judged = self.deploying.judge(request, submission, situation)
        if request.dry_run:
            return Deployed(sentence=judged.sentence)
        with self.lock:
            begun = self.deploying.begin(id, request, submission, judged, by)
        self._wake.set()
        return Deployed(deployment=begun, sentence=judged.sentence)

    def _taken(self, data: bytes) -> Submission:
        """A submission with what the cluster says today: its job keeps that, whatever the cluster is started with later.

        Raises SubmissionRefused if the processes of this version could not load its functions.
        """
        submission = decoded(data)
        refuse_other(submission)
        restarts = submission.restarts if names_strategy(submission.restarts) else self.settings.restarts
        return msgspec.structs.replace(submission, directories=self.settings.directories, restarts=restarts)

    def ask(self, job_id: str, action: Action, path: str | None = None, drain: bool = False) -> str:
        """Send a request to a job; gives the id under which the registry has the outcome."""
        id = self.jobs.ask(job_id, action, path, drain)
        self._wake.set()
        return id

    def discard(self, job_id: str) -> None:
        """Remove a job that has ended, with its checkpoints; savepoints stay. Raises JobRuns, StoreError, LeadershipLost."""
        with self.lock:
            job = self.jobs.get(job_id)
            if not job.status.terminal:
                raise JobRuns(f"Job {job.id} runs: end it with compat job stop or compat job cancel first.")
            if job.id in self.deploying.needed:
                raise JobRuns(
                    f"Job {job.id} is part of a deployment that is under way: discard it when that has ended."
                )
            self._remove(job, checkpoint=False)

    def close(self, *, stop_all: bool) -> int:
        """Give up the lead. With ``stop_all`` the cluster ends; gives the number of jobs that go on when it starts again. A
        dispatcher that was replaced ends nothing.
        """
        stop_all = stop_all and not self._led_by_another()
        self._closed.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(10)
        self._requests.close()
        self._masters.close()
        if stop_all:
            self._spark.terminate()
        return stop_processes(self.folder, self.jobs) if stop_all else 0

    def _led_by_another(self) -> bool:
        """True if it is known, or seen now, that another one leads."""
        if not self.lost.is_set():
            with suppress(SQLAlchemyError):
                if not self.jobs.leads:
                    self.lost.set()
        return self.lost.is_set()

    def _run(self) -> None:
        renewed = 0.0
        while not self._closed.is_set():
            try:
                if time.monotonic() - renewed > self.settings.lease / 4:
                    self.jobs.renew()
                    renewed = time.monotonic()
                with self.lock:
                    self._round()
            except LeadershipLost as error:
                log("leadership", level="warning", message=str(error))
                self.lost.set()
                self._closed.wait(_FAREWELL)
                os.kill(os.getpid(), signal.SIGTERM)
                return
            except (SQLAlchemyError, OSError) as error:
                log("dispatcher", level="error", error=f"{type(error).__name__}: {error}")
                time.sleep(1)
            self._wake.wait(_SECONDS)
            self._wake.clear()

    def _round(self) -> None:
        self._end_replaced()
        self._spark.look()
        self._masters.ready()
        for job in self.jobs.unfinished():
            if resources.has_slots(job):
                self._look_after(job)
        self._schedule()
        self._requests.look()
        if time.monotonic() - self._tidied > _TIDYING:
            self._tidy()
            self._tidied = time.monotonic()

    def _schedule(self) -> None:
        first = self.deploying.round()
        for grant in resources.grants(self.jobs.unfinished(), self.capacity.room, first):
            self._begin(grant.job, grant.pool)

    def _rests(self, job_id: str) -> bool:
        """True for a job whose process has ended, and whose next one waits to be started."""
        attempt = self._attempts.get(job_id)
        return attempt is not None and attempt.over and self.folder.store.driver(job_id) is None

    def _begin(self, job: ClusterJob, pool: int) -> None:
        number = self.jobs.begin(job.id, pool)
        if number is not None:
            self._attempts[job.id] = _Attempt(number, time.monotonic())
            self._masters.start(job.id, number, pool)

    def _look_after(self, job: ClusterJob) -> None:
        """Follow a job that has slots: start it again where its process died, or hangs; record how it ended."""
        attempt = self._attempts.get(job.id)
        if attempt is None or attempt.number != job.attempt:
            attempt = self._attempts[job.id] = _Attempt(job.attempt, time.monotonic() - _STARTING)
        entry = self.folder.store.entry(job.id)
        current = entry if entry is not None and entry.fence == job.attempt else None
        process = self.folder.store.driver(job.id)
        if process is not None:
            attempt.seen = True
            silent = attempt.pulse.silent(self.folder.store.sign_of_life(job.id))
            if silent > self.settings.heartbeat_timeout:
                self._again(job, attempt, f"The JobMaster gave no sign of life for {silent:.0f} s.", process)
            elif current is not None and current.status != job.status.value and not JobStatus(current.status).terminal:
                self.jobs.turned(job.id, JobStatus(current.status))
            return
        code = self._masters.ended(job.id, attempt.number)
        if not attempt.seen and code is None and time.monotonic() - attempt.since < _STARTING:
            return  # it is just being started
        entry = self.folder.store.entry(job.id)  # it may have been written between the two looks
        if entry is not None and entry.fence == job.attempt and JobStatus(entry.status).terminal:
            self._ended(job, entry)
            return
        starts = self._starts.get(job.id) or self._starts.setdefault(job.id, Starts(self._strategy_of(job)))
        if not attempt.over:
            attempt.over = True
            if self._masters.waits_for(job.id, attempt.number) and not attempt.seen and code is None:
                self._masters.replace()  # it was told to start, and did not
            cause = self._cause(job, code)
            self.jobs.failed(job.id, attempt.number, cause)
            if code is None or code <= 0 or self.folder.spark.find() is None:
                starts.died(time.monotonic() - attempt.since)
            elif not starts.failed():
                self._give_up(job, f"{starts.said} {cause}")
                return
        if starts.backoff.over:
            assert job.pool is not None
            self._begin(job, job.pool)

    def _strategy_of(self, job: ClusterJob) -> RestartStrategy:
        try:
            return starts_of(self.folder.submission(job.id).restarts)
        except (OSError, SubmissionRefused):  # its process will say so
            return starts_of({})

    def _give_up(self, job: ClusterJob, cause: str) -> None:
        """A job that does not start, as often as it may be tried, has failed; its checkpoint stays as that of any other."""
        kept = f"Its checkpoint is in {self.folder.store.directory(job.id)}."
        self.jobs.end(job.id, JobStatus.FAILED, message=f"{cause} {kept}")
        self._forget(job.id)
        log("ended", level="warning", job=job.id, status=JobStatus.FAILED.value, message=cause)

    def _forget(self, job_id: str) -> None:
        """Follow the attempts of a job no more."""
        self._attempts.pop(job_id, None)
        self._starts.pop(job_id, None)
        self._masters.forget(job_id)

    def _again(self, job: ClusterJob, attempt: _Attempt, cause: str, process: int) -> None:
        """Start a job again whose process hangs, and which is ended if it does not end by itself: it has lost the job."""
        self.jobs.failed(job.id, attempt.number, cause)
        log("heartbeat", level="warning", job=job.id, attempt=attempt.number, pid=process, message=cause)
        with suppress(OSError, AttributeError):
            handle = os.pidfd_open(process)  # of this process, whoever has its number later
            self._replaced.append((handle, time.monotonic() + self.settings.heartbeat_timeout))
        assert job.pool is not None
        self._begin(job, job.pool)

    def _end_replaced(self) -> None:
        """End processes whose job another one has, and which had their time to find that out."""
        now, left = time.monotonic(), []
        for handle, until in self._replaced:
            if until > now:
                left.append((handle, until))
                continue
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)
        self._replaced = left

    def _tidy(self) -> None:
        """Remove jobs that ended long ago, or that are too many; a few at a time."""
        keep, now = self.settings.retention, time.monotonic()
        self._stuck = {id: until for id, until in self._stuck.items() if until > now}
        for job in self.jobs.expired(time.time() - keep.seconds, keep.most, held=self.deploying.held):
            if job.id in self._stuck:
                continue
            entry = self.folder.store.entry(job.id)
            stays = entry is not None and keeps_checkpoint(job.status, entry.retention)
            try:
                self._remove(job, checkpoint=stays or self.folder.store.reduced(job.id))
            except (StoreError, OSError) as error:
                self._stuck[job.id] = now + _TIDYING_AGAIN
                log("expired", level="warning", job=job.id, error=str(error))

    def _remove(self, job: ClusterJob, *, checkpoint: bool) -> None:
        """Remove a job: its files, and then what is known of it; so one that is killed in between begins again."""
        self.jobs.remember(job, self.deploying.former(job, checkpoint=checkpoint))
        self.folder.remove(job.id, checkpoint=checkpoint)
        self.jobs.forget(job.id)
        log("removed", job=job.id, checkpoint="kept" if checkpoint else "removed")

    def _ended(self, job: ClusterJob, entry: JobEntry) -> None:
        status = JobStatus(entry.status)
        if status is JobStatus.FAILED:
            self.jobs.failed(job.id, job.attempt, entry.message)
        self.jobs.end(job.id, status, message=entry.message, stopped_with=entry.stopped_with)
        self._forget(job.id)
        log("ended", job=job.id, status=status.value)

    def _cause(self, job: ClusterJob, code: int | None) -> str:
        """Why a JobMaster ended, as far as anybody can tell."""
        if code is not None and code < 0:
            return f"The JobMaster was ended by {signal.Signals(-code).name}."
        said = ""
        with suppress(OSError), open(self.folder.log_of(job.id), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            said = last_line(file.read().decode("utf-8", "replace"))
        return f"The JobMaster ended: {said}" if said and code else "The JobMaster ended."


def stop_processes(folder: ClusterFolder, jobs: Jobs) -> int:
    """End the JobMasters and Spark of a cluster; gives how many jobs go on when it is started again."""
    unfinished = jobs.unfinished()
    for job in unfinished:
        pid = folder.store.driver(job.id)
        if pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
    keeper = folder.spark.keeper
    if keeper:
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)
    end = time.monotonic() + _STOPPING
    while time.monotonic() < end and (folder.spark.kept or any(folder.store.driver(job.id) for job in unfinished)):
        time.sleep(_SECONDS)
    if keeper and folder.spark.keeper == keeper:  # it is in the midst of starting Spark, or hangs
        end_keeper(keeper)
    return len(unfinished)

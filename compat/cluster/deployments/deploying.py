"""Deployments of jobs: what stands before one, whether it may begin, and its beginning.

Each round of the dispatcher looks at each deployment, and takes its next step (`steps`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field

import msgspec
from msgspec.structs import replace

from compat.cluster import resources
from compat.cluster.deployments.records import BACK, NEW, Deployment, Deployments, Step, derived
from compat.cluster.deployments.steps import Steps
from compat.cluster.gate import STATELESS, Candidate, GateClosed, RegistryGate
from compat.cluster.layout import ClusterFolder
from compat.cluster.records import ClusterJob, FormerJob
from compat.cluster.registry import Jobs
from compat.cluster.submission import DeploymentRequest, Submission
from compat.compiler.executiongraph.states import JobStatus
from compat.service.telemetry import log
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog


class DeploymentRefused(Exception):
    """A deployment that cannot be begun; the message says why. Nothing was changed."""


class Replaced(DeploymentRefused):
    """The running job is not the one that was checked against."""


class UnderWay(DeploymentRefused):
    """A deployment of the job has not ended yet."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """The situation before an upgrade: the running job, or else the last one that ended, and the snapshot to continue from.

    ``unclear`` says why a new job would start without the state of the last one; ``stateless`` says why there is no state.
    ``open`` is a deployment that has not ended.
    """

    runs: ClusterJob | None = None
    ended: ClusterJob | None = None
    state: str | None = None
    unclear: str = ""
    stateless: str = ""
    open: Deployment | None = None

    @property
    def base(self) -> str | None:
        """The job whose state a new one begins with."""
        if self.runs is not None:
            return self.runs.id
        return self.ended.id if self.ended is not None and self.state is not None else None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's answer: the number of the version in the registry, and a sentence. Without a registry both are missing."""

    version: int | None = None
    sentence: str = ""


class Deployed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to the request for a deployment: the deployment, or None if nothing is deployed, and the registry's answer."""

    deployment: Deployment | None = None
    sentence: str = ""


@dataclass(slots=True)
class Deploying:
    """The deployments of a cluster, as its dispatcher begins and advances them.

    ``rests`` says whether the process of a job that holds slots has ended for certain. Call all methods but :meth:`judge` with
    the dispatcher's lock.
    """

    folder: ClusterFolder
    jobs: Jobs
    capacity: resources.Capacity
    gate: RegistryGate | None
    rests: InitVar[Callable[[str], bool]]
    deployments: Deployments = field(init=False)
    steps: Steps = field(init=False)

    def __post_init__(self, rests: Callable[[str], bool]) -> None:
        self.deployments = Deployments(self.jobs)
        self.steps = Steps(self.folder, self.jobs, self.gate, rests, self.deployments)

    @property
    def needed(self) -> frozenset[str]:
        """The jobs that an unfinished deployment may still need."""
        return frozenset(
            id for each in self.deployments.open() for id in (each.old, each.new, each.back) if id is not None
        )

    @property
    def held(self) -> frozenset[str]:
        """The jobs that must stay: the needed ones, and those whose state the next deployment continues, however old."""
        last = (each for each in self.deployments.latest() if each.step.over)
        return self.needed.union(id for each in last for id in ([each.runs] if each.runs else [each.new, each.back]))

    def situation(self, name: str, called: str | None = None) -> Situation:
        """The situation of a job; if its name is unknown, that of the job with this name in its program.

        Raises DeploymentRefused if several jobs have the name.
        """
        last = self.deployments.last(name)
        known, former = self.jobs.named(name), self.jobs.former(name)
        if not known and former is None and last is None and called is not None:
            known, former = self.jobs.named(called), self.jobs.former(called)
        open = last if last is not None and not last.step.over else None
        running = [job for job in known if not job.status.terminal]
        if len(running) > 1 and open is None:
            raise DeploymentRefused(
                f"{len(running)} jobs called {running[0].name} run: {', '.join(job.id for job in running)}. Stop those that "
                "are not to be replaced."
            )
        if running:
            return Situation(runs=running[0], open=open)
        if former is not None and (not known or known[0].number < former.number):
            return Situation(unclear=_gone(former), open=open)
        if not known:
            if last is None:
                return Situation(stateless=f"This cluster knows no job called {name}")
            return Situation(
                unclear=f"{name} was deployed here, and its last job was discarded. {STATELESS}.", open=open
            )
        return replace(self._left(known[0], last), open=open)

    def judge(self, request: DeploymentRequest, submission: Submission, situation: Situation) -> Judgement:
        """The gate's answer on a new version. It takes time, so call it without the dispatcher's lock. Raises GateClosed."""
        starts_empty = situation.runs is None and submission.savepoint is None and not submission.fresh
        if starts_empty and situation.unclear:
            raise GateClosed(situation.unclear)
        if self.gate is None:
            return Judgement()
        candidate = Candidate.of(submission, request.job, f"{STATELESS}." if starts_empty else "")
        if request.dry_run:
            return Judgement(sentence=self.gate.check(candidate))
        return Judgement(version=self.gate.register(candidate, request.commit, request.author))

    def former(self, job: ClusterJob, *, checkpoint: bool) -> FormerJob | None:
        """The record of a removed job, whose last ``checkpoint`` may stay; None if it leaves nothing."""
        if job.status is JobStatus.FINISHED:
            return None if job.stopped_with is None else FormerJob.of(job, job.stopped_with)
        own = self._checkpoint(job)
        if own is None and job.status is JobStatus.FAILED:
            return None if job.restored_from is None else FormerJob.of(job, job.restored_from)
        return FormerJob.of(job, own if checkpoint else None)

    def refuse(self, request: DeploymentRequest, submission: Submission) -> Situation:
        """Raise DeploymentRefused for a deployment that cannot begin; gives the situation of the job."""
        if not (request.watch >= 0 and request.job):
            raise DeploymentRefused("A deployment has the name of a job, and a time above 0 to watch it.")
        self.capacity.refuse(submission.slots, submission.groups)
        found = self.situation(request.job, submission.name)
        if found.open is not None:
            raise UnderWay(f"A deployment of {request.job} is under way: {found.open.id}, begun by {found.open.by}.")
        if found.base != request.replaces:
            raise Replaced(
                f"{request.job} is another job by now, {found.base}, than the one that was checked against, "
                f"{request.replaces}. Deploy again."
            )
        if found.runs is not None:
            if submission.savepoint is not None or submission.fresh:
                raise DeploymentRefused(
                    f"{request.job} runs, as job {found.runs.id}, and a deployment goes on from its own savepoint. To begin "
                    "with another one, or without state, stop or cancel it first."
                )
            needed = submission.room
            others = [job for job in self.jobs.unfinished() if job.id != found.runs.id]
            free = resources.free_room(others, self.capacity.room)
            if not free.holds(needed):
                raise DeploymentRefused(
                    f"{request.job} would need {needed} in place of {found.runs.room.beside(needed)}, and "
                    f"{free.beside(needed)} are free then. Nothing was stopped."
                )
        return found

    def begin(
        self, id: str, request: DeploymentRequest, submission: Submission, judged: Judgement, by: str
    ) -> Deployment:
        """Begin a deployment for which the gate is open. Raises DeploymentRefused."""
        old = self.refuse(request, submission).runs
        self.folder.keep(derived(id, NEW), msgspec.structs.replace(submission, name=request.job).encoded())
        if old is not None:
            self.folder.copy(old.id, derived(id, BACK))
        log("deployment", deployment=id, job=request.job, old=None if old is None else old.id, by=by)
        return self.deployments.add(
            id,
            job=request.job,
            program=submission.program,
            fingerprint=request.fingerprint,
            slots=submission.slots,
            watch=request.watch,
            by=by,
            old=None if old is None else old.id,
            version=judged.version,
            savepoint=submission.savepoint,
            checked=submission.checked,
        )

    def round(self) -> frozenset[str]:
        """Take the next step of each deployment; gives the jobs that get slots first. Raises LeadershipLost."""
        return self.steps.round()

    def _left(self, ended: ClusterJob, last: Deployment | None) -> Situation:
        """Where the next one begins after a job that has ended, of which this was the last deployment, if any."""
        called = f"{ended.name} (job {ended.id})"
        canceled = ended.status is JobStatus.CANCELED
        if canceled and last is not None and last.step is Step.FAILED:
            canceled = self.jobs.request(ended.id, last.end) is None  # by a user, and not by the deployment
        if canceled:
            return Situation(ended=ended, unclear=f"{called} was cancelled, which gives its state up. {STATELESS}.")
        if ended.status is JobStatus.FINISHED:
            came = "" if ended.stopped_with is not None else f"{called} came to its end by itself"
            return Situation(ended=ended, state=ended.stopped_with, stateless=came)
        state = self._checkpoint(ended) or ended.restored_from
        return Situation(
            ended=ended, state=state, stateless="" if state else f"{called} failed before its first checkpoint"
        )

    def _checkpoint(self, job: ClusterJob) -> str | None:
        """The last checkpoint of a job, if it has one."""
        path = self.folder.store.state(job.id)
        try:
            return path if SnapshotLog.open(path).epoch > 0 else None
        except StoreError:
            return None


def _gone(former: FormerJob) -> str:
    """Why a new job would start without what a former one left."""
    how = {JobStatus.FINISHED: "was stopped", JobStatus.FAILED: "failed", JobStatus.CANCELED: "was cancelled"}
    state = f"It left its state in {former.state}" if former.state is not None else "Its checkpoints were not kept"
    job = f"job {former.job}, which {how[former.status]}, and was removed"
    return f"{former.name} ran here before: {job}. {state}. {STATELESS}."

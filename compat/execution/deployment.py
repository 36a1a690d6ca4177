"""The upgrade of a job on a cluster, as its user sees it: build, check, have the cluster do it, and follow its progress."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from compat.cluster.client import Cluster
from compat.cluster.deployments.answers import DeploymentSummary, SituationSummary
from compat.cluster.submission import DeploymentRequest, Submission
from compat.compiler.versions import LATEST_FLINK
from compat.execution.failures import NO_JOB, Refused
from compat.execution.program import Run, layout_of_run, make_cluster_executor
from compat.execution.snapshots import checker
from compat.migration.moved_plans import digest_of
from compat.migration.spark_steps import moved_plan
from compat.savepoint.operators import RequestError
from compat.transport import ServerError

if TYPE_CHECKING:
    from compat.cluster.gate import RegistryGate

Say = Callable[[str], None]
_AWAY = 503
"""The status of a dispatcher that does not lead."""
_ASKING = 0.3
_TOLD = {
    "stopping": "stopping job {old} with a savepoint",
    "starting": "starting job {new}{from_savepoint}",
    "watching": "job {new} runs, and is watched",
    "promoting": "promoting it",
    "returning": "the new version failed; the old one is started again{from_savepoint}",
    "deployed": "done: job {new} runs",
    "not promoted": "job {new} runs, and the registry does not say so",
    "returned": "job {runs}, the old version, runs again",
    "abandoned": "nothing was changed",
    "failed": "neither version runs",
}
"""The messages about the steps of a deployment."""


class FollowingLost(Exception):
    """The cluster no longer answers about a deployment that was begun, or may have been."""


class Wanted(Struct, frozen=True, kw_only=True):
    """An upgrade: of the job of a name to a program, watched for so many seconds.

    ``run`` says how the program runs, and on which cluster. ``gate`` asks the registry if the cluster itself has none.
    ``command`` is the command line that repeats the request.
    """

    job: str
    run: Run
    watch: float
    gate: RegistryGate | None
    allow_unknown: bool = False
    commit: str | None = None
    author: str | None = None
    dry_run: bool = False
    command: str | None = None


class Result(Struct, frozen=True, kw_only=True):
    """The end of an upgrade. ``deployment`` is None if nothing was begun, ``unpromoted`` why the registry did not take it."""

    deployment: DeploymentSummary | None
    sentence: str
    unpromoted: str = ""

    @property
    def done(self) -> bool:
        """True if the new version runs, and the registry knows it, too."""
        return not self.unpromoted and (self.deployment is None or self.deployment.step == "deployed")


def deploy(wanted: Wanted, say: Say) -> Result:
    """Upgrade a job. Raises Refused and GateClosed if nothing was begun, ServerError, and what the program raises.

    If a deployment of the same program is under way, this follows it; it waits for one of another program. Raises FollowingLost
    if the cluster goes away meanwhile.
    """
    assert wanted.run.cluster is not None
    cluster = Cluster(wanted.run.cluster, wanted.run.token)
    submission = built(wanted)
    fingerprint = _fingerprint(wanted.run, submission)
    while (found := cluster.situation(wanted.job, submission.name)).open is not None and not wanted.dry_run:
        same = found.open.fingerprint == fingerprint
        say(
            f"A deployment of {wanted.job} is under way, by {found.open.by}: {'going on with it' if same else 'waiting'}"
        )
        ended = _follow(cluster, found.open, say)
        if same:
            return _promoted(wanted, found, ended, submission, say)
    submission = _moved(_placed(wanted, submission, found, say), found, say)
    _check(wanted, submission, found, say)
    sentence, number = _asked(wanted, submission, found)
    request = DeploymentRequest(
        job=wanted.job,
        submission=submission.encoded(),
        fingerprint=fingerprint,
        watch=wanted.watch,
        replaces=found.base,
        commit=wanted.commit,
        author=wanted.author,
        dry_run=wanted.dry_run,
    )
    try:
        begun = cluster.deploy(uuid.uuid4().hex, request)
    except ServerError as error:
        if error.status in (0, _AWAY):
            raise FollowingLost(str(error)) from error
        raise
    sentence = begun.sentence or sentence
    if sentence:
        say(f"The registry: {sentence}")
    if begun.deployment is None:
        return Result(deployment=None, sentence=sentence)
    ended = _follow(cluster, begun.deployment, say)
    return _promoted(wanted, found, ended, submission, say, number)


def built(wanted: Wanted) -> Submission:
    """The job of a program to be deployed, as it is sent. Raises Refused, and any error of the program."""
    from compat.execution.narration import Narrator
    from compat.loader.main_module import prepare, run_as_main

    run = wanted.run
    taking = _Taking(make_cluster_executor(run, Narrator()))
    prepare(taking, run.options, run.parallelism, run.flink or LATEST_FLINK, planning=True)
    try:
        run_as_main(layout_of_run(run), run.arguments, called=run.program)
    except SystemExit as error:
        if error.code not in (None, 0):
            raise Refused(f"The program called sys.exit({error.code!r}).") from error
    found = taking.submissions
    if not found:
        raise Refused(NO_JOB)
    named = [each for each in found if each.name == wanted.job] if len(found) > 1 else found
    if len(named) != 1:
        raise Refused(f"{run.program} submits {len(found)} jobs, of which {len(named)} are called {wanted.job!r}.")
    return named[0]


class _Taking:
    """Takes the jobs of a program as they would travel; the program goes on as if they ran."""

    def __init__(self, executor: Any) -> None:
        self.submissions: list[Submission] = []
        self._executor = executor

    def submit(self, job: Any) -> object:
        """Take a job."""
        from compat.compiler.datastream.common.job_client import JobClient

        self.submissions.append(self._executor.submission(job))
        return JobClient()


def _fingerprint(run: Run, submission: Submission) -> str:
    """The same for the same program, however often it is built: pickled functions are not."""
    told = replace(submission, job=b"", files=b"", shipped=None, savepoint=None, checked=None)
    given = json.dumps([run.arguments, dict(run.options), run.parallelism], sort_keys=True).encode()
    return sha256(told.encoded() + given + Path(run.program).read_bytes()).hexdigest()


def _placed(wanted: Wanted, submission: Submission, found: SituationSummary, say: Say) -> Submission:
    """The submission with where it begins. Raises Refused."""
    given = submission.savepoint is not None or submission.fresh
    if found.runs is not None and given:
        option = "--fresh" if submission.fresh else "-s"
        raise Refused(
            f"{wanted.job} runs, as job {found.runs}, and the new version goes on from its savepoint: {option} is for a job "
            "that does not run."
        )
    if not given and found.runs is None and found.unclear:
        raise Refused(found.unclear)
    if not given and found.stateless:
        say(f"{found.stateless}: {wanted.job} is to begin without state")
    return submission if given else replace(submission, savepoint=found.state)


def _check(wanted: Wanted, submission: Submission, found: SituationSummary, say: Say) -> None:
    """Check the new version against the plan of the job whose state it takes over. Raises Refused.

    A savepoint that the user names is checked where it is restored, as that of any job.
    """
    if found.plan is None or submission.fresh or submission.savepoint != found.state:
        return
    check = checker(wanted.run.program, say, wanted.allow_unknown, again=wanted.command)
    old = f"{wanted.job} (job {str(found.base)[:8]})"
    check(old, _made(submission, found.plan), json.loads(submission.plan), submission.allow_non_restored)
    say(f"{wanted.run.program} can restore the state of {old}")


def _moved(submission: Submission, found: SituationSummary, say: Say) -> Submission:
    """The submission with the digest of the state that its recipe has to make. Raises Refused."""
    if submission.recipe is None:
        return submission
    if found.plan is None or submission.savepoint != found.state:
        return submission  # it is checked where it is restored
    digest = digest_of(_made(submission, found.plan))
    say(f"The recipe makes the state {digest}, which is checked, and started from")
    return replace(submission, checked=digest)


def _made(submission: Submission, plan: dict[str, Any]) -> dict[str, Any]:
    """The plan of the job whose state is taken over, as the recipe makes it. Raises Refused."""
    if submission.recipe is None:
        return plan
    try:
        return moved_plan(submission.recipe, plan, json.loads(submission.plan))
    except RequestError as error:
        raise Refused(str(error)) from error


def _asked(wanted: Wanted, submission: Submission, found: SituationSummary) -> tuple[str, int | None]:
    """What the registry says, where it is for this side to ask; and the number of the version there. Raises GateClosed."""
    if wanted.gate is None or found.registry is not None:
        return "", None
    from compat.cluster.gate import STATELESS, Candidate

    empty = found.runs is None and submission.savepoint is None and not submission.fresh
    candidate = Candidate.of(submission, wanted.job, f"{STATELESS}." if empty else "")
    if wanted.dry_run:
        return wanted.gate.check(candidate), None
    return "", wanted.gate.register(candidate, wanted.commit, wanted.author)


def _promoted(
    wanted: Wanted,
    found: SituationSummary,
    ended: DeploymentSummary,
    submission: Submission,
    say: Say,
    number: int | None = None,
) -> Result:
    """Tell the registry what runs now, where that is for this side to do."""
    if ended.step != "deployed" or wanted.gate is None or found.registry is not None:
        return Result(deployment=ended, sentence="")
    from compat.cluster.gate import Candidate, GateClosed

    try:
        if number is None:
            number = wanted.gate.register(Candidate.of(submission, wanted.job), wanted.commit, wanted.author)
        wanted.gate.promote(wanted.job, number, submission.recipe)
    except GateClosed as error:
        return Result(deployment=ended, sentence="", unpromoted=str(error))
    say(f"{wanted.job}@{number} runs by the registry, too")
    return Result(deployment=ended, sentence="")


def _follow(cluster: Cluster, deployment: DeploymentSummary, say: Say) -> DeploymentSummary:
    """Tell the steps of a deployment to its end."""
    told = 0
    while True:
        try:
            found = cluster.deployment(deployment.id)
        except ServerError as error:
            raise FollowingLost(str(error)) from error
        for step in found.steps[told:]:
            say(_step_told(found, step.step) + (f": {step.message}" if step.message else ""))
        told = len(found.steps)
        if found.over:
            return found
        time.sleep(_ASKING)


def _step_told(found: DeploymentSummary, step: str) -> str:
    from_savepoint = f" from {found.savepoint}" if found.savepoint else ""
    said = _TOLD.get(step, step).format(old=found.old, new=found.new, runs=found.runs, from_savepoint=from_savepoint)
    return f"{found.job}: {said}"

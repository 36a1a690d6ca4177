"""The gate of a cluster: it accepts only versions that a registry allows to replace the running one.

The gate asks the registry over HTTP, as any client does. The registry decides by its own rules (:mod:`compat.service.gate`).
Its answers are verdicts and names, never code. If the registry does not answer, the gate accepts nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Raw, Struct

from compat.cluster.records import ClusterJob
from compat.cluster.submission import Submission
from compat.escaping import visible
from compat.migration.recipe import Recipe
from compat.service.answers import CheckedAnswer, JobAnswer, PromotedAnswer, VersionAnswer
from compat.service.client import Server, job_path
from compat.service.untrusted import RefusedBody
from compat.transport import ServerError

T = TypeVar("T")
_UNKNOWN = 404

STATELESS = (
    "This would start without its state: -s PATH names a savepoint or checkpoint, --fresh says that none is wanted"
)


class GateClosed(Exception):
    """The registry refuses a job; the message says why, and what to do."""


class RegistryAway(GateClosed):
    """The registry cannot be reached."""


class Candidate(Struct, frozen=True):
    """A version of a registry's job that asks to replace the running one. ``plan`` is as ``compat registry push`` sends it.

    ``stateless`` says why it would start without the job's state, if it would and this was not allowed. ``recipe`` changes that
    state before the start.
    """

    job: str
    program: str
    plan: bytes
    flink: str
    stateless: str = ""
    recipe: Recipe | None = None

    @classmethod
    def of(cls, submission: Submission, job: str, stateless: str = "") -> Candidate:
        """A submission as a version of a job."""
        given = submission.program, submission.registered, submission.flink
        return cls(job, *given, stateless, submission.recipe)


class RegistryGate:
    """Asks a registry. Every method raises GateClosed."""

    def __init__(self, server: Server) -> None:
        self._server = server

    @property
    def url(self) -> str:
        """The registry's address."""
        return self._server.url

    def admit(self, submission: Submission, unfinished: Iterable[ClusterJob]) -> None:
        """Allow the start of a job submitted directly, if the registry has its name."""
        refuse_twin(submission.name, unfinished)
        stateless = (
            ""
            if submission.savepoint or submission.fresh
            else f"{STATELESS}, and {_deploy(submission.name)} takes it over."
        )
        if self._running(submission.name) is not None:
            self.check(Candidate.of(submission, submission.name, stateless))

    def check(self, candidate: Candidate) -> str:
        """Have the registry check a candidate against the running version; gives the answer."""
        return self._decide(candidate, {"plan": Raw(candidate.plan), "label": candidate.program}, None)

    def register(self, candidate: Candidate, commit: str | None, author: str | None) -> int:
        """Have the registry keep a candidate as the newest version of its job, and check it; gives its number.

        The same again changes nothing.
        """
        sent = {"plan": Raw(candidate.plan), "commit": commit, "author": author}
        version = self._post(f"{self._path(candidate.job)}/versions", sent, VersionAnswer)
        self._decide(candidate, {"job": candidate.job, "version": version.number}, version.number)
        return version.number

    def promote(self, job: str, number: int, recipe: Recipe | None = None) -> None:
        """Have the registry say that a version runs, which a recipe gave its state. The same again changes nothing."""
        if self._running(job) != number:
            moved = {} if recipe is None else {"recipe": recipe}
            self._post(f"{self._path(job)}/promotions", {"version": number, **moved}, PromotedAnswer)

    def _decide(self, candidate: Candidate, new: Mapping[str, object], number: int | None) -> str:
        """What the registry says of a candidate, where it lets it pass."""
        job = candidate.job
        try:
            running = self._running(job)
        except _UnknownToRegistry:
            running = None
        if running is None:
            return f"No version of {job} runs by the registry."
        if candidate.stateless:
            raise GateClosed(f"{job}@{running} runs by the registry. {candidate.stateless}")
        if running == number:
            return f"{job}@{number} is what runs by the registry."
        asked = {
            "old": {"job": job, "version": running},
            "new": new,
            "record": self._server.token is not None,
            "options": {"flink": candidate.flink} | ({} if candidate.recipe is None else {"recipe": candidate.recipe}),
        }
        answer = self._post("/checks", asked, CheckedAnswer)
        if not answer.report.passed:
            kept = (
                "" if answer.check is None else f"\nThe whole report: {self._server.page('/checks/')}{answer.check.id}"
            )
            against = "".join(f"\n  {line}" for line in answer.report.against)
            raise GateClosed(
                visible(f"The registry does not let it replace {job}@{running}: {answer.report.sentence}{against}")
                + kept
            )
        return answer.report.sentence

    def _running(self, job: str) -> int | None:
        """The version that runs by the registry, None if none was promoted. Raises _UnknownToRegistry."""
        try:
            found = self._server.get(self._path(job), JobAnswer)
        except ServerError as error:
            if error.status == _UNKNOWN:
                raise _UnknownToRegistry(
                    f"The registry {self.url} knows no job {job!r}, and this cluster takes only what it lets pass: "
                    f"{_deploy(job)} registers the program and starts it."
                ) from error
            raise self._closed(error) from error
        return None if found.current is None else found.current.number

    def _post(self, path: str, value: Mapping[str, object], kind: type[T]) -> T:
        try:
            return self._server.post(path, value, kind)
        except ServerError as error:
            raise self._closed(error) from error

    def _closed(self, error: ServerError) -> GateClosed:
        if error.status == 0 or error.status >= 500:
            return RegistryAway(f"The registry cannot be asked, and this cluster takes only what it lets pass: {error}")
        return GateClosed(f"The registry {self.url} refuses: {error}")

    @staticmethod
    def _path(job: str) -> str:
        try:
            return job_path(job)
        except RefusedBody as error:
            raise GateClosed(
                f"The registry has no job {job!r}: {error} Give it such a name with env.execute(NAME), or with "
                "compat deploy --job NAME."
            ) from error


class _UnknownToRegistry(GateClosed):
    """The registry has no job of that name."""


def refuse_twin(name: str, unfinished: Iterable[ClusterJob]) -> None:
    """Raise GateClosed if a job of that name runs: a second one is not a replacement."""
    for job in unfinished:
        if job.name == name:
            raise GateClosed(f"{name} runs on this cluster already, as job {job.id}: {_deploy(name)} replaces it.")


def _deploy(job: str) -> str:
    return f"compat deploy --job {shlex.quote(job)}"

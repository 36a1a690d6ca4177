"""The answers of a service that the command line and clusters read; other parts may change."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Raw, Struct

from compat.check.findings import Verdict
from compat.service.records import Compatibility, Mode

Number = Annotated[int, Meta(ge=1, le=2**31 - 1)]


class PlanInfo(Struct, frozen=True, kw_only=True):
    """A stored plan; ``program`` is the digest of its program, if known."""

    program: str | None = None


class VersionAnswer(Struct, frozen=True, kw_only=True):
    """A version of a job."""

    job: str
    number: Number
    label: str
    plan: PlanInfo = PlanInfo()


class VersionAnswers(Struct, frozen=True, kw_only=True):
    """Versions of a job, newest first."""

    versions: tuple[VersionAnswer, ...]


class JobAnswer(Struct, frozen=True, kw_only=True):
    """A job, and its running version, if one was promoted."""

    name: str
    current: VersionAnswer | None


class CheckAnswer(Struct, frozen=True, kw_only=True):
    """A recorded check."""

    id: Number


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """The checker that made a report."""

    version: str


class FindingAnswer(Struct, frozen=True, kw_only=True):
    """A finding of a report."""

    rule: str
    level: str
    title: str


class SuppressedAnswer(FindingAnswer, frozen=True, kw_only=True):
    """An ignored finding of a report, which was accepted."""

    fingerprint: str


class FailureAnswer(Struct, frozen=True, kw_only=True):
    """Why a report decides nothing."""

    rule: str
    message: str


class ReportAnswer(Struct, frozen=True, kw_only=True):
    """A report."""

    tool: ToolAnswer
    verdict: str
    sentence: str
    findings: tuple[FindingAnswer, ...]
    suppressed: tuple[SuppressedAnswer, ...] = ()
    failures: tuple[FailureAnswer, ...]

    @property
    def passed(self) -> bool:
        """True if the new version restores the state of the old one."""
        return self.verdict in (Verdict.COMPATIBLE.value, Verdict.MIGRATION.value)

    @property
    def against(self) -> list[str]:
        """The findings against the new version, one line each."""
        lines = [f"{one.rule} {one.level}: {one.title}" for one in self.findings if one.level in ("error", "unknown")]
        return lines + [f"{one.rule}: {one.message}" for one in self.failures]


class CheckedAnswer(Struct, frozen=True, kw_only=True):
    """A finished check; ``check`` is None if it was not recorded."""

    check: CheckAnswer | None
    report: ReportAnswer


class AcceptedAnswer(Struct, frozen=True, kw_only=True):
    """A finding that was accepted."""

    rule: str
    title: str
    reason: str
    by: str


class StandingAnswer(Struct, frozen=True, kw_only=True):
    """An accepted finding, and the plans that it is accepted between."""

    fingerprint: str
    rule: str
    title: str
    reason: str
    by: str
    old_plan: str
    new_plan: str
    at: str | None


class AcceptedAnswers(Struct, frozen=True, kw_only=True):
    """The accepted findings of a job."""

    acceptances: tuple[StandingAnswer, ...]


class WithdrawnAnswers(Struct, frozen=True, kw_only=True):
    """A finding whose acceptance was withdrawn."""

    withdrawn: tuple[StandingAnswer, ...]


class CompatibilityAnswer(Struct, frozen=True, kw_only=True):
    """The state that a new version of a job has to restore: that of these versions, or of a savepoint."""

    mode: Mode
    versions: Number | None
    savepoint: str | None
    against: tuple[Number, ...]

    @property
    def told(self) -> str:
        """The mode in words."""
        return Compatibility(mode=self.mode, versions=self.versions, savepoint=self.savepoint).told


class DeletedAnswer(Struct, frozen=True, kw_only=True):
    """The deleted versions of a job, or the whole job."""

    job: str
    versions: tuple[Number, ...]
    whole_job: bool


class PromotionAnswer(Struct, frozen=True, kw_only=True):
    """A promotion; older servers do not list the accepted findings."""

    job: str
    number: Number
    forced: bool
    accepted: tuple[AcceptedAnswer, ...] = ()


class PromotedAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a promotion."""

    promotion: PromotionAnswer


class RefusedPromotion(Struct, frozen=True, kw_only=True):
    """The answer to a refused promotion."""

    check: CheckAnswer
    report: ReportAnswer


PlanAnswer = Raw
"""A plan, read like any other."""

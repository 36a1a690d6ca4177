"""The records of the registry, as frozen values. Times are seconds since 1970."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict


class Role(IntEnum):
    """The rights of a token; each role includes those before it. ``DEPLOY`` has programs run on a cluster."""

    NONE = 0
    READ = 1
    PUSH = 2
    DEPLOY = 3
    ADMIN = 4


class Identity(Struct, frozen=True):
    """The sender of a request: the name of a token, or ``anonymous``, of whom no token is ``known``.

    ``jobs`` are patterns of the names of the jobs that the token is bound to, none for a token of all jobs.
    """

    name: str
    role: Role
    known: bool = True
    jobs: tuple[str, ...] = ()

    def may_change(self, job: str | None) -> bool:
        """True if the token is for that job; what is of no single job (None) is only for tokens of all jobs."""
        return not self.jobs or (job is not None and any(fnmatchcase(job, pattern) for pattern in self.jobs))

    @property
    def deploys(self) -> bool:
        """True for senders who may have programs run: with exactly that role, which an admin of a registry lacks."""
        return self.role is Role.DEPLOY


class Plan(Struct, frozen=True, kw_only=True):
    """A plan as the registry keeps it: ``digest`` is the SHA-256 of its canonical JSON, ``size`` the bytes of that.

    ``program`` is the digest of the program that it says it was made of.
    """

    digest: str
    job_name: str
    flink: str
    operators: int
    size: int
    program: str | None = None


class Version(Struct, frozen=True, kw_only=True):
    """A version of a job: the ``number``-th that was pushed, from 1. ``image`` is the digest of its container image.

    ``built`` says that this service built it from a program, not the pusher. ``forced`` says that its last promotion was forced
    against the gate.
    """

    id: int
    job: str
    number: int
    plan: Plan
    commit: str | None
    author: str | None
    pushed_by: str
    pushed_at: float
    image: str | None = None
    built: bool = False
    forced: bool = False

    @property
    def label(self) -> str:
        """The name in reports: ``word_count@3``."""
        return f"{self.job}@{self.number}"


class Acceptance(Struct, frozen=True, kw_only=True):
    """A finding between two plans of a job that an admin let pass: by its fingerprint, in words, why, and who, by token."""

    fingerprint: str
    rule: str
    title: str
    reason: str
    by: str


class StandingAcceptance(Struct, frozen=True, kw_only=True):
    """A finding that is accepted until that is withdrawn: between which plans, by digest, and since when."""

    acceptance: Acceptance
    old_plan: str
    new_plan: str
    at: float


class Promotion(Struct, frozen=True, kw_only=True):
    """The promotion of a version to the one that runs: by whom, on which check; ``reason`` is given when it was forced.

    ``accepted`` are the findings of the check that were accepted.
    """

    id: int
    job: str
    number: int
    by: str
    at: float
    check: int | None
    forced: bool
    reason: str | None
    accepted: tuple[Acceptance, ...] = ()


class CheckSide(Struct, frozen=True, kw_only=True):
    """One side of a check: its name in reports, its kind (``plan``, ``version``, ``savepoint``), and its id."""

    label: str
    kind: str
    digest: str | None = None
    version: int | None = None
    savepoint: str | None = None


class Check(Struct, frozen=True, kw_only=True):
    """A check that was made: of what, when, with which verdict. ``seconds`` is what it took.

    ``options`` is the key of what was asked (:class:`compat.service.options.Options`), None for a check of an older server.
    """

    id: int
    job: str | None
    old: CheckSide
    new: CheckSide
    verdict: str
    sentence: str
    errors: int
    warnings: int
    commit: str | None
    author: str | None
    by: str
    at: float
    seconds: float
    options: str | None = None

    @property
    def passed(self) -> bool:
        """True if NEW may replace OLD."""
        return self.verdict in ("compatible", "compatible-with-migration")


class Mode(StrEnum):
    """The state that a new version of a job has to restore: of the running version, of the last that ran, or of a savepoint."""

    CURRENT = "current"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"


class Compatibility(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the gate asks of a new version: in the mode ``rollback`` the state of each of the last ``versions`` that were
    promoted, in the mode ``savepoint`` the savepoint of that id.
    """

    mode: Mode = Mode.CURRENT
    versions: int | None = None
    savepoint: str | None = None

    @property
    def told(self) -> str:
        """The mode in words."""
        match self.mode:
            case Mode.ROLLBACK:
                return f"the last {self.versions} versions that were promoted"
            case Mode.SAVEPOINT:
                return f"the savepoint {self.savepoint}"
        return "the version that runs"


class Job(Struct, frozen=True, kw_only=True):
    """A job: the version that runs (None before the first promotion), how many there are, the last check, and its mode."""

    name: str
    created_at: float
    versions: int
    current: Version | None
    last_check: Check | None
    compatibility: Compatibility = Compatibility()


class Savepoint(Struct, frozen=True, kw_only=True):
    """A savepoint or checkpoint in one of the operator's folders.

    ``id`` stands for its path. ``kind`` is ``flink``, ``delta-savepoint`` or ``delta-job`` (a job's own state table, of which
    the last epoch counts). ``status`` is ``ok``, ``unreadable`` (``error`` says why) or ``gone``. ``bytes`` and ``operators``
    are None if they are not known.
    """

    id: str
    path: str
    kind: str
    job: str | None
    status: str
    error: str | None
    checkpoint: int | None
    operators: int | None
    bytes: int | None
    modified_at: float
    seen_at: float


class Token(Struct, frozen=True, kw_only=True):
    """A token: its name, role and times, and patterns of the jobs it is bound to (none: all). The secret is not kept."""

    name: str
    role: Role
    created_at: float
    jobs: tuple[str, ...] = ()
    expires_at: float | None = None

    def expired(self, now: float) -> bool:
        """True if its end has come."""
        return self.expires_at is not None and now >= self.expires_at


class Action(StrEnum):
    """The actions in the audit log."""

    PROMOTE = "promote"
    FORCE = "force"
    ACCEPT = "accept"
    WITHDRAW = "withdraw"
    CREATE_TOKEN = "create token"
    REVOKE_TOKEN = "revoke token"
    IMPORT = "import"
    ADMISSION = "admission"
    DELETE = "delete"
    EXPIRE = "expire"
    MODE = "mode"


class AuditEntry(Struct, frozen=True, kw_only=True):
    """A decision: when, by whom (a token's name, or the user at the command line), for which job, and its content."""

    id: int
    at: float
    by: str
    action: Action
    job: str | None
    detail: Mapping[str, str | int | None]


def moment(seconds: float) -> str | None:
    """A time as ISO 8601, in UTC; None for a time beyond every calendar: files and clocks may have any value."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def plan_json(plan: Plan) -> dict[str, Any]:
    """A plan's description as the API gives it."""
    return {
        "digest": plan.digest,
        "job_name": plan.job_name,
        "flink": plan.flink,
        "operators": plan.operators,
        "size": plan.size,
        "program": plan.program,
    }


def version_json(version: Version) -> dict[str, Any]:
    """A version as the API gives it."""
    return {
        "job": version.job,
        "number": version.number,
        "label": version.label,
        "commit": version.commit,
        "author": version.author,
        "pushed_by": version.pushed_by,
        "pushed_at": moment(version.pushed_at),
        "image": version.image,
        "built": version.built,
        "forced": version.forced,
        "plan": plan_json(version.plan),
    }


def promotion_json(promotion: Promotion) -> dict[str, Any]:
    """A promotion as the API gives it."""
    return {
        "job": promotion.job,
        "number": promotion.number,
        "by": promotion.by,
        "at": moment(promotion.at),
        "check": promotion.check,
        "forced": promotion.forced,
        "reason": promotion.reason,
        "accepted": [acceptance_json(accepted) for accepted in promotion.accepted],
    }


def acceptance_json(accepted: Acceptance) -> dict[str, Any]:
    """An accepted finding as the API gives it."""
    return asdict(accepted)


def standing_json(standing: StandingAcceptance) -> dict[str, Any]:
    """An accepted finding with its plans, as the API gives it."""
    plans = {"old_plan": standing.old_plan, "new_plan": standing.new_plan}
    return {**acceptance_json(standing.acceptance), **plans, "at": moment(standing.at)}


def audit_json(entry: AuditEntry) -> dict[str, Any]:
    """An entry of the audit log as the API gives it."""
    return {
        "id": entry.id,
        "at": moment(entry.at),
        "by": entry.by,
        "action": entry.action.value,
        "job": entry.job,
        "detail": dict(entry.detail),
    }


def side_json(side: CheckSide) -> dict[str, Any]:
    """A side of a check as the API gives it."""
    return {
        "label": side.label,
        "kind": side.kind,
        "digest": side.digest,
        "version": side.version,
        "savepoint": side.savepoint,
    }


def check_json(check: Check) -> dict[str, Any]:
    """A check as the API gives it, without its report."""
    return {
        "id": check.id,
        "job": check.job,
        "old": side_json(check.old),
        "new": side_json(check.new),
        "verdict": check.verdict,
        "passed": check.passed,
        "sentence": check.sentence,
        "errors": check.errors,
        "warnings": check.warnings,
        "commit": check.commit,
        "author": check.author,
        "by": check.by,
        "at": moment(check.at),
        "seconds": check.seconds,
    }


def compatibility_json(asked: Compatibility) -> dict[str, Any]:
    """The mode of the gate as the API gives it."""
    return {"mode": asked.mode.value, "versions": asked.versions, "savepoint": asked.savepoint}


def job_json(job: Job) -> dict[str, Any]:
    """A job as the API gives it."""
    return {
        "name": job.name,
        "created_at": moment(job.created_at),
        "versions": job.versions,
        "current": None if job.current is None else version_json(job.current),
        "last_check": None if job.last_check is None else check_json(job.last_check),
        "compatibility": compatibility_json(job.compatibility),
    }


def savepoint_json(savepoint: Savepoint) -> dict[str, Any]:
    """A savepoint as the API gives it, without its contents."""
    return {
        "id": savepoint.id,
        "path": savepoint.path,
        "kind": savepoint.kind,
        "job": savepoint.job,
        "status": savepoint.status,
        "error": savepoint.error,
        "checkpoint": savepoint.checkpoint,
        "operators": savepoint.operators,
        "bytes": savepoint.bytes,
        "modified_at": moment(savepoint.modified_at),
        "seen_at": moment(savepoint.seen_at),
    }

"""The work of the worker processes: reading bodies, checking plans. It gets bytes and gives plain values; handlers never do
this work themselves. A check reads the named versions and savepoints from the registry and writes nothing: the server gets the
results and records them.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import OrderedDict
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from compat.check.assumptions import under_both
from compat.check.context import CheckOptions
from compat.check.decision import check, with_findings
from compat.check.findings import Finding, Level, Report
from compat.check.undecided import Undecided
from compat.loader.failure import Failure, Side, Undecidable
from compat.migration.moved_plans import digest_of
from compat.migration.proposing import offered
from compat.migration.recipe import Recipe
from compat.migration.spark_steps import moved_plan
from compat.plan.facts import Program, facts_of
from compat.plan.own_ids import disagreement
from compat.plan.reading import PlanError, from_plain
from compat.plan.writing import encoded, plain
from compat.refusals import refused
from compat.report.json_report import as_dict
from compat.savepoint.operators import RequestError
from compat.service.database import Database
from compat.service.options import Accepted, Options
from compat.service.records import Check, CheckSide, Plan, Role, Savepoint, Version
from compat.service.registry import Registry
from compat.service.registry.packing import canonical, pack, unpack
from compat.service.registry.packing import digest_of as digest_of_text
from compat.service.registry.plans import PackedPlan
from compat.service.requests import CheckRequest, Reference, check_request, may_ask, push_request
from compat.service.snapshots import accepted, snapshot_program
from compat.service.untrusted import RefusedBody, read_json
from compat.state.model.job import Plan as JobPlan
from compat.state.model.job import Refused

PR_SET_PDEATHSIG = 1
"""The number of Linux's request for a signal when the parent ends."""

MOST_KEPT, LARGEST_KEPT = 64, 1024 * 1024
"""How many programs a worker keeps in memory, and the bytes of plan from which on it keeps none."""


class WorkerSettings(Struct, frozen=True):
    """The settings of a worker process."""

    database: str
    database_timeout: float
    max_depth: int
    memory: int


class Checked(Struct, frozen=True, kw_only=True):
    """A finished check. ``report`` is its JSON text; ``job`` is its job, if ``old`` belongs to one.

    ``options`` is the key of the request's options; ``accepted`` are the findings that the request accepted.
    """

    record: bool
    job: str | None
    old: CheckSide
    new: CheckSide
    verdict: str
    sentence: str
    errors: int
    warnings: int
    commit: str | None
    author: str | None
    seconds: float
    report: bytes
    packed_report: bytes
    options: str
    plans: tuple[PackedPlan, ...]
    accepted: tuple[Finding, ...]


class Pushed(Struct, frozen=True):
    """A plan to be registered."""

    packed: PackedPlan
    commit: str | None
    author: str | None
    image: str | None


class _Programs(Struct, frozen=True):
    """The facts of a plan, and those under another default parallelism where ids or chains depend on it."""

    usual: Program
    other: Program | None

    @classmethod
    def of(cls, plan: JobPlan, name: str) -> _Programs:
        other = None if plan.otherwise is None else facts_of(plan.otherwise, name=name, kind="plan")
        return cls(facts_of(plan, name=name, kind="plan"), other)

    def named(self, name: str) -> _Programs:
        """The same under what this report calls it."""
        return _Programs(replace(self.usual, name=name), self.other and replace(self.other, name=name))

    def under(self, number: int) -> Program:
        """Under Flink's default (0), and under another one (1)."""
        return self.usual if number == 0 or self.other is None else self.other

    def each(self, old: _Programs | None) -> tuple[Program, ...]:
        """What is to be checked against ``old``: twice where one of the two depends on the default."""
        hangs = self.other is not None or (old is not None and old.other is not None)
        return (self.usual, self.under(1)) if hangs else (self.usual,)


class _Worker:
    """The state of a worker process. ``programs`` are facts of plans by digest, which never change, the latest used last."""

    settings: WorkerSettings
    registry: Registry
    programs: OrderedDict[str, _Programs] = OrderedDict()


def start(settings: WorkerSettings) -> None:
    """Prepare a worker process: limit its memory, open the registry."""
    import resource
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends its workers itself
    _end_with_parent()
    resource.setrlimit(resource.RLIMIT_AS, (settings.memory, settings.memory))
    _Worker.settings = settings
    _Worker.registry = Registry(Database(settings.database, settings.database_timeout, connections=1))


def _end_with_parent() -> None:
    """Have the kernel end this process when the server is gone, whatever it does then; elsewhere than on Linux, nothing."""
    import ctypes
    import signal
    import sys

    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = multiprocessing.parent_process()
        if parent is not None and parent.pid != os.getppid():
            os._exit(0)  # it was gone before


def registry() -> Registry:
    """The registry of this worker process."""
    return _Worker.registry


def ping() -> bool:
    """True, which shows that the worker answers."""
    return True


def push(body: bytes) -> Pushed:
    """Read the version in a body. Raises RefusedBody."""
    request = push_request(body)
    packed, plan = _packed(request.plan, "plan")
    try:
        accepted(_valid(plan))
    except PlanError as error:
        raise RefusedBody(str(error), f"plan.{error.field}".rstrip(".")) from None
    return Pushed(packed, request.commit, request.author, request.image)


def check_body(body: bytes, role: Role) -> Checked:
    """Make the check that a body asks for. Raises RefusedBody, NotFound, and RoleNeeded if ``role`` does not allow it."""
    request = check_request(body)
    may_ask(request, role)
    return check_request_of(request)


def check_request_of(request: CheckRequest) -> Checked:
    """Make a check. Raises RefusedBody, NotFound."""
    return _check(request)


def check_versions(job: str, old: int, new: int, flink: str, recipe: Recipe | None = None) -> Checked:
    """Check one version of a job against another, whose state a recipe may have moved. Raises NotFound."""
    return check_version(Reference(job=job, version=old), job, new, flink, recipe)


def check_version(old: Reference, job: str, new: int, flink: str, recipe: Recipe | None = None) -> Checked:
    """Check a version of a job against the versions that its mode names. Raises NotFound."""
    return _check(
        CheckRequest(
            old=old,
            new=Reference(job=job, version=new),
            options=Options(flink=flink, recipe=recipe),
            record=True,
            commit=None,
            author=None,
        )
    )


def _check(request: CheckRequest) -> Checked:
    started = time.perf_counter()
    old, new = _side(request.old, Side.OLD), _side(request.new, Side.NEW)
    options = _with_accepted(old, new, request.options)
    known = _Worker.registry.checks.decided(old.side, new.side, options) if _are_plans(old, new) else None
    if known is not None and not request.options.accept:
        return _looked_up(request, old, new, *known)
    report = _after(_outcome(old, new, options), options.accept)
    document = as_dict(report, offered(report) if isinstance(report, Report) else None)
    text = encoded(document)
    levels = [finding.level for finding in report.findings] if isinstance(report, Report) else [Level.ERROR]
    return Checked(
        record=request.record,
        job=old.job if old.job is not None else new.job,
        old=old.side,
        new=new.side,
        verdict=report.verdict.value,
        sentence=document["sentence"],
        errors=levels.count(Level.ERROR) + levels.count(Level.UNKNOWN),
        warnings=levels.count(Level.WARNING),
        commit=request.commit,
        author=request.author,
        seconds=time.perf_counter() - started,
        report=text,
        packed_report=pack(text),
        options=_asked(options, report).key,
        plans=tuple(given.packed for given in (old, new) if given.packed is not None),
        accepted=tuple(_passed(report, request.options.accept)),
    )


def _are_plans(old: _Given, new: _Given) -> bool:
    return old.side.digest is not None and new.side.digest is not None


def _looked_up(request: CheckRequest, old: _Given, new: _Given, check: Check, packed_report: bytes) -> Checked:
    """A check that was made before: two plans and options are decided once."""
    assert check.options is not None
    return Checked(
        record=request.record,
        job=old.job if old.job is not None else new.job,
        old=old.side,
        new=new.side,
        verdict=check.verdict,
        sentence=check.sentence,
        errors=check.errors,
        warnings=check.warnings,
        commit=request.commit,
        author=request.author,
        seconds=check.seconds,
        report=unpack(packed_report),
        packed_report=packed_report,
        options=check.options,
        plans=tuple(given.packed for given in (old, new) if given.packed is not None),
        accepted=(),
    )


def _with_accepted(old: _Given, new: _Given, options: Options) -> Options:
    """The options with what admins accepted for these two plans of a job."""
    if old.job is None or old.side.digest is None or new.side.digest is None:
        return options
    known = _Worker.registry.acceptances.between(old.job, old.side.digest, new.side.digest)
    asked = {accepted.fingerprint: accepted for accepted in options.accept}
    before = {each.fingerprint: Accepted(each.fingerprint, each.reason) for each in known}
    return replace(options, accept=tuple((before | asked).values()))


def _asked(options: Options, report: Report | Undecided) -> Options:
    """The options with those findings only that are there."""
    there = {finding.fingerprint for finding in _passed(report, options.accept)}
    return replace(options, accept=tuple(each for each in options.accept if each.fingerprint in there))


def _passed(report: Report | Undecided, accept: tuple[Accepted, ...]) -> Iterator[Finding]:
    """The findings of a report that were accepted."""
    fingerprints = {accepted.fingerprint for accepted in accept}
    if isinstance(report, Report):
        yield from (finding for finding in report.suppressed if finding.fingerprint in fingerprints)


class _Given(Struct, frozen=True):
    """A side of a check: its description, and its plan, or why what was sent is none, or the snapshot."""

    side: CheckSide
    job: str | None
    plan: JobPlan | Refused | PlanError | None = None
    version: Version | None = None
    savepoint: Savepoint | None = None
    packed: PackedPlan | None = None


def _side(reference: Reference, side: Side) -> _Given:
    registry = _Worker.registry
    if reference.plan is not None:
        packed, plan = _packed(reference.plan, f"{side.value}.plan")
        label = reference.label or packed.plan.job_name or side.value
        return _Given(CheckSide(label=label, kind="plan", digest=packed.plan.digest), None, plan, packed=packed)
    if reference.job is not None:
        version = registry.jobs.version(reference.job, reference.version)
        described = CheckSide(label=version.label, kind="version", digest=version.plan.digest, version=version.number)
        return _Given(described, version.job, version=version)
    assert reference.savepoint is not None
    savepoint = registry.savepoints.get(reference.savepoint)
    label = reference.label or savepoint.path.rstrip("/").rpartition("/")[2]
    described = CheckSide(label=label, kind="savepoint", savepoint=savepoint.id)
    if side is Side.NEW:
        raise RefusedBody("A savepoint can be OLD; NEW is the plan that restores it.", "new.savepoint")
    return _Given(described, savepoint.job, savepoint=savepoint)


def _packed(text: bytes, where: str) -> tuple[PackedPlan, JobPlan | Refused | PlanError]:
    """A plan ready to be kept, as it was sent, and as a record, or what is wrong with a value in it.

    Raises RefusedBody for anything without the shape of a plan, and for a plan whose ids do not follow from its graph: it may
    have been made by hand.
    """
    plan: JobPlan | Refused | PlanError
    sent = read_json(text, _Worker.settings.max_depth)
    try:
        plan = from_plain(sent)
    except PlanError as error:
        if error.misshapen:
            raise RefusedBody(str(error), f"{where}.{error.field}".rstrip(".")) from None
        plan = error
    if isinstance(plan, JobPlan) and (why := disagreement(plan)) is not None:
        raise RefusedBody(
            f"This is not the plan of one job. {why} Make it again, with compat plan or compat registry push.", where
        )
    text = canonical(sent)
    described = Plan(
        digest=digest_of_text(text),
        job_name="" if isinstance(plan, PlanError) else plan.job_name or "",
        flink="" if isinstance(plan, PlanError) else plan.flink,
        operators=len(plan.operators) if isinstance(plan, JobPlan) else 0,
        size=len(text),
        program=None if isinstance(plan, PlanError) else plan.program,
    )
    return PackedPlan(described, pack(text)), plan


def _outcome(old: _Given, new: _Given, options: Options) -> Report | Undecided:
    side = Side.OLD
    try:
        if options.recipe is not None:
            return _moved(old, new, options, options.recipe)
        before = None if old.savepoint is not None else _programs(old)
        side = Side.NEW
        if before is not None and isinstance(new.plan, Refused):
            report = refused(new.plan, new.side.label, before.usual)
            if report is not None:
                return report
        after = _programs(new)
        side = Side.OLD
        pairs = [
            (_snapshot(old, one) if before is None else before.under(number), one)
            for number, one in enumerate(after.each(before))
        ]
    except (PlanError, RequestError) as error:
        name, rule = (old if side is Side.OLD else new).side.label, Undecidable.PROGRAM_FAILED
        if side is Side.OLD and old.savepoint is not None:
            rule = Undecidable.SAVEPOINT_UNREADABLE
        failure = Failure(rule=rule, message=str(error), name=name, side=side)
        return Undecided(failures=(failure,), old=old.side.label, new=new.side.label)
    usual, *others = (check(*pair, CheckOptions(options.allow_non_restored, options.flink)) for pair in pairs)
    return under_both(usual, others[0]) if others else usual


def _moved(old: _Given, new: _Given, options: Options, recipe: Recipe) -> Report | Undecided:
    """The check of OLD's plan as a recipe makes it; the report names its digest. Raises PlanError, RequestError."""
    sides = [_document(side) for side in (old, new)]
    if any(isinstance(one, Refused) for one in sides):
        raise PlanError("A recipe moves the state of a job that Flink takes, for another one.")
    before, after = (plain(one) for one in sides)
    made = moved_plan(recipe, before, after)
    moved = replace(old, plan=from_plain(made), version=None)
    found = _outcome(moved, new, replace(options, recipe=None))
    if isinstance(found, Undecided):
        return found
    told = f"The state of {old.side.label} is checked as a recipe makes it: {digest_of(made)}."
    return replace(found, notes=(*found.notes, told))


def _document(given: _Given) -> JobPlan | Refused:
    """The plan of a side. Raises PlanError."""
    if given.savepoint is not None:
        raise PlanError(
            "", "Recipes move plans here; a savepoint is moved by compat migrate, and what it makes is checked."
        )
    if given.version is not None:
        return accepted(_Worker.registry.plans.document(given.version.plan.digest))
    return _valid(given.plan)  # type: ignore[arg-type]


def _snapshot(old: _Given, new: Program) -> Program:
    assert old.savepoint is not None
    return snapshot_program(_Worker.registry, old.savepoint, old.side.label, new)


def _programs(given: _Given) -> _Programs:
    """The facts of a side; those of versions are kept for the next check, unless they are large."""
    if given.plan is not None:
        return _Programs.of(accepted(_valid(given.plan)), given.side.label)
    assert given.version is not None
    described = given.version.plan
    known = _Worker.programs.pop(described.digest, None)
    if known is None:
        plan = accepted(_Worker.registry.plans.document(described.digest))
        known = _Programs.of(plan, given.side.label)
    if described.size <= LARGEST_KEPT:
        _Worker.programs[described.digest] = known
        if len(_Worker.programs) > MOST_KEPT:
            _Worker.programs.popitem(last=False)
    return known.named(given.side.label)


def _valid(plan: JobPlan | Refused | PlanError) -> JobPlan | Refused:
    if isinstance(plan, PlanError):
        raise plan
    return plan


def _after(report: Report | Undecided, accept: tuple[Accepted, ...]) -> Report | Undecided:
    """The report without the findings that were accepted; they stay in it as suppressed, with the reason."""
    if isinstance(report, Undecided) or report.refused or not accept:
        return report
    reasons = {accepted.fingerprint: accepted.reason for accepted in accept}
    kept = [finding for finding in report.findings if finding.fingerprint not in reasons]
    passed = [
        replace(finding, ignored=reasons[finding.fingerprint])
        for finding in report.findings
        if finding.fingerprint in reasons
    ]
    return with_findings(report, kept, passed)

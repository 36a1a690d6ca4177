"""The registry's judgement of a resource: may it be stored as requested?

An upgraded job finds the state of the running version: the one that the registry names, or the one that the cluster had, if
that differs. The new version has to be able to restore both. An unknown program of the cluster leaves that open, and
so does any change that can bring other code under the name of a version.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import msgspec
from msgspec import Struct

from compat.check.findings import Level, Verdict
from compat.deployment.resources import DIGEST, GROUP, JOB, KINDS, VERSION, MalformedResource, Upgrade
from compat.deployment.risks import risks
from compat.plan.reading import PlanError
from compat.service import gate
from compat.service.admission import configured
from compat.service.admission.resources import Asked, read_resource, same_spec
from compat.service.admission.reviews import Request
from compat.service.records import Check, Version
from compat.service.registry import NotFound, Registry
from compat.state.model.job import Refused

MOST_TOLD = 10
"""The most findings that a refusal lists."""


class Outcome(Enum):
    """The outcome of a judgement; the operator decides about ``UNDECIDED``."""

    ALLOWED = "allowed"
    DENIED = "denied"
    UNDECIDED = "undecided"


class Judgement(Struct, frozen=True, kw_only=True):
    """The result and its reason. ``job`` and ``version`` are those of the resource, as far as known; ``check`` decided."""

    outcome: Outcome
    message: str
    warnings: tuple[str, ...] = ()
    job: str | None = None
    version: str | None = None
    check: int | None = None


class _Undecided(Exception):
    """The registry does not know enough; the message says what, and what to do."""


class _Finding(Struct, frozen=True, kw_only=True):
    rule: str
    title: str
    level: str


class _Report(Struct, frozen=True, kw_only=True):
    findings: tuple[_Finding, ...] = ()


_REPORTS = msgspec.json.Decoder(_Report)


def judge(registry: Registry, request: Request) -> Judgement:
    """May the resource of a request be stored as requested? Blocks. Raises SQLAlchemyError when the registry does not
    answer.
    """
    if request.operation not in ("CREATE", "UPDATE") or request.sub_resource or request.new is None:
        return _allowed(f"{request.operation} starts no other program.")
    if request.kind.group != GROUP or request.kind.kind not in KINDS:
        told = f"{request.kind.kind} of {request.kind.group or 'the core'}"[:100]
        return _allowed(f"{told} is no job.", f"compat judges {' and '.join(KINDS)}, and was asked about {told}.")
    try:
        new = read_resource(request.new)
        old = None if request.old is None else _before(request.old)
        if old is None and request.old is not None and new.has_job and not new.deleted:
            raise _Undecided(f"What is stored of {new.name} cannot be read: nobody knows whose state there is.")
        if not new.has_job or new.deleted:
            return _allowed("No job is to run.")
        if request.old is not None and old is not None and same_spec(request.old, request.new):
            return _relabelled(registry, new, old)
        same = old is not None and (new.named, new.program) == (old.named, old.program)
        if old is not None and new.suspended and same and not configured.differing(new, old):
            return _allowed("The job is suspended; its program stays as it is.")
        restored = new.savepoint if old is None or new.nonce not in (None, old.nonce) else None
        if new.upgrade is Upgrade.STATELESS and restored is None:
            return _allowed("Its upgrades are stateless: there is no state to restore.", *_risks(new, old, restored))
        return _judged(registry, new, old, restored)
    except MalformedResource as error:
        return Judgement(outcome=Outcome.DENIED, message=str(error))
    except (_Undecided, NotFound) as error:
        return Judgement(outcome=Outcome.UNDECIDED, message=str(error.args[0]), job=new.named.job or new.name or None)


def _before(text: bytes) -> Asked | None:
    """What was there before, if it can be read: it was stored, by whatever rules held then."""
    try:
        return read_resource(text)
    except MalformedResource:
        return None


def _judged(registry: Registry, new: Asked, old: Asked | None, restored: str | None) -> Judgement:
    wanted = _version(registry, new)
    warnings = (*_risks(new, old, restored),)
    if restored is not None and not (new.of_two_colours and registry.savepoints.at(restored) is None):
        return _from_savepoint(registry, wanted, restored, new.state_digest, warnings)
    runs = _running(registry, wanted, old)
    if old is not None and runs is not None:
        _require_same_program(registry, wanted, runs, new, old)
        under = _under_their_settings(registry, (runs, old), (wanted, new), warnings)
        if under is not None:
            return under
    decided: Check | None = None
    for before in _states(registry, wanted, runs):
        found = gate.decided(registry, wanted.job, before, wanted)
        if found.check is not None and found.check.passed:
            decided = found.check
            warnings += tuple(
                f"let pass: {each.rule} {each.title} ({each.reason}; {each.by})" for each in found.accepted
            )
            continue
        forced = _forced(registry, before, wanted)
        if forced is not None:
            warnings += (forced,)
        elif found.check is None:
            raise _Undecided(
                f"Nobody checked whether {wanted.label} restores the state of {before.label}. "
                f"'compat check --job {wanted.job} PROGRAM' or 'compat registry promote --job {wanted.job}' does."
            )
        else:
            return _denied(registry, wanted, found.check, warnings)
    told = f"{wanted.label} restores the state that there is." if decided else f"{wanted.label} runs, or none does."
    return _allowed(told, *warnings, version=wanted, check=decided)


def _relabelled(registry: Registry, new: Asked, old: Asked) -> Judgement:
    """A resource whose program stays: only one that nobody knew yet may be given the name of a version."""
    if new.named == old.named:
        return _allowed("The spec stays as it is.")
    wanted = _version(registry, new)
    try:
        before = _version(registry, old)
    except (_Undecided, NotFound, MalformedResource):
        return _allowed(
            "The program stays as it is.",
            f"{new.name} is taken for {wanted.label} from now on, on your word.",
            version=wanted,
        )
    if before.plan.digest == wanted.plan.digest:
        return _allowed("The plan stays as it is.", version=wanted)
    raise _Undecided(
        f"The program of {new.name} stays as it is, which was {before.label}: it cannot be {wanted.label} now."
    )


def _running(registry: Registry, wanted: Version, old: Asked | None) -> Version | None:
    """The version that the cluster has; None if no job is there. Raises _Undecided for one that nobody knows."""
    if old is None or not old.has_job:
        return None
    try:
        found = _version(registry, old)
    except (_Undecided, NotFound, MalformedResource) as error:
        raise _Undecided(
            f"Nobody knows which version the cluster runs: {error.args[0]} Say so first, and change nothing else: "
            f"kubectl annotate KIND {old.name} {VERSION}={wanted.job}@NUMBER."
        ) from None
    if found.job != wanted.job:
        raise _Undecided(f"The cluster runs {found.label}, and {wanted.label} is of another job: whose state is it?")
    return found


def _require_same_program(registry: Registry, wanted: Version, runs: Version, new: Asked, old: Asked) -> None:
    """Raise _Undecided where the resource says that it is the version that runs, and has what may make it another program."""
    if wanted.number != runs.number:
        return
    names = {
        "image": "image",
        "jar": "jarURI",
        "entry_class": "entryClass",
        "args": "args",
        "brought": "what brings code",
    }
    changed = [told for name, told in names.items() if getattr(new.program, name) != getattr(old.program, name)]
    if new.digest is not None and _holds(registry, new.digest, wanted):
        # What an image has is in its digest; that of an artifact is all the code there is, wherever it comes from.
        settled = ("image",) if new.digest == new.image_digest else ("image", "jarURI", "what brings code")
        changed = [told for told in changed if told not in settled]
    if changed:
        raise _Undecided(
            f"{new.name} is {wanted.label} as before, and {', '.join(changed)} changed: what that makes of the job nobody "
            f"checked. Push it as it is now, 'compat registry push --job {wanted.job}', and name that version; where only "
            f"the place of the code changed, the annotation {DIGEST} says so, with the digest of "
            f"'compat registry push --artifact-digest'."
        )


def _holds(registry: Registry, digest: str, version: Version) -> bool:
    """True for the digest of what holds the program of a version."""
    return any((one.job, one.number) == (version.job, version.number) for one in registry.jobs.with_image(digest))


def _under_their_settings(
    registry: Registry, old: tuple[Version, Asked], new: tuple[Version, Asked], warnings: tuple[str, ...]
) -> Judgement | None:
    """What the settings of the two deployments make of it, where they differ; None if nothing stands against it."""
    keys = configured.differing(new[1], old[1])
    if not keys:
        return None
    if left := configured.not_put_over(keys):
        raise _Undecided(
            f"{', '.join(left)} changed, which may make another plan of {new[0].label}. Push it with the setting, "
            f"'compat registry push --job {new[0].job} -D {left[0]}=…', and name that version."
        )
    try:
        before, after = (registry.plans.document(version.plan.digest) for version in (old[0], new[0]))
    except PlanError as error:
        raise _Undecided(f"A plan cannot be read: {error}") from error
    if isinstance(before, Refused) or isinstance(after, Refused):
        return None  # the gate says so
    found = configured.report((before, old[1]), (after, new[1]))
    if found.verdict.restores:
        return None
    told = f"{found.verdict.value.capitalize()} with the settings of {new[1].name} ({', '.join(keys)} changed): "
    told += "; ".join(
        f"{one.rule} {one.title}" for one in found.findings[:MOST_TOLD] if one.level in (Level.ERROR, Level.UNKNOWN)
    )
    outcome = Outcome.DENIED if found.verdict is Verdict.INCOMPATIBLE else Outcome.UNDECIDED
    return Judgement(outcome=outcome, message=f"{told}.", warnings=warnings, job=new[0].job, version=new[0].label)


def _states(registry: Registry, wanted: Version, runs: Version | None) -> Iterator[Version]:
    """The versions whose state ``wanted`` may find, without those of the same plan."""
    found: dict[str, Version] = {}
    for version in gate.states(registry, registry.jobs.get(wanted.job)):
        found.setdefault(version.plan.digest, version)
    if runs is not None:
        found.setdefault(runs.plan.digest, runs)
    yield from (version for digest, version in found.items() if digest != wanted.plan.digest)


def _version(registry: Registry, given: Asked) -> Version:
    """The version that a resource is, by what it says, or by its image. Raises _Undecided, NotFound, MalformedResource."""
    with_image = [] if given.digest is None else registry.jobs.with_image(given.digest)
    jobs = {version.job for version in with_image}
    job = given.named.job or (next(iter(jobs)) if len(jobs) == 1 else given.name)
    of_job = {version.plan.digest: version for version in reversed(with_image) if version.job == job}
    if given.named.number is not None:
        found = registry.jobs.version(job, given.named.number)
        if of_job and found.plan.digest not in of_job:
            told = " and ".join(version.label for version in of_job.values())
            raise MalformedResource(f"{given.name} says it is {found.label}, and its image is that of {told}.")
        if not of_job and given.digest is not None and found.image is not None:
            raise _Undecided(
                f"{given.name} says it is {found.label}, which was pushed with another image or artifact, {found.image}: "
                f"'compat registry push' names this one, with --image or --artifact-digest."
            )
        if not of_job and given.digest != given.image_digest:
            raise _Undecided(
                f"{given.name} says it is {found.label}, by the digest {given.digest}, and that version was pushed without "
                f"one: 'compat registry push --artifact-digest' names it."
            )
        _require_no_other_image(registry, given, found)
        return found
    if len(of_job) == 1:
        return next(iter(of_job.values()))
    if of_job:
        told = ", ".join(version.label for version in of_job.values())
        raise _Undecided(f"The image of {given.name} holds {told}: say which with the annotation {VERSION}.")
    if jobs:
        told = ", ".join(sorted(jobs))
        raise _Undecided(
            f"The image of {given.name} holds versions of {told}: say which job with the annotation {JOB}."
        )
    if given.digest is None:
        raise _Undecided(
            f"{given.name} does not say which version it is: give it the annotation {VERSION}, "
            f"or an image by its digest (REPOSITORY@sha256:…) that was named at 'compat registry push --image'."
        )
    raise _Undecided(
        f"No version was pushed with the image {given.digest} of {given.name}: name it at 'compat registry push --image', "
        f"or the version with the annotation {VERSION}."
    )


def _require_no_other_image(registry: Registry, given: Asked, found: Version) -> None:
    """Raise MalformedResource where an annotation says one version, and the image beside it is known to be another's."""
    if given.image_digest is None or given.image_digest == given.digest:
        return
    others = [one for one in registry.jobs.with_image(given.image_digest) if one.job == found.job]
    if others and all(one.plan.digest != found.plan.digest for one in others):
        raise MalformedResource(
            f"{given.name} says it is {found.label}, and its image is that of {', '.join(one.label for one in others)}."
        )


def _risks(new: Asked, old: Asked | None, restored: str | None) -> Iterator[str]:
    """What the way of the upgrade puts at risk."""
    return (f"{new.name}: {risk}" for risk in risks(new, old, restored))


def _from_savepoint(
    registry: Registry, wanted: Version, path: str, digest: str | None, warnings: tuple[str, ...]
) -> Judgement:
    """Judge a start from a savepoint that the resource names: by a check of that savepoint, which has that digest, if any."""
    known = registry.savepoints.at(path)
    if known is None:
        raise _Undecided(
            f"{wanted.label} is to start from {path}, which the service does not know: it looks for savepoints in the folders "
            f"given as 'compat serve --folder'."
        )
    found = registry.savepoints.digest(known.id)
    if digest is not None and digest != found:
        raise MalformedResource(
            f"{wanted.label} is to start from {path} with the digest {digest}, and what is there has "
            f"{found or 'none that the service knows'}: it is not the state that was checked."
        )
    check = registry.checks.of_savepoint(known.id, wanted.plan.digest, gate.gate_options(wanted), known.seen_at)
    if check is None:
        raise _Undecided(
            f"Nobody checked whether {wanted.label} restores {path}: send POST /api/v1/checks the savepoint {known.id} as old "
            f"and version {wanted.number} of the job {wanted.job} as new, with flink {wanted.plan.flink}."
        )
    if not check.passed:
        return _denied(registry, wanted, check, warnings)
    named = f"{path}, {found}" if found else path
    return _allowed(f"{wanted.label} restores {named}.", *warnings, version=wanted, check=check)


def _forced(registry: Registry, before: Version, wanted: Version) -> str | None:
    """Who had ``wanted`` replace ``before`` in spite of the check, and why; None if nobody did."""
    asked = registry.jobs.get(wanted.job).compatibility.versions or 1
    newest = registry.jobs.promotions(wanted.job, limit=1 + asked)
    forced = newest[:1] and newest[0].forced and newest[0].number == wanted.number
    if forced and before.number in {each.number for each in newest[1:]}:
        return f"{wanted.label} was forced by {newest[0].by}: {newest[0].reason}"
    return None


def _denied(registry: Registry, wanted: Version, check: Check, warnings: tuple[str, ...]) -> Judgement:
    findings = [
        f"{finding.rule} {finding.title}"
        for finding in _REPORTS.decode(registry.checks.report_text(check.id)).findings
        if finding.level in ("error", "unknown")
    ]
    more = f" and {len(findings) - MOST_TOLD} more" if len(findings) > MOST_TOLD else ""
    told = f" {'; '.join(findings[:MOST_TOLD])}{more}." if findings else ""
    message = f"{check.sentence}{told} It is check {check.id} of the registry."
    return Judgement(
        outcome=Outcome.DENIED, message=message, warnings=warnings, job=wanted.job, version=wanted.label, check=check.id
    )


def _allowed(message: str, *warnings: str, version: Version | None = None, check: Check | None = None) -> Judgement:
    return Judgement(
        outcome=Outcome.ALLOWED,
        message=message,
        warnings=warnings,
        job=None if version is None else version.job,
        version=None if version is None else version.label,
        check=None if check is None else check.id,
    )

"""Jobs, their versions, and the running ones."""

from __future__ import annotations

import json

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from compat.migration.recipe import Recipe
from compat.service import gate, worker
from compat.service.access import require
from compat.service.api.checks import record
from compat.service.body import SMALL_BODY, read_body
from compat.service.context import (
    Service,
    answer,
    blocking,
    page_size,
    path_job,
    path_number,
    query_number,
    raw,
    service,
    work,
)
from compat.service.records import (
    Acceptance,
    Check,
    Identity,
    Job,
    Role,
    Version,
    check_json,
    job_json,
    promotion_json,
    version_json,
)
from compat.service.registry import Conflict, NotFound
from compat.service.requests import PromoteRequest, Reference, job_name, promote_request


async def listing(request: Request) -> Response:
    """Jobs, by name."""
    after = request.query_params.get("after")
    jobs = await blocking(
        service(request).registry.jobs.all,
        limit=page_size(request),
        after=None if after is None else job_name(after),
    )
    return answer({"jobs": [job_json(job) for job in jobs]})


async def get(request: Request) -> Response:
    """One job."""
    return answer(job_json(await blocking(service(request).registry.jobs.get, path_job(request))))


async def versions(request: Request) -> Response:
    """The versions of a job, newest first."""
    found = await blocking(
        service(request).registry.jobs.versions,
        path_job(request),
        limit=page_size(request),
        before=query_number(request, "before", None),
    )
    return answer({"versions": [version_json(version) for version in found]})


async def version(request: Request) -> Response:
    """One version of a job."""
    return answer(version_json(await _version(request)))


async def plan(request: Request) -> Response:
    """The plan of a version, as ``compat plan --format json`` wrote it."""
    found = await _version(request)
    return raw(await blocking(service(request).registry.plans.text, found.plan.digest))


async def _version(request: Request) -> Version:
    number = request.path_params["number"]
    return await blocking(
        service(request).registry.jobs.version,
        path_job(request),
        None if number == "current" else path_number(request, "number"),
    )


async def push(request: Request) -> Response:
    """Register a plan as the newest version of a job."""
    parts = service(request)
    job = path_job(request)
    identity = require(request, Role.PUSH, job)
    body = await read_body(request, parts.settings)
    given = await work(request, worker.push, body, size=len(body))
    return await register(parts, job, given, identity)


async def register(parts: Service, job: str, given: worker.Pushed, identity: Identity, built: bool = False) -> Response:
    """Keep a pushed plan, ``built`` here or by the sender; the answer to the push."""
    pushed = await blocking(
        parts.registry.jobs.push,
        job,
        given.packed,
        commit=given.commit,
        author=given.author,
        image=given.image,
        by=identity.name,
        built=built,
    )
    if pushed.new:
        parts.metrics.pushed.inc()
    return answer(version_json(pushed.version), 201 if pushed.new else 200)


async def promotions(request: Request) -> Response:
    """The versions that ran and when, newest first."""
    found = await blocking(service(request).registry.jobs.promotions, path_job(request), page_size(request))
    return answer({"promotions": [promotion_json(promotion) for promotion in found]})


async def promote(request: Request) -> Response:
    """Make a version the running one, if it may replace the present one."""
    parts = service(request)
    name = path_job(request)
    identity = require(request, Role.PUSH, name)
    asked = promote_request(await read_body(request, parts.settings, most=SMALL_BODY))
    if asked.force or (asked.recipe is not None and asked.recipe.drops):
        require(request, Role.ADMIN, name)  # dropped state is lost
    job = await blocking(parts.registry.jobs.get, name)
    wanted = await _wanted(parts, name, asked)
    check, accepted = await _gate(request, job, wanted, identity, asked.recipe)
    if check is not None and not check.passed and not asked.force:
        parts.metrics.promoted.labels("refused").inc()
        report = await blocking(parts.registry.checks.report_text, check.id)
        return raw(_refusal(check) + b',"report":' + report + b"}", 409)
    promotion = await blocking(
        parts.registry.jobs.promote,
        name,
        wanted.number,
        expected=None if job.current is None else job.current.number,
        by=identity.name,
        check=None if check is None else check.id,
        reason=asked.reason if asked.force else None,
        accepted=accepted,
    )
    parts.metrics.promoted.labels("forced" if asked.force else "promoted").inc()
    return answer({"promotion": promotion_json(promotion), "check": None if check is None else check_json(check)})


async def _wanted(parts: Service, name: str, asked: PromoteRequest) -> Version:
    if asked.version is not None:
        return await blocking(parts.registry.jobs.version, name, asked.version)
    newest = await blocking(parts.registry.jobs.versions, name, 1)
    if not newest:
        raise NotFound(f"Job {name!r} has no version.")
    return newest[0]


async def _gate(
    request: Request, job: Job, wanted: Version, identity: Identity, recipe: Recipe | None
) -> tuple[Check | None, tuple[Acceptance, ...]]:
    """The check that decides, and what was accepted in it: the first that does not pass, or else that of the version that runs.

    No check where there is nothing to restore.
    """
    if job.compatibility.savepoint is not None:
        return await _restores_savepoint(request, job, wanted, identity, job.compatibility.savepoint), ()
    deciding: tuple[Check | None, tuple[Acceptance, ...]] = None, ()
    for old in await blocking(gate.states, service(request).registry, job):
        if old.plan.digest == wanted.plan.digest:
            continue
        check, accepted = await _restores(request, job, old, wanted, identity, recipe)
        if not check.passed:
            return check, accepted
        if deciding[0] is None:
            deciding = check, accepted
    return deciding


async def _restores(
    request: Request, job: Job, old: Version, wanted: Version, identity: Identity, recipe: Recipe | None
) -> tuple[Check, tuple[Acceptance, ...]]:
    """The newest check of the two versions that was asked what the gate asks, or one made now.

    What others asked of the same plans decides nothing.
    """
    parts = service(request)
    known = await blocking(gate.decided, parts.registry, job.name, old, wanted, recipe)
    if known.check is not None:
        return known.check, known.accepted
    size = max(old.plan.size, wanted.plan.size)
    numbers = old.number, wanted.number
    checked = await work(request, worker.check_versions, job.name, *numbers, wanted.plan.flink, recipe, size=size)
    made = await record(parts, checked, identity)
    plans = old.plan.digest, wanted.plan.digest
    return made, await blocking(parts.registry.acceptances.between, job.name, *plans)


async def _restores_savepoint(request: Request, job: Job, wanted: Version, identity: Identity, savepoint: str) -> Check:
    """The newest check of a version against the savepoint that the job's mode names, as it is now, or one made now."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.get, savepoint)
    if found.status != "ok":
        raise Conflict(
            f"The savepoint {found.path} of the mode of {job.name!r} is {found.status}: name another, compat registry "
            "mode --job NAME."
        )
    known = await blocking(
        parts.registry.checks.of_savepoint, found.id, wanted.plan.digest, gate.gate_options(wanted), found.seen_at
    )
    if known is not None:
        return known
    old = Reference(savepoint=found.id)
    checked = await work(
        request, worker.check_version, old, job.name, wanted.number, wanted.plan.flink, size=wanted.plan.size
    )
    return await record(parts, replace(checked, job=job.name), identity)


def _refusal(check: Check) -> bytes:
    document = {
        "type": "about:blank",
        "title": "Not promoted",
        "status": 409,
        "detail": check.sentence,
        "check": check_json(check),
    }
    return json.dumps(document, ensure_ascii=False).encode()[:-1]


ROUTES = [
    ("GET", "/jobs", listing),
    ("GET", "/jobs/{job}", get),
    ("GET", "/jobs/{job}/versions", versions),
    ("POST", "/jobs/{job}/versions", push),
    ("GET", "/jobs/{job}/versions/{number}", version),
    ("GET", "/jobs/{job}/versions/{number}/plan", plan),
    ("GET", "/jobs/{job}/promotions", promotions),
    ("POST", "/jobs/{job}/promotions", promote),
]

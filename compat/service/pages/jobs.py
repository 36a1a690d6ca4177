"""The jobs of the registry, one job, one version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from compat.service import gate
from compat.service.access import COOKIE
from compat.service.context import Service, blocking, page_of, path_job, path_number, query_number, service
from compat.service.pages import sections
from compat.service.pages.rendering import page, respond
from compat.service.pages.runs import RUNNING, SAVEPOINTS
from compat.service.records import Job, Version
from compat.service.registry import NotFound, Registry
from compat.service.requests import job_name

PAGE = 100
"""Jobs on a page."""

MOST = 50
"""Of a job's versions and checks the newest so many are on its page."""


@page
async def index(request: Request) -> Response:
    """Jobs with their last verdict."""
    after = request.query_params.get("after")
    return await _together(request, _index, service(request), None if after is None else job_name(after))


def _index(request: Request, parts: Service, after: str | None) -> Response:
    found = parts.registry.jobs.all(limit=PAGE + 1, after=after)
    return respond(
        request,
        "jobs.html",
        jobs=found[:PAGE],
        after=found[PAGE - 1].name if len(found) > PAGE else None,
        checks=parts.registry.checks.list(limit=10),
        folders=bool(parts.settings.folders),
    )


@page
async def job(request: Request) -> Response:
    """One job: what runs, its versions, checks, promotions and savepoints; of one that nobody pushed, the savepoints."""
    return await _together(request, _job, service(request).registry, path_job(request))


def _job(request: Request, registry: Registry, name: str) -> Response:
    savepoints = registry.savepoints.list(job=name, limit=MOST, kinds=SAVEPOINTS)
    running = registry.savepoints.list(job=name, limit=MOST, kinds=RUNNING)
    try:
        found = registry.jobs.get(name)
    except NotFound:
        if not (savepoints or running):
            raise
        return respond(request, "unregistered.html", name=name, savepoints=savepoints, running=running)
    versions = registry.jobs.versions(name, limit=MOST)
    return respond(
        request,
        "job.html",
        job=found,
        versions=versions,
        compared=_compared(found, versions),
        restored=gate.states(registry, found),
        checks=registry.checks.list(job=name, limit=MOST),
        promotions=registry.jobs.promotions(name, limit=MOST),
        admissions=registry.audit.admissions(name, limit=MOST),
        accepted=registry.acceptances.standing(name, limit=MOST),
        savepoints=savepoints,
        running=running,
    )


async def _together(request: Request, made: Callable[..., Response], *arguments: Any) -> Response:
    """A page that shows the registry as it is at one moment."""

    def reading() -> Response:
        with service(request).registry.database.together():
            return made(request, *arguments)

    return await blocking(reading)


def _compared(job: Job, versions: Sequence[Version]) -> tuple[int, int]:
    """The versions that one would compare: the one that runs with the newest, or the newest with the one before."""
    newest = [version.number for version in versions[:2]]
    if job.current is not None and job.current.number not in newest[:1]:
        return job.current.number, newest[0]
    return (newest[-1], newest[0]) if newest else (0, 0)


@page
async def compare(request: Request) -> Response:
    """Whether one version of a job restores another one's state: any two, checked now and not kept."""
    registry, name = service(request).registry, path_job(request)
    numbers = query_number(request, "old", None), query_number(request, "new", None)
    old, new = [await blocking(registry.jobs.version, name, number) for number in numbers]
    listed = {version.number: version for version in await blocking(registry.jobs.versions, name, limit=MOST)}
    versions = sorted({**listed, old.number: old, new.number: new}.values(), key=lambda version: -version.number)
    size = max(old.plan.size, new.plan.size)
    logged_in = COOKIE in request.cookies
    key = ("compare", old.id, new.id, versions[0].id, logged_in)
    arguments = (old, new, versions, logged_in)
    return HTMLResponse(await page_of(request, key, sections.compare_page, *arguments, size=size, kept=False))


@page
async def version(request: Request) -> Response:
    """The plan of one version."""
    parts = service(request)
    found = await blocking(parts.registry.jobs.version, path_job(request), path_number(request, "number"))
    logged_in = COOKIE in request.cookies
    key = ("version", found.label, logged_in)
    size = found.plan.size
    return HTMLResponse(await page_of(request, key, sections.version_page, found, logged_in, size=size))

"""The jobs of the registry, one job, one version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from compat.service import gate
from compat.service.access import COOKIE
from compat.service.context import Service, blocking, page_of, path_job, path_number, query_number, service
from compat.service.pages import sections
from compat.service.pages.rendering import VERDICT_NAMES, page, respond
from compat.service.pages.runs import RUNNING, SAVEPOINTS
from compat.service.records import Job, Version
from compat.service.registry import NotFound, Registry
from compat.service.registry.overview import (
    UNCHECKED,
    WORST_FIRST,
    Order,
    Standing,
    VersionOrder,
    Wanted,
    WantedVersions,
)
from compat.service.requests import LONGEST_LABEL, job_name

PAGE = 100
"""Jobs on a page."""

VERDICTS = {**{verdict.value: VERDICT_NAMES[verdict] for verdict in WORST_FIRST}, UNCHECKED: "Never checked"}
ORDERS = {
    Order.NAME.value: "by name",
    Order.VERDICT.value: "worst verdict first",
    Order.CHECKED.value: "checked last first",
}
STANDINGS = {
    Standing.PROMOTED.value: "promoted",
    Standing.FORCED.value: "forced",
    Standing.NEVER.value: "never promoted",
}
VERSION_ORDERS = {
    VersionOrder.NEWEST.value: "newest first",
    VersionOrder.OLDEST.value: "oldest first",
    VersionOrder.AUTHOR.value: "by author",
    VersionOrder.OPERATORS.value: "most operators first",
}
"""The orders to choose from, with their names."""

MOST = 50
"""The number of a job's versions and checks on its page, the newest."""


@page
async def index(request: Request) -> Response:
    """Jobs with their last verdict: those that match the search, in the wanted order, a page at a time."""
    number = query_number(request, "page", 1) or 1
    return await _together(request, _index, service(request), _wanted(request), number)


def _wanted(request: Request) -> Wanted:
    """The jobs that the query asks for; anything but a verdict or an order is ignored."""
    given = request.query_params
    verdict, order = given.get("verdict", ""), given.get("sort", "")
    return Wanted(
        text=given.get("q", "").strip()[:LONGEST_LABEL],
        verdict=verdict if verdict in VERDICTS else "",
        after=job_name(given["after"]) if given.get("after") else "",
        order=Order(order) if order in set(Order) else Order.NAME,
    )


def _index(request: Request, parts: Service, wanted: Wanted, number: int) -> Response:
    found = parts.registry.overview.page(wanted, PAGE, number)
    count = parts.registry.overview.count(wanted)
    asked = {
        "after": wanted.after,
        "q": wanted.text,
        "verdict": wanted.verdict,
        "sort": "" if wanted.order is Order.NAME else wanted.order.value,
    }

    return respond(
        request,
        "jobs.html",
        jobs=found,
        wanted=wanted,
        verdicts=VERDICTS,
        orders=ORDERS,
        count=count,
        **_pages("/", asked, number, count, PAGE),
        checks=parts.registry.checks.list(limit=10),
        forced=parts.registry.jobs.forced(),
    )


def _pages(place: str, asked: dict[str, str], number: int, count: int, most: int) -> dict[str, Any]:
    """The addresses of the pages before and after one, with what else was asked for; None if there is none."""

    def address(page: int) -> str:
        given = {**asked, "page": page if page > 1 else ""}
        return f"{place}?" + urlencode({name: value for name, value in given.items() if value})

    return {
        "before": address(number - 1) if number > 1 else None,
        "after": address(number + 1) if count > number * most else None,
    }


@page
async def job(request: Request) -> Response:
    """One job: the running version, its versions, checks, promotions and savepoints; of an unregistered job, the savepoints."""
    number = query_number(request, "page", 1) or 1
    return await _together(
        request, _job, service(request).registry, path_job(request), _wanted_versions(request), number
    )


def _wanted_versions(request: Request) -> WantedVersions:
    """The versions that the query asks for; anything but a standing or an order is ignored."""
    given = request.query_params
    standing, order = given.get("promoted", ""), given.get("sort", "")
    return WantedVersions(
        text=given.get("q", "").strip()[:LONGEST_LABEL],
        standing=Standing(standing) if standing in set(Standing) else Standing.ANY,
        order=VersionOrder(order) if order in set(VersionOrder) else VersionOrder.NEWEST,
    )


def _job(request: Request, registry: Registry, name: str, wanted: WantedVersions, number: int) -> Response:
    savepoints = registry.savepoints.list(job=name, limit=MOST, kinds=SAVEPOINTS)
    running = registry.savepoints.list(job=name, limit=MOST, kinds=RUNNING)
    try:
        found = registry.jobs.get(name)
    except NotFound:
        if not (savepoints or running):
            raise
        return respond(request, "unregistered.html", name=name, savepoints=savepoints, running=running)
    versions = registry.jobs.versions(name, limit=MOST)
    count = registry.overview.count_versions(name, wanted)
    order = "" if wanted.order is VersionOrder.NEWEST else wanted.order.value
    asked = {"q": wanted.text, "promoted": wanted.standing.value, "sort": order}
    return respond(
        request,
        "job.html",
        job=found,
        versions=versions,
        listed=registry.overview.versions(name, wanted, MOST, number),
        wanted=wanted,
        standings=STANDINGS,
        orders=VERSION_ORDERS,
        count=count,
        **_pages(f"/jobs/{quote(name)}", asked, number, count, MOST),
        compared=_compared(found, versions),
        restored=gate.states(registry, found),
        checks=registry.checks.list(job=name, limit=MOST),
        forced=registry.jobs.forced(),
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
    """The answer whether one version of a job restores another one's state: any two, checked now and not stored."""
    registry, name = service(request).registry, path_job(request)
    numbers = query_number(request, "old", None), query_number(request, "new", None)
    old, new = [await blocking(registry.jobs.version, name, number) for number in numbers]
    listed = {version.number: version for version in await blocking(registry.jobs.versions, name, limit=MOST)}
    versions = sorted({**listed, old.number: old, new.number: new}.values(), key=lambda version: -version.number)
    size = max(old.plan.size, new.plan.size)
    logged_in = COOKIE in request.cookies
    key = ("compare", old.id, new.id, versions[0].id, old.forced, new.forced, logged_in)
    arguments = (old, new, versions, logged_in)
    return HTMLResponse(await page_of(request, key, sections.compare_page, *arguments, size=size, kept=False))


@page
async def version(request: Request) -> Response:
    """The plan of one version."""
    parts = service(request)
    found = await blocking(parts.registry.jobs.version, path_job(request), path_number(request, "number"))
    logged_in = COOKIE in request.cookies
    key = ("version", found.label, found.forced, logged_in)
    size = found.plan.size
    return HTMLResponse(await page_of(request, key, sections.version_page, found, logged_in, size=size))

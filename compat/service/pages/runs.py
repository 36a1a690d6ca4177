"""The jobs on Spark that write into the operator's folders, and the page of one of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from compat.service import discovery
from compat.service.access import COOKIE
from compat.service.context import blocking, service, work
from compat.service.pages.rendering import page, render, respond
from compat.service.pages.stored import stored
from compat.service.pool import Size
from compat.service.records import Savepoint

RUNNING, SAVEPOINTS = (discovery.DELTA_JOB,), (discovery.FLINK, discovery.DELTA_SAVEPOINT)
"""The kinds of snapshots in folders: a job's own state table, which grows, and savepoints, which do not change."""

SECONDS = 5
"""The seconds between two requests of a page."""


@page
async def index(request: Request) -> Response:
    """All jobs on Spark, the last commit first."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.list, kinds=RUNNING)
    return respond(request, "runnings.html", jobs=found, folders=parts.settings.folders, seconds=SECONDS)


@page
async def job(request: Request) -> Response:
    """One job on Spark: its epochs, its metrics, its operators."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.get, request.path_params["id"])
    if found.kind not in RUNNING:
        return RedirectResponse(f"/savepoints/{found.id}", status_code=303)
    logged_in = COOKIE in request.cookies
    text = await work(request, job_page, found, logged_in, size=Size.FILES, timeout=parts.settings.files_timeout)
    return HTMLResponse(text)


def job_page(found: Savepoint, logged_in: bool) -> str:
    """The page of a job, rendered in a worker process, from its present state table."""
    inside = stored(found)
    return render(
        "running.html", logged_in=logged_in, job=found, **inside.shown(), history=inside.history, seconds=SECONDS
    )

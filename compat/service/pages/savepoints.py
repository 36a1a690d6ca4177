"""The savepoints and checkpoints in the operator's folders, and the contents of one of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from compat.service import discovery
from compat.service.access import COOKIE
from compat.service.context import blocking, service, work
from compat.service.pages import contents
from compat.service.pages.rendering import page, render, respond
from compat.service.pages.runs import RUNNING, SAVEPOINTS
from compat.service.pages.stored import stored
from compat.service.pool import Size
from compat.service.records import Savepoint

MANY = 200
"""The number of operators beyond which savepoints are rendered where files are read."""


@page
async def index(request: Request) -> Response:
    """All savepoints, newest first."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.list, kinds=SAVEPOINTS)
    return respond(request, "savepoints.html", savepoints=found, folders=parts.settings.folders)


@page
async def savepoint(request: Request) -> Response:
    """One savepoint: operators, states, key groups and sizes."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.get, request.path_params["id"])
    if found.kind in RUNNING:
        return RedirectResponse(f"/running/{found.id}", status_code=303)
    heavy = found.kind != discovery.FLINK or (found.operators or 0) > MANY
    size, timeout = (Size.FILES, parts.settings.files_timeout) if heavy else (Size.SMALL, None)
    logged_in = COOKIE in request.cookies
    return HTMLResponse(await work(request, savepoint_page, found, logged_in, size=size, timeout=timeout))


def savepoint_page(found: Savepoint, logged_in: bool) -> str:
    """The page of a savepoint, rendered in a worker process: its contents may be large."""
    inside = stored(found)
    missing = contents.missing(inside.inside)
    return render("savepoint.html", logged_in=logged_in, savepoint=found, **inside.shown(), missing=missing)

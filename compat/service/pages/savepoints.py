"""The savepoints and checkpoints in the operator's folders, and what is in one of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from compat.service import discovery, worker
from compat.service.access import COOKIE
from compat.service.context import blocking, service
from compat.service.pages import contents, running
from compat.service.pages.rendering import page, render, respond
from compat.service.records import Savepoint
from compat.service.registry import NotFound

MANY = 200
"""Savepoints of more operators are rendered where large checks are made."""


@page
async def index(request: Request) -> Response:
    """All savepoints, newest first."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.list)
    return respond(request, "savepoints.html", savepoints=found, folders=parts.settings.folders)


@page
async def savepoint(request: Request) -> Response:
    """One savepoint: operators, states, key groups and sizes; of a job on Spark its epochs as well."""
    parts = service(request)
    found = await blocking(parts.registry.savepoints.get, request.path_params["id"])
    heavy = found.kind != discovery.FLINK or (found.operators or 0) > MANY
    size = parts.settings.heavy_body if heavy else 0
    return HTMLResponse(await parts.pools.run(savepoint_page, found, COOKIE in request.cookies, size=size))


def savepoint_page(found: Savepoint, logged_in: bool) -> str:
    """The page of a savepoint, rendered in a worker process: what is in it may be much."""
    try:
        inside = worker.registry().savepoints.inspection(found.id)
    except NotFound:
        inside = {}
    history = None
    if found.kind != discovery.FLINK and found.status == "ok":
        history, measured = running.look_into(found.path, found.kind == discovery.DELTA_JOB)
        inside = {**inside, "operators": measured or inside.get("operators")}
    return render(
        "savepoint.html",
        logged_in=logged_in,
        savepoint=found,
        facts=contents.facts(inside),
        operators=contents.operators(inside),
        metrics=contents.metrics(inside),
        history=history,
        missing=[str(name) for name in inside.get("missing_files") or ()],
    )

"""The savepoints and checkpoints in the operator's folders, and what is in one of them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from compat.service import look
from compat.service.context import Service, blocking, service
from compat.service.pages import contents, running
from compat.service.pages.rendering import page, respond
from compat.service.records import Savepoint
from compat.service.registry import NotFound


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
    try:
        inside = await blocking(parts.registry.savepoints.inspection, found.id)
    except NotFound:
        inside = {}
    epochs = await _epochs(parts, found)
    return respond(
        request,
        "savepoint.html",
        savepoint=found,
        facts=contents.facts(inside),
        operators=contents.operators(inside),
        history=epochs,
        missing=[str(name) for name in inside.get("missing_files") or ()],
    )


async def _epochs(parts: Service, found: Savepoint) -> running.History | None:
    """The epochs of a job's own state table, read in a worker process."""
    if found.kind != look.DELTA_JOB or found.status != "ok":
        return None
    return await parts.pools.run(running.history, found.path, size=parts.settings.heavy_body)

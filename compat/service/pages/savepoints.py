"""The savepoints and checkpoints in the operator's folders, and what is in one of them."""

from __future__ import annotations

from typing import Any

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
    history, measured = await _measured(parts, found)
    return respond(
        request,
        "savepoint.html",
        savepoint=found,
        facts=contents.facts(inside),
        operators=contents.operators({**inside, "operators": measured or inside.get("operators")}),
        history=history,
        missing=[str(name) for name in inside.get("missing_files") or ()],
    )


async def _measured(parts: Service, found: Savepoint) -> tuple[running.History | None, list[dict[str, Any]]]:
    """The epochs of a job on Spark, and the operators of its snapshot, read in a worker process."""
    if found.kind == look.FLINK or found.status != "ok":
        return None, []
    is_job = found.kind == look.DELTA_JOB
    return await parts.pools.run(running.look_into, found.path, is_job, size=parts.settings.heavy_body)

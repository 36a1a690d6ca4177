"""Savepoints and checkpoints in the operator's folders."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from compat.service.access import require
from compat.service.context import answer, blocking, page_size, raw, service
from compat.service.records import Role, savepoint_json
from compat.service.registry import NotFound
from compat.service.requests import SAVEPOINT_ID, job_name
from compat.service.scan import scan

_ID = re.compile(SAVEPOINT_ID)


async def listing(request: Request) -> Response:
    """Savepoints, newest first."""
    job = request.query_params.get("job")
    found = await blocking(
        service(request).registry.savepoints.list,
        job=None if job is None else job_name(job),
        limit=page_size(request),
    )
    return answer({"savepoints": [savepoint_json(savepoint) for savepoint in found]})


async def get(request: Request) -> Response:
    """One savepoint."""
    return answer(savepoint_json(await blocking(service(request).registry.savepoints.get, _id(request))))


async def inspection(request: Request) -> Response:
    """The contents of a savepoint."""
    return raw(await blocking(service(request).registry.savepoints.inspection_text, _id(request)))


async def rescan(request: Request) -> Response:
    """Scan the folders now."""
    require(request, Role.ADMIN)
    found = await scan(service(request))
    return answer({"savepoints": found})


def _id(request: Request) -> str:
    id: str = request.path_params["id"]
    if not _ID.fullmatch(id):
        raise NotFound(f"There is no savepoint {id[:60]!r}.")
    return id


ROUTES = [
    ("GET", "/savepoints", listing),
    ("POST", "/savepoints/scan", rescan),
    ("GET", "/savepoints/{id}", get),
    ("GET", "/savepoints/{id}/inspection", inspection),
]

"""The mode of a job, which says what a new version has to restore, as in schema registries."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from compat.service import gate
from compat.service.access import require
from compat.service.body import SMALL_BODY, read_body
from compat.service.context import answer, blocking, path_job, service
from compat.service.records import Role, compatibility_json
from compat.service.registry import Registry
from compat.service.requests import compatibility_request


async def get(request: Request) -> Response:
    """The mode of a job, and the versions that it currently names."""
    return answer(await blocking(_told, service(request).registry, path_job(request)))


async def ask(request: Request) -> Response:
    """Set the mode of a job."""
    parts = service(request)
    job = path_job(request)
    identity = require(request, Role.ADMIN, job)
    asked = compatibility_request(await read_body(request, parts.settings, most=SMALL_BODY))
    if asked.savepoint is not None:
        await blocking(parts.registry.savepoints.get, asked.savepoint)
    await blocking(parts.registry.jobs.ask, job, asked, identity.name)
    return answer(await blocking(_told, parts.registry, job))


def _told(registry: Registry, name: str) -> dict[str, Any]:
    job = registry.jobs.get(name)
    of_versions = job.compatibility.savepoint is None
    against = [version.number for version in gate.states(registry, job)] if of_versions else []
    return {"job": name, **compatibility_json(job.compatibility), "against": against}


ROUTES = [("GET", "/jobs/{job}/compatibility", get), ("POST", "/jobs/{job}/compatibility", ask)]

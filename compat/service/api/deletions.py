"""Deleting a version of a job, or the whole job."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from compat.service.access import require
from compat.service.body import SMALL_BODY, read_body
from compat.service.context import answer, blocking, path_job, service
from compat.service.records import Role
from compat.service.requests import delete_request


async def delete(request: Request) -> Response:
    """Delete a version, or the job with all that is known of it."""
    parts = service(request)
    job = path_job(request)
    identity = require(request, Role.ADMIN, job)
    asked = delete_request(await read_body(request, parts.settings, most=SMALL_BODY))
    given = {"reason": asked.reason, "by": identity.name, "even_promoted": asked.even_promoted}
    deletions = parts.registry.deletions
    if asked.version is not None:
        await blocking(deletions.version, job, asked.version, **given)
        return answer({"job": job, "versions": [asked.version], "whole_job": False})
    gone = await blocking(deletions.job, job, **given)
    return answer({"job": job, "versions": gone, "whole_job": True})


ROUTES = [("POST", "/jobs/{job}/deletions", delete)]

"""Programs that the service builds itself, if its operator allows it."""

from __future__ import annotations

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from compat.service import worker
from compat.service.access import require
from compat.service.api.jobs import register
from compat.service.body import read_body
from compat.service.building.build import build
from compat.service.building.request import LARGEST, program_request
from compat.service.context import path_job, service, work
from compat.service.records import Role


async def push(request: Request) -> Response:
    """Build a program here, and register its plan as the newest version of a job."""
    parts = service(request)
    job = path_job(request)
    identity = require(request, Role.PUSH, job)
    if not parts.settings.allow_programs:
        raise HTTPException(
            403,
            "This service builds no programs: send a plan, or have its operator allow it, compat serve --allow-programs.",
        )
    asked = program_request(await read_body(request, parts.settings, most=2 * LARGEST))
    async with parts.building:
        plan = await build(asked, job, parts.settings.program_memory, parts.settings.program_timeout)
    sent = {"plan": msgspec.Raw(plan), "commit": asked.commit, "author": asked.author, "image": asked.image}
    body = msgspec.json.encode(sent)
    given = await work(request, worker.push, body, size=len(body))
    return await register(parts, job, given, identity, built=True)


ROUTES = [("POST", "/jobs/{job}/programs", push)]

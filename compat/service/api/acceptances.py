"""Findings that admins accepted, and how to withdraw that."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from compat.service.access import require
from compat.service.body import SMALL_BODY, read_body
from compat.service.context import answer, blocking, page_size, path_job, service
from compat.service.records import Role, standing_json
from compat.service.requests import withdraw_request


async def listing(request: Request) -> Response:
    """The accepted findings of a job, newest first."""
    found = await blocking(service(request).registry.acceptances.standing, path_job(request), page_size(request))
    return answer({"acceptances": [standing_json(each) for each in found]})


async def withdraw(request: Request) -> Response:
    """Withdraw the acceptance of a finding."""
    parts = service(request)
    job = path_job(request)
    identity = require(request, Role.ADMIN, job)
    asked = withdraw_request(await read_body(request, parts.settings, most=SMALL_BODY))
    withdrawn = await blocking(
        parts.registry.acceptances.withdraw,
        job,
        asked.fingerprint,
        reason=asked.reason,
        by=identity.name,
        old_plan=asked.old_plan,
        new_plan=asked.new_plan,
    )
    return answer({"withdrawn": [standing_json(each) for each in withdrawn]})


ROUTES = [("GET", "/jobs/{job}/acceptances", listing), ("POST", "/jobs/{job}/withdrawals", withdraw)]

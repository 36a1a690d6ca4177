"""The audit log, for admins."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from compat.service.access import require
from compat.service.context import answer, blocking, page_size, query_number, service
from compat.service.records import Role, audit_json


async def listing(request: Request) -> Response:
    """The log's entries, newest first."""
    require(request, Role.ADMIN)
    found = await blocking(
        service(request).registry.audit.list, limit=page_size(request), before=query_number(request, "before", None)
    )
    return answer({"audit": [audit_json(entry) for entry in found]})


ROUTES = [("GET", "/audit", listing)]

"""The checks that were made, and one of them as graphs and tables."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from compat.service.access import COOKIE
from compat.service.context import blocking, page_of, path_number, query_number, service
from compat.service.pages import sections
from compat.service.pages.rendering import page, respond
from compat.service.registry import NotFound
from compat.service.registry.plans import Plans

PAGE = 50


@page
async def index(request: Request) -> Response:
    """The checks, newest first."""
    registry = service(request).registry
    before = query_number(request, "before", None)
    found = await blocking(registry.checks.list, limit=PAGE, before=before)
    older = found[-1].id if len(found) == PAGE else None
    return respond(request, "checks.html", checks=found, older=older)


@page
async def check(request: Request) -> Response:
    """One check."""
    parts = service(request)
    found = await blocking(parts.registry.checks.get, path_number(request, "id"))
    digests = [side.digest for side in (found.old, found.new) if side.digest is not None]
    size = sum([await blocking(_size, parts.registry.plans, digest) for digest in digests])
    logged_in = COOKIE in request.cookies
    text = await page_of(
        request,
        ("check", found.id, logged_in),
        sections.check_page,
        found,
        logged_in,
        size=size,
        kept=len(digests) == 2,  # what a savepoint holds may change
    )
    return HTMLResponse(text)


def _size(plans: Plans, digest: str) -> int:
    try:
        return plans.get(digest).size
    except NotFound:
        return 0

"""The past checks, and one of them as graphs and tables."""

from __future__ import annotations

from collections.abc import Hashable

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from compat.service.context import blocking, page_of, path_number, query_number, service
from compat.service.pages import sections
from compat.service.pages.rendering import page, respond
from compat.service.records import Check
from compat.service.registry import NotFound
from compat.service.registry.plans import Plans

PAGE = 50

SMALL = 512 * 1024
"""The maximum bytes of plans whose check is shown without a process: those of two times 80 operators."""


@page
async def index(request: Request) -> Response:
    """The checks, newest first."""
    registry = service(request).registry
    before = query_number(request, "before", None)
    found = await blocking(registry.checks.list, limit=PAGE, before=before)
    older = found[-1].id if len(found) == PAGE else None
    forced = await blocking(registry.jobs.forced)
    return respond(request, "checks.html", checks=found, older=older, forced=forced)


@page
async def check(request: Request) -> Response:
    """One check."""
    parts = service(request)
    found = await blocking(parts.registry.checks.get, path_number(request, "id"))
    digests = [side.digest for side in (found.old, found.new) if side.digest is not None]
    size = sum([await blocking(_size, parts.registry.plans, digest) for digest in digests])
    lasting = len(digests) == 2  # what a savepoint holds may change
    if lasting and size <= SMALL:
        registry = parts.registry
        view = await page_of(request, _shown(found), sections.view_of, registry, found, size=size, here=True)
    else:
        view = await page_of(request, _shown(found), sections.check_view, found, size=size, kept=lasting)
    forced = await blocking(parts.registry.jobs.forced)
    return respond(request, "check.html", check=found, view=Markup(view), forced=forced)


def _shown(check: Check) -> tuple[Hashable, ...]:
    """What the view of a check depends on: those that were decided alike look alike."""
    if check.options is None:
        return ("check", check.id)
    return ("decided", check.options, *((side.digest, side.savepoint, side.label) for side in (check.old, check.new)))


def _size(plans: Plans, digest: str) -> int:
    try:
        return plans.get(digest).size
    except NotFound:
        return 0

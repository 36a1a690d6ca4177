"""From values to a page: the templates, what they may call, and errors as pages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from functools import cache, wraps
from pathlib import PurePosixPath
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from compat.escaping import visible
from compat.service.access import COOKIE, require
from compat.service.pool import Busy, WorkFailed
from compat.service.records import Role, moment
from compat.service.registry import NotFound
from compat.service.requests import is_job_name
from compat.service.untrusted import RefusedBody
from compat.view.page import HEAD_SCRIPT, SCRIPTS, STYLES, environment

Handler = Callable[[Request], Awaitable[Response]]

LARGEST = 1e24
"""Bytes that no store has: whatever says so is wrong."""

_IN_BRACKETS = re.compile(r"<[^<>\s]*@[^<>\s]*>")
_ADDRESS = re.compile(r"([^\s<>@,;:]+)@[\w-]+(?:\.[\w-]+)*")

_SIZES = ("bytes", "KB", "MB", "GB", "TB")


def page(handler: Handler) -> Handler:
    """A handler for those who may read; what it does not find is told on a page."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        require(request, Role.READ)
        try:
            return await handler(request)
        except NotFound as error:
            return respond(request, "error.html", status=404, title="Not found", message=str(error.args[0]))
        except RefusedBody as error:
            return respond(request, "error.html", status=404, title="Not found", message=str(error))
        except HTTPException as error:
            return respond(request, "error.html", status=error.status_code, title="Not allowed", message=error.detail)
        except (WorkFailed, Busy) as error:
            return respond(request, "error.html", status=503, title="Not now", message=str(error))

    return guarded


def respond(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page from a template."""
    return HTMLResponse(render(template, logged_in=COOKIE in request.cookies, **values), status_code=status)


def render(template: str, **values: Any) -> str:
    """The text of a page."""
    return (
        templates()
        .get_template(template)
        .render(
            styles=STYLES, head_script=HEAD_SCRIPT, scripts=SCRIPTS, **{"logged_in": False, "section": None, **values}
        )
    )


@cache
def templates() -> jinja2.Environment:
    """The templates of the service and of the view, with the filters and tests of the pages."""
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader("compat.service"), jinja2.PackageLoader("compat.view")])
    found = environment().overlay(loader=loader)
    found.filters.update(size=size, moment=moment, when=when, count=count)
    found.filters.update(visible=visible, short_path=short_path, person=person)
    found.tests["job_name"] = is_job_name
    return found


def size(number: int | float | None) -> str:
    """Bytes as a person reads them."""
    if number is None:
        return "–"
    if not -LARGEST < number < LARGEST:
        return "no size"
    scaled, unit = float(number), 0
    while abs(scaled) >= 1000 and unit < len(_SIZES) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.0f} {_SIZES[unit]}" if unit == 0 or scaled >= 100 else f"{scaled:.1f} {_SIZES[unit]}"


def count(number: int | float) -> str:
    """A number with its thousands set apart."""
    return f"{number:,.0f}".replace(",", "\u202f")


def when(seconds: float) -> str:
    """A time to the second, in UTC; of one that no calendar has, that."""
    told = moment(seconds)
    return f"no date ({seconds:.3g} s)" if told is None else told[:19].replace("T", " ")


def short_path(path: str) -> str:
    """The last two parts of a path: what a person tells savepoints apart by."""
    return "/".join(PurePosixPath(path).parts[-2:])


def person(text: str) -> str:
    """Who somebody is, without an e-mail address: the name beside it, or what stands before the @."""
    return _ADDRESS.sub(r"\1", _IN_BRACKETS.sub("", text)).strip() or "somebody"


def duration(seconds: float) -> str:
    """A length of time in the two largest units that it has."""
    left = round(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= length or (unit == "s" and not parts):
            parts.append(f"{left // length} {unit}")
            left %= length
    return " ".join(parts[:2])

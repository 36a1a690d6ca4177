"""Renders values as pages: the templates, their functions, and errors as pages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import cached_property, wraps
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

import jinja2
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

from compat.check.findings import Verdict
from compat.escaping import code_line, visible
from compat.service.access import COOKIE, require
from compat.service.pool import Busy, WorkFailed
from compat.service.records import Role, moment
from compat.service.registry import NotFound
from compat.service.requests import is_job_name
from compat.service.untrusted import RefusedBody
from compat.view.page import HEAD_SCRIPT, SCRIPTS, STYLES, environment

Handler = Callable[[Request], Awaitable[Response]]

LARGEST = 1e24
"""A number of bytes that no store has: a larger size is an error."""

_IN_BRACKETS = re.compile(r"<[^<>\s]*@[^<>\s]*>")
_ADDRESS = re.compile(r"([^\s<>@,;:]+)@[\w-]+(?:\.[\w-]+)*")

VERDICT_NAMES = {
    Verdict.COMPATIBLE: "Compatible",
    Verdict.MIGRATION: "With migration",
    Verdict.INCOMPATIBLE: "Incompatible",
    Verdict.UNKNOWN: "Not known",
}
"""The names of verdicts on pages."""

_SIZES = ("bytes", "KB", "MB", "GB", "TB")


class Site:
    """Pages with one head: ``pages`` are what it leads to, by address, and ``about`` says at the login what a token is for.

    ``package`` has the templates of its own; those that are not there are the service's, and then those of graphs.
    """

    def __init__(self, package: str, pages: Sequence[tuple[str, str]], about: str) -> None:
        self.pages, self.about = tuple(pages), about
        self._package = package

    def page(self, handler: Handler) -> Handler:
        """A handler for those who may read; a page reports anything that it does not find."""

        @wraps(handler)
        async def guarded(request: Request) -> Response:
            require(request, Role.READ)
            try:
                return await handler(request)
            except NotFound as error:
                return self.error(request, 404, "Not found", str(error.args[0]))
            except RefusedBody as error:
                return self.error(request, 404, "Not found", str(error))
            except HTTPException as error:
                return self.error(request, error.status_code, "Not allowed", error.detail)
            except (WorkFailed, Busy) as error:
                return self.error(request, 503, "Not now", str(error))

        return guarded

    def error(self, request: Request, status: int, title: str, message: str) -> Response:
        """A page with an error."""
        return self.respond(request, "error.html", status=status, title=title, message=message)

    def respond(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """A page from a template."""
        shown = {"logged_in": COOKIE in request.cookies, **values}
        return HTMLResponse(self.render(template, **shown), status_code=status)

    def render(self, template: str, **values: Any) -> str:
        """The text of a page."""
        return self._templates.get_template(template).render(
            site=self,
            styles=STYLES,
            head_script=HEAD_SCRIPT,
            scripts=SCRIPTS,
            **{"logged_in": False, "section": None, **values},
        )

    @cached_property
    def _templates(self) -> jinja2.Environment:
        packages = dict.fromkeys((self._package, "compat.service", "compat.view"))
        found = environment().overlay(loader=jinja2.ChoiceLoader([jinja2.PackageLoader(each) for each in packages]))
        found.filters.update(size=size, moment=moment, when=when, count=count, duration=duration)
        found.filters.update(visible=visible, code_line=code_line, short_path=short_path, person=person)
        found.filters.update(headline=headline, clipped=clipped)
        found.tests["job_name"] = is_job_name
        found.globals["verdict_names"] = {verdict.value: name for verdict, name in VERDICT_NAMES.items()}
        return found


SERVICE = Site(
    "compat.service",
    (("/", "Jobs"), ("/checks", "Checks"), ("/running", "Running"), ("/savepoints", "Savepoints")),
    "A token of this service lets you look",
)
page, respond, render = SERVICE.page, SERVICE.respond, SERVICE.render


def static_files() -> list[BaseRoute]:
    """The routes of styles and scripts."""
    view, own = files("compat.view") / "static", files("compat.service") / "static"
    return [
        Mount("/static/view", StaticFiles(directory=str(view))),
        Mount("/static/service", StaticFiles(directory=str(own))),
    ]


def size(number: int | float | None) -> str:
    """Bytes in a readable unit."""
    if number is None:
        return "–"
    if not -LARGEST < number < LARGEST:
        return "no size"
    scaled, unit = float(number), 0
    while abs(scaled) >= 1000 and unit < len(_SIZES) - 1:
        scaled, unit = scaled / 1000, unit + 1
    return f"{scaled:.0f} {_SIZES[unit]}" if unit == 0 or scaled >= 100 else f"{scaled:.1f} {_SIZES[unit]}"


def count(number: int | float) -> str:
    """A number with separated thousands."""
    return f"{number:,.0f}".replace(",", "\u202f")


def when(seconds: float) -> str:
    """A time to the second, in UTC; for a time beyond every calendar, its number."""
    told = moment(seconds)
    return f"no date ({seconds:.3g} s)" if told is None else told[:19].replace("T", " ")


def short_path(path: str) -> str:
    """The last two parts of a path, by which people tell savepoints apart."""
    return "/".join(PurePosixPath(path).parts[-2:])


def headline(text: str) -> str:
    """The last line of a message, which in a traceback is the error."""
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def clipped(text: str, longest: int) -> str:
    """The beginning of a text of any length."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def person(text: str) -> str:
    """A person's name without the e-mail address: the name beside it, or the part before the @."""
    return _ADDRESS.sub(r"\1", _IN_BRACKETS.sub("", text)).strip() or "somebody"


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    left = round(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if left >= length or (unit == "s" and not parts):
            parts.append(f"{left // length} {unit}")
            left %= length
    return " ".join(parts[:2])

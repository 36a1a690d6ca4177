"""Login for browsers if a token is needed: a form takes the token, a cookie keeps it.

:mod:`compat.service.access` says what the cookie allows. No script can read it, and no request from another site carries it.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from compat.service.access import COOKIE
from compat.service.body import read_body
from compat.service.context import blocking
from compat.service.pages.rendering import Site
from compat.service.registry import Expired, Registry
from compat.service.settings import ServiceSettings

_DAYS = 7
LARGEST_FORM, MOST_FIELDS = 4096, 10


def routes(settings: ServiceSettings, registry: Registry, site: Site) -> list[BaseRoute]:
    """The routes of the login to a site."""

    def asked(note: str = "", status: int = 200) -> Response:
        return HTMLResponse(site.render("login.html", note=note), status_code=status)

    async def form(_: Request) -> Response:
        """The form."""
        return asked()

    async def login(request: Request) -> Response:
        """Take a token; 303 to the start page with the cookie, or the form again."""
        body = await read_body(request, settings, json=False, most=LARGEST_FORM)
        try:
            fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=MOST_FIELDS)
        except ValueError:
            return asked(f"The form has more than {MOST_FIELDS} fields; it takes one, the token.", 400)
        token = (fields.get("token") or [""])[0]
        try:
            known = await blocking(registry.tokens.identify, token)
        except Expired as error:
            return asked(str(error), 401)
        if known is None:
            return asked("There is no such token.", 401)
        response = RedirectResponse("/", status_code=303)
        response.set_cookie(
            COOKIE,
            token,
            max_age=_DAYS * 86_400,
            httponly=True,
            samesite="strict",
            secure=settings.secure_cookies,
        )
        return response

    async def logout(_: Request) -> Response:
        """Forget the token."""
        response = RedirectResponse("/login", status_code=303)
        response.delete_cookie(COOKIE)
        return response

    return [
        Route("/login", form, methods=["GET"]),
        Route("/login", login, methods=["POST"]),
        Route("/logout", logout, methods=["POST"]),
    ]

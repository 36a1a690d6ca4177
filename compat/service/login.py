"""Login for browsers where a token is needed: a form takes the token, a cookie keeps it.

The cookie only lets look (see :mod:`compat.service.access`), no script can read it, and no request from another site carries
it.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from compat.service.access import COOKIE
from compat.service.body import read_body
from compat.service.context import blocking, service
from compat.service.pages.rendering import render

_DAYS = 7
LARGEST_FORM, MOST_FIELDS = 4096, 10


async def form(_: Request) -> Response:
    """The form."""
    return HTMLResponse(render("login.html", note=""))


async def login(request: Request) -> Response:
    """Take a token; 303 to the start page with the cookie, or the form again."""
    parts = service(request)
    body = await read_body(request, parts.settings, json=False, most=LARGEST_FORM)
    try:
        fields = parse_qs(body.decode("ascii", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        note = f"The form has more than {MOST_FIELDS} fields; it takes one, the token."
        return HTMLResponse(render("login.html", note=note), status_code=400)
    token = (fields.get("token") or [""])[0]
    if await blocking(parts.registry.tokens.identify, token) is None:
        return HTMLResponse(render("login.html", note="There is no such token."), status_code=401)
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        COOKIE,
        token,
        max_age=_DAYS * 86_400,
        httponly=True,
        samesite="strict",
        secure=parts.settings.secure_cookies,
    )
    return response


async def logout(_: Request) -> Response:
    """Forget the token."""
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(COOKIE)
    return response


ROUTES = [
    Route("/login", form, methods=["GET"]),
    Route("/login", login, methods=["POST"]),
    Route("/logout", logout, methods=["POST"]),
]

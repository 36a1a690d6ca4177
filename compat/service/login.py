"""Looking with a browser where a token is needed: a form takes the token, a cookie keeps it.

The cookie only lets look (see :mod:`compat.service.guard`), no script can read it, and no request from another site carries it.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from compat.service.body import read_body
from compat.service.context import blocking, service
from compat.service.guard import COOKIE

_DAYS = 7
_FORM = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>compat: log in</title></head><body><main>
<h1>Log in</h1>{note}
<form method="post" action="/login">
<label>Token <input type="password" name="token" autocomplete="current-password" required></label>
<button>Log in</button></form></main></body></html>
"""


async def form(_: Request) -> Response:
    """The form."""
    return HTMLResponse(_FORM.format(note=""))


async def login(request: Request) -> Response:
    """Take a token; 303 to the start page with the cookie, or the form again."""
    parts = service(request)
    body = await read_body(request, parts.settings, json=False)
    fields = parse_qs(body[:4096].decode("ascii", "replace"), max_num_fields=10)
    token = (fields.get("token") or [""])[0]
    if await blocking(parts.registry.tokens.identify, token) is None:
        return HTMLResponse(_FORM.format(note="<p role=alert>There is no such token.</p>"), status_code=401)
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

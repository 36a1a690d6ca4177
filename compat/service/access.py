"""Access control: each request's host, origin and sender are checked first, and each answer gets protective headers.

- **Host**: only names that the operator allowed. A foreign page whose name was pointed at this machine is refused.
- **Origin**: changing requests are accepted from the service's own pages and from programs, not from foreign pages;
moreover a cookie only allows reading, so a foreign page cannot act in a person's name. Forms of the service that change
something have separate addresses: there the cookie counts, and only requests that the browser marks as coming from the
service's own page are accepted. No script and no other site can send the cookie.
- **Identity**: a token as ``Authorization: Bearer``, or, for reading and in the service's own forms, in the cookie from
the login. A token bound to jobs reads all jobs, but changes only its own; an expired one is refused.
- **Headers**: a content security policy that allows only the service's own files, and no framing, sniffing or referrers.
"""

from __future__ import annotations

import re
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compat.service.problems import database_problem, problem
from compat.service.records import Identity, Role
from compat.service.registry import Expired, Registry
from compat.service.settings import ServiceSettings

COOKIE = "compat_token"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Browsers send no origin with a form if no referrer may be sent at all, and then the login is refused."""
_HEADERS = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())
OPEN_PATHS = ("/livez", "/readyz", "/login", "/logout", "/static/", "/api/v1/openapi.json")
"""Public paths; one that ends with a slash stands for all below it."""

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@]+)(?::[0-9]*)?")
_SAFE = ("GET", "HEAD", "OPTIONS")
_ANONYMOUS = "anonymous"


def require(request: Request, role: Role, job: str | None = None) -> Identity:
    """The sender of the request. Raises an HTTPException (401, 403) if their role is below ``role``.

    Anything beyond reading concerns a ``job``, or none: then tokens bound to jobs are refused.
    """
    identity: Identity = request.state.identity
    if identity.role >= role:
        if role > Role.READ and not identity.may_change(job):
            raise HTTPException(403, _foreign_token(identity, job))
        return identity
    if not identity.known:
        raise HTTPException(
            401, f"Send a token with the role {role.name.lower()}.", headers={"WWW-Authenticate": "Bearer"}
        )
    raise HTTPException(403, f"The token has the role {identity.role.name.lower()}; this takes {role.name.lower()}.")


def _foreign_token(identity: Identity, job: str | None) -> str:
    bound = f"The token {identity.name!r} is bound to the jobs {', '.join(identity.jobs)}"
    if job is None:
        return f"{bound}; this concerns more than one job, and takes a token that is not bound."
    return f"{bound}, and {job!r} is another one: use a token that is for it."


def require_deploy(request: Request) -> Identity:
    """The sender of a request to run programs. Raises an HTTPException for any other role. An admin of a registry
    accepts findings; if a cluster shares the registry's tokens, that role does not run programs.
    """
    identity = require(request, Role.DEPLOY)
    if not identity.deploys:
        raise HTTPException(
            403,
            f"The token has the role {identity.role.name.lower()}, which runs no programs; this takes a token with the role "
            "deploy (compat registry token create NAME --role deploy).",
        )
    return identity


class AccessControl:
    """ASGI middleware for the access control described in the module."""

    def __init__(
        self,
        app: ASGIApp,
        settings: ServiceSettings,
        registry: Registry,
        anonymous: Role | None = None,
        forms: str | None = None,
    ) -> None:
        """``anonymous`` is the role of senders without a token, if the settings name none; ``forms`` is the beginning of the
        addresses of forms that change something."""
        self._app = app
        self._registry = registry
        self._forms = forms
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)
        role = anonymous if anonymous is not None else Role.READ if settings.anonymous_read else Role.NONE
        self._anonymous = Identity(_ANONYMOUS, role, known=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ()), *_HEADERS]
                if not scope["path"].startswith("/static/") and all(name != b"cache-control" for name, _ in headers):
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        refusal = await self._refusal(scope)
        await (self._app if refusal is None else refusal)(scope, receive, with_headers)

    async def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
            return problem(421, "This server does not go by that name. Its operator can allow it: --allowed-host NAME.")
        if scope["method"] not in _SAFE and _foreign(headers, hosts[0]):
            return problem(403, "A page of another site may not do this.")
        if self._is_form(scope) and scope["method"] not in _SAFE and not headers.getlist("origin"):
            return problem(403, "This takes what a form of our own pages sends; programs use the interface.")
        try:
            identity, refusal = await self._identify(scope, headers)
        except SQLAlchemyError as error:
            return database_problem(error)
        scope.setdefault("state", {})["identity"] = identity
        if refusal is not None:
            return refusal
        if identity.role < Role.READ and not _is_open(scope["path"]):
            if scope["method"] in _SAFE and "text/html" in headers.get("accept", ""):
                return RedirectResponse("/login", status_code=303)
            return problem(401, "Send a token: Authorization: Bearer …", headers={"WWW-Authenticate": "Bearer"})
        return None

    async def _identify(self, scope: Scope, headers: Headers) -> tuple[Identity, Response | None]:
        given = headers.get("authorization")
        if given is None:
            token = _cookie(headers) if scope["method"] in _SAFE or self._is_form(scope) else None
            try:
                found = await self._known(token) if token else None
            except Expired:
                found = None
            return (found or self._anonymous), None
        scheme, _, token = given.partition(" ")
        try:
            found = await self._known(token.strip()) if scheme.lower() == "bearer" else None
        except Expired as error:
            return self._anonymous, problem(401, str(error), headers={"WWW-Authenticate": "Bearer"})
        if found is None:
            return self._anonymous, problem(401, "No such token.", headers={"WWW-Authenticate": "Bearer"})
        return found, None

    def _is_form(self, scope: Scope) -> bool:
        return self._forms is not None and scope["path"].startswith(self._forms)

    async def _known(self, token: str) -> Identity | None:
        if self._registry.database.at_once:
            return self._registry.tokens.identify(token)
        return await run_in_threadpool(self._registry.tokens.identify, token)


def _name(host: str) -> str:
    """The name in a Host header, without the port; empty for anything but a name."""
    match = _HOST.fullmatch(host)
    return match[1].lower() if match is not None else ""


def _foreign(headers: Headers, host: str) -> bool:
    """True if a browser says that a page of another site sends this."""
    origins = headers.getlist("origin")
    if origins:
        return len(origins) > 1 or _netloc(origins[0]) != host.lower()
    return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")


def _netloc(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _is_open(path: str) -> bool:
    return any(path.startswith(each) if each.endswith("/") else path == each for each in OPEN_PATHS)


def _cookie(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value

"""Answers that are kept until anything is written, and are not sent again to those who have them (ETag, 304).

Checks and versions never change: what tells of them alone is kept for as long as they are the ones that are there.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from hashlib import blake2b

from msgspec import Struct
from sqlalchemy.exc import SQLAlchemyError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compat.service.access import COOKIE
from compat.service.caches import ANSWERS, ENTRY, MEGABYTE, Kept
from compat.service.database import Database
from compat.service.problems import database_problem

LARGEST = MEGABYTE
"""Bytes of the largest answer that is kept."""

_PREFIX, _FOR_ADMINS = "/api/v1/", "/api/v1/audit"
_PAGES = ("/", "/checks", "/savepoints")
_BELOW = ("/jobs/", "/checks/")
"""Pages that show what the database holds and nothing else; that of a savepoint looks into files."""


_OF_CHECK = "SELECT id, at FROM checks WHERE id = :id"
_LASTING = (
    (re.compile(r"/api/v1/checks/(?P<id>[0-9]{1,10})"), _OF_CHECK),
    (
        re.compile(r"/checks/(?P<id>[0-9]{1,10})"),  # what a savepoint holds may change
        _OF_CHECK + " AND old_plan IS NOT NULL AND new_plan IS NOT NULL",
    ),
    (
        re.compile(r"(?:/api/v1)?/jobs/(?P<job>[^/]+)/versions(?:/[0-9]+(?:/plan)?)?"),
        "SELECT max(versions.number), count(*) FROM versions JOIN jobs ON versions.job = jobs.id WHERE jobs.name = :job "
        "HAVING count(*) > 0",  # numbers are given once: the same newest one and as many of them, the same versions
    ),
)
"""Paths of what never changes, and the query for what it is about: the same row, the same answer."""


class _Answer(Struct, frozen=True):
    """An answer as it was sent, when the database was in that state."""

    state: Hashable
    etag: str
    start: Message
    body: bytes
    route: str


class Revalidation:
    """ASGI middleware; see the module. Whoever may look was let in before, and what is kept does not depend on who looks."""

    def __init__(self, app: ASGIApp, database: Database) -> None:
        self._app = app
        self._database = database
        self._kept: Kept[_Answer] = Kept(ANSWERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not _is_kept(scope["path"]):
            await self._app(scope, receive, send)
            return
        try:
            at_once = self._database.at_once
            state = self._state(scope["path"]) if at_once else await run_in_threadpool(self._state, scope["path"])
        except SQLAlchemyError as error:
            await database_problem(error)(scope, receive, send)
            return
        headers = Headers(scope=scope)
        key = (scope["path"], scope["query_string"], COOKIE in headers.get("cookie", ""))
        known = self._kept.get(key)
        if known is None or known.state != state:
            known = await self._made(scope, receive, send, state)
            if known is None:
                return
            self._kept.put(key, known, len(known.body) + 2 * ENTRY)
        else:
            scope.setdefault("state", {})["route"] = known.route
        await _send(known, headers.get("if-none-match", ""), send)

    def _state(self, path: str) -> Hashable:
        """What an answer to that path depends on."""
        for pattern, query in _LASTING:
            match = pattern.fullmatch(path)
            if match is not None:
                values = {name: int(text) if name == "id" else text for name, text in match.groupdict().items()}
                row = self._database.look(query, **values)
                if row is not None:
                    return ("lasting", *row)
                break
        return self._database.state()

    async def _made(self, scope: Scope, receive: Receive, send: Send, state: Hashable) -> _Answer | None:
        """The answer to a request, or None if it is none to be kept and was sent."""
        start: Message | None = None
        body: bytes | None = None

        async def hold(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start" and message["status"] == 200:
                start = message
                return
            if start is None:
                await send(message)
                return
            content = message.get("body", b"")
            if body is None and not message.get("more_body", False) and len(content) <= LARGEST:
                body = content
                return
            await send(start)
            await send(message)
            start = None

        await self._app(scope, receive, hold)
        if start is None or body is None:
            return None
        etag = f'"{blake2b(body, digest_size=16).hexdigest()}"'
        answer = MutableHeaders(scope=start)
        answer["ETag"], answer["Cache-Control"] = etag, "private, no-cache"
        return _Answer(state, etag, start, body, scope.get("state", {}).get("route", "other"))


async def _send(answer: _Answer, known: str, send: Send) -> None:
    start = {**answer.start, "headers": list(answer.start["headers"])}
    if known in (answer.etag, f"W/{answer.etag}"):
        start["status"] = 304
        start["headers"] = [pair for pair in start["headers"] if pair[0] not in (b"content-length", b"content-type")]
        await send(start)
        await send({"type": "http.response.body", "body": b""})
        return
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})


def _is_kept(path: str) -> bool:
    if path == _FOR_ADMINS:
        return False
    return path in _PAGES or path.startswith((_PREFIX, *_BELOW))

"""Reading bodies of requests, bounded in size and in time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from compat.service.settings import ServiceSettings
from compat.service.shares import Shares, client_of_scope

SMALL_BODY = 64 * 1024
"""The largest body of a request without a plan, in bytes."""

_READ_ON = 4
"""The multiple of the largest body that is read and discarded: a client that still writes does not read the refusal."""


class BodyRefused(Exception):
    """A body that was not read to its end; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class BodyLimit:
    """ASGI middleware: the bodies of all requests together have at most ``most`` bytes in memory, those of one client
    half of it. One body counts with at most ``largest`` bytes: the rest is discarded.
    """

    def __init__(self, app: ASGIApp, most: int, largest: int) -> None:
        self._app = app
        self._largest = largest
        self._shares = Shares(most, max(largest, most // 2))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        held, client = 0, client_of_scope(scope)

        async def counted() -> Message:
            nonlocal held
            message = await receive()
            size = min(len(message.get("body", b"")), self._largest - held)
            if size and not self._shares.take(client, size):
                raise BodyRefused(503, "The server holds as many large requests as it can. Try again in a few seconds.")
            held += size
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self._shares.give(client, held)


async def read_body(
    request: Request, settings: ServiceSettings, *, json: bool = True, most: int | None = None
) -> bytes:
    """The body of a request, of at most ``most`` bytes, or the general limit.

    Raises BodyRefused for one that is too large or comes too slowly, or is not JSON.
    """
    most = min(most or settings.max_body, settings.max_body)
    if json and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BodyRefused(415, "Send JSON, with the header Content-Type: application/json.")
    chunks, size = [], 0
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for chunk in request.stream():
                size += len(chunk)
                if size <= most:
                    chunks.append(chunk)
                elif size > _READ_ON * settings.max_body:
                    break
    except TimeoutError:
        raise BodyRefused(408, f"The body did not come within {settings.body_timeout:g} seconds.") from None
    except ClientDisconnect:
        raise BodyRefused(400, "The client went away.") from None
    if size > most:
        raise BodyRefused(413, f"A body has at most {most} bytes here.")
    return b"".join(chunks)

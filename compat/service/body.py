"""Reading bodies: bounded in size and in time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from compat.service.settings import ServiceSettings


class BodyRefused(Exception):
    """A body that is not read on; ``status`` is HTTP's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


async def read_body(request: Request, settings: ServiceSettings, json: bool = True) -> bytes:
    """The body of a request. Raises BodyRefused for one that is too large or comes too slowly, or is not JSON."""
    if json and request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise BodyRefused(415, "Send JSON, with the header Content-Type: application/json.")
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced[:20]) > settings.max_body:
        raise _too_large(settings)
    chunks, size = [], 0
    try:
        async with asyncio.timeout(settings.body_timeout):
            async for chunk in request.stream():
                size += len(chunk)
                if size > settings.max_body:
                    raise _too_large(settings)
                chunks.append(chunk)
    except TimeoutError:
        raise BodyRefused(408, f"The body did not come within {settings.body_timeout:g} seconds.") from None
    except ClientDisconnect:
        raise BodyRefused(400, "The client went away.") from None
    return b"".join(chunks)


def _too_large(settings: ServiceSettings) -> BodyRefused:
    return BodyRefused(413, f"A body has at most {settings.max_body} bytes.")

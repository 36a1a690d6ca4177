"""The parts of the service that handlers of the API work with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from compat.service.body import BodyRefused
from compat.service.caches import ENTRY, Kept
from compat.service.decisions import Decisions
from compat.service.pool import Pools, Size
from compat.service.registry import Registry
from compat.service.requests import LARGEST_NUMBER, job_name
from compat.service.settings import ServiceSettings
from compat.service.shares import client_of
from compat.service.telemetry import Metrics
from compat.service.untrusted import RefusedBody

T = TypeVar("T")


@dataclass(slots=True)
class Service:
    """The parts of a running service; ``app.state.service``. ``pages`` are those that never change, by their subject;
    ``underway`` are those being made; those that need no process are made one after the other (``turn``).
    """

    settings: ServiceSettings
    registry: Registry
    metrics: Metrics
    pools: Pools
    decisions: Decisions
    pages: Kept[str]
    underway: dict[Hashable, asyncio.Future[str]] = field(default_factory=dict)
    turn: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    building: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    ready: bool = False


def service(request: Request) -> Service:
    """The service that a request came to."""
    found: Service = request.app.state.service
    return found


async def blocking(function: Callable[..., T], *arguments: Any, **named: Any) -> T:
    """Make a blocking call in a thread; gives its result."""
    return await run_in_threadpool(function, *arguments, **named)


async def work(
    request: Request, function: Callable[..., T], *arguments: Any, size: int | Size, timeout: float | None = None
) -> T:
    """Call ``function`` in a process for work of that size, on behalf of the client of a request; gives its result.

    Raises what :meth:`~compat.service.pool.Pools.run` does, and BodyRefused when the client leaves: then the work is
    dropped.
    """
    pools = service(request).pools
    task = asyncio.ensure_future(pools.run(function, *arguments, size=size, client=client_of(request), timeout=timeout))
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise BodyRefused(400, "The client went away.")
        return task.result()
    finally:
        gone.cancel()
        task.cancel()


async def page_of(
    request: Request,
    key: Hashable,
    function: Callable[..., str],
    *arguments: Any,
    size: int,
    kept: bool = True,
    here: bool = False,
) -> str:
    """A page that ``function`` makes in a process for work of that size: once for all simultaneous requests. It is
    ``kept`` for later requests, unless its contents may change. Small pages are made ``here``, in a thread, one after
    the other, so that they do not wait for checks. Raises what :meth:`~compat.service.pool.Pools.run` does.
    """
    parts = service(request)
    known = parts.pages.get(key)
    if known is not None:
        return known
    making = parts.underway.get(key)
    if making is None:
        made = (
            _in_turn(parts, function, *arguments)
            if here
            else parts.pools.run(function, *arguments, size=size, client=client_of(request))
        )
        making = asyncio.ensure_future(made)
        parts.underway[key] = making
        making.add_done_callback(lambda _: parts.underway.pop(key, None))
        making.add_done_callback(
            lambda done: done.cancelled() or done.exception()
        )  # also where all who asked have left
    page = await asyncio.shield(making)
    if kept:
        parts.pages.put(key, page, getsizeof(page) + ENTRY)  # a character takes up to four bytes
    return page


async def _in_turn(parts: Service, function: Callable[..., str], *arguments: Any) -> str:
    async with parts.turn:
        return await blocking(function, *arguments)


async def _gone(request: Request) -> None:
    """Return when the client closed its connection; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def answer(value: Any, status: int = 200) -> Response:
    """A JSON answer."""
    return raw(msgspec.json.encode(value), status)


def raw(text: bytes, status: int = 200) -> Response:
    """An answer from JSON text that is already encoded."""
    return Response(text, status_code=status, media_type="application/json")


def path_job(request: Request) -> str:
    """The job in the address. Raises RefusedBody."""
    return job_name(request.path_params["job"])


def path_number(request: Request, name: str) -> int:
    """A number in the address. Raises RefusedBody."""
    return _number(request.path_params[name], name)


def query_number(request: Request, name: str, default: int | None, most: int = LARGEST_NUMBER) -> int | None:
    """A number of the query, at most ``most``. Raises RefusedBody."""
    text = request.query_params.get(name)
    if text is None:
        return default
    number = _number(text, name)
    if number > most:
        raise RefusedBody(f"Must be at most {most}.", name)
    return number


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= LARGEST_NUMBER):
        raise RefusedBody("Must be a whole number above 0.", name)
    return int(text)


def page_size(request: Request) -> int:
    """The number of items on a page of a list."""
    return query_number(request, "limit", 100, most=1000) or 100

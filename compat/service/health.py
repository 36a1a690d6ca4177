"""The server's health: whether it lives, whether it can serve, and its metrics."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from compat.service.context import blocking, service


async def live(_: Request) -> Response:
    """200 while the process answers."""
    return PlainTextResponse("alive\n")


async def ready(request: Request) -> Response:
    """200 when requests can be served: the processes run, and the database answers, with this version's tables and space."""
    parts = service(request)
    if not parts.ready:
        return PlainTextResponse("starting\n", status_code=503)
    try:
        migrated = await blocking(parts.registry.database.ready)
    except SQLAlchemyError:
        return PlainTextResponse("the database does not answer\n", status_code=503)
    if not migrated:
        return PlainTextResponse("the database has the tables of another version\n", status_code=503)
    left = await blocking(parts.registry.database.space_left)
    if left is not None and left < parts.settings.least_space:
        told = f"the disk of the database is full: {left} bytes are left, {parts.settings.least_space} are needed"
        return PlainTextResponse(told + "\n", status_code=503)
    return PlainTextResponse("ready\n")


async def metrics(request: Request) -> Response:
    """The metrics, for Prometheus."""
    parts = service(request)
    parts.metrics.waiting.set(parts.pools.waiting)
    return Response(generate_latest(parts.metrics.registry), headers={"Content-Type": CONTENT_TYPE_LATEST})


ROUTES = [Route("/livez", live), Route("/readyz", ready), Route("/metrics", metrics)]

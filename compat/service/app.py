"""The application: its routes, and the order in which a request passes its layers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from importlib.util import find_spec

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from compat.service import api, health, login
from compat.service.access import AccessControl
from compat.service.backing_up import keep_backing_up
from compat.service.body import BodyLimit
from compat.service.caches import PAGES, Kept
from compat.service.context import Service
from compat.service.database import Database
from compat.service.decisions import Decisions
from compat.service.expiring import keep_expiring
from compat.service.pages.rendering import SERVICE
from compat.service.pool import Pools
from compat.service.problems import HANDLED, on_error, on_mistake
from compat.service.registry import Registry
from compat.service.revalidation import Revalidation
from compat.service.scan import keep_scanning
from compat.service.settings import ServiceSettings
from compat.service.telemetry import Metrics, Telemetry, log

BODIES = 4
"""The number of largest bodies that may be in memory at once."""


def create_app(settings: ServiceSettings) -> Starlette:
    """The application of a service.

    Its parts are in ``app.state.service`` (:class:`~compat.service.context.Service`). It creates or migrates the tables. Raises
    DatabaseUrlError for a database that cannot be used.
    """
    registry = Registry(Database(settings.database, settings.database_timeout))
    registry.database.migrate()
    parts = Service(settings, registry, Metrics(), Pools(settings), Decisions(registry), Kept(PAGES))
    app = Starlette(
        routes=[
            _named(route)
            for route in (*api.routes(), *health.ROUTES, *login.routes(settings, registry, SERVICE), *_pages())
        ],
        middleware=[
            Middleware(Telemetry, metrics=parts.metrics),
            Middleware(AccessControl, settings=settings, registry=registry),
            Middleware(Revalidation, database=registry.database),
            Middleware(BodyLimit, most=BODIES * settings.max_body, largest=settings.max_body),
        ],
        exception_handlers={**dict.fromkeys(HANDLED, on_error), Exception: on_mistake},
        lifespan=_lifespan,
    )
    app.router.redirect_slashes = False
    app.state.service = parts
    app.state.registry = registry
    return app


def _pages() -> list[BaseRoute]:
    """The pages for people: ``compat.service.pages`` gives them as ``routes()``."""
    if find_spec("compat.service.pages") is None:
        return []
    return list(import_module("compat.service.pages").routes())


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    parts: Service = app.state.service
    await parts.pools.start()
    parts.ready = True
    tasks = [asyncio.create_task(task(parts)) for task in (keep_scanning, keep_backing_up, keep_expiring)]
    log("ready", folders=[folder.path for folder in parts.settings.folders])
    try:
        yield
    finally:
        parts.ready = False
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await asyncio.to_thread(parts.pools.close)
        parts.registry.database.close()
        log("stopped")


def _named(route: BaseRoute) -> BaseRoute:
    """The route, leaving its template in the request's state for the metrics."""
    if isinstance(route, Route):
        inner: ASGIApp = route.app
        template = route.path

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            scope.setdefault("state", {})["route"] = template
            await inner(scope, receive, send)

        route.app = app
    return route

"""The webhook as an application: ``POST /validate`` answers reviews; health and metrics are beside it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from compat.service.admission.judgement import Judgement, Outcome, judge
from compat.service.admission.reviews import Request as Asked
from compat.service.admission.reviews import answer, read_review
from compat.service.body import BodyLimit, read_body
from compat.service.database import Database
from compat.service.problems import HANDLED, on_error, problem
from compat.service.registry import Registry
from compat.service.settings import ServiceSettings
from compat.service.telemetry import log
from compat.service.tls import Certificate, keep_renewing

LARGEST = 8 * 1024 * 1024
"""Bytes of the largest review: API servers take objects of up to 3 MB, and send two of them."""

AT_ONCE = 16
"""The number of largest reviews that may be in memory at once."""

_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)


class WebhookSettings(Struct, frozen=True, kw_only=True):
    """How a webhook runs. Times are in seconds.

    ``fail_open`` accepts requests that the registry cannot decide: for an unknown or unchecked version, and all
    requests while it does not answer. ``database_timeout`` has to be below the time that the API server waits.
    """

    database: str
    fail_open: bool = False
    database_timeout: float = 2.0
    body_timeout: float = 5.0


class _Webhook:
    """The parts of a running webhook."""

    def __init__(self, settings: WebhookSettings) -> None:
        self.settings = settings
        self.registry = Registry(Database(settings.database, settings.database_timeout))
        self.bodies = ServiceSettings(max_body=LARGEST, body_timeout=settings.body_timeout)
        self.metrics = CollectorRegistry()
        self.admissions = Counter(
            "compat_admissions", "Reviews by what was found and what was answered.", ("outcome", "allowed"),
            registry=self.metrics,
        )  # fmt: skip
        self.seconds = Histogram(
            "compat_admission_seconds", "Time in which a review was answered.", buckets=_BUCKETS, registry=self.metrics
        )

    def find(self, asked: Asked) -> Judgement:
        """What the registry says at this moment; undecided where it does not answer."""
        try:
            with self.registry.database.together():
                return judge(self.registry, asked)
        except SQLAlchemyError as error:
            log("database", level="error", error=str(getattr(error, "orig", None) or error))
            return Judgement(outcome=Outcome.UNDECIDED, message="The registry does not answer at the moment.")

    def write_down(self, asked: Asked, found: Judgement, allowed: bool) -> None:
        """Put a decision into the audit log; if a registry takes none, such as one that is only read, ours says so."""
        told = {"resource": f"{asked.kind.kind} {asked.namespace}/{asked.name}"[:600], "message": found.message[:2000]}
        answered = (
            found.outcome.value if found.outcome is not Outcome.UNDECIDED or not allowed else "let through undecided"
        )
        try:
            self.registry.audit.admitted(found.job, outcome=answered, version=found.version, check=found.check, **told)
        except SQLAlchemyError as error:
            log("audit", level="error", error=str(getattr(error, "orig", None) or error))

    async def validate(self, request: Request) -> Response:
        """The answer to a review."""
        started = time.perf_counter()
        asked = read_review(await read_body(request, self.bodies))
        found = await run_in_threadpool(self.find, asked)
        allowed = found.outcome is Outcome.ALLOWED or (found.outcome is Outcome.UNDECIDED and self.settings.fail_open)
        message, warnings = f"compat: {found.message}", found.warnings
        if found.outcome is Outcome.UNDECIDED and allowed:
            warnings = (*warnings, f"let through undecided: {found.message}")
        told: dict[str, Any] = {"outcome": found.outcome.value, "version": found.version, "check": found.check}
        annotations = {name: str(value) for name, value in told.items() if value is not None}
        took = time.perf_counter() - started
        self.admissions.labels(found.outcome.value, str(allowed).lower()).inc()
        self.seconds.observe(took)
        of = f"{asked.namespace}/{asked.name}"[:600]
        log("admission", uid=asked.uid[:100], resource=asked.kind.kind[:100], name=of, operation=asked.operation,
            allowed=allowed, ms=round(took * 1000, 2), message=found.message[:2000], **told)  # fmt: skip
        if not asked.dry_run and (found.outcome is not Outcome.ALLOWED or found.version is not None):
            await run_in_threadpool(self.write_down, asked, found, allowed)
        text = answer(asked.uid, allowed, message, tuple(f"compat: {each}" for each in warnings), annotations)
        return Response(text, media_type="application/json")

    async def live(self, _: Request) -> Response:
        """200 while the process answers."""
        return PlainTextResponse("alive\n")

    async def ready(self, _: Request) -> Response:
        """200 when the registry answers and has this version's tables."""
        try:
            if await run_in_threadpool(self.registry.database.ready):
                return PlainTextResponse("ready\n")
        except SQLAlchemyError:
            return PlainTextResponse("the database does not answer\n", status_code=503)
        return PlainTextResponse("the database has the tables of another version\n", status_code=503)

    async def measured(self, _: Request) -> Response:
        """The metrics, for Prometheus."""
        return Response(generate_latest(self.metrics), headers={"Content-Type": CONTENT_TYPE_LATEST})


def create_webhook(settings: WebhookSettings, certificate: Certificate | None = None) -> Starlette:
    """The application of a webhook; it renews its ``certificate``, and records its decisions.

    Raises DatabaseUrlError for a database that cannot be used.
    """
    webhook = _Webhook(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        renewing = None if certificate is None else asyncio.create_task(keep_renewing(certificate))
        log("ready", fail_open=settings.fail_open)
        yield
        if renewing is not None:
            renewing.cancel()
        webhook.registry.database.close()
        log("stopped")

    app = Starlette(
        routes=[
            Route("/validate", webhook.validate, methods=["POST"]),
            Route("/livez", webhook.live),
            Route("/readyz", webhook.ready),
            Route("/metrics", webhook.measured),
        ],
        middleware=[Middleware(BodyLimit, most=AT_ONCE * LARGEST, largest=LARGEST)],
        exception_handlers={**dict.fromkeys(HANDLED, on_error), Exception: _mistake},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    app.state.webhook = webhook
    return app


async def _mistake(_: Request, error: Exception) -> Response:
    log("mistake", level="error", error=f"{type(error).__name__}: {error}"[:2000])
    return problem(500, "The webhook made a mistake; its log says which.")

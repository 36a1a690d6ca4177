"""The cluster over HTTP; functions that Flink's REST API has are called as there. Flink: ``DispatcherRestEndpoint``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from compat.cluster import views
from compat.cluster.deployments import api as deployment_api
from compat.cluster.deployments.deploying import DeploymentRefused
from compat.cluster.dispatcher import Dispatcher, JobRuns
from compat.cluster.events import Cursor
from compat.cluster.gate import GateClosed, RegistryAway
from compat.cluster.observation import LARGEST_LOG, Observer
from compat.cluster.pages import FORMS, SITE, Pages
from compat.cluster.receiving import received
from compat.cluster.records import Action, ClusterJob
from compat.cluster.registry import LeadershipLost, UnknownJob
from compat.cluster.resources import NotEnoughSlots
from compat.cluster.submission import SUBMISSION, SubmissionRefused
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.service import login
from compat.service.access import AccessControl, require, require_deploy
from compat.service.body import BodyRefused, read_body
from compat.service.context import answer, query_number
from compat.service.problems import HANDLED, on_error, on_mistake, problem
from compat.service.records import Role
from compat.service.registry import Registry
from compat.service.settings import ServiceSettings
from compat.service.telemetry import log
from compat.state.delta.errors import StoreError

_LONGEST_WAIT = 30.0
_LOOKS = 0.05

Handler = Callable[[Request], Awaitable[Response]]
_TOLD = (
    UnknownJob,
    LeadershipLost,
    SubmissionRefused,
    NotEnoughSlots,
    GateClosed,
    DeploymentRefused,
    JobRuns,
    StoreError,
)


class SavepointTrigger(msgspec.Struct, frozen=True, kw_only=True, rename={"target": "target-directory"}):
    """Flink: ``SavepointTriggerRequestBody``. ``cancel-job`` is a stop."""

    target: str | None = None
    cancel: bool = msgspec.field(default=False, name="cancel-job")


class StopTrigger(msgspec.Struct, frozen=True, kw_only=True):
    """Flink: ``StopWithSavepointRequestBody``."""

    target: str | None = msgspec.field(default=None, name="targetDirectory")
    drain: bool = False


def create_app(
    dispatcher: Dispatcher, settings: ServiceSettings, registry: Registry, anonymous: Role = Role.NONE
) -> Starlette:
    """The application of a cluster that has a leader. ``anonymous`` is the role of senders without a token."""
    observer = Observer(dispatcher.folder, dispatcher.jobs, dispatcher.capacity.room)
    access = Middleware(AccessControl, settings=settings, registry=registry, anonymous=anonymous, forms=FORMS)
    app = Starlette(
        routes=[
            *_Handlers(dispatcher, observer, settings).routes(),
            *Pages(dispatcher, observer, settings).routes(),
            *login.routes(settings, registry, SITE),
            *deployment_api.routes(dispatcher, settings),
        ],
        middleware=[access, Middleware(_Leading, dispatcher=dispatcher)],
        exception_handlers={
            **dict.fromkeys(HANDLED, on_error),
            **dict.fromkeys(_TOLD, _told),
            Exception: on_mistake,
        },
        lifespan=_lifespan,
    )
    app.router.redirect_slashes = False
    app.state.dispatcher = dispatcher
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    dispatcher: Dispatcher = app.state.dispatcher
    dispatcher.start()
    try:
        yield
    finally:
        left = await asyncio.to_thread(dispatcher.close, stop_all=True)
        log("stopped", interrupted=left)


async def _told(request: Request, error: Exception) -> Response:
    match error:
        case UnknownJob():
            return problem(404, f"There is no one job {error.args[0]!r} on this cluster.")
        case LeadershipLost():
            return await run_in_threadpool(_led_by_another, request.app.state.dispatcher)
        case RegistryAway():
            return problem(502, str(error))
        case StoreError() | GateClosed() | DeploymentRefused() | JobRuns():
            return problem(409, str(error))
    return problem(422, str(error))


def _led_by_another(dispatcher: Dispatcher) -> Response:
    """The refusal of one whose place another has. No redirect: a token goes to whom the client named, and nowhere else."""
    leader = dispatcher.jobs.leader()
    where = "" if leader is None or dispatcher.jobs.leads else f", at {leader.url}"
    return problem(503, f"Another dispatcher leads this cluster now{where}.", headers={"Retry-After": "1"})


class _Leading:
    """Refuses all requests to a dispatcher that knows that it leads no more."""

    def __init__(self, app: ASGIApp, dispatcher: Dispatcher) -> None:
        self._app, self._dispatcher = app, dispatcher

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._dispatcher.lost.is_set():
            answer = await run_in_threadpool(_led_by_another, self._dispatcher)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _Handlers:
    def __init__(self, dispatcher: Dispatcher, observer: Observer, settings: ServiceSettings) -> None:
        self._dispatcher, self._jobs, self._settings = dispatcher, dispatcher.jobs, settings
        self._observer = observer
        self._total = dispatcher.capacity.room

    def routes(self) -> list[Route]:
        """What is served."""
        return [
            Route("/livez", self.alive),
            Route("/overview", self.overview),
            Route("/jobs", self.jobs, methods=["GET"]),
            Route("/jobs/overview", self.jobs_overview),
            Route("/jobs/entries", self.entries),
            Route("/jobs/{job}", self.job, methods=["GET"]),
            Route("/jobs/{job}", self.submit, methods=["PUT"]),
            Route("/jobs/{job}", self.cancel, methods=["PATCH"]),
            Route("/jobs/{job}", self.discard, methods=["DELETE"]),
            Route("/jobs/{job}/checkpoints", self.checkpoints),
            Route("/jobs/{job}/exceptions", self.exceptions),
            Route("/jobs/{job}/vertices/{vertex}", self.vertex),
            Route("/jobs/{job}/log", self.log),
            Route("/jobs/{job}/events", self.events),
            Route("/jobs/{job}/savepoints", self.savepoint, methods=["POST"]),
            Route("/jobs/{job}/stop", self.stop, methods=["POST"]),
            Route("/jobs/{job}/savepoints/{request}", self.operation),
            Route("/jobs/{job}/state/{operator:path}", self.state),
        ]

    async def alive(self, request: Request) -> Response:
        """True while this dispatcher leads."""
        if not await run_in_threadpool(lambda: self._jobs.leads):
            raise LeadershipLost
        return JSONResponse({"leads": True})

    async def overview(self, request: Request) -> Response:
        require(request, Role.READ)
        return JSONResponse(views.overview(await run_in_threadpool(self._observer.cluster)))

    async def jobs(self, request: Request) -> Response:
        require(request, Role.READ)
        return JSONResponse(views.listed(await run_in_threadpool(self._jobs.all)))

    async def jobs_overview(self, request: Request) -> Response:
        require(request, Role.READ)

        def told() -> dict[str, Any]:
            jobs = self._jobs.all()
            entry = self._observer.entry
            return {"jobs": [views.job_overview(job, entry(job), jobs, self._total) for job in jobs]}

        return JSONResponse(await run_in_threadpool(told))

    async def entries(self, request: Request) -> Response:
        """The jobs in the form of ``compat job list``, which is the same for stores and clusters."""
        require(request, Role.READ)

        def told() -> bytes:
            jobs = self._jobs.all()
            listed = [views.listed_job(job, self._entry(job), jobs, self._total) for job in jobs]
            return msgspec.json.encode({"jobs": listed})

        return Response(await run_in_threadpool(told), media_type="application/json")

    async def job(self, request: Request) -> Response:
        require(request, Role.READ)

        def told() -> dict[str, Any]:
            job = self._found(request)
            jobs = self._jobs.unfinished()
            return views.job_details(job, self._entry(job), self._jobs.failures(job.id), jobs, self._total)

        return JSONResponse(await run_in_threadpool(told))

    async def submit(self, request: Request) -> Response:
        by = require_deploy(request).name
        job_id, body = await received(request, SUBMISSION, self._settings)
        job = await run_in_threadpool(self._dispatcher.submit, job_id, body, by)
        return JSONResponse({"jobid": job.id, "jobUrl": f"/jobs/{job.id}"}, status_code=202)

    async def cancel(self, request: Request) -> Response:
        require_deploy(request)
        if request.query_params.get("mode", "cancel") != "cancel":
            raise HTTPException(400, "The only mode is cancel.")
        id = await run_in_threadpool(lambda: self._dispatcher.ask(self._found(request).id, Action.CANCEL))
        return JSONResponse({"request-id": id}, status_code=202)

    async def discard(self, request: Request) -> Response:
        require_deploy(request)
        await run_in_threadpool(lambda: self._dispatcher.discard(self._found(request).id))
        return JSONResponse({})

    async def savepoint(self, request: Request) -> Response:
        require_deploy(request)
        asked = await self._body(request, SavepointTrigger)
        action = Action.STOP if asked.cancel else Action.SAVEPOINT
        return await self._asked(request, action, asked.target)

    async def stop(self, request: Request) -> Response:
        require_deploy(request)
        asked = await self._body(request, StopTrigger)
        return await self._asked(request, Action.STOP, asked.target, asked.drain)

    async def operation(self, request: Request) -> Response:
        require(request, Role.READ)
        id = request.path_params["request"]
        found = await run_in_threadpool(lambda: self._jobs.request(self._found(request).id, id))
        if found is None:
            raise HTTPException(404, f"Nothing was asked of the job under {id!r}.")
        return JSONResponse(views.operation(found))

    async def checkpoints(self, request: Request) -> Response:
        require(request, Role.READ)

        def told() -> views.CheckpointingStatistics:
            details = self._observer.job(request.path_params["job"])
            return views.checkpoints(details.history, self._dispatcher.folder.store.state(details.job.id))

        return answer(await run_in_threadpool(told))

    async def exceptions(self, request: Request) -> Response:
        """The failures of a job, the last one first."""
        require(request, Role.READ)
        most = query_number(request, "maxExceptions", views.MOST_EXCEPTIONS)
        details = await run_in_threadpool(self._observer.job, request.path_params["job"])
        return answer(views.exceptions(details.failures, most or 0))

    async def vertex(self, request: Request) -> Response:
        """A vertex of a job, with what its operators measured."""
        require(request, Role.READ)
        details = await run_in_threadpool(self._observer.job, request.path_params["job"])
        id = request.path_params["vertex"]
        found = next((each for each in details.vertices if each.status.id == id), None)
        if found is None:
            raise HTTPException(404, f"Job {details.job.id} has no vertex {id!r}, or has not begun.")
        return answer(views.vertex(found))

    async def log(self, request: Request) -> Response:
        """The end of what the processes of a job said."""
        require(request, Role.READ)
        most = query_number(request, "bytes", LARGEST_LOG, most=LARGEST_LOG)
        job = await run_in_threadpool(self._found, request)
        found = await run_in_threadpool(self._observer.log, job.id, most or LARGEST_LOG)
        return PlainTextResponse(found.text.encode("utf-8", "replace"))

    async def state(self, request: Request) -> Response:
        require(request, Role.READ)
        limit = query_number(request, "limit", None)

        def told() -> bytes:
            import json
            from itertools import islice

            from compat.compiler.spark.driver.inspection import UnknownOperator, state_rows

            job = self._found(request)
            try:
                rows = state_rows(self._dispatcher.folder.store.state(job.id), request.path_params["operator"])
                found = list(islice(rows, limit))
            except UnknownOperator as error:
                raise HTTPException(404, str(error)) from error
            return json.dumps(found, default=repr, ensure_ascii=False).encode()

        return Response(await run_in_threadpool(told), media_type="application/json")

    async def events(self, request: Request) -> Response:
        """The events behind a cursor, as soon as there are some; at the end of a job, that it has ended."""
        require(request, Role.READ)
        try:
            cursor = Cursor.parse(request.query_params.get("after", "0.0"))
            wait = min(_LONGEST_WAIT, float(request.query_params.get("wait", "0")))
        except ValueError as error:
            raise HTTPException(400, str(error)) from error
        job = await run_in_threadpool(self._found, request)
        log = self._dispatcher.folder.events(job.id)
        end = time.monotonic() + wait
        while True:
            ended = job.status.terminal
            found, cursor = await run_in_threadpool(log.read, cursor)
            if found or ended or time.monotonic() > end:
                told = {"events": found, "next": str(cursor), "status": job.status.value, "ended": ended and not found}
                return Response(msgspec.json.encode(told), media_type="application/json")
            await asyncio.sleep(_LOOKS)
            job = await run_in_threadpool(self._jobs.get, job.id)

    async def _asked(self, request: Request, action: Action, target: str | None, drain: bool = False) -> Response:
        id = await run_in_threadpool(
            lambda: self._dispatcher.ask(self._found(request).id, action, target, drain),
        )
        return JSONResponse({"request-id": id}, status_code=202)

    async def _body(self, request: Request, kind: type[Any]) -> Any:
        data = await read_body(request, self._settings)
        try:
            return msgspec.json.decode(data or b"{}", type=kind)
        except msgspec.DecodeError as error:
            raise BodyRefused(400, f"The body is not understood: {error}.") from error

    def _found(self, request: Request) -> ClusterJob:
        return self._jobs.get(request.path_params["job"])

    def _entry(self, job: ClusterJob) -> JobEntry | None:
        return self._dispatcher.folder.store.entry(job.id)

"""Deployments over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from compat.cluster import views
from compat.cluster.deployments.answers import Begun, DeploymentSummary, SituationSummary
from compat.cluster.dispatcher import Dispatcher
from compat.cluster.receiving import received
from compat.cluster.submission import DEPLOYMENT, DeploymentRequest
from compat.service.access import require, require_deploy
from compat.service.body import BodyRefused
from compat.service.context import answer
from compat.service.records import Role
from compat.service.settings import ServiceSettings


def routes(dispatcher: Dispatcher, settings: ServiceSettings) -> list[Route]:
    """The routes for deployments."""
    handlers = _Handlers(dispatcher, settings)
    return [
        Route("/situation", handlers.situation),
        Route("/deployments", handlers.all),
        Route("/deployments/{deployment}", handlers.one, methods=["GET"]),
        Route("/deployments/{deployment}", handlers.deploy, methods=["PUT"]),
    ]


class _Handlers:
    def __init__(self, dispatcher: Dispatcher, settings: ServiceSettings) -> None:
        self._dispatcher, self._settings = dispatcher, settings
        self._deployments = dispatcher.deploying.deployments

    async def situation(self, request: Request) -> Response:
        """What there is of a job that is to be upgraded, with the plan to check against."""
        require(request, Role.READ)
        job, called = request.query_params.get("job"), request.query_params.get("called")
        if not job:
            raise HTTPException(400, "Say which job: ?job=NAME.")

        def told() -> SituationSummary:
            with self._dispatcher.lock:
                found = self._dispatcher.deploying.situation(job, called)
            gate = self._dispatcher.gate
            return SituationSummary(
                runs=None if found.runs is None else found.runs.id,
                base=found.base,
                state=found.state,
                unclear=found.unclear,
                stateless=found.stateless,
                open=None if found.open is None else views.deployment(found.open),
                plan=None if found.base is None else self._plan(found.base),
                registry=None if gate is None else gate.url,
            )

        return answer(await run_in_threadpool(told))

    async def all(self, request: Request) -> Response:
        """The last deployments, the newest first."""
        require(request, Role.READ)
        found = await run_in_threadpool(self._deployments.all)
        return answer({"deployments": [views.deployment(each) for each in found]})

    async def one(self, request: Request) -> Response:
        """A deployment, with the steps that it has taken."""
        require(request, Role.READ)
        id = request.path_params["deployment"]

        def told() -> DeploymentSummary:
            for found in self._deployments.get(id):
                return views.deployment(found, self._deployments.steps(id))
            raise HTTPException(404, f"There is no deployment {id!r} on this cluster.")

        return answer(await run_in_threadpool(told))

    async def deploy(self, request: Request) -> Response:
        """Begin a deployment under an id that its sender chose; the same again gives what happened to it."""
        by = require_deploy(request).name
        id, body = await received(request, DEPLOYMENT, self._settings)
        try:
            asked = msgspec.msgpack.decode(body, type=DeploymentRequest)
        except msgspec.DecodeError as error:
            raise BodyRefused(400, f"This is no deployment: {error}. Deploy with compat deploy.") from error
        done = await run_in_threadpool(self._dispatcher.deploy, id, asked, by)
        found = None if done.deployment is None else views.deployment(done.deployment)
        return answer(Begun(found, done.sentence), 200 if found is None else 202)

    def _plan(self, job: str) -> dict[str, Any] | None:
        """The plan of a job, with what it took over from the snapshot that it began with, once that is known."""
        kept = self._dispatcher.folder.store.plan(job)
        if kept is not None:
            return kept
        try:
            found: dict[str, Any] = msgspec.json.decode(self._dispatcher.folder.submission(job).plan)
        except (OSError, ValueError):
            return None
        return found

"""The pages' addresses, with their contents and the actions of their buttons."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs, urlencode

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from compat.cluster.deployments.records import Deployment, Started
from compat.cluster.dispatcher import Dispatcher
from compat.cluster.observation import JobDetails, JobSeen, Observer
from compat.cluster.pages import contents
from compat.cluster.pages.finding import ENDED, ORDERS, STATUSES, STEPS, Wanted
from compat.cluster.pages.site import SITE
from compat.cluster.records import Action, ClusterJob
from compat.cluster.registry import LeadershipLost, UnknownJob
from compat.compiler.executiongraph.states import JobStatus
from compat.service.access import COOKIE, require_deploy
from compat.service.body import read_body
from compat.service.caches import Kept
from compat.service.context import blocking, query_number
from compat.service.pages.rendering import static_files
from compat.service.records import Identity
from compat.service.settings import ServiceSettings

FORMS = "/ui/"
"""The prefix of the addresses of forms."""
SECONDS = 3
"""The seconds between two requests of a page."""
PAGE = 50
FAILURES = 20
"""The number of failures on a job's page; the interface has more."""
LARGEST_FORM, MOST_FIELDS = 4096, 10
_KEPT = 32 * 1024 * 1024

Handler = Callable[[Request], Awaitable[Response]]


def _page(handler: Handler) -> Handler:
    """A page for those who may look; what is not there, or not now, is said on a page, too."""

    @wraps(handler)
    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except UnknownJob as error:
            return SITE.error(request, 404, "Not found", f"There is no one job {error.args[0]!r} on this cluster.")
        except LeadershipLost as error:
            return SITE.error(request, 503, "Not now", str(error))

    return SITE.page(guarded)


class Pages:
    """The pages of a cluster."""

    def __init__(self, dispatcher: Dispatcher, observer: Observer, settings: ServiceSettings) -> None:
        self._dispatcher, self._observer, self._settings = dispatcher, observer, settings
        self._deployments = dispatcher.deploying.deployments
        self._graphs: Kept[str] = Kept(_KEPT)
        self._pages: Kept[tuple[float, str]] = Kept(_KEPT)

    def routes(self) -> list[BaseRoute]:
        """The routes of pages, styles and scripts."""
        own = files("compat.cluster") / "static"
        return [
            Route("/", _page(self.cluster), methods=["GET"]),
            Route("/ui/deployments", _page(self.deployments), methods=["GET"]),
            Route("/ui/deployments/{deployment}", _page(self.deployment), methods=["GET"]),
            Route("/ui/jobs", _page(self.ended), methods=["GET"]),
            Route("/ui/jobs/{job}", _page(self.job), methods=["GET"]),
            Route("/ui/jobs/{job}/graph", _page(self.graph), methods=["GET"]),
            Route("/ui/jobs/{job}/log", _page(self.log), methods=["GET"]),
            Route("/ui/jobs/{job}/stop", _page(self.confirm_stop), methods=["GET"]),
            Route("/ui/jobs/{job}/cancel", _page(self.confirm_cancel), methods=["GET"]),
            Route("/ui/jobs/{job}/savepoint", _page(self.savepoint), methods=["POST"]),
            Route("/ui/jobs/{job}/stop", _page(self.stop), methods=["POST"]),
            Route("/ui/jobs/{job}/cancel", _page(self.cancel), methods=["POST"]),
            Mount("/static/cluster", StaticFiles(directory=str(own))),
            *static_files(),
        ]

    async def cluster(self, request: Request) -> Response:
        """The slots, the jobs that have not ended, and the last of those that have."""
        seen = await blocking(self._observer.cluster)
        wanted = Wanted.of(request, STATUSES)
        unfinished, ended = wanted.jobs(seen.unfinished), wanted.jobs(seen.ended)
        return SITE.respond(
            request,
            "cluster.html",
            seen=seen,
            unfinished=unfinished,
            ended=ended,
            started=await self._started([*unfinished, *ended]),
            wanted=wanted,
            status_names=STATUSES,
            orders=ORDERS,
            statuses=JobStatus,
            tone=contents.tone,
            seconds=SECONDS,
        )

    async def ended(self, request: Request) -> Response:
        """The jobs that have ended, the newest first."""
        before = query_number(request, "before", None)
        wanted = Wanted.of(request, ENDED)
        status = JobStatus(wanted.status) if wanted.status else None
        found = await blocking(self._observer.ended, limit=PAGE + 1, before=before, text=wanted.text, status=status)
        older = {"before": found[PAGE - 1].job.number} if len(found) > PAGE else None
        asked = {name: value for name, value in (("q", wanted.text), ("status", wanted.status)) if value}
        return SITE.respond(
            request,
            "ended.html",
            jobs=found[:PAGE],
            started=await self._started(found[:PAGE]),
            older=None if older is None else urlencode({**asked, **older}),
            wanted=wanted,
            status_names=ENDED,
            tone=contents.tone,
        )

    async def _started(self, jobs: Sequence[JobSeen]) -> dict[str, Started]:
        return await blocking(self._deployments.started, {each.job.id for each in jobs})

    async def deployments(self, request: Request) -> Response:
        """The last deployments, the newest first."""
        wanted = Wanted.of(request, STEPS)
        found = await blocking(self._deployments.all)
        return SITE.respond(
            request,
            "deployments.html",
            deployments=wanted.deployments(found),
            wanted=wanted,
            status_names=STEPS,
            words=contents.STEP_WORDS,
            step_tone=contents.step_tone,
            seconds=SECONDS,
        )

    async def deployment(self, request: Request) -> Response:
        """One deployment: its steps so far, the jobs that it is about, and the running job."""
        id = request.path_params["deployment"]
        found = await blocking(self._deployments.get, id)
        if not found:
            return SITE.error(request, 404, "Not found", f"There is no deployment {id!r} on this cluster.")
        return SITE.respond(
            request,
            "deployment.html",
            deployment=found[0],
            steps=await blocking(self._deployments.steps, id),
            jobs=await blocking(self._known, found[0]),
            cause=contents.cause,
            words=contents.STEP_WORDS,
            step_tone=contents.step_tone,
            tone=contents.tone,
            seconds=SECONDS,
        )

    def _known(self, deployment: Deployment) -> list[tuple[str, ClusterJob | None]]:
        """The jobs of a deployment by what they are in it; None for one that is not there yet, or no more."""
        found = []
        for role, id in (("old", deployment.old), ("new", deployment.new), ("old again", deployment.back)):
            jobs = [] if id is None else self._dispatcher.jobs.with_id(id)
            found.append((role, jobs[0] if jobs else None))
        return found

    async def job(self, request: Request) -> Response:
        """One job."""
        details = await self._details(request)
        return HTMLResponse(await blocking(self._job_page, details, self._head(request, details)))

    def _job_page(self, details: JobDetails, head: dict[str, Any]) -> str:
        """The page of a job, which is the same for all who may the same, as long as nobody looked at the job again."""
        key = (details.job.id, head["may"], head["logged_in"])
        known = self._pages.get(key)
        if known is not None and known[0] == details.looked:
            return known[1]
        text = SITE.render(
            "cluster_job.html",
            **head,
            started=self._deployments.started({details.job.id}).get(details.job.id),
            vertices=contents.vertices(details.vertices),
            history=contents.history(details),
            metrics=contents.metrics(details.vertices),
            operators=(),
            cause=contents.cause,
            FAILURES=FAILURES,
            seconds=SECONDS,
        )
        self._pages.put(key, (details.looked, text), len(text))
        return text

    async def graph(self, request: Request) -> Response:
        """The graph of a job, with the numbers of its vertices."""
        details = await self._details(request)
        view = await blocking(self._graph, details)
        return SITE.respond(
            request,
            "graph.html",
            **self._head(request, details),
            view=Markup(view),
            vertices=contents.vertices(details.vertices),
            seconds=SECONDS,
        )

    async def log(self, request: Request) -> Response:
        """The output of a job's processes, and of its program."""
        details = await self._details(request)
        found = await blocking(self._observer.log, details.job.id, contents.LOG_SHOWN)
        return SITE.respond(
            request,
            "log.html",
            **self._head(request, details),
            log=contents.log(found),
            printed=contents.printed(details.history.printed),
            seconds=SECONDS,
        )

    async def confirm_stop(self, request: Request) -> Response:
        """Ask whether the job is to be stopped with a savepoint."""
        return await self._confirm(request, Action.STOP)

    async def confirm_cancel(self, request: Request) -> Response:
        """Ask whether the job is to be cancelled."""
        return await self._confirm(request, Action.CANCEL)

    async def savepoint(self, request: Request) -> Response:
        """Request a savepoint."""
        return await self._ask(request, Action.SAVEPOINT)

    async def stop(self, request: Request) -> Response:
        """Stop the job with a savepoint."""
        return await self._ask(request, Action.STOP)

    async def cancel(self, request: Request) -> Response:
        """Cancel the job, without a savepoint."""
        return await self._ask(request, Action.CANCEL)

    async def _confirm(self, request: Request, action: Action) -> Response:
        require_deploy(request)
        details = await self._details(request)
        return SITE.respond(request, "confirm.html", **self._head(request, details), action=action.value)

    async def _ask(self, request: Request, action: Action) -> Response:
        require_deploy(request)
        drain = "drain" in await self._fields(request)
        details = await self._details(request)
        if details.job.status.terminal:
            raise HTTPException(409, f"Job {details.job.id} has ended already: it is {details.job.status.value}.")
        await blocking(self._dispatcher.ask, details.job.id, action, None, drain)
        self._observer.changed(details.job.id)
        return RedirectResponse(f"/ui/jobs/{details.job.id}", status_code=303)

    async def _fields(self, request: Request) -> dict[str, list[str]]:
        body = await read_body(request, self._settings, json=False, most=LARGEST_FORM)
        try:
            return parse_qs(body.decode("ascii", "replace"), max_num_fields=MOST_FIELDS)
        except ValueError as error:
            raise HTTPException(400, f"The form has more than {MOST_FIELDS} fields.") from error

    async def _details(self, request: Request) -> JobDetails:
        return await blocking(self._observer.job, request.path_params["job"])

    def _head(self, request: Request, details: JobDetails) -> dict[str, Any]:
        """What all pages of a job begin with."""
        identity: Identity = request.state.identity
        return {
            "job": details.job,
            "details": details,
            "tone": contents.tone,
            "may": identity.deploys,
            "logged_in": COOKIE in request.cookies,
        }

    def _graph(self, details: JobDetails) -> str:
        """The graph, which is made once: it stays as it is while the job lives."""
        id = details.job.id
        known = self._graphs.get(id)
        if known is not None:
            return known
        section = contents.graph(self._dispatcher.folder.store.plan(id), details.job.name)
        if isinstance(section, str):
            return SITE.render("no_graph.html", reason=section)
        made = SITE.render("view.html", sections=[section])
        self._graphs.put(id, made, len(made))
        return made

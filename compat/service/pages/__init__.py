"""The pages for people: what the registry holds, looked at with a browser.

All of them only show; what changes something is asked of the API, with a token that a page never holds. Each page is
rendered on the server from a template, works without scripts as far as tables go, and loads nothing from elsewhere.
"""

from __future__ import annotations

from importlib.resources import files

from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from compat.service.pages import checks, jobs, runs, savepoints

__all__ = ["routes"]


def routes() -> list[BaseRoute]:
    """The pages' routes, and those of their styles and scripts."""
    view, own = files("compat.view") / "static", files("compat.service") / "static"
    return [
        Route("/", jobs.index, methods=["GET"]),
        Route("/jobs/{job}", jobs.job, methods=["GET"]),
        Route("/jobs/{job}/compare", jobs.compare, methods=["GET"]),
        Route("/jobs/{job}/versions/{number}", jobs.version, methods=["GET"]),
        Route("/checks", checks.index, methods=["GET"]),
        Route("/checks/{id}", checks.check, methods=["GET"]),
        Route("/running", runs.index, methods=["GET"]),
        Route("/running/{id}", runs.job, methods=["GET"]),
        Route("/savepoints", savepoints.index, methods=["GET"]),
        Route("/savepoints/{id}", savepoints.savepoint, methods=["GET"]),
        Mount("/static/view", StaticFiles(directory=str(view))),
        Mount("/static/service", StaticFiles(directory=str(own))),
    ]

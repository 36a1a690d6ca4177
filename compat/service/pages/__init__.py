"""The pages for people: the registry's contents in a browser.

Pages only show things. Changes go through the API, with a token that a page never holds. The server renders each page from a
template. Its tables work without scripts, and it loads nothing from other servers.
"""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from compat.service.pages import checks, jobs, runs, savepoints
from compat.service.pages.rendering import static_files

__all__ = ["routes"]


def routes() -> list[BaseRoute]:
    """The pages' routes, and those of their styles and scripts."""
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
        *static_files(),
    ]

"""The API under ``/api/v1``: one module for each thing, and their description in :mod:`compat.service.api.openapi`."""

from __future__ import annotations

from starlette.routing import Route

from compat.service.api import (
    acceptances,
    audit,
    catalogue,
    checks,
    compatibility,
    deletions,
    jobs,
    programs,
    savepoints,
)
from compat.service.api.openapi import openapi

PREFIX = "/api/v1"


def routes() -> list[Route]:
    """All routes of the API."""
    modules = (checks, jobs, programs, compatibility, deletions, acceptances, savepoints, audit, catalogue)
    given = [*(route for module in modules for route in module.ROUTES), ("GET", "/openapi.json", openapi)]
    return [Route(PREFIX + path, handler, methods=[method]) for method, path, handler in given]

"""Errors as answers of the API: ``application/problem+json`` (RFC 9457)."""

from __future__ import annotations

import errno
import json
from collections.abc import Mapping

from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from compat.escaping import visible
from compat.service.body import BodyRefused
from compat.service.building.confinement import CannotConfine
from compat.service.pool import Busy, WorkFailed
from compat.service.registry import Conflict, NotFound
from compat.service.telemetry import log
from compat.service.untrusted import RefusedBody

TITLES = {
    400: "Bad request",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "The request took too long",
    409: "Conflict",
    411: "Length required",
    413: "Too large",
    415: "JSON is needed",
    421: "Not this host",
    422: "Not understood",
    500: "Our mistake",
    503: "Not now",
    507: "No space left",
}


def problem(status: int, detail: str, pointer: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """An answer that describes an error; ``pointer`` is the field of the request concerned."""
    document = {
        "type": "about:blank",
        "title": TITLES.get(status, "Error"),
        "status": status,
        "detail": visible(detail),
    }
    if pointer:
        document["pointer"] = visible(pointer)
    return Response(
        json.dumps(document), status_code=status, media_type="application/problem+json", headers=dict(headers or {})
    )


async def on_error(request: Request, error: Exception) -> Response:
    """The answer to an error that a handler raised."""
    match error:
        case HTTPException():
            return problem(error.status_code, error.detail, headers=error.headers)
        case BodyRefused():
            waiting = {"Retry-After": "5"} if error.status == 503 else {}
            return problem(error.status, str(error), headers={"Connection": "close", **waiting})
        case RefusedBody():
            return problem(422 if error.pointer else 400, str(error), error.pointer)
        case NotFound():
            return problem(404, str(error.args[0]))
        case Conflict():
            return problem(409, str(error))
        case CannotConfine():
            return problem(503, f"This service cannot build programs: {error.strerror}")
        case WorkFailed():
            return problem(413, str(error))
        case Busy():
            return problem(503, str(error), headers={"Retry-After": "5"})
        case SQLAlchemyError():
            return database_problem(error)
        case OSError(errno=number) if number in (errno.ENOSPC, errno.EDQUOT):
            log("disk", level="error", path=request.url.path[:500], error=str(error))
            return problem(507, "The server's disk is full. Nothing was recorded; try again when there is room.")
    raise error


async def on_mistake(request: Request, error: Exception) -> Response:
    """The answer to an error that no handler of ours expected; the log has it."""
    log("mistake", level="error", path=request.url.path[:500], error=f"{type(error).__name__}: {error}")
    return problem(500, "The server made a mistake; its log says which.")


def database_problem(error: SQLAlchemyError) -> Response:
    """The answer when the database is locked, full or missing; the log has the reason."""
    log("database", level="error", error=str(getattr(error, "orig", None) or error))
    return problem(
        503,
        "The registry's database does not take this at the moment. Nothing was recorded; try again.",
        headers={"Retry-After": "5"},
    )


HANDLED = (HTTPException, BodyRefused, RefusedBody, NotFound, Conflict, WorkFailed, Busy, SQLAlchemyError, OSError)
"""The exceptions with an answer; all others are mistakes of ours."""

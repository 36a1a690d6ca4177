"""The description of the API, as OpenAPI 3.1."""

from __future__ import annotations

import json
from functools import cache

from starlette.requests import Request
from starlette.responses import Response

import compat
from compat.service.api.schemas import NUMBER, TEXT, Json, all_schemas, listing, or_null, record, reference
from compat.service.context import raw
from compat.service.requests import JOB_NAME, SAVEPOINT_ID


async def openapi(_: Request) -> Response:
    """The description."""
    return raw(_text())


@cache
def _text() -> bytes:
    return json.dumps(document()).encode()


def document() -> Json:
    """The OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "compat",
            "version": compat.__version__,
            "description": "May this version of a job replace the one that runs? "
            "Roles: read looks, push records, admin forces.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {}],
        "paths": {f"/api/v1{path}": operations for path, operations in _paths().items()},
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": all_schemas(),
        },
    }


def _paths() -> dict[str, Json]:
    job = [_path("job", {"type": "string", "pattern": JOB_NAME})]
    number = _path("number", {"anyOf": [NUMBER, {"const": "current"}]})
    savepoint = [_path("id", {"type": "string", "pattern": SAVEPOINT_ID})]
    page = [_query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}), _query("before", NUMBER)]
    of_job = _query("job", {"type": "string", "pattern": JOB_NAME})
    return {
        "/checks": {
            "post": _operation(
                "Check one side against another",
                {"200": reference("CheckedReport"), "201": reference("CheckedReport")},
                body="CheckRequest",
                refusals=(403, 404, 413, 422),
            ),
            "get": _operation(
                "Checks, newest first", {"200": listing("checks", "Check")}, [of_job, *page], refusals=(422,)
            ),
        },
        "/checks/{id}": {
            "get": _operation(
                "A check with its report",
                {"200": reference("CheckedReport")},
                [_path("id", NUMBER)],
                refusals=(404, 422),
            )
        },
        "/jobs": {
            "get": _operation(
                "Jobs, by name; the next page is after the last name of this one",
                {"200": listing("jobs", "Job")},
                [page[0], _query("after", {"type": "string", "pattern": JOB_NAME})],
                refusals=(422,),
            )
        },
        "/jobs/{job}": {"get": _operation("One job", {"200": reference("Job")}, job, refusals=(404, 422))},
        "/jobs/{job}/versions": {
            "get": _operation(
                "The versions of a job, newest first",
                {"200": listing("versions", "Version")},
                [*job, *page],
                refusals=(404, 422),
            ),
            "post": _operation(
                "Register a plan as the newest version (200: it is the newest already)",
                {"200": reference("Version"), "201": reference("Version")},
                job,
                body="PushRequest",
                refusals=(403, 409, 413, 422),
            ),
        },
        "/jobs/{job}/versions/{number}": {
            "get": _operation("A version", {"200": reference("Version")}, [*job, number], refusals=(404, 422))
        },
        "/jobs/{job}/versions/{number}/plan": {
            "get": _operation("The plan of a version", {"200": reference("Plan")}, [*job, number], refusals=(404, 422))
        },
        "/jobs/{job}/promotions": {
            "get": _operation(
                "What ran when, newest first",
                {"200": listing("promotions", "Promotion")},
                [*job, page[0]],
                refusals=(404, 422),
            ),
            "post": _operation(
                "Make a version the one that runs, if it may replace the one that does (409: it may not, with the report)",
                {"200": record(promotion=reference("Promotion"), check=or_null(reference("Check")))},
                job,
                body="PromoteRequest",
                refusals=(403, 404, 409, 413, 422),
            ),
        },
        "/jobs/{job}/acceptances": {
            "get": _operation(
                "What may pass of a job, newest first",
                {"200": listing("acceptances", "StandingAcceptance")},
                [*job, page[0]],
                refusals=(404, 422),
            )
        },
        "/jobs/{job}/withdrawals": {
            "post": _operation(
                "Let a finding pass no more, between the plans that are named, or any (for admins)",
                {"200": listing("withdrawn", "StandingAcceptance")},
                job,
                body="WithdrawRequest",
                refusals=(403, 404, 413, 422),
            )
        },
        "/jobs/{job}/programs": {
            "post": _operation(
                "Have the service build a program, where its operator allows that, and register its plan",
                {"200": reference("Version"), "201": reference("Version")},
                job,
                body="ProgramRequest",
                refusals=(403, 409, 413, 422),
            )
        },
        "/jobs/{job}/compatibility": {
            "get": _operation(
                "What a new version has to restore", {"200": reference("Compatibility")}, job, refusals=(404, 422)
            ),
            "post": _operation(
                "Say what a new version has to restore: the state of the version that runs, of the last that ran, or a "
                "savepoint (for admins)",
                {"200": reference("Compatibility")},
                job,
                body="CompatibilityRequest",
                refusals=(403, 404, 413, 422),
            ),
        },
        "/jobs/{job}/deletions": {
            "post": _operation(
                "Delete a version or the whole job; what runs or ran only where that is said (for admins)",
                {
                    "200": record(
                        job={"type": "string"},
                        versions={"type": "array", "items": NUMBER},
                        whole_job={"type": "boolean"},
                    )
                },
                job,
                body="DeleteRequest",
                refusals=(403, 404, 409, 413, 422),
            )
        },
        "/audit": {
            "get": _operation(
                "What was decided and by whom, newest first (for admins)",
                {"200": listing("audit", "AuditEntry")},
                page,
                refusals=(422,),
            )
        },
        "/savepoints": {
            "get": _operation(
                "Savepoints and checkpoints, newest first",
                {"200": listing("savepoints", "Savepoint")},
                [of_job, page[0]],
                refusals=(422,),
            )
        },
        "/savepoints/scan": {
            "post": _operation(
                "Look through the folders now", {"200": record(savepoints={"type": "integer"})}, refusals=(403,)
            )
        },
        "/savepoints/{id}": {
            "get": _operation("A savepoint", {"200": reference("Savepoint")}, savepoint, refusals=(404,))
        },
        "/savepoints/{id}/inspection": {
            "get": _operation("What is in a savepoint", {"200": {"type": "object"}}, savepoint, refusals=(404,))
        },
        "/rules": {"get": _operation("The rule catalogue", {"200": listing("rules", "Rule", format=NUMBER)})},
        "/rules/{rule}": {
            "get": _operation(
                "A rule, by id or name", {"200": reference("Rule")}, [_path("rule", TEXT)], refusals=(404,)
            )
        },
    }


def _operation(
    summary: str,
    answers: Json,
    parameters: list[Json] | None = None,
    *,
    body: str | None = None,
    refusals: tuple[int, ...] = (),
) -> Json:
    statuses = {*refusals, 401, 403, 503} | ({400, 408, 415} if body else set())
    operation: Json = {
        "summary": summary,
        "responses": {
            **{status: _content("application/json", schema) for status, schema in answers.items()},
            **{str(status): _content("application/problem+json", reference("Problem")) for status in sorted(statuses)},
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": reference(body)}}}
    return operation


def _content(media: str, schema: Json) -> Json:
    return {
        "description": "The answer." if media == "application/json" else "What was wrong.",
        "content": {media: {"schema": schema}},
    }


def _path(name: str, schema: Json) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query(name: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema}

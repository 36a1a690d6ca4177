"""The description of the API, as OpenAPI 3.1. The schemas of plans and reports are those of the command line."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import compat
from compat import schemas
from compat.compiler.versions import FLINK_VERSIONS
from compat.plan.schema import components
from compat.service.context import raw
from compat.service.records import Action
from compat.service.requests import IMAGE, JOB_NAME, LARGEST_NUMBER, LONGEST_LABEL, MOST_ACCEPTED, SAVEPOINT_ID

Json = dict[str, Any]


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
            "schemas": _schemas(),
        },
    }


def _paths() -> dict[str, Json]:
    job = [_path("job", {"type": "string", "pattern": JOB_NAME})]
    number = _path("number", {"anyOf": [_NUMBER, {"const": "current"}]})
    savepoint = [_path("id", {"type": "string", "pattern": SAVEPOINT_ID})]
    page = [_query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}), _query("before", _NUMBER)]
    of_job = _query("job", {"type": "string", "pattern": JOB_NAME})
    return {
        "/checks": {
            "post": _operation(
                "Check one side against another",
                {"200": _reference("CheckedReport"), "201": _reference("CheckedReport")},
                body="CheckRequest",
                refusals=(403, 404, 413, 422),
            ),
            "get": _operation(
                "Checks, newest first", {"200": _list("checks", "Check")}, [of_job, *page], refusals=(422,)
            ),
        },
        "/checks/{id}": {
            "get": _operation(
                "A check with its report",
                {"200": _reference("CheckedReport")},
                [_path("id", _NUMBER)],
                refusals=(404, 422),
            )
        },
        "/jobs": {
            "get": _operation(
                "Jobs, by name; the next page is after the last name of this one",
                {"200": _list("jobs", "Job")},
                [page[0], _query("after", {"type": "string", "pattern": JOB_NAME})],
                refusals=(422,),
            )
        },
        "/jobs/{job}": {"get": _operation("One job", {"200": _reference("Job")}, job, refusals=(404, 422))},
        "/jobs/{job}/versions": {
            "get": _operation(
                "The versions of a job, newest first",
                {"200": _list("versions", "Version")},
                [*job, *page],
                refusals=(404, 422),
            ),
            "post": _operation(
                "Register a plan as the newest version (200: it is the newest already)",
                {"200": _reference("Version"), "201": _reference("Version")},
                job,
                body="PushRequest",
                refusals=(403, 409, 413, 422),
            ),
        },
        "/jobs/{job}/versions/{number}": {
            "get": _operation("A version", {"200": _reference("Version")}, [*job, number], refusals=(404, 422))
        },
        "/jobs/{job}/versions/{number}/plan": {
            "get": _operation("The plan of a version", {"200": _reference("Plan")}, [*job, number], refusals=(404, 422))
        },
        "/jobs/{job}/promotions": {
            "get": _operation(
                "What ran when, newest first",
                {"200": _list("promotions", "Promotion")},
                [*job, page[0]],
                refusals=(404, 422),
            ),
            "post": _operation(
                "Make a version the one that runs, if it may replace the one that does (409: it may not, with the report)",
                {"200": _object(promotion=_reference("Promotion"), check=_or_null(_reference("Check")))},
                job,
                body="PromoteRequest",
                refusals=(403, 404, 409, 413, 422),
            ),
        },
        "/jobs/{job}/acceptances": {
            "get": _operation(
                "What may pass of a job, newest first",
                {"200": _list("acceptances", "StandingAcceptance")},
                [*job, page[0]],
                refusals=(404, 422),
            )
        },
        "/jobs/{job}/withdrawals": {
            "post": _operation(
                "Let a finding pass no more, between the plans that are named, or any (for admins)",
                {"200": _list("withdrawn", "StandingAcceptance")},
                job,
                body="WithdrawRequest",
                refusals=(403, 404, 413, 422),
            )
        },
        "/jobs/{job}/deletions": {
            "post": _operation(
                "Delete a version or the whole job; what runs or ran only where that is said (for admins)",
                {
                    "200": _object(
                        job={"type": "string"},
                        versions={"type": "array", "items": _NUMBER},
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
                {"200": _list("audit", "AuditEntry")},
                page,
                refusals=(422,),
            )
        },
        "/savepoints": {
            "get": _operation(
                "Savepoints and checkpoints, newest first",
                {"200": _list("savepoints", "Savepoint")},
                [of_job, page[0]],
                refusals=(422,),
            )
        },
        "/savepoints/scan": {
            "post": _operation(
                "Look through the folders now", {"200": _object(savepoints={"type": "integer"})}, refusals=(403,)
            )
        },
        "/savepoints/{id}": {
            "get": _operation("A savepoint", {"200": _reference("Savepoint")}, savepoint, refusals=(404,))
        },
        "/savepoints/{id}/inspection": {
            "get": _operation("What is in a savepoint", {"200": {"type": "object"}}, savepoint, refusals=(404,))
        },
        "/rules": {"get": _operation("The rule catalogue", {"200": _list("rules", "Rule", format=_NUMBER)})},
        "/rules/{rule}": {
            "get": _operation(
                "A rule, by id or name", {"200": _reference("Rule")}, [_path("rule", _TEXT)], refusals=(404,)
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
            **{str(status): _content("application/problem+json", _reference("Problem")) for status in sorted(statuses)},
        },
    }
    if parameters:
        operation["parameters"] = parameters
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _reference(body)}}}
    return operation


def _schemas() -> dict[str, Json]:
    text, name = _or_null(_TEXT), {"type": "string", "pattern": JOB_NAME}
    label = _or_null({"type": "string", "maxLength": LONGEST_LABEL})
    moment = _or_null({"type": "string", "format": "date-time"})
    accepted = dict.fromkeys(("fingerprint", "rule", "title", "reason", "by"), _TEXT)
    role_of_side = _object(label=_TEXT, kind=_TEXT, digest=text, version=_or_null(_NUMBER), savepoint=text)
    return {
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": _TEXT,
                "title": _TEXT,
                "status": {"type": "integer"},
                "detail": _TEXT,
                "pointer": _TEXT,
            },
        },
        **components("#/components/schemas/{name}"),
        "PlanInfo": _object(
            digest=_TEXT, job_name=_TEXT, flink=_TEXT, operators={"type": "integer"}, size={"type": "integer"}
        ),
        "Version": _object(
            job=name,
            number=_NUMBER,
            label=_TEXT,
            commit=text,
            author=text,
            pushed_by=_TEXT,
            pushed_at=moment,
            image=text,
            plan=_reference("PlanInfo"),
        ),
        "Promotion": _object(
            job=name,
            number=_NUMBER,
            by=_TEXT,
            at=moment,
            check=_or_null(_NUMBER),
            forced={"type": "boolean"},
            reason=text,
            accepted={"type": "array", "items": _reference("Acceptance")},
        ),
        "AuditEntry": _object(
            id=_NUMBER,
            at=moment,
            by=_TEXT,
            action={"enum": [action.value for action in Action]},
            job=_or_null(name),
            detail={"type": "object"},
        ),
        "Acceptance": _object(**accepted),
        "StandingAcceptance": _object(**accepted, old_plan=_TEXT, new_plan=_TEXT, at=moment),
        "WithdrawRequest": _exactly(
            ["fingerprint", "reason"],
            fingerprint={"type": "string", "minLength": 1, "maxLength": LONGEST_LABEL},
            reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
            old_plan=label,
            new_plan=label,
        ),
        "DeleteRequest": _exactly(
            ["reason"],
            version=_or_null(_NUMBER),
            whole_job={"type": "boolean"},
            even_promoted={"type": "boolean"},
            reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
        ),
        "Check": _object(
            id=_NUMBER,
            job=_or_null(name),
            old=role_of_side,
            new=role_of_side,
            verdict=_TEXT,
            passed={"type": "boolean"},
            sentence=_TEXT,
            errors={"type": "integer"},
            warnings={"type": "integer"},
            commit=text,
            author=text,
            by=_TEXT,
            at=moment,
            seconds={"type": "number"},
        ),
        "CheckedReport": _object(check=_or_null(_reference("Check")), report=_reference("Report")),
        "Report": _rebased(schemas.load("report"), "#/components/schemas/Report"),
        "Job": _object(
            name=name,
            created_at=moment,
            versions={"type": "integer"},
            current=_or_null(_reference("Version")),
            last_check=_or_null(_reference("Check")),
        ),
        "Savepoint": _object(
            id=_TEXT,
            path=_TEXT,
            kind=_TEXT,
            job=text,
            status=_TEXT,
            error=text,
            checkpoint=_or_null({"type": "integer"}),
            operators=_or_null({"type": "integer"}),
            bytes=_or_null({"type": "integer"}),
            modified_at=moment,
            seen_at=moment,
        ),
        "Rule": _object(
            id=_TEXT,
            name=_TEXT,
            level=_TEXT,
            when=text,
            family=_TEXT,
            summary=_TEXT,
            why=_TEXT,
            example=_object(old=_TEXT, new=_TEXT),
            fix=_TEXT,
        ),
        "Side": {
            "description": "A plan that is sent along, a version of a job (without a number the one that runs), "
            "or a savepoint.",
            "oneOf": [
                _exactly(["plan"], plan={"anyOf": [_reference("Plan"), _reference("Refused")]}, label=label),
                _exactly(["job"], job=name, version=_or_null(_NUMBER), label=label),
                _exactly(["savepoint"], savepoint={"type": "string", "pattern": SAVEPOINT_ID}, label=label),
            ],
        },
        "CheckRequest": _exactly(
            ["old", "new"],
            old=_reference("Side"),
            new=_reference("Side"),
            options=_exactly(
                [],
                allow_non_restored_state={"type": "boolean"},
                flink={"enum": list(FLINK_VERSIONS)},
                accept={
                    "type": "array",
                    "maxItems": MOST_ACCEPTED,
                    "items": _exactly(
                        ["fingerprint", "reason"],
                        fingerprint={"type": "string", "minLength": 1, "maxLength": LONGEST_LABEL},
                        reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
                    ),
                },
            ),
            record={"type": "boolean", "default": True},
            commit=label,
            author=label,
        ),
        "PushRequest": _exactly(
            ["plan"],
            plan=_reference("Plan"),
            commit=label,
            author=label,
            image=_or_null({"type": "string", "pattern": IMAGE, "maxLength": LONGEST_LABEL}),
        ),
        "PromoteRequest": _exactly([], version=_or_null(_NUMBER), force={"type": "boolean"}, reason=label),
    }


_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}


def _reference(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: Json) -> Json:
    return {"anyOf": [schema, {"type": "null"}]}


def _object(**fields: Json) -> Json:
    return {"type": "object", "required": list(fields), "properties": fields}


def _exactly(required: list[str], **fields: Json) -> Json:
    return {"type": "object", "required": required, "properties": fields, "additionalProperties": False}


def _list(name: str, item: str, **others: Json) -> Json:
    return _object(**{name: {"type": "array", "items": _reference(item)}, **others})


def _content(media: str, schema: Json) -> Json:
    return {
        "description": "The answer." if media == "application/json" else "What was wrong.",
        "content": {media: {"schema": schema}},
    }


def _path(name: str, schema: Json) -> Json:
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query(name: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _rebased(schema: Any, base: str) -> Any:
    """A schema whose references to itself hold where it stands now."""
    if isinstance(schema, list):
        return [_rebased(item, base) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: base + value[1:]
        if key == "$ref" and isinstance(value, str) and value.startswith("#")
        else _rebased(value, base)
        for key, value in schema.items()
        if key not in ("$schema", "$id")
    }

"""The schemas of the API's requests and answers. Those of plans and reports are the command line's."""

from __future__ import annotations

from typing import Any

from compat import schemas
from compat.compiler.versions import FLINK_VERSIONS
from compat.migration.recipe import FORMAT
from compat.plan.schema import components
from compat.service.records import Action, Mode
from compat.service.requests import (
    IMAGE,
    JOB_NAME,
    LARGEST_NUMBER,
    LONGEST_LABEL,
    MOST_ACCEPTED,
    MOST_ROLLED_BACK,
    SAVEPOINT_ID,
)

Json = dict[str, Any]


def all_schemas() -> dict[str, Json]:
    """The schemas, by name."""
    text, name = or_null(TEXT), {"type": "string", "pattern": JOB_NAME}
    label = or_null({"type": "string", "maxLength": LONGEST_LABEL})
    moment = or_null({"type": "string", "format": "date-time"})
    modes = {"enum": [mode.value for mode in Mode]}
    accepted = dict.fromkeys(("fingerprint", "rule", "title", "reason", "by"), TEXT)
    recipe = exactly([], recipe={"const": FORMAT}, steps={"type": "array", "items": {"type": "object"}})
    role_of_side = record(label=TEXT, kind=TEXT, digest=text, version=or_null(NUMBER), savepoint=text)
    return {
        "Problem": {
            "type": "object",
            "required": ["type", "title", "status", "detail"],
            "properties": {
                "type": TEXT,
                "title": TEXT,
                "status": {"type": "integer"},
                "detail": TEXT,
                "pointer": TEXT,
            },
        },
        **components("#/components/schemas/{name}"),
        "PlanInfo": record(
            digest=TEXT,
            job_name=TEXT,
            flink=TEXT,
            operators={"type": "integer"},
            size={"type": "integer"},
            program=text,
        ),
        "Version": record(
            job=name,
            number=NUMBER,
            label=TEXT,
            commit=text,
            author=text,
            pushed_by=TEXT,
            pushed_at=moment,
            image=text,
            built={"type": "boolean"},
            forced={"type": "boolean"},
            plan=reference("PlanInfo"),
        ),
        "Promotion": record(
            job=name,
            number=NUMBER,
            by=TEXT,
            at=moment,
            check=or_null(NUMBER),
            forced={"type": "boolean"},
            reason=text,
            accepted={"type": "array", "items": reference("Acceptance")},
        ),
        "AuditEntry": record(
            id=NUMBER,
            at=moment,
            by=TEXT,
            action={"enum": [action.value for action in Action]},
            job=or_null(name),
            detail={"type": "object"},
        ),
        "Acceptance": record(**accepted),
        "StandingAcceptance": record(**accepted, old_plan=TEXT, new_plan=TEXT, at=moment),
        "WithdrawRequest": exactly(
            ["fingerprint", "reason"],
            fingerprint={"type": "string", "minLength": 1, "maxLength": LONGEST_LABEL},
            reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
            old_plan=label,
            new_plan=label,
        ),
        "DeleteRequest": exactly(
            ["reason"],
            version=or_null(NUMBER),
            whole_job={"type": "boolean"},
            even_promoted={"type": "boolean"},
            reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
        ),
        "Check": record(
            id=NUMBER,
            job=or_null(name),
            old=role_of_side,
            new=role_of_side,
            verdict=TEXT,
            passed={"type": "boolean"},
            sentence=TEXT,
            errors={"type": "integer"},
            warnings={"type": "integer"},
            commit=text,
            author=text,
            by=TEXT,
            at=moment,
            seconds={"type": "number"},
        ),
        "CheckedReport": record(check=or_null(reference("Check")), report=reference("Report")),
        "Report": _rebased(schemas.load("report"), "#/components/schemas/Report"),
        "Job": record(
            name=name,
            created_at=moment,
            versions={"type": "integer"},
            current=or_null(reference("Version")),
            last_check=or_null(reference("Check")),
            compatibility=record(mode=modes, versions=or_null(NUMBER), savepoint=text),
        ),
        "Compatibility": record(
            job=name,
            mode=modes,
            versions=or_null(NUMBER),
            savepoint=text,
            against={"type": "array", "items": NUMBER},
        ),
        "CompatibilityRequest": {
            "oneOf": [
                exactly(["mode"], mode={"const": Mode.CURRENT.value}),
                exactly(
                    ["mode", "versions"],
                    mode={"const": Mode.ROLLBACK.value},
                    versions={**NUMBER, "maximum": MOST_ROLLED_BACK},
                ),
                exactly(
                    ["mode", "savepoint"],
                    mode={"const": Mode.SAVEPOINT.value},
                    savepoint={"type": "string", "pattern": SAVEPOINT_ID},
                ),
            ]
        },
        "Savepoint": record(
            id=TEXT,
            path=TEXT,
            kind=TEXT,
            job=text,
            status=TEXT,
            error=text,
            checkpoint=or_null({"type": "integer"}),
            operators=or_null({"type": "integer"}),
            bytes=or_null({"type": "integer"}),
            modified_at=moment,
            seen_at=moment,
        ),
        "Rule": record(
            id=TEXT,
            name=TEXT,
            level=TEXT,
            when=text,
            family=TEXT,
            summary=TEXT,
            why=TEXT,
            example=record(old=TEXT, new=TEXT),
            fix=TEXT,
        ),
        "Side": {
            "description": "A plan that is sent along, a version of a job (without a number the one that runs), "
            "or a savepoint.",
            "oneOf": [
                exactly(["plan"], plan={"anyOf": [reference("Plan"), reference("Refused")]}, label=label),
                exactly(["job"], job=name, version=or_null(NUMBER), label=label),
                exactly(["savepoint"], savepoint={"type": "string", "pattern": SAVEPOINT_ID}, label=label),
            ],
        },
        "CheckRequest": exactly(
            ["old", "new"],
            old=reference("Side"),
            new=reference("Side"),
            options=exactly(
                [],
                allow_non_restored_state={"type": "boolean"},
                flink={"enum": list(FLINK_VERSIONS)},
                accept={
                    "type": "array",
                    "maxItems": MOST_ACCEPTED,
                    "items": exactly(
                        ["fingerprint", "reason"],
                        fingerprint={"type": "string", "minLength": 1, "maxLength": LONGEST_LABEL},
                        reason={"type": "string", "pattern": r"\S", "maxLength": LONGEST_LABEL},
                    ),
                },
                recipe=or_null(recipe),
            ),
            record={"type": "boolean", "default": True},
            commit=label,
            author=label,
        ),
        "PushRequest": exactly(
            ["plan"],
            plan=reference("Plan"),
            commit=label,
            author=label,
            image=or_null({"type": "string", "pattern": IMAGE, "maxLength": LONGEST_LABEL}),
        ),
        "ProgramRequest": exactly(
            ["program", "files"],
            program={"type": "string", "maxLength": LONGEST_LABEL},
            files={"type": "object", "additionalProperties": TEXT},
            arguments={"type": "array", "items": TEXT},
            options={"type": "object", "additionalProperties": TEXT},
            flink=or_null({"enum": list(FLINK_VERSIONS)}),
            commit=label,
            author=label,
            image=or_null({"type": "string", "pattern": IMAGE, "maxLength": LONGEST_LABEL}),
        ),
        "PromoteRequest": exactly(
            [], version=or_null(NUMBER), force={"type": "boolean"}, reason=label, recipe=or_null(recipe)
        ),
    }


TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}


def reference(name: str) -> Json:
    """A reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Json) -> Json:
    """A schema, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def record(**fields: Json) -> Json:
    """An object with all these fields, and possibly others."""
    return {"type": "object", "required": list(fields), "properties": fields}


def exactly(required: list[str], **fields: Json) -> Json:
    """An object with no other fields."""
    return {"type": "object", "required": required, "properties": fields, "additionalProperties": False}


def listing(name: str, item: str, **others: Json) -> Json:
    """An object that holds a list."""
    return record(**{name: {"type": "array", "items": reference(item)}, **others})


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

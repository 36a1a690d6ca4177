"""The type that a JSON schema describes. Flink: ``JsonRowSchemaConverter``."""

from __future__ import annotations

import json
from typing import Any

from compat.state.types import TypeInformation, Types

_FORMATS = {"date-time": Types.SQL_TIMESTAMP, "date": Types.SQL_DATE, "time": Types.SQL_TIME}


def type_of_json_schema(text: str) -> TypeInformation:
    """The type of the rows. Raises ValueError for text that is no schema of an object."""
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise ValueError(f"Invalid JSON schema: {error}.") from None
    return _type(schema, schema, "<root>")


def _type(schema: dict[str, Any], root: dict[str, Any], where: str) -> TypeInformation:
    if "$ref" in schema:
        return _type(_resolved(schema["$ref"], root), root, where)
    if "oneOf" in schema or "allOf" in schema:
        raise ValueError(f"oneOf and allOf at {where} of a JSON schema have no type.")
    kinds = schema.get("type")
    kind = kinds if isinstance(kinds, str) else next((k for k in kinds or () if k != "null"), None)
    match kind:
        case "object":
            fields = schema.get("properties", {})
            return Types.ROW_NAMED(
                list(fields), [_type(field, root, f"{where}/{name}") for name, field in fields.items()]
            )
        case "array":
            items = schema.get("items")
            if isinstance(items, list):
                return Types.ROW([_type(item, root, f"{where}[{i}]") for i, item in enumerate(items)])
            if isinstance(items, dict):
                return Types.OBJECT_ARRAY(_type(items, root, f"{where}[]"))
            raise ValueError(f"The array at {where} of a JSON schema needs items.")
        case "string":
            if schema.get("contentEncoding") == "base64":
                return Types.PRIMITIVE_ARRAY(Types.BYTE())
            return _FORMATS.get(schema.get("format", ""), Types.STRING)()
        case "number" | "integer":
            return Types.BIG_DEC()
        case "boolean":
            return Types.BOOLEAN()
    raise ValueError(f"The type {kinds!r} at {where} of a JSON schema is not supported.")


def _resolved(reference: str, root: dict[str, Any]) -> Any:
    if not reference.startswith("#"):
        raise ValueError(f"The reference {reference!r} of a JSON schema leads outside of it, which is not supported.")
    found: Any = root
    for step in reference.lstrip("#/").split("/"):
        if step:
            found = found[step]
    return found

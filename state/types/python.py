"""Types in the spelling of a PyFlink program."""

from __future__ import annotations

import json
from typing import Any

from compat.state.types import Types
from compat.state.types.base import TypeInformation


def expression_of(type: TypeInformation) -> str | None:
    """The expression that makes a type, such as ``Types.LIST(Types.LONG())``; None for what PyFlink's Types lacks."""
    try:
        return _expression(type.to_json())
    except (KeyError, ValueError):
        return None


def _expression(data: Any) -> str:
    if isinstance(data, str):
        if not hasattr(Types, data):
            raise ValueError(data)
        return f"Types.{data}()"
    kind = data["type"]
    match kind:
        case "ROW":
            names = [field["name"] for field in data["fields"]]
            types = _list([field["type"] for field in data["fields"]])
            unnamed = names == [f"f{place}" for place in range(len(names))]
            named = json.dumps(names, ensure_ascii=False)
            return f"Types.ROW({types})" if unnamed else f"Types.ROW_NAMED({named}, {types})"
        case "TUPLE":
            return f"Types.TUPLE({_list(data['fields'])})"
        case "MAP":
            return f"Types.MAP({_expression(data['key'])}, {_expression(data['value'])})"
        case "PRIMITIVE_ARRAY" | "BASIC_ARRAY" | "OBJECT_ARRAY" | "LIST":
            return f"Types.{kind}({_expression(data['element'])})"
        case _:
            raise ValueError(kind)


def _list(types: list[Any]) -> str:
    return f"[{', '.join(map(_expression, types))}]"

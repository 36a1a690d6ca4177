"""Plans as JSON text."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from compat.state.model.job import Plan, Refused

_ENCODER = msgspec.json.Encoder()


def encoded(value: Any) -> bytes:
    """Records or plain values as compact JSON. Half a surrogate pair, which UTF-8 has no bytes for, is written as an escape."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "backslashreplace")


def plain(plan: Plan | Refused) -> dict[str, Any]:
    """The plan in the form that :func:`json.loads` gives."""
    values: dict[str, Any] = json.loads(encoded(plan))
    return values


def line(value: Any) -> str:
    """Records or plain values as JSON on one line, readable for people."""
    try:
        return msgspec.json.format(_ENCODER.encode(value), indent=0).decode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        return text.encode("utf-8", "backslashreplace").decode("utf-8")


def dump(plan: Plan | Refused) -> str:
    """The text of a plan, with one line per item of each list, so that a diff of two shows the changes."""
    values: dict[str, Any] = msgspec.to_builtins(plan)
    fields = ",\n".join(f"  {line(name)}: {_laid_out(value, '  ')}" for name, value in values.items())
    return f"{{\n{fields}\n}}\n"


def _laid_out(value: Any, indent: str) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], dict | tuple):
        inner = ",\n".join(f"{indent}  {line(item)}" for item in value)
        return f"[\n{inner}\n{indent}]"
    if isinstance(value, dict) and any(isinstance(item, dict | tuple) and item for item in value.values()):
        inner = ",\n".join(f"{indent}  {line(key)}: {_laid_out(item, indent + '  ')}" for key, item in value.items())
        return f"{{\n{inner}\n{indent}}}"
    return line(value)

"""Records as Flink prints them: the texts that Java's ``toString`` gives to values of declared types."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from compat.state.types import ListTypeInfo, MapTypeInfo, TupleTypeInfo

_ARRAYS = ("BASIC_ARRAY", "OBJECT_ARRAY", "PRIMITIVE_ARRAY")


def text_of(type_info: Any) -> Callable[[Any], str]:
    """The function that makes the text of a record of a type; Python's own text where the type says nothing."""
    inner = _inner(type_info)
    return lambda value: "null" if value is None else inner(value)


def _inner(type_info: Any) -> Callable[[Any], str]:
    kind = getattr(type_info, "kind", None)
    if kind == "BOOLEAN":
        return lambda value: "true" if value else "false"
    if kind in ("FLOAT", "DOUBLE"):
        return _float
    if isinstance(type_info, TupleTypeInfo):
        parts = [text_of(each) for each in type_info.field_types]
        return lambda value: f"({','.join(part(each) for part, each in zip(parts, value, strict=True))})"
    if isinstance(type_info, MapTypeInfo):
        key, item = text_of(type_info.key_type), text_of(type_info.value_type)
        return lambda value: "{" + ", ".join(f"{key(k)}={item(v)}" for k, v in value.items()) + "}"
    if isinstance(type_info, ListTypeInfo) or kind in _ARRAYS:
        element = text_of(type_info.element_type)
        return lambda value: f"[{', '.join(map(element, value))}]"
    return str


def _float(value: float) -> str:
    """Java's ``Double.toString``: from 0.001 to 10 million plainly, otherwise with an exponent."""
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[str(value)]
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return f"{Decimal(repr(value)):f}"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    rest = "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{digits[0]}.{rest}E{exponent + len(digits) - 1}"

"""The text of records when a stream is printed."""

from __future__ import annotations

from typing import Any


def any_text(value: Any) -> str | bytes:
    """A record of unknown type as text; text and bytes stay what they are."""
    return value if isinstance(value, str | bytes) else str(value)


def row_text(value: Any) -> str:
    """A row with its kind, as ``+I[1,a]``."""
    return f"{value.get_row_kind()}[{','.join(str(item) for item in value)}]"


def same(value: Any) -> Any:
    """The record itself."""
    return value


def second(value: Any) -> Any:
    """The second field: the record behind its key or partition number."""
    return value[1]

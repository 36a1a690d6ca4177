"""The metrics of a job on Spark, in words."""

from __future__ import annotations

from typing import Any


def metric_text(value: Any) -> str:
    """The text of a metric: a number, the spread of a distribution, or the gauges of all subtasks; ``?`` for anything else."""
    if isinstance(value, dict):
        return _spread(value)
    return " / ".join(map(_single, value)) if isinstance(value, list) else _single(value)


def _spread(distribution: dict[str, Any]) -> str:
    least, most, total, count = (distribution.get(name) for name in ("min", "max", "sum", "count"))
    if count == 0:
        return "none"
    if not all(map(_is_number, (least, most, total, count))):
        return "?"
    return f"{least:,} to {most:,}, mean {total / count:,.1f} of {count:,}"  # type: ignore[operator]


def _single(value: Any) -> str:
    if _is_number(value):
        return f"{value:,}"
    return str(value) if isinstance(value, (str, bool)) else "–" if value is None else "?"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""The contents of a savepoint from its inspection: operators with states, sizes, and how evenly its key groups lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from compat.escaping import visible
from compat.report.metrics import metric_text
from compat.service.pages.charts import Bar, bars
from compat.service.pages.rendering import count, size

MOST_SUBTASKS = 64
"""The parallelism up to which bars of subtasks are drawn; beyond it, only their spread is given."""


class StateRow(Struct, frozen=True, kw_only=True):
    """A state: its name, its kind, its size, and the key groups it has data in."""

    name: str
    type: str
    amount: str
    share: float
    note: str


class OperatorContents(Struct, frozen=True, kw_only=True):
    """An operator in a savepoint. ``balance`` tells how evenly keyed data lies, ``subtasks`` are bars of their sizes."""

    name: str
    uid: str | None
    id: str
    parallelism: int | None
    max_parallelism: int | None
    bytes: int
    share: float
    has_state: bool
    states: tuple[StateRow, ...]
    subtasks: tuple[Bar, ...]
    balance: str


def facts(inside: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Facts about a savepoint as a whole."""
    properties = inside.get("properties")
    told = [
        ("checkpoint", inside.get("checkpoint_id", inside.get("epoch"))),
        ("format", _field(properties, "savepoint_format") or inside.get("format_version")),
        ("type", _field(properties, "type")),
        ("job", inside.get("job_name", inside.get("name"))),
        ("job id", inside.get("job_id")),
        ("status", inside.get("status")),
        ("program", inside.get("program")),
        ("records so far", inside.get("records")),
        ("checkpoints kept in the log", len(_list(inside.get("checkpoints"))) or None),
    ]
    return [(name, visible(str(value))) for name, value in told if value not in (None, "")]


def metrics(inside: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The metrics of a job on Spark: operator, metric, value."""
    given = inside.get("metrics")
    return [
        (visible(str(each.get("name"))), visible(str(name)), visible(metric_text(value)))
        for each in (given if isinstance(given, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("metrics"), Mapping)
        for name, value in each["metrics"].items()
    ]


def missing(inside: Mapping[str, Any]) -> list[str]:
    """The files that the savepoint names and that are missing."""
    return [visible(str(name)) for name in _list(inside.get("missing_files"))]


def operators(inside: Mapping[str, Any]) -> list[OperatorContents]:
    """The operators, the largest first. Without measurements, those of the plan, without sizes."""
    plan = inside.get("plan")
    found = _list(inside.get("operators")) or _list(_field(plan, "operators"))
    described = [_operator(each) for each in found if isinstance(each, Mapping)]
    most = max((operator["bytes"] for operator in described), default=0) or 1
    made = [OperatorContents(**{**each, "share": round(100 * each["bytes"] / most, 2)}) for each in described]
    return sorted(made, key=lambda operator: -operator.bytes)


def _operator(each: Mapping[str, Any]) -> dict[str, Any]:
    given = each.get("totals")
    totals: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    states = totals.get("states") if "states" in totals else each.get("states")
    uid = each.get("uid")
    return {
        "name": visible(str(each.get("name") or "without a name")),
        "uid": None if uid is None else visible(str(uid)),
        "id": visible(str(each.get("id") or each.get("operator_id") or "")),
        "parallelism": _number(each.get("parallelism")),
        "max_parallelism": _number(each.get("max_parallelism")),
        "bytes": _number(totals.get("bytes")) or 0,
        "share": 0.0,
        "has_state": bool(each.get("has_state")),
        "states": tuple(_states(_list(states))),
        "subtasks": tuple(_subtasks(_list(each.get("subtasks")))),
        "balance": _balance(totals.get("key_groups"), each),
    }


def _states(states: Sequence[Any]) -> list[StateRow]:
    known = [state for state in states if isinstance(state, Mapping)]
    most = max((_number(state.get("bytes")) or 0 for state in known), default=0) or 1
    return [
        StateRow(
            name=visible(str(state.get("name"))),
            type=visible(str(state.get("kind") or state.get("type") or "").replace("_", " ").lower()),
            amount=size(_number(state.get("bytes"))),
            share=round(100 * (_number(state.get("bytes")) or 0) / most, 2),
            note="" if (entries := _number(state.get("entries"))) is None else f"{count(entries)} entries",
        )
        for state in known
    ]


def _subtasks(subtasks: Sequence[Any]) -> list[Bar]:
    sized = [
        (f"subtask {_number(each.get('index')) or 0}", float(_number(each.get("state_size")) or 0), _key_groups(each))
        for each in subtasks
        if isinstance(each, Mapping)
    ]
    filled = any(amount for _, amount, _ in sized)
    return bars(sized, size) if filled and 1 < len(sized) <= MOST_SUBTASKS else []


def _key_groups(subtask: Mapping[str, Any]) -> str:
    for handle in _list(subtask.get("managed_keyed")):
        groups = _field(handle, "key_groups")
        if isinstance(groups, list) and len(groups) == 2:
            return visible(f"key groups {groups[0]} to {groups[1]}")
    return ""


def _balance(groups: Any, operator: Mapping[str, Any]) -> str:
    """How evenly an operator's key groups and bytes lie on its subtasks."""
    subtasks = [each for each in _list(operator.get("subtasks")) if isinstance(each, Mapping)]
    sizes = [_number(each.get("state_size")) or 0 for each in subtasks]
    told = []
    if isinstance(groups, Mapping):
        fewest, most, filled = (groups.get(key) for key in ("fewest_per_subtask", "most_per_subtask", "with_data"))
        told.append(f"{fewest} key groups a subtask" if fewest == most else f"{fewest} to {most} key groups a subtask")
        told.append(f"{filled} of {operator.get('max_parallelism')} hold data")
    if len(sizes) > 1 and any(sizes):
        told.append(f"the fullest subtask holds {max(sizes) * len(sizes) / sum(sizes):.1f} times its share")
    return visible("; ".join(told))


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None

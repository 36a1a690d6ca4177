"""The shape of a plan that somebody sent: what later readers rely on, field by field.

:func:`compat.plan.decode.decode` checks what the rules look at; this checks the graphs, which the pages draw. Fields not
known here pass: a newer compiler may write more. None is allowed wherever a field may be absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compat.service.untrusted import RefusedBody

NUMBER, TEXT, FLAG = "a whole number", "text", "true or false"
Shape = Any
"""One of the names above, a list of one shape, or an object of shapes by field (of any field: ``...``).

A field whose name ends with an exclamation mark must be there.
"""

_SOURCE = {"file!": TEXT, "line!": NUMBER, "end": [NUMBER]}
_STREAM = {
    "job_name": TEXT,
    "job_type": TEXT,
    "sources": [NUMBER],
    "sinks": [NUMBER],
    "nodes!": [
        {
            "id!": NUMBER,
            "name!": TEXT,
            "description": TEXT,
            "uid": TEXT,
            "user_hash": TEXT,
            "parallelism": NUMBER,
            "max_parallelism": NUMBER,
            "slot_sharing_group": TEXT,
            "chaining_strategy": TEXT,
            "operator_factory": TEXT,
            "vertex_class": TEXT,
            "in": [NUMBER],
            "out": [NUMBER],
        }
    ],
    "edges!": [
        {
            "source!": NUMBER,
            "target!": NUMBER,
            "type_number": NUMBER,
            "partitioner": TEXT,
            "exchange_mode": TEXT,
            "side_output": TEXT,
            "chainable": FLAG,
        }
    ],
}
_JOB = {
    "job_name": TEXT,
    "vertices!": [
        {
            "id!": TEXT,
            "name!": TEXT,
            "description": TEXT,
            "parallelism": NUMBER,
            "max_parallelism": NUMBER,
            "slot_sharing_group_name": TEXT,
            "operators!": [{"id!": TEXT, "user_defined_id": TEXT, "name": TEXT, "uid": TEXT}],
            "inputs!": [
                {
                    "source!": TEXT,
                    "target": TEXT,
                    "data_set_index": NUMBER,
                    "distribution_pattern": TEXT,
                    "result_partition_type": TEXT,
                    "ship_strategy": TEXT,
                    "type_number": NUMBER,
                }
            ],
            "outputs": [{"data_set_index": NUMBER, "result_partition_type": TEXT, "consumers": [TEXT]}],
            "chain": [
                {
                    "node!": NUMBER,
                    "name!": TEXT,
                    "operator_id!": TEXT,
                    "index": NUMBER,
                    "start": FLAG,
                    "end": FLAG,
                    "chained_outputs": [NUMBER],
                    "non_chained_outputs": NUMBER,
                }
            ],
        }
    ],
    "topological": [TEXT],
    "checkpointing": {"interval": NUMBER, "at_least_once": FLAG, "unaligned": FLAG},
    "scheduler": TEXT,
}
_EXECUTION = {
    "vertices!": [
        {
            "id!": TEXT,
            "name!": TEXT,
            "parallelism": NUMBER,
            "max_parallelism": NUMBER,
            "slot_sharing_group": TEXT,
            "first_slot": NUMBER,
            "inputs!": [
                {"source!": TEXT, "data_set_index": NUMBER, "distribution_pattern": TEXT, "connections": NUMBER}
            ],
            "results": [{"data_set_index": NUMBER, "result_partition_type": TEXT, "partitions": NUMBER}],
        }
    ],
    "slots": {...: NUMBER},
    "total_slots": NUMBER,
    "total_subtasks": NUMBER,
}
PLAN: Shape = {
    "format!": NUMBER,
    "flink": TEXT,
    "job_name": TEXT,
    "error": {
        "stage!": TEXT,
        "op": TEXT,
        "class!": TEXT,
        "message!": TEXT,
        "operator": TEXT,
        "source": _SOURCE,
        "code": TEXT,
        "value": TEXT,
    },
    "source": _SOURCE,
    "settings": {
        "parallelism": NUMBER,
        "max_parallelism": NUMBER,
        "mode": TEXT,
        "operator_chaining": FLAG,
        "python.operator-chaining.enabled": FLAG,
        "python.execution-mode": TEXT,
        "checkpoint_interval": NUMBER,
    },
    "hashes": {...: TEXT},
    "user_hashes": {...: TEXT},
    "stream_graph": _STREAM,
    "job_graph": _JOB,
    "execution_graph": _EXECUTION,
    "operators": [
        {
            "source": _SOURCE,
            "merged": [{"name": TEXT, "uid": TEXT, "source": _SOURCE}],
            "detail": {
                "window": TEXT,
                "window_class": TEXT,
                "window_function": TEXT,
                "function": TEXT,
                "class": TEXT,
                "chaining_strategy": TEXT,
                "slot_sharing_group": TEXT,
                "own_max_parallelism": NUMBER,
                "inputs_number": NUMBER,
                "timers": FLAG,
            },
        }
    ],
}

_REQUIRED = ("stream_graph", "job_graph", "execution_graph", "operators")
_TYPES: Mapping[str, type] = {TEXT: str, FLAG: bool, NUMBER: int}
Problem = tuple[str, str]
"""Where in a value something is wrong, and what."""

Checker = Callable[[Any], Problem | None]
"""Gives what is wrong with a value that is not None."""


def check_shape(plan: Mapping[str, Any], where: str = "plan") -> None:
    """Raise RefusedBody, naming the field, for what is not shaped as a plan; a refused program's has no graphs."""
    problem = _CHECK_PLAN(plan)
    if problem is not None:
        raise RefusedBody(problem[1], where + problem[0])
    if plan.get("error") is None:
        for field in _REQUIRED:
            if plan.get(field) is None:
                raise RefusedBody(f"A plan has the field {field!r}.", where)


def _checker(shape: Shape) -> Checker:
    if isinstance(shape, dict):
        return _map_checker(shape[...]) if ... in shape else _object_checker(shape)
    return _list_checker(shape[0]) if isinstance(shape, list) else _value_checker(shape)


def _value_checker(shape: str) -> Checker:
    kind, problem = _TYPES[shape], ("", f"Must be {shape}.")
    return lambda value: None if type(value) is kind else problem


def _list_checker(shape: Shape) -> Checker:
    inner = _checker(shape)

    def check(value: Any) -> Problem | None:
        if type(value) is not list:
            return "", "Must be a list."
        for index, item in enumerate(value):
            problem = ("", "Must not be null.") if item is None else inner(item)
            if problem is not None:
                return f"[{index}]{problem[0]}", problem[1]
        return None

    return check


def _map_checker(shape: Shape) -> Checker:
    inner = _checker(shape)

    def check(value: Any) -> Problem | None:
        if type(value) is not dict:
            return "", "Must be an object."
        for key, item in value.items():
            problem = None if item is None else inner(item)
            if problem is not None:
                return f".{key[:60]}{problem[0]}", problem[1]
        return None

    return check


def _object_checker(shape: Mapping[str, Shape]) -> Checker:
    fields = [(field.rstrip("!"), field.endswith("!"), _checker(inner)) for field, inner in shape.items()]

    def check(value: Any) -> Problem | None:
        if type(value) is not dict:
            return "", "Must be an object."
        for name, required, inner in fields:
            item = value.get(name)
            if item is None:
                if required:
                    return "", f"The field {name!r} is missing."
                continue
            problem = inner(item)
            if problem is not None:
                return f".{name}{problem[0]}", problem[1]
        return None

    return check


_CHECK_PLAN = _checker(PLAN)


def json_schema(shape: Shape = PLAN) -> dict[str, Any]:
    """A shape as JSON schema."""
    if isinstance(shape, dict):
        fields = {field.rstrip("!"): inner for field, inner in shape.items() if field is not ...}
        required = [field.rstrip("!") for field in shape if field is not ... and field.endswith("!")]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                name: json_schema(inner) if name in required else {"anyOf": [json_schema(inner), {"type": "null"}]}
                for name, inner in fields.items()
            },
        }
        if required:
            schema["required"] = required
        if ... in shape:
            schema["additionalProperties"] = json_schema(shape[...])
        return schema
    if isinstance(shape, list):
        return {"type": "array", "items": json_schema(shape[0])}
    return {"type": {TEXT: "string", FLAG: "boolean", NUMBER: "integer"}[shape]}

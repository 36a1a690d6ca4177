"""From the JSON of a plan to facts. A plan from a file is not trusted: every field is checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.plan.facts import Operator, Program, SourceLine, State, StateKind, StateScope, Vertex

FORMATS = (1,)


class PlanError(ValueError):
    """Text that is not a plan of a format that this version reads. Says which field is wrong."""


def decode(plan: Mapping[str, Any], *, name: str, kind: str) -> Program:
    """The facts of a plan.

    ``name`` is what reports call the program and ``kind`` what it was read from. Raises PlanError, naming the field, for
    what is not a plan.
    """
    if not isinstance(plan, dict):
        raise PlanError("A plan is a JSON object.")
    if plan.get("format") not in FORMATS:
        raise PlanError(
            f"The plan has format {plan.get('format')!r}; this version reads {', '.join(map(str, FORMATS))}. "
            "Write it again with 'compat plan -o', or update compat."
        )
    if plan.get("error") is not None:
        error = plan["error"]
        message = error.get("message") if isinstance(error, dict) else error
        raise PlanError(f"The plan is of a program that Flink refuses: {message}")
    settings = _object(plan.get("settings", {}), "settings")
    return Program(
        name=name,
        kind=kind,
        job_name=_text(plan.get("job_name"), "job_name"),
        flink=_text(plan.get("flink"), "flink"),
        operators=tuple(
            _operator(_object(operator, f"operators[{index}]"), f"operators[{index}]")
            for index, operator in enumerate(_list(plan.get("operators"), "operators"))
        ),
        vertices=_vertices(_object(plan.get("job_graph"), "job_graph")),
        settings=settings,
        source=_source(plan.get("source"), "source"),
        all_have_state=bool(settings.get("execution.checkpointing.file-merging.enabled")),
        batch=_object(plan.get("stream_graph", {}), "stream_graph").get("job_type") == "BATCH",
    )


def _operator(data: dict[str, Any], where: str) -> Operator:
    states = data.get("states")
    return Operator(
        id=_id(data.get("operator_id"), f"{where}.operator_id"),
        user_hash=None if data.get("user_hash") is None else _id(data.get("user_hash"), f"{where}.user_hash"),
        uid=_optional_text(data.get("uid"), f"{where}.uid"),
        name=_text(data.get("name"), f"{where}.name"),
        kind=_text(data.get("kind"), f"{where}.kind"),
        parallelism=_integer(data.get("parallelism"), f"{where}.parallelism"),
        parallelism_configured=data.get("parallelism_configured") is True,
        max_parallelism=_integer(data.get("max_parallelism"), f"{where}.max_parallelism"),
        max_parallelism_configured=data.get("max_parallelism_configured") is True,
        vertex=_id(data.get("vertex"), f"{where}.vertex"),
        node=_integer(data.get("node"), f"{where}.node"),
        position=_integer(data.get("position"), f"{where}.position"),
        chained_outputs=_integer(data.get("chained_outputs"), f"{where}.chained_outputs"),
        inputs=tuple(_id(item, f"{where}.inputs") for item in _list(data.get("inputs"), f"{where}.inputs")),
        source=_source(data.get("source"), f"{where}.source"),
        states=None
        if states is None
        else tuple(
            _state(_object(state, f"{where}.states[{index}]"), f"{where}.states[{index}]")
            for index, state in enumerate(_list(states, f"{where}.states"))
        ),
        states_unknown=_optional_text(data.get("states_unknown"), f"{where}.states_unknown"),
        has_state=data.get("has_state") is True,
        merged_uids=tuple(
            (part["uid"], _source(part.get("source"), f"{where}.merged"))
            for part in _list(data.get("merged", []), f"{where}.merged")
            if isinstance(_object(part, f"{where}.merged").get("uid"), str)
        ),
        detail=_object(data.get("detail", {}), f"{where}.detail"),
    )


def _state(data: dict[str, Any], where: str) -> State:
    return State(
        name=_text(data.get("name"), f"{where}.name"),
        kind=_choice(StateKind, data.get("kind"), f"{where}.kind"),
        scope=_choice(StateScope, data.get("scope"), f"{where}.scope"),
        type=_optional_text(data.get("type"), f"{where}.type"),
        key_type=_optional_text(data.get("key_type"), f"{where}.key_type"),
        namespace_type=_optional_text(data.get("namespace_type"), f"{where}.namespace_type"),
        ttl=None if data.get("ttl") is None else _integer(data["ttl"], f"{where}.ttl"),
        built_in=data.get("built_in") is True,
        unstable=data.get("unstable") is True,
        keys=None if data.get("keys") is None else _integer(data["keys"], f"{where}.keys"),
        bytes=None if data.get("bytes") is None else _integer(data["bytes"], f"{where}.bytes"),
    )


def _vertices(graph: dict[str, Any]) -> tuple[Vertex, ...]:
    vertices = []
    for index, item in enumerate(_list(graph.get("vertices"), "job_graph.vertices")):
        where = f"job_graph.vertices[{index}]"
        data = _object(item, where)
        operators = [
            _id(_object(operator, f"{where}.operators").get("id"), f"{where}.operators")
            for operator in _list(data.get("operators"), f"{where}.operators")
        ]
        vertices.append(
            Vertex(
                id=_id(data.get("id"), f"{where}.id"),
                name=_text(data.get("name"), f"{where}.name"),
                operators=tuple(reversed(operators)),
                parallelism=_integer(data.get("parallelism"), f"{where}.parallelism"),
                max_parallelism=_integer(data.get("max_parallelism"), f"{where}.max_parallelism"),
                inputs=tuple(
                    (
                        _id(_object(edge, f"{where}.inputs").get("source"), f"{where}.inputs.source"),
                        edge.get("distribution_pattern") == "POINTWISE",
                    )
                    for edge in _list(data.get("inputs", []), f"{where}.inputs")
                ),
            )
        )
    return tuple(vertices)


def _source(data: Any, where: str) -> SourceLine | None:
    if data is None:
        return None
    place = _object(data, where)
    end = place.get("end")
    if end is not None:
        numbers = [_integer(number, f"{where}.end") for number in _list(end, f"{where}.end")]
        if len(numbers) != 2:
            raise PlanError(f"Field '{where}.end' of the plan is a line and a column.")
        end = (numbers[0], numbers[1])
    return SourceLine(_text(place.get("file"), f"{where}.file"), _integer(place.get("line"), f"{where}.line"), end)


def _object(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise PlanError(f"Field {where!r} of the plan is an object, not {_shown(data)}.")
    return data


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        raise PlanError(f"Field {where!r} of the plan is a list, not {_shown(data)}.")
    return data


def _text(data: Any, where: str) -> str:
    if not isinstance(data, str):
        raise PlanError(f"Field {where!r} of the plan is text, not {_shown(data)}.")
    return data


def _optional_text(data: Any, where: str) -> str | None:
    return None if data is None else _text(data, where)


def _integer(data: Any, where: str) -> int:
    if not isinstance(data, int) or isinstance(data, bool):
        raise PlanError(f"Field {where!r} of the plan is a whole number, not {_shown(data)}.")
    return data


def _id(data: Any, where: str) -> str:
    text = _text(data, where)
    if len(text) != 32 or not set(text) <= set("0123456789abcdef"):
        raise PlanError(f"Field {where!r} of the plan is an operator id of 32 hex digits, not {_shown(data)}.")
    return text


def _choice(kind: Any, data: Any, where: str) -> Any:
    try:
        return kind(data)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise PlanError(f"Field {where!r} of the plan is one of {known}, not {_shown(data)}.") from None


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "…"

"""One program for the page: its operators with ids, states and source lines, its vertices with their subtasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compat.escaping import visible
from compat.report.json_report import plain
from compat.state.key_groups import HIGHEST_MAX_PARALLELISM, key_groups_of_subtask
from compat.state.model.operators import Operator
from compat.state.model.states import State
from compat.view.layers import Side
from compat.view.order import groups_in_order, problems_first
from compat.view.sources import Sources

Json = dict[str, Any]

MOST_SUBTASKS = 128
"""The parallelism up to which key groups are listed by subtask."""

LONGEST_NAME = 200

KIND_WORDS = {
    "program": "program",
    "topology": "topology file",
    "plan": "plan",
    "savepoint": "savepoint",
    "snapshot": "snapshot",
}


def side_values(side: Side, sources: Sources, ranks: Mapping[str, tuple[int, int]] | None = None) -> Json:
    """The program of one side, plain. ``order`` and ``vertex_order`` are the indices of its operators and vertices in the
    order in which tables list them, by :func:`~compat.view.order.ranks`."""
    program = side.program
    groups = side.vertex_members()
    places = {member: index for index, members in enumerate(groups) for member in members}
    order = problems_first(program.operators, ranks or {})
    return {
        "name": visible(program.name),
        "kind": KIND_WORDS.get(program.kind, program.kind),
        "job_name": visible(program.job_name),
        "flink": visible(program.flink),
        "settings": pairs(program.settings),
        "summary": _summary(side),
        "operators": [
            _operator(operator, places.get(index), sources) for index, operator in enumerate(program.operators)
        ],
        "vertices": _vertices(side),
        "order": order,
        "vertex_order": groups_in_order(groups, order) if ranks else list(range(len(groups))),
    }


def _summary(side: Side) -> str:
    counts = [(len(side.program.operators), "operator")]
    counts += [(len(side.program.vertices), "vertex")] if side.program.vertices else []
    if side.plan is not None:
        execution = side.plan.execution_graph
        counts += [(execution.total_subtasks, "subtask"), (execution.total_slots, "slot")]
    return ", ".join(f"{count} {noun if count == 1 else _PLURALS.get(noun, noun + 's')}" for count, noun in counts)


_PLURALS = {"vertex": "vertices"}


def _operator(operator: Operator, vertex: int | None, sources: Sources) -> Json:
    return {
        "name": visible(operator.name),
        "kind": visible(operator.kind.replace("_", " ")),
        "uid": None if operator.uid is None else visible(operator.uid),
        "id": operator.id,
        "user_hash": operator.user_hash,
        "parallelism": operator.parallelism,
        "parallelism_configured": operator.parallelism_configured,
        "max_parallelism": operator.max_parallelism,
        "max_parallelism_configured": operator.max_parallelism_configured,
        "vertex": vertex,
        "source": sources.at(operator.source),
        "description": _optional(operator.description),
        "code": _code(operator),
        "has_state": operator.has_state,
        "states": None if operator.states is None else [_state(state) for state in operator.states],
        "states_unknown": None if operator.states_unknown is None else visible(operator.states_unknown),
        "merged": [visible(uid) for uid, _ in operator.merged_uids],
        "detail": pairs(operator.detail),
    }


def _code(operator: Operator) -> list[list[str]]:
    """The user's code in an operator that Flink built: what it is for, and its class and method."""
    found = [("function", operator.function), *(("key selector", selector) for selector in operator.key_selectors)]
    return [[title, visible(str(code))] for title, code in found if code is not None]


def _state(state: State) -> Json:
    return {
        "name": visible(state.name),
        "kind": state.kind.value,
        "scope": state.scope.value,
        "type": _optional(state.type),
        "key_type": _optional(state.key_type),
        "namespace_type": _optional(state.namespace_type),
        "ttl": state.ttl,
        "built_in": state.built_in,
        "unstable": state.unstable,
        "keys": state.keys,
        "bytes": state.bytes,
    }


def _vertices(side: Side) -> list[Json]:
    drawn = () if side.plan is None else side.plan.job_graph.vertices
    groups = {vertex.id: vertex.slot_sharing_group_name for vertex in drawn}
    members = side.vertex_members()
    return [
        {
            "name": _clipped(visible(vertex.name)),
            "id": vertex.id,
            "parallelism": vertex.parallelism,
            "max_parallelism": _max_parallelism(side, index, members),
            "slot_sharing_group": _optional(groups.get(vertex.id)),
            "operators": members[index],
            "key_groups": _key_groups(_max_parallelism(side, index, members), vertex.parallelism),
        }
        for index, vertex in enumerate(side.vertices)
    ]


def _max_parallelism(side: Side, index: int, members: Sequence[Sequence[int]]) -> int:
    """The maximum parallelism of the execution graph, which the operators carry; a JobVertex has -1 where none was set."""
    if not members[index]:
        return side.vertices[index].max_parallelism
    return side.program.operators[members[index][0]].max_parallelism


def _key_groups(max_parallelism: int, parallelism: int) -> list[list[int]] | None:
    """The first and the last key group of each subtask; None if there are too many subtasks, or nonsense."""
    if not 0 < parallelism <= min(max_parallelism, MOST_SUBTASKS) or max_parallelism > HIGHEST_MAX_PARALLELISM:
        return None
    ranges = (key_groups_of_subtask(max_parallelism, parallelism, subtask) for subtask in range(parallelism))
    return [[groups[0], groups[-1]] for groups in ranges]


def pairs(values: Mapping[str, Any]) -> list[list[str]]:
    """Names and values as texts, without missing values."""
    shown = plain(values)
    return [[visible(str(key)), visible(_text(value))] for key, value in shown.items() if value not in (None, "", [])]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)


def _clipped(text: str) -> str:
    """A vertex is called by all its operators; a name beyond what can be read is cut, its chain lists them."""
    return text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME] + "…"


def _optional(text: Any) -> str | None:
    return None if text is None else visible(str(text))

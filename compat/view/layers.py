"""The layers of one or two programs as joint graphs: each box has its content on either side, so both are laid out once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from compat.plan.facts import Program, Vertex
from compat.state.model.graphs import ExecutionEdge, StreamEdge
from compat.state.model.job import Plan
from compat.state.model.operators import Operator
from compat.view.alignment import Slot, match_groups, match_operators, slots

Json = dict[str, Any]
Link = tuple[int, int, str]
"""An arrow: from an index, to an index, and its label."""

LAYERS = ("stream", "job", "execution")


class Side(Struct, frozen=True):
    """One program and its plan, None if there is none: a savepoint has no graph."""

    program: Program
    plan: Plan | None

    @property
    def vertices(self) -> tuple[Vertex, ...]:
        """The vertices that have operators; an operator without a vertex, as in a savepoint, stands for itself."""
        here = {operator.id for operator in self.program.operators}
        held = {id for vertex in self.program.vertices for id in vertex.operators}
        return (
            *(vertex for vertex in self.program.vertices if here.intersection(vertex.operators)),
            *(_alone(operator) for operator in self.program.operators if operator.id not in held),
        )

    def vertex_members(self) -> list[list[int]]:
        """The operators of each vertex, by index, the head first."""
        places = {operator.id: index for index, operator in enumerate(self.program.operators)}
        return [[places[id] for id in vertex.operators if id in places] for vertex in self.vertices]


def _alone(operator: Operator) -> Vertex:
    return Vertex(
        id=operator.id,
        name=operator.name,
        operators=(operator.id,),
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
    )


def joint_layers(old: Side | None, new: Side | None) -> dict[str, Json]:
    """The layers by name. A layer has ``boxes`` (``old`` and ``new`` as indices of operators or vertices, and for
    vertices the ``slots`` of their operators) and ``edges`` (places of boxes, and the label on either side or None)."""
    matched = {} if old is None or new is None else match_operators(old.program, new.program)
    members = [[] if side is None else side.vertex_members() for side in (old, new)]
    vertices = match_groups(members[0], members[1], matched)
    operator_boxes = slots(_operators(old), _operators(new), matched)
    vertex_boxes = slots(range(len(members[0])), range(len(members[1])), vertices)
    inner = [
        slots(members[0][one] if one is not None else [], members[1][other] if other is not None else [], matched)
        for one, other in vertex_boxes
    ]
    return {
        "stream": _layer(operator_boxes, None, [_stream_links(side) for side in (old, new)]),
        "job": _layer(vertex_boxes, inner, [_job_links(side) for side in (old, new)]),
        "execution": _layer(vertex_boxes, None, [_execution_links(side) for side in (old, new)]),
    }


def _operators(side: Side | None) -> range:
    return range(0 if side is None else len(side.program.operators))


def _layer(boxes: Sequence[Slot], inner: Sequence[Sequence[Slot]] | None, links: Sequence[Sequence[Link]]) -> Json:
    edges: dict[tuple[int, int], list[str | None]] = {}
    for side, found in enumerate(links):
        place = {box[side]: index for index, box in enumerate(boxes) if box[side] is not None}
        for source, target, label in found:
            labels = edges.setdefault((place[source], place[target]), [None, None])
            before = labels[side]
            labels[side] = label if before is None or label in before else f"{before}, {label}"
    return {
        "boxes": [
            {"old": old, "new": new, **({} if inner is None else {"slots": [list(slot) for slot in inner[index]]})}
            for index, (old, new) in enumerate(boxes)
        ],
        "edges": [
            {"from": source, "to": target, "old": labels[0], "new": labels[1]}
            for (source, target), labels in edges.items()
        ],
    }


def _stream_links(side: Side | None) -> list[Link]:
    """The edges of the StreamGraph; those that the operators' inputs tell where there is no plan."""
    if side is None:
        return []
    places = {operator.node: index for index, operator in enumerate(side.program.operators)}
    if side.plan is not None and side.plan.stream_graph.edges:
        return [
            (places[edge.source], places[edge.target], _ship(edge))
            for edge in side.plan.stream_graph.edges
            if edge.source in places and edge.target in places
        ]
    return list(_input_links(side))


def _ship(edge: StreamEdge) -> str:
    name = edge.partitioner.lower()
    return f"{name}, side output {edge.side_output}" if edge.side_output else name


def _input_links(side: Side) -> Iterator[Link]:
    by_id = {operator.id: index for index, operator in enumerate(side.program.operators)}
    for index, operator in enumerate(side.program.operators):
        for id in operator.inputs:
            if id in by_id:
                yield by_id[id], index, ""


def _job_links(side: Side | None) -> list[Link]:
    """The edges of the JobGraph; without a plan, the inputs that cross from one vertex to another."""
    if side is None:
        return []
    places = {vertex.id: index for index, vertex in enumerate(side.vertices)}
    if side.plan is not None and side.plan.job_graph.vertices:
        return [
            (places[edge.source], places[vertex.id], edge.ship_strategy.lower())
            for vertex in side.plan.job_graph.vertices
            for edge in vertex.inputs
            if edge.source in places and vertex.id in places
        ]
    group_of = {member: index for index, members in enumerate(side.vertex_members()) for member in members}
    crossing = {
        (group_of[source], group_of[target]): ""
        for source, target, _ in _input_links(side)
        if source in group_of and target in group_of and group_of[source] != group_of[target]
    }
    return [(source, target, label) for (source, target), label in crossing.items()]


def _execution_links(side: Side | None) -> list[Link]:
    """The exchanges between subtasks, with the pattern and the number of connections."""
    if side is None:
        return []
    places = {vertex.id: index for index, vertex in enumerate(side.vertices)}
    if side.plan is None or not side.plan.execution_graph.vertices:
        return _job_links(side)
    return [
        (places[edge.source], places[vertex.id], _exchange(edge))
        for vertex in side.plan.execution_graph.vertices
        for edge in vertex.inputs
        if edge.source in places and vertex.id in places
    ]


def _exchange(edge: ExecutionEdge) -> str:
    pattern = edge.distribution_pattern.lower().replace("_", " ")
    return f"{pattern}, {edge.connections} connection{'' if edge.connections == 1 else 's'}"

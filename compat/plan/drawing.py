"""A layer of a plan as boxes and arrows, for :mod:`compat.plan.text` and :mod:`compat.plan.svg`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from compat.plan.subtasks import feeding, slots_of
from compat.state.model.job import Plan


class Box(NamedTuple):
    """A node, vertex or execution vertex: an id that is unique in its layer, and lines of text, the name first."""

    id: str
    lines: tuple[str, ...]


class Arrow(NamedTuple):
    """An arrow from one box to another; the label says what flows, and how."""

    source: str
    target: str
    label: str


class Drawing(NamedTuple):
    """A complete layer."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def drawing(plan: Plan, layer: str) -> Drawing:
    """The layer ``stream``, ``job`` or ``execution`` of a plan."""
    return {"stream": _stream, "job": _job, "execution": _execution}[layer](plan)


def _stream(plan: Plan) -> Drawing:
    graph, hashes = plan.stream_graph, plan.hashes
    boxes = tuple(
        Box(
            str(node.id),
            (
                node.name,
                f"x{node.parallelism}",
                *([] if node.uid is None else [f"uid {node.uid}"]),
                hashes.get(str(node.id), ""),
            ),
        )
        for node in graph.nodes
    )
    arrows = (Arrow(str(edge.source), str(edge.target), edge.partitioner) for edge in graph.edges)
    return Drawing(boxes, tuple(arrows))


def _job(plan: Plan) -> Drawing:
    vertices = plan.job_graph.vertices
    boxes = tuple(Box(vertex.id, (vertex.name, f"x{vertex.parallelism}", vertex.id)) for vertex in vertices)
    arrows = (Arrow(edge.source, vertex.id, edge.ship_strategy) for vertex in vertices for edge in vertex.inputs)
    return Drawing(boxes, tuple(arrows))


def _execution(plan: Plan) -> Drawing:
    vertices = plan.execution_graph.vertices
    boxes = tuple(
        Box(
            vertex.id,
            (
                vertex.name,
                f"{vertex.parallelism} subtasks, at most {vertex.max_parallelism}",
                *([] if (slots := slots_of(vertex)) is None else [slots]),
                vertex.id,
            ),
        )
        for vertex in vertices
    )
    parallelism = {vertex.id: vertex.parallelism for vertex in vertices}
    arrows = (
        Arrow(
            edge.source,
            vertex.id,
            f"{edge.distribution_pattern.lower().replace('_', ' ')}, {edge.connections}"
            + ("" if (fed := feeding(edge, parallelism.get(edge.source), vertex.parallelism)) is None else f": {fed}"),
        )
        for vertex in vertices
        for edge in vertex.inputs
    )
    return Drawing(boxes, tuple(arrows))


def columns(graph: Drawing) -> list[list[str]]:
    """The boxes' ids in columns: each box behind all its inputs (except feedback), near them."""
    inputs: dict[str, list[str]] = defaultdict(list)
    outputs: dict[str, list[str]] = defaultdict(list)
    for arrow in graph.arrows:
        outputs[arrow.source].append(arrow.target)
        inputs[arrow.target].append(arrow.source)
    waiting = {box.id: len(inputs[box.id]) for box in graph.boxes}
    depth = {id: 0 for id, count in waiting.items() if count == 0}
    ready = list(depth)
    while len(depth) < len(waiting):
        if not ready:  # only feedback is left: let the first box that has been reached go
            reached = next((id for id in waiting if id not in depth and any(one in depth for one in inputs[id])), None)
            ready = [reached if reached is not None else next(id for id in waiting if id not in depth)]
        for id in ready:
            depth[id] = 1 + max((depth[one] for one in inputs[id] if one in depth), default=-1)
        following = []
        for id in ready:
            for target in outputs[id]:
                waiting[target] -= 1
                if waiting[target] == 0 and target not in depth:
                    following.append(target)
        ready = list(dict.fromkeys(following))
    return _ordered(depth, inputs)


def _ordered(depth: Mapping[str, int], inputs: Mapping[str, list[str]]) -> list[list[str]]:
    """Columns by depth; in each, the boxes in the order of the middle of what they read from."""
    result: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for id, number in depth.items():
        result[number].append(id)
    place: dict[str, float] = {}
    for column in result:
        middle = {id: _middle([place[one] for one in inputs[id] if one in place]) for id in column}
        column.sort(key=middle.__getitem__)
        place.update({id: row - (len(column) - 1) / 2 for row, id in enumerate(column)})
    return result


def _middle(places: list[float]) -> float:
    return sum(places) / len(places) if places else 0.0

"""A plan for a person: as text, and as a graph in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from compat.escaping import visible
from compat.plan.drawing import Box, drawing
from compat.plan.subtasks import feeding, slots_of
from compat.state.model.job import Plan


def text(plan: Plan, layer: str | None = None) -> str:
    """The layers of a plan, each under its name."""
    parts = {"stream": _stream, "job": _job, "execution": _execution}
    chosen = [layer] if layer else list(parts)
    lines = [f"Job {visible(plan.job_name)!r}, Flink {plan.flink}"]
    for name in chosen:
        lines += ["", *parts[name](plan)]
    return "\n".join(lines) + "\n"


def _stream(plan: Plan) -> Iterator[str]:
    yield "StreamGraph"
    hashes = plan.hashes
    graph = plan.stream_graph
    for node in graph.nodes:
        uid = "" if node.uid is None else f"  uid={visible(node.uid)}"
        yield f"  {node.id:>4}  {hashes.get(str(node.id), '-')}  x{node.parallelism}  {visible(node.name)}{uid}"
        for index in node.inputs:
            edge = graph.edges[index]
            chained = "  chained" if edge.chainable else ""
            yield f"          from {edge.source}  {edge.partitioner}{chained}"


def _job(plan: Plan) -> Iterator[str]:
    yield "JobGraph"
    vertices = {vertex.id: vertex for vertex in plan.job_graph.vertices}
    for id in plan.job_graph.topological:
        vertex = vertices[id]
        yield f"  {id}  x{vertex.parallelism}  {visible(vertex.name)}"
        for edge in vertex.inputs:
            yield f"          from {edge.source}  {edge.ship_strategy}  {edge.result_partition_type}"


def _execution(plan: Plan) -> Iterator[str]:
    graph = plan.execution_graph
    scheduler = plan.job_graph.scheduler
    told = "" if scheduler is None else f", scheduler {visible(scheduler)}"
    yield f"ExecutionGraph: {graph.total_subtasks} subtasks, {graph.total_slots} slots{told}"
    parallelism = {vertex.id: vertex.parallelism for vertex in graph.vertices}
    for vertex in graph.vertices:
        yield f"  {vertex.id}  x{vertex.parallelism} of at most {vertex.max_parallelism}  {visible(vertex.name)}"
        if (slots := slots_of(vertex)) is not None:
            yield f"          in {visible(slots)}"
        for edge in vertex.inputs:
            fed = feeding(edge, parallelism.get(edge.source), vertex.parallelism)
            yield f"          from {edge.source}  {edge.distribution_pattern}" + ("" if fed is None else f"  {fed}")
    for name, count in graph.slots.items():
        yield f"  slot sharing group {visible(name)!r}: {count} slots"


def dot(plan: Plan, layer: str) -> str:
    """A layer as a Graphviz graph."""
    graph = drawing(plan, layer)
    lines = ["digraph job {", "  rankdir=LR;", "  node [shape=box, fontname=sans];"]
    lines += [f'  "{box.id}" [label="{_label(box)}"];' for box in graph.boxes]
    lines += [f'  "{arrow.source}" -> "{arrow.target}" [label="{_quoted(arrow.label)}"];' for arrow in graph.arrows]
    return "\n".join([*lines, "}"]) + "\n"


def _label(box: Box) -> str:
    return "\\n".join(_quoted(line) for line in box.lines)


def _quoted(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')

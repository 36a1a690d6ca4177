"""The plan of a StreamGraph as Flink prints it. Flink: ``JSONGenerator`` and Jackson's pretty printer."""

from __future__ import annotations

import json
from typing import Any

from compat.compiler.job import Job
from compat.compiler.streamgraph.generator import generate
from compat.compiler.streamgraph.graph import StreamGraph


def execution_plan(job: Job) -> str:
    """The text of ``get_execution_plan`` for a job."""
    return stream_plan(generate(job))


def stream_plan(graph: StreamGraph) -> str:
    """The JSON text: nodes by id with the sinks at the end, each with the nodes that feed it."""
    sinks = set(graph.sinks)
    sources = set(graph.sources)
    order = sorted(graph.nodes, key=lambda id: (id in sinks, id))
    nodes = [_node(id, graph, id in sources, id in sinks) for id in order]
    return _pretty({"nodes": nodes})


def _node(id: int, graph: StreamGraph, source: bool, sink: bool) -> dict[str, Any]:
    node = graph.nodes[id]
    shown: dict[str, Any] = {
        "id": id,
        "type": node.name,
        "pact": "Data Source" if source else "Data Sink" if sink else "Operator",
        "contents": node.description,
        "parallelism": node.parallelism,
    }
    if not source:
        shown["predecessors"] = [
            {"id": edge.source, "ship_strategy": edge.partitioner.ship.name, "side": "second"}
            for edge in graph.edges_in[id]
        ]
    return shown


def _pretty(value: Any, indent: str = "") -> str:
    """JSON with Jackson's line breaks: objects on lines of their own, arrays on one line around them."""
    if isinstance(value, dict):
        inner = indent + "  "
        fields = ",\n".join(
            f"{inner}{json.dumps(key, ensure_ascii=False)} : {_pretty(item, inner)}" for key, item in value.items()
        )
        return f"{{\n{fields}\n{indent}}}" if value else "{ }"
    if isinstance(value, list):
        return f"[ {', '.join(_pretty(item, indent) for item in value)} ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)

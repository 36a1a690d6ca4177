"""Checks that the ids of a plan follow from its own StreamGraph, as a plan made by somebody else may say anything."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import ProgramError
from compat.compiler.streamgraph.graph import GlobalExchangeMode, StreamEdge, StreamGraph, StreamNode, Task
from compat.compiler.streamgraph.hashing import generate_hashes
from compat.compiler.transformations.operators import ChainingStrategy, Operator
from compat.compiler.transformations.partitioners import ExchangeMode, Partitioner, Ship
from compat.state.model import graphs
from compat.state.model.job import Plan

_TASKS = {task.flink_class: task for task in Task}


def disagreement(plan: Plan) -> str | None:
    """The place where a plan's ids do not follow from its own StreamGraph, in a sentence; None if all do.

    The graph is hashed again as Flink hashes it, and operators, hashes and vertices have to bear these ids.
    """
    try:
        graph = _graph(plan)
        TopologicalSorter({id: [edge.source for edge in edges] for id, edges in graph.edges_in.items()}).prepare()
        hashes = generate_hashes(graph)
    except CycleError:
        return (
            "No operator ids follow from its stream graph: it runs in a circle."  # no end for whoever walks up a chain
        )
    except (ProgramError, ValueError, KeyError, IndexError, RecursionError) as error:
        return f"No operator ids follow from its stream graph: {error}."
    nodes = {node.id: node for node in plan.stream_graph.nodes}
    if plan.hashes != {str(node): hashed for node, hashed in hashes.items()}:
        node = next((one for one in nodes if plan.hashes.get(str(one)) != hashes.get(one)), None)
        return f"The id of {nodes[node].name!r} does not follow from its stream graph." if node is not None else _EXTRA
    for one in plan.operators:
        made_by = nodes.get(one.node)
        told = (one.id, one.uid, (one.user_hash or "").lower())
        if made_by is None or told != (hashes.get(one.node), made_by.uid, (made_by.user_hash or "").lower()):
            return f"The operator {one.name!r} is not the one of its stream graph."
    in_vertices = Counter(pair.id for vertex in plan.job_graph.vertices for pair in vertex.operators)
    if in_vertices != Counter(one.id for one in plan.operators):
        return "The operators of its job graph differ from those that it lists."
    return None if plan.otherwise is None else disagreement(plan.otherwise)


_EXTRA = "It has ids of operators that its stream graph has not."


def _graph(plan: Plan) -> StreamGraph:
    """The plan's StreamGraph, as far as ids depend on it."""
    given = plan.stream_graph
    edges = [_edge(edge, place) for place, edge in enumerate(given.edges)]
    settings = JobSettings(
        flink=plan.flink, chaining=given.chaining, chain_different_max_parallelism=given.chain_different_max_parallelism
    )
    return StreamGraph(
        job_name=given.job_name,
        batch=given.job_type == "BATCH",
        dynamic=given.dynamic,
        exchange_mode=GlobalExchangeMode(given.exchange_mode),
        settings=settings,
        nodes=MappingProxyType({node.id: _node(node) for node in given.nodes}),
        edges_in=MappingProxyType({node.id: tuple(edges[place] for place in node.inputs) for node in given.nodes}),
        edges_out=MappingProxyType({node.id: tuple(edges[place] for place in node.outputs) for node in given.nodes}),
        sources=given.sources,
        sinks=given.sinks,
    )


def _node(node: graphs.StreamNode) -> StreamNode:
    return StreamNode(
        id=node.id,
        name=node.name,
        description=node.description or "",
        task=_TASKS.get(node.vertex_class, Task.ONE_INPUT),
        operator=None if node.operator_factory is None else Operator(yielding=node.yielding),
        chaining=None if node.chaining_strategy is None else ChainingStrategy(node.chaining_strategy),
        parallelism=node.parallelism,
        max_parallelism=node.max_parallelism,
        uid=node.uid,
        user_hash=node.user_hash,
        slot_sharing_group=node.slot_sharing_group,
    )


def _edge(edge: graphs.StreamEdge, place: int) -> StreamEdge:
    return StreamEdge(
        source=edge.source,
        target=edge.target,
        type_number=edge.type_number,
        partitioner=Partitioner(Ship[edge.partitioner]),
        exchange_mode=ExchangeMode(edge.exchange_mode),
        side_output=edge.side_output,
        buffer_timeout=edge.buffer_timeout,
        index=place,
    )

"""A built job under another default parallelism of the cluster: with other chains, and therefore other ids.

Flink does not have to build it again. Operators without a set parallelism follow the default. An edge without a partitioner
forwards between two operators of the same parallelism, and rebalances between others (``StreamGraph.addEdgeInternal``).
"""

from __future__ import annotations

from msgspec.structs import replace

from compat.compiler.configuration import DEFAULT_PARALLELISM
from compat.compiler.errors import ProgramError
from compat.compiler.transformations.partitioners import Ship
from compat.loader.jvm.compiled import CompiledJob, Disagreement, graphs_of
from compat.loader.jvm.messages import Edge, Job, Node
from compat.plan.assumed import another_default, chains

Otherwise = tuple[Job, CompiledJob]


def otherwise_of(job: Job, usual: CompiledJob) -> Otherwise | None:
    """The job under another default parallelism, and its graphs; None if ids and chains are the same."""
    named = {node.parallelism for node in job.nodes if node.parallelism_configured}
    if job.graph.batch or job.parallelism_given or job.graph.parallelism != DEFAULT_PARALLELISM or not named:
        return None
    other = _under(job, another_default(named))
    try:
        made = graphs_of(other)
    except (ProgramError, Disagreement):
        return None
    return None if chains(made.job_graph) == chains(usual.job_graph) else (_with_ids(other, made), made)


def _under(job: Job, parallelism: int) -> Job:
    nodes = {
        node.id: node if node.parallelism_configured else replace(node, parallelism=parallelism) for node in job.nodes
    }
    return replace(
        job,
        nodes=tuple(nodes.values()),
        edges=tuple(_edge(edge, nodes[edge.source], nodes[edge.target]) for edge in job.edges),
        graph=replace(job.graph, parallelism=parallelism),
        savepoint=b"",
    )


def _edge(edge: Edge, source: Node, target: Node) -> Edge:
    name = edge.partitioner_class.rpartition(".")[2]
    if source.parallelism == target.parallelism or name != Ship.FORWARD.flink_class:
        return edge
    return replace(edge, partitioner=Ship.REBALANCE.name, partitioner_class=Ship.REBALANCE.flink_class)


def _with_ids(job: Job, made: CompiledJob) -> Job:
    vertex_of = made.job_graph.vertex_of
    nodes = (
        replace(
            node,
            generated_id=made.hashes[node.id],
            operator_id=node.user_hash or made.hashes[node.id],
            vertex=vertex_of[node.id],
        )
        for node in job.nodes
    )
    return replace(job, nodes=tuple(nodes))

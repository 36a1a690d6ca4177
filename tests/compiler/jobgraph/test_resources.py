"""The resources of a chain are those of all its operators, and unknown where those of one are."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compat.compiler.jobgraph.generator import generate
from compat.compiler.jobgraph.graph import JobVertex
from compat.compiler.transformations.resources import UNKNOWN, ResourceSpec
from tests.compiler.graphs import op, stream_graph

SMALL = ResourceSpec(cpu_cores=0.5, task_heap_memory=100, extended={"gpu": 1.0})
LARGE = ResourceSpec(cpu_cores=2.0, task_heap_memory=300, managed_memory=7, extended={"gpu": 1.0, "fpga": 2.0})
BOTH = ResourceSpec(cpu_cores=2.5, task_heap_memory=400, managed_memory=7, extended={"gpu": 2.0, "fpga": 2.0})


def vertices(needs: dict[str, ResourceSpec]) -> list[JobVertex]:
    """The vertices of a source and a map in one chain, and a keyed operator in another; needs are by name."""
    graph = stream_graph(
        op("s", "source", name="s", outType="String"),
        op("m", "map", "s", name="m", outType="String"),
        op("k", "key_by", "m", keyType="String"),
        op("p", "keyed_process", "k", name="p", outType="Long"),
    )
    nodes = {
        id: replace(node, min_resources=needs[node.name], preferred_resources=needs[node.name])
        if node.name in needs
        else node
        for id, node in graph.nodes.items()
    }
    return list(generate(replace(graph, nodes=nodes)).vertices)


@pytest.mark.parametrize(
    ("needs", "chain", "alone"),
    [
        ({}, UNKNOWN, UNKNOWN),
        ({"Source: s": SMALL}, UNKNOWN, UNKNOWN),
        ({"Source: s": SMALL, "m": LARGE}, BOTH, UNKNOWN),
        ({"Source: s": SMALL, "m": LARGE, "p": SMALL}, BOTH, SMALL),
    ],
)
def test_a_chain(needs: dict[str, ResourceSpec], chain: ResourceSpec, alone: ResourceSpec) -> None:
    by_name = {vertex.name: vertex for vertex in vertices(needs)}
    first, second = by_name["Source: s -> m"], by_name["p"]
    assert (first.min_resources, first.preferred_resources) == (chain, chain)
    assert (second.min_resources, second.preferred_resources) == (alone, alone)


def test_nothing_is_not_unknown() -> None:
    assert ResourceSpec() != UNKNOWN
    assert SMALL.merge(ResourceSpec()) == SMALL
    assert SMALL.merge(UNKNOWN) == UNKNOWN == UNKNOWN.merge(SMALL)

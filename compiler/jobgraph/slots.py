"""The vertices that may share a slot. Flink: ``setSlotSharing`` and ``setCoLocation``."""

from __future__ import annotations

from msgspec import Struct

from compat.compiler.errors import illegal_state
from compat.compiler.jobgraph.chaining import Chain
from compat.compiler.jobgraph.graph import NonChainedOutput
from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph
from compat.compiler.streamgraph.translators.context import DEFAULT_SLOT_SHARING_GROUP


class Groups(Struct, frozen=True):
    """A vertex's slot sharing group (its number and name) and its co-location group (a number or None)."""

    slot_sharing: int
    name: str
    co_location: int | None


def vertex_groups(
    chains: list[Chain],
    graph: StreamGraph,
    exchanges: dict[int, list[tuple[StreamEdge, NonChainedOutput]]],
    heads: dict[int, int],
) -> dict[int, Groups]:
    """The groups of each chain's vertex, by the node id of its head; numbers in order of appearance.

    A batch job gives each pipelined region a default group of its own. ``heads`` maps a node to the head of its chain.
    """
    regions = _regions(chains, exchanges, heads) if graph.batch else {}
    numbers: dict[tuple[str, int], int] = {}
    co_numbers: dict[str, int] = {}
    slot_group_of: dict[str, int] = {}
    found: dict[int, Groups] = {}
    for chain in chains:
        head = graph.nodes[chain.head]
        name = head.slot_sharing_group or DEFAULT_SLOT_SHARING_GROUP
        region = regions.get(chain.head, 0) if name == DEFAULT_SLOT_SHARING_GROUP else 0
        number = numbers.setdefault((name, region), len(numbers))
        co_location = None
        if head.co_location_group is not None:
            co_location = co_numbers.setdefault(head.co_location_group, len(co_numbers))
            if slot_group_of.setdefault(head.co_location_group, number) != number:
                raise illegal_state(
                    "Cannot co-locate operators from different slot sharing groups",
                    stage="jobGraph",
                    operator=head.name,
                    location=head.location,
                )
        found[chain.head] = Groups(number, name, co_location)
    return found


def _regions(
    chains: list[Chain], exchanges: dict[int, list[tuple[StreamEdge, NonChainedOutput]]], heads: dict[int, int]
) -> dict[int, int]:
    """A number for each set of vertices that pipelined exchanges join."""
    parent = {chain.head: chain.head for chain in chains}

    def root(head: int) -> int:
        while parent[head] != head:
            parent[head] = parent[parent[head]]
            head = parent[head]
        return head

    for chain in chains:
        for edge, output in exchanges[chain.head]:
            if output.type.joins_regions:
                parent[root(heads[edge.target])] = root(chain.head)
    return {head: root(head) for head in parent}

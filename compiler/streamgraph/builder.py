"""A StreamGraph in the making: nodes, virtual nodes and the rules of an edge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from compat.compiler.configuration import JobSettings
from compat.compiler.errors import ErrorCode, illegal_state, unsupported
from compat.compiler.streamgraph.graph import GlobalExchangeMode, StreamEdge, StreamGraph, StreamNode
from compat.compiler.transformations.partitioners import FORWARD, REBALANCE, ExchangeMode, Partitioner, Ship
from compat.compiler.transformations.resources import SlotResources


class VirtualNode(Struct, frozen=True):
    """A partitioning or a side output: no operator, only properties of the edges through it."""

    origin: int
    partitioner: Partitioner | None = None
    exchange_mode: ExchangeMode | None = None
    side_output: str | None = None


class GraphBuilder:
    """Collects nodes and edges; :meth:`graph` freezes them. Flink: the adding half of ``StreamGraph``."""

    def __init__(self, *, batch: bool, dynamic: bool) -> None:
        self.batch = batch
        self.dynamic = dynamic
        self.nodes: dict[int, StreamNode] = {}
        self.sources: list[int] = []
        self.sinks: list[int] = []
        self.iterative = False
        self._virtual: dict[int, VirtualNode] = {}
        self._in: dict[int, list[StreamEdge]] = {}
        self._out: dict[int, list[StreamEdge]] = {}
        self._between: Counter[tuple[int, int]] = Counter()

    def add_node(self, node: StreamNode) -> None:
        """Add an operator. A second one with the same id is a fault of the translation, not of the program."""
        if node.id in self.nodes:
            raise illegal_state(f"Duplicate vertexID {node.id}", stage="streamGraph", location=node.location)
        self.nodes[node.id] = node
        self._in[node.id] = []
        self._out[node.id] = []

    def change_node(self, id: int, **changes: Any) -> None:
        """Put a changed copy in a node's place."""
        self.nodes[id] = replace(self.nodes[id], **changes)

    def add_virtual(self, id: int, node: VirtualNode) -> None:
        """Add a virtual node, which may come after another one."""
        self._virtual[id] = node

    def slot_sharing_group(self, id: int) -> str | None:
        """The group of a node, or of the node behind a virtual one."""
        while id in self._virtual:
            id = self._virtual[id].origin
        return self.nodes[id].slot_sharing_group

    def add_edge(self, upstream: int, target: int, type_number: int, *, data_set: bool = False) -> None:
        """Connect two nodes, looking through the virtual ones. Of several partitionings the last
        one counts, but the exchange mode is the first one's. ``data_set`` marks an edge that writes a cached stream."""
        partitioner: Partitioner | None = None
        exchange_mode: ExchangeMode | None = None
        side_output: str | None = None
        while (virtual := self._virtual.get(upstream)) is not None:
            if side_output is None:
                side_output = virtual.side_output
            if virtual.partitioner is not None:
                partitioner = partitioner or virtual.partitioner
                exchange_mode = virtual.exchange_mode
            upstream = virtual.origin
        source_node, target_node = self.nodes[upstream], self.nodes[target]
        between = (upstream, target)
        edge = StreamEdge(
            source=upstream,
            target=target,
            type_number=type_number,
            partitioner=self._partitioner(partitioner, source_node, target_node),
            exchange_mode=exchange_mode or ExchangeMode.UNDEFINED,
            side_output=side_output,
            buffer_timeout=source_node.buffer_timeout,
            index=self._between[between],
            data_set=data_set,
        )
        self._between[between] += 1
        self._out[upstream].append(edge)
        self._in[target].append(edge)

    def _partitioner(self, asked: Partitioner | None, source: StreamNode, target: StreamNode) -> Partitioner:
        same_parallelism = source.parallelism == target.parallelism
        if asked is None:
            if not same_parallelism:
                return REBALANCE
            return replace(FORWARD, unspecified=True) if self.dynamic else FORWARD
        if asked.ship is Ship.FORWARD and not same_parallelism:
            raise unsupported(
                "Forward partitioning does not allow change of parallelism. "
                f"Upstream operation: {source.name}-{source.id} parallelism: {source.parallelism}, "
                f"downstream operation: {target.name}-{target.id} parallelism: {target.parallelism} "
                "You must use another partitioning strategy, such as broadcast, rebalance, shuffle or global.",
                code=ErrorCode.FORWARD_CHANGES_PARALLELISM,
                stage="streamGraph",
                operator=target.name,
                location=target.location,
            )
        return asked

    def graph(
        self,
        *,
        job_name: str,
        settings: JobSettings,
        exchange_mode: GlobalExchangeMode,
        slot_resources: Mapping[str, SlotResources],
    ) -> StreamGraph:
        """The finished graph, with the switch for unaligned checkpoints set on every edge."""
        aligned_only = {
            node
            for node, edges in self._in.items()
            if any(not _unaligned_possible(edge.partitioner, settings) for edge in edges)
        }

        def finish(edges: list[StreamEdge]) -> tuple[StreamEdge, ...]:
            return tuple(finished[id(edge)] for edge in edges)

        finished = {
            id(edge): replace(edge, unaligned_checkpoints=edge.target not in aligned_only)
            for edges in self._out.values()
            for edge in edges
        }
        return StreamGraph(
            job_name=job_name,
            batch=self.batch,
            dynamic=self.dynamic,
            exchange_mode=exchange_mode,
            settings=settings,
            nodes=self.nodes,
            edges_in={node: finish(edges) for node, edges in self._in.items()},
            edges_out={node: finish(edges) for node, edges in self._out.items()},
            sources=tuple(self.sources),
            sinks=tuple(self.sinks),
            iterative=self.iterative,
            slot_resources=slot_resources,
        )


def _unaligned_possible(partitioner: Partitioner, settings: JobSettings) -> bool:
    """False if in-flight records could not be remapped after rescaling, or must not be overtaken."""
    if partitioner.ship.pointwise or partitioner.ship is Ship.BROADCAST or not partitioner.unaligned_allowed:
        return False
    return partitioner.ship is not Ship.CUSTOM or settings.legacy or settings.unaligned_forced

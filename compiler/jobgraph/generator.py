"""From the StreamGraph to the JobGraph. Flink: ``StreamingJobGraphGenerator``."""

from __future__ import annotations

from msgspec.structs import replace

from compat.compiler.jobgraph.artifacts import cached_files
from compat.compiler.jobgraph.chaining import (
    CHAINED_SOURCE_INDEX,
    HEAD_INDEX,
    Chain,
    build_chains,
    chain_of_nodes,
)
from compat.compiler.jobgraph.checkpoints import checkpoint_settings
from compat.compiler.jobgraph.exchanges import chain_outputs
from compat.compiler.jobgraph.graph import (
    IntermediateDataSet,
    JobEdge,
    JobGraph,
    JobVertex,
    NonChainedOutput,
    OperatorIdPair,
    StreamConfig,
)
from compat.compiler.jobgraph.naming import chained_name, description
from compat.compiler.jobgraph.parallelism import VertexParallelism, vertex_parallelisms
from compat.compiler.jobgraph.slots import Groups, vertex_groups
from compat.compiler.jobgraph.topological import sort_from_sources
from compat.compiler.jobgraph.validation import validate
from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph
from compat.compiler.streamgraph.hashing import generate_hashes, user_hashes
from compat.compiler.transformations.resources import merged


def generate(graph: StreamGraph, hashes: dict[int, str] | None = None) -> JobGraph:
    """The JobGraph of a StreamGraph.

    ``hashes`` are the operator ids, if already known. Raises a ProgramError of stage ``hashes`` or ``jobGraph``.
    """
    if hashes is None:
        hashes = generate_hashes(graph)
    validate(graph)
    return _Generation(graph, hashes).run()


class _Generation:
    def __init__(self, graph: StreamGraph, hashes: dict[int, str]) -> None:
        self._graph = graph
        self._hashes = hashes
        self._user_hashes = user_hashes(graph)
        self._chains = build_chains(graph)
        members = chain_of_nodes(self._chains)
        self._heads = {node: chain.head for node, chain in members.items()}
        self._parallelisms = vertex_parallelisms(self._chains, graph)
        self._exchanges = {
            chain.head: chain_outputs(chain, graph, hashes, self._parallelisms) for chain in self._chains
        }
        self._groups = vertex_groups(self._chains, graph, self._exchanges, self._heads)
        self._data_sets: dict[int, int] = {}
        self._inputs = self._connect()

    def run(self) -> JobGraph:
        graph = self._graph
        self._number_data_sets()
        vertices = {chain.head: self._vertex(chain) for chain in self._chains}
        topological = self._sorted(vertices)
        if graph.settings.vertex_index_prefix:
            vertices = _with_index(vertices, topological)
        return JobGraph(
            job_name=graph.job_name,
            job_type=graph.job_type,
            dynamic=graph.dynamic,
            settings=graph.settings,
            vertices=tuple(vertices.values()),
            topological=topological,
            vertex_of={node: self._hashes[head] for node, head in self._heads.items()},
            checkpointing=checkpoint_settings(graph),
            user_artifacts=cached_files(graph.settings.options),
            slot_resources=graph.slot_resources,
        )

    def _connect(self) -> dict[int, list[tuple[StreamEdge, NonChainedOutput]]]:
        """The edges into each vertex, in the order in which their producers were made."""
        inputs: dict[int, list[tuple[StreamEdge, NonChainedOutput]]] = {chain.head: [] for chain in self._chains}
        for chain in self._chains:
            for edge, output in self._exchanges[chain.head]:
                inputs[self._heads[edge.target]].append((edge, output))
        return inputs

    def _number_data_sets(self) -> None:
        """Number data sets in the order in which they appear: vertex by vertex, inputs before outputs."""
        for chain in self._chains:
            for _, output in (*self._inputs[chain.head], *self._exchanges[chain.head]):
                self._data_sets.setdefault(id(output), len(self._data_sets))

    def _vertex(self, chain: Chain) -> JobVertex:
        graph, head = self._graph, self._graph.nodes[chain.head]
        parallelism: VertexParallelism = self._parallelisms[chain.head]
        groups: Groups = self._groups[chain.head]
        members = [*chain.nodes, *(edge.source for edge in chain.sources)]
        operators = (graph.nodes[node].operator for node in members)
        return JobVertex(
            id=self._hashes[chain.head],
            name=chained_name(chain, graph),
            description=description(chain, graph, cascading=graph.settings.vertex_description_cascading),
            task=head.task,
            parallelism=parallelism.parallelism,
            parallelism_configured=parallelism.configured,
            max_parallelism=parallelism.max_parallelism,
            slot_sharing_group=groups.slot_sharing,
            slot_sharing_group_name=groups.name,
            co_location_group=groups.co_location,
            concurrent_attempts=all(graph.nodes[node].concurrent_attempts for node in members),
            coordinators=sum(operator is not None and operator.coordinated for operator in operators),
            min_resources=merged(graph.nodes[node].min_resources for node in members),
            preferred_resources=merged(graph.nodes[node].preferred_resources for node in members),
            operators=tuple(self._id_pair(node) for node in chain.nodes),
            chain=self._chain(chain),
            inputs=tuple(self._edge(edge, output) for edge, output in self._inputs[chain.head]),
            outputs=self._outputs(chain),
            location=head.location,
        )

    def _id_pair(self, node: int) -> OperatorIdPair:
        stream_node = self._graph.nodes[node]
        return OperatorIdPair(
            node=node,
            id=self._hashes[node],
            user_defined_id=self._user_hashes.get(node),
            name=stream_node.name,
            uid=stream_node.uid,
        )

    def _chain(self, chain: Chain) -> tuple[StreamConfig, ...]:
        """The head, then the others by node id."""
        leaving: dict[int, dict[int, NonChainedOutput]] = {}
        for edge, output in self._exchanges[chain.head]:
            leaving.setdefault(edge.source, {})[id(output)] = output
        sources = {edge.source for edge in chain.sources}
        others = sorted([node for node in chain.nodes if node != chain.head] + sorted(sources))
        return tuple(
            self._config(node, chain, node in sources, leaving.get(node, {})) for node in (chain.head, *others)
        )

    def _config(self, node: int, chain: Chain, inside_head: bool, leaving: dict[int, NonChainedOutput]) -> StreamConfig:
        stream_node = self._graph.nodes[node]
        chained = chain.outputs.get(node, ())
        index = CHAINED_SOURCE_INDEX if inside_head else chain.index[node]
        return StreamConfig(
            node=node,
            name=stream_node.name,
            operator_id=self._hashes[node],
            task=stream_node.task,
            operator=stream_node.operator,
            index=index,
            start=node == chain.head and index == HEAD_INDEX,
            end=not inside_head and not chained,
            chained_outputs=tuple(chained),
            non_chained_outputs=tuple(leaving.values()),
            input_types=stream_node.input_types,
            output_type=stream_node.output_type,
            key_type=stream_node.key_type,
            state_partitioners=stream_node.state_keys,
        )

    def _edge(self, edge: StreamEdge, output: NonChainedOutput) -> JobEdge:
        return JobEdge(
            source=self._hashes[self._heads[edge.source]],
            target=self._hashes[self._heads[edge.target]],
            data_set=self._data_sets[id(output)],
            pattern=output.pattern,
            type=output.type,
            ship=output.partitioner.ship,
            stream_edge=edge,
        )

    def _outputs(self, chain: Chain) -> tuple[IntermediateDataSet, ...]:
        consumers: dict[int, list[str]] = {}
        outputs: dict[int, NonChainedOutput] = {}
        for edge, output in self._exchanges[chain.head]:
            outputs[id(output)] = output
            consumers.setdefault(id(output), []).append(self._hashes[self._heads[edge.target]])
        return tuple(
            IntermediateDataSet(
                index=self._data_sets[key],
                id=output.id,
                producer=self._hashes[chain.head],
                type=output.type,
                consumers=tuple(consumers[key]),
            )
            for key, output in outputs.items()
        )

    def _sorted(self, vertices: dict[int, JobVertex]) -> tuple[str, ...]:
        return sort_from_sources(
            [vertex.id for vertex in vertices.values()],
            {
                vertex.id: [consumer for output in vertex.outputs for consumer in output.consumers]
                for vertex in vertices.values()
            },
            {vertex.id: len(vertex.inputs) for vertex in vertices.values()},
        )


def _with_index(vertices: dict[int, JobVertex], topological: tuple[str, ...]) -> dict[int, JobVertex]:
    place = {id: index for index, id in enumerate(topological)}
    return {
        head: replace(vertex, name=f"[vertex-{place[vertex.id]}]{vertex.name}") for head, vertex in vertices.items()
    }

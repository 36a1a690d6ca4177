"""Cached streams. Flink: ``CacheTransformationTranslator``."""

from __future__ import annotations

from compat.compiler.streamgraph.graph import StreamNode, Task
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import CacheTransformation
from compat.compiler.transformations.operators import CacheWrite, ChainingStrategy


def translate_cache(cache: CacheTransformation, context: Context) -> tuple[int, ...]:
    """Put a node that writes the cache beside the stream's readers, which still read the stream itself.

    In streaming mode nothing is written: the readers find the stream, and no cache.
    """
    nodes = context.node_ids(cache.input)
    if not context.builder.batch:
        return nodes
    stream = context.pipeline[cache.input]
    context.builder.add_node(
        StreamNode(
            id=cache.id,
            name="CacheWrite",
            description="CacheWrite",
            task=Task.ONE_INPUT,
            operator=CacheWrite(),
            chaining=ChainingStrategy.HEAD,
            parallelism=context.settings.parallelism if stream.parallelism == -1 else stream.parallelism,
            parallelism_configured=stream.parallelism_configured,
            max_parallelism=context.max_parallelism(stream),
            slot_sharing_group=context.slot_sharing_group(stream.slot_sharing_group, nodes),
            co_location_group=stream.co_location_group,
            buffer_timeout=context.default_buffer_timeout,
            input_types=(context.type_of(cache.input),),
            location=cache.location,
        )
    )
    for node in nodes:
        context.builder.add_edge(node, cache.id, 0, data_set=True)
    return nodes

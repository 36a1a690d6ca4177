"""Transformations that make edges and no operator. Flink: the translators of union, partition and side output."""

from __future__ import annotations

from compat.compiler.streamgraph.builder import VirtualNode
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import Partition, SideOutput, Union
from compat.compiler.transformations.partitioners import ExchangeMode


def translate_union(union: Union, context: Context) -> tuple[int, ...]:
    """The ids of the union's inputs, in order."""
    return tuple(id for ids in context.inputs_of(union) for id in ids)


def translate_partition(partition: Partition, context: Context) -> tuple[int, ...]:
    """Translate a partitioning: a virtual node, with an id of its own, for each of its inputs."""
    batch_only = partition.exchange_mode is ExchangeMode.BATCH and not context.builder.batch
    mode = ExchangeMode.UNDEFINED if batch_only else partition.exchange_mode
    made = []
    for origin in context.node_ids(partition.input):
        id = context.pipeline.new_id()
        context.builder.add_virtual(id, VirtualNode(origin, partitioner=partition.partitioner, exchange_mode=mode))
        made.append(id)
    return tuple(made)


def translate_side_output(side_output: SideOutput, context: Context) -> tuple[int, ...]:
    """Translate a side output: a virtual node, with an id of its own, for each of its inputs."""
    made = []
    for origin in context.node_ids(side_output.input):
        id = context.pipeline.new_id()
        context.builder.add_virtual(id, VirtualNode(origin, side_output=side_output.tag))
        made.append(id)
    return tuple(made)

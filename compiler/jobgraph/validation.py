"""The checks before a JobGraph is made. Flink: ``StreamingJobGraphGenerator.preValidate``."""

from __future__ import annotations

from compat.compiler.errors import ErrorCode, illegal_argument, unsupported
from compat.compiler.streamgraph.graph import StreamGraph
from compat.compiler.transformations.partitioners import Ship


def validate(graph: StreamGraph) -> None:
    """Raise Flink's refusal, of stage ``jobGraph``, of settings that contradict the graph."""
    settings = graph.settings
    if settings.checkpointing and not graph.batch:
        if graph.iterative and not settings.force_checkpointing:
            raise unsupported(
                "Checkpointing is currently not supported by default for iterative jobs, as we cannot guarantee "
                "exactly once semantics. State checkpoints happen normally, but records in-transit during the "
                "snapshot will be lost upon failure. \nThe user can force enable state checkpoints with the reduced "
                "guarantees by calling: env.enableCheckpointing(interval,true)",
                code=ErrorCode.CHECKPOINTED_ITERATION,
                stage="jobGraph",
            )
        if settings.unaligned and not settings.unaligned_forced:
            _refuse_unaligned(graph)
    if settings.legacy:
        return
    for node in graph.nodes.values():
        for what, text in (("name", node.name), ("uid", node.uid)):
            if text == "":
                raise illegal_argument(
                    f"Empty string operator {what} is not allowed",
                    stage="jobGraph",
                    operator=node.name,
                    location=node.location,
                )


def _refuse_unaligned(graph: StreamGraph) -> None:
    if graph.iterative:
        raise unsupported(
            "Unaligned Checkpoints are currently not supported for iterative jobs, as rescaling would require "
            "alignment (in addition to the reduced checkpointing guarantees).\nThe user can force Unaligned "
            "Checkpoints by using 'execution.checkpointing.unaligned.forced'",
            stage="jobGraph",
        )
    for edges in graph.edges_out.values():
        for edge in edges:
            if edge.partitioner.ship is Ship.CUSTOM:
                node = graph.nodes[edge.target]
                raise unsupported(
                    "Unaligned checkpoints are currently not supported for custom partitioners, as rescaling is not "
                    "guaranteed to work correctly.\nThe user can force Unaligned Checkpoints by using "
                    "'execution.checkpointing.unaligned.forced'",
                    stage="jobGraph",
                    operator=node.name,
                    location=node.location,
                )

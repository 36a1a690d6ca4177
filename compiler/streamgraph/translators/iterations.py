"""Iterations of Flink before 2.0: a head and a tail node that share a queue.

Flink 1.x: ``StreamGraphGenerator.transformFeedback`` and ``transformCoFeedback``.
"""

from __future__ import annotations

from compat.compiler.errors import illegal_state, unsupported
from compat.compiler.streamgraph.graph import StreamNode, Task
from compat.compiler.streamgraph.translators.context import Context
from compat.compiler.transformations.kinds import CoFeedback, Feedback


def translate_feedback(iteration: Feedback, context: Context) -> tuple[int, ...]:
    """The ids of the nodes that feed the iteration, and of its head."""
    return _translate(iteration, context.node_ids(iteration.input), context)


def translate_co_feedback(iteration: CoFeedback, context: Context) -> tuple[int, ...]:
    """The id of the head for the feedback input of a connected iteration."""
    return _translate(iteration, (), context)


def _translate(iteration: Feedback | CoFeedback, entering: tuple[int, ...], context: Context) -> tuple[int, ...]:
    if not context.settings.legacy:
        raise unsupported(
            f"Flink {context.settings.flink} has no iterations (they ended with Flink 1.20). "
            "Check against --flink 1.20, or take the loop out of the job.",
            stage="streamGraph",
            operator=iteration.name,
            location=iteration.location,
        )
    if context.builder.batch:
        raise unsupported(
            "Iterations are not supported in BATCH execution mode. If you want to execute such a pipeline, "
            "please set the 'execution.runtime-mode'=STREAMING",
            stage="streamGraph",
            operator=iteration.name,
            location=iteration.location,
        )
    if not iteration.feedback:
        raise illegal_state(
            f"Iteration {_described(iteration)} does not have any feedback edges.",
            stage="streamGraph",
            operator=iteration.name,
            location=iteration.location,
        )
    builder = context.builder
    head, tail = context.iteration_ids()
    builder.iterative = True
    _add_ends(iteration, head, tail, context)
    builder.sources.append(head)
    builder.sinks.append(tail)
    context.finished(iteration.id, (*entering, head))

    def connect(feedback: int) -> None:
        for node in context.node_ids(feedback):
            builder.add_edge(node, tail, 0)

    def close() -> None:
        feeding = [node for feedback in iteration.feedback for node in context.node_ids(feedback)]
        group = context.slot_sharing_group(None, feeding)
        builder.change_node(head, slot_sharing_group=group)
        builder.change_node(tail, slot_sharing_group=group)

    steps: list[int | object] = []
    for feedback in iteration.feedback:
        steps += [feedback, lambda feedback=feedback: connect(feedback)]
    context.schedule([*steps, close])  # type: ignore[list-item]
    return (*entering, head)


def _described(iteration: Feedback | CoFeedback) -> str:
    """The iteration as Flink prints a transformation."""
    name = f"{type(iteration).__name__}Transformation"
    return (
        f"{name}{{id={iteration.id}, name='{iteration.name}', outputType={iteration.output_type}, "
        f"parallelism={iteration.parallelism}}}"
    )


def _add_ends(iteration: Feedback | CoFeedback, head: int, tail: int, context: Context) -> None:
    """The two nodes, co-located, because the queue between them lives in one process."""
    parallelism = iteration.parallelism if iteration.parallelism != -1 else context.settings.parallelism
    type = context.type_of(iteration.id)
    for id, task, name, max_parallelism, read, written in (
        (head, Task.ITERATION_HEAD, "IterationSource", context.max_parallelism(iteration), (), type),
        (tail, Task.ITERATION_TAIL, "IterationSink", parallelism, (type,), None),
    ):
        label = f"{name}-{iteration.id}"
        context.builder.add_node(
            StreamNode(
                id=id,
                name=label,
                description=label,
                task=task,
                operator=None,
                chaining=None,
                parallelism=parallelism,
                parallelism_configured=True,
                max_parallelism=max_parallelism,
                co_location_group=f"IterationCoLocationGroup-{iteration.id}",
                buffer_timeout=0,
                input_types=read,
                output_type=written,
                location=iteration.location,
            )
        )

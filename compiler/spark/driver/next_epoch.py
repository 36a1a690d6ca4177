"""The work of a job's sources and loops in the next epoch."""

from __future__ import annotations

from collections.abc import Mapping

from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.source_coordinator import SourceCoordinator
from compat.compiler.spark.runtime_api.elements import Records
from compat.compiler.spark.runtime_api.work import IterationWork, Work, WorkOfSubtask
from compat.compiler.streamgraph.graph import Task


def is_due(coordinator: CheckpointCoordinator) -> bool:
    """True when there is something to read, to send around a loop, or to end. Looks for new splits first."""
    sources = coordinator.sources.values()
    for source in sources:
        source.discover()
    return (
        any(coordinator.feedback.values())
        or any(source.has_work() for source in sources)
        or all(source.done for source in sources)
    )


def assign(
    coordinator: CheckpointCoordinator, bound: int | None, drain: bool, share: float = 1.0
) -> Mapping[tuple[int, int], WorkOfSubtask]:
    """The work by (vertex, subtask) and node. A source reads at most ``bound`` records, or nothing more with ``drain``.

    ``share`` is the part of the time between checkpoints that the epoch has.
    """
    work: dict[tuple[int, int], dict[int, Work]] = {}
    for source in _readable(coordinator):
        for subtask, assigned in source.assign(bound, drain, share).items():
            if (source.task.vertex, subtask) not in coordinator.ended:
                work.setdefault((source.task.vertex, subtask), {})[source.spec.node] = assigned
    over = all(source.done for source in coordinator.sources.values()) or drain
    for task, spec in coordinator.plan.operators():
        if spec.task is Task.ITERATION_HEAD:
            assert spec.loop is not None
            back = coordinator.feedback.get(spec.loop, [])
            last = over and not back and _sources_ended(coordinator)
            for subtask in range(task.parallelism):
                own = tuple(Records(values, times) for at, values, times in back if at % task.parallelism == subtask)
                if (task.vertex, subtask) not in coordinator.ended:
                    work.setdefault((task.vertex, subtask), {})[spec.node] = IterationWork(own, last)
    return work


def _readable(coordinator: CheckpointCoordinator) -> list[SourceCoordinator]:
    """The sources that may be read: where some come first, all others wait until they have ended."""
    sources = list(coordinator.sources.values())
    first = [source for source in sources if source.spec.node in coordinator.plan.read_first and not source.done]
    return first or sources


def _sources_ended(coordinator: CheckpointCoordinator) -> bool:
    return all(
        (source.task.vertex, subtask) in coordinator.ended
        for source in coordinator.sources.values()
        for subtask in range(source.task.parallelism)
    )

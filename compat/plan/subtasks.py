"""The subtasks of an execution graph for a person: their slots and what feeds them, in ranges counted from 1."""

from __future__ import annotations

from itertools import islice

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.jobgraph.graph import DistributionPattern
from compat.state.model.graphs import ExecutionEdge, ExecutionVertex

SHOWN = 4
"""The number of ranges of an exchange that are shown; the others are counted."""


def slots_of(vertex: ExecutionVertex) -> str | None:
    """The slots of a vertex's subtasks: ``slots 1-4 of 'default'``; None if the plan does not record them."""
    group, first, count = vertex.slot_sharing_group, vertex.first_slot, vertex.parallelism
    if group is None or first is None or count < 1:
        return None
    return f"slot{'' if count == 1 else 's'} {_numbers(range(first, first + count))} of {group!r}"


def feeding(edge: ExecutionEdge, producers: int | None, consumers: int) -> str | None:
    """The subtasks that read from each subtask of an exchange: ``1-3 read 1-2``; None if the plan does not record enough."""
    known = {pattern.value: pattern for pattern in DistributionPattern}
    pattern = known.get(edge.distribution_pattern)
    if pattern is None or producers is None or producers < 1 or consumers < 1:
        return None
    group = EdgeGroup(pattern, producers, consumers)
    if group.one_to_one and producers > 1:
        return "each reads its own"
    runs = group.runs()
    parts = [
        f"{_numbers(readers)} {'reads' if len(readers) == 1 else 'read'} {_numbers(partitions)}"
        for readers, partitions in islice(runs, SHOWN)
    ]
    rest = group.run_count - SHOWN
    return ", ".join([*parts, f"… {rest:,} more"] if rest > 0 else parts)


def _numbers(of: range) -> str:
    return str(of.start + 1) if len(of) == 1 else f"{of.start + 1}-{of.stop}"

"""The order of vertices from the sources. Flink: ``JobGraph.getVerticesSortedTopologicallyFromSources``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compat.compiler.errors import illegal_argument


def sort_from_sources(
    vertices: Sequence[str], consumers: Mapping[str, Sequence[str]], inputs: Mapping[str, int]
) -> tuple[str, ...]:
    """Vertex ids, each after all its inputs: first those without inputs, then depth first as inputs run out.

    ``consumers`` lists a vertex's consumers, one entry an edge, in order; ``inputs`` counts a vertex's edges in.
    """
    waiting = dict(inputs)
    ordered = [vertex for vertex in vertices if not waiting[vertex]]
    taken = set(ordered)
    for vertex in ordered:
        for consumer in consumers[vertex]:
            waiting[consumer] -= 1
    position = 0
    while position < len(ordered):
        pending = [iter(consumers[ordered[position]])]
        position += 1
        while pending:
            for consumer in pending[-1]:
                if consumer in taken or waiting[consumer]:
                    continue
                taken.add(consumer)
                ordered.append(consumer)
                for below in consumers[consumer]:
                    waiting[below] -= 1
                pending.append(iter(consumers[consumer]))
                break
            else:
                pending.pop()
    if len(ordered) < len(vertices):
        raise illegal_argument("The job graph is cyclic.", stage="jobGraph")
    return tuple(ordered)

"""The names that the functions of a job use and PyFlink lacks, found in their code, as they run later."""

from __future__ import annotations

from compat.compiler.datastream.beyond.noting import marked
from compat.compiler.datastream.functions import RuntimeContext
from compat.compiler.errors import Location
from compat.compiler.streamgraph.graph import StreamGraph
from compat.plan.methods import places_of

_OF_CONTEXTS = {name: f"{RuntimeContext.__name__}.{name}" for name in marked(RuntimeContext)}


def used_in_functions(graph: StreamGraph) -> dict[str, Location]:
    """The used names, each with the place of its first use."""
    found: dict[str, Location] = {}
    for node in graph.nodes.values():
        for function in () if node.operator is None else node.operator.functions:
            for name, place in places_of(function, _OF_CONTEXTS.keys()):
                found.setdefault(_OF_CONTEXTS[name], place)
    return found

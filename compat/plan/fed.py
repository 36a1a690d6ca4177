"""What feeds an operator: its sources, and the functions between them and it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from compat.compiler.streamgraph.graph import StreamEdge, StreamGraph, StreamNode
from compat.compiler.transformations.operators.base import Operator
from compat.plan.held import text_of
from compat.plan.made import digest, values_of
from compat.plan.methods import methods_of


def feeds_of(graph: StreamGraph, order: Iterable[int], told: Callable[[int], Iterable[str]]) -> dict[int, str]:
    """By node, a digest of the names of the sources that it hears of and of what is ``told`` of the nodes in between.

    In the ``order``, inputs stand before what they feed. How Flink chains operators has no say.
    """
    fed: dict[int, str] = {}
    given: dict[int, str] = {}
    for id in order:
        inputs = sorted(_of_edge(edge, given) for edge in graph.edges_in[id])
        fed[id] = inputs[0] if len(inputs) == 1 else digest(inputs)
        given[id] = fed[id] if inputs else graph.nodes[id].name
        for one in told(id):
            given[id] = digest([given[id], one])
    return fed


def _of_edge(edge: StreamEdge, given: Mapping[int, str]) -> str:
    what = given.get(edge.source, "")  # a feedback, which comes from behind, tells nothing
    return what if edge.side_output is None else digest([what, edge.side_output])


def told_in_python(node: StreamNode) -> Iterator[str]:
    """The code and the values of the functions of a node, in their order; those of connectors are not looked into."""
    first = node.operator
    for one in () if first is None else (first, *first.chained):
        if one.functions:
            yield from _told(one)


def _told(operator: Operator) -> Iterator[str]:
    methods = sorted(f"{method.__name__} {text_of(method.__code__, {})}" for method in methods_of(operator.function))
    values = [f"{name} {value}" for name, value in values_of(operator.function).items()]
    if methods or values:
        yield digest([operator.kind, *methods, *values])

"""The structure of the records that an operator gets, by their declared types, or by the functions that make them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat.compiler.streamgraph.graph import StreamGraph, StreamNode
from compat.compiler.transformations import operators as ops
from compat.plan.put import shapes_given, shapes_of
from compat.state.model.contents import Shapes, any_of
from compat.state.types import TypeInformation
from compat.state.types.composite import RowTypeInfo

_PASSING = ops.Filter | ops.KeyByMap | ops.ExtractTimestamp | ops.PartitionCustomMap | ops.PartitionCustomValues
"""Operators behind which the records are those before them."""
_DEPTH = 20


def records_of(graph: StreamGraph, id: int) -> tuple[Shapes, ...]:
    """The records of each input of an operator; ``()`` for those that are not known."""
    inputs: dict[int, list[Shapes]] = {}
    for edge in graph.edges_in[id]:
        given = () if edge.side_output is not None else _given(graph, edge.source, 0)
        inputs.setdefault(max(edge.type_number - 1, 0), []).append(given)
    if not inputs:
        return ()
    return tuple(_all(inputs.get(number, [()])) for number in range(max(inputs) + 1))


def _given(graph: StreamGraph, id: int, depth: int) -> Shapes:
    """What an operator gives."""
    node = graph.nodes[id]
    declared = _declared(node)
    if declared or depth > _DEPTH or node.operator is None:
        return declared
    for one in reversed((node.operator, *node.operator.chained)):
        if isinstance(one, ops.Map):
            return shapes_given(getattr(one.function, "map", one.function), ())
        if not isinstance(one, _PASSING):
            return ()
    edges = graph.edges_in[id]
    if any(edge.side_output is not None for edge in edges):
        return ()
    return _all([_given(graph, edge.source, depth + 1) for edge in edges])


def _declared(node: StreamNode) -> Shapes:
    """By the declared type; PyFlink puts the key before a record, where there is one."""
    type: Any = node.output_type
    last = None if node.operator is None else (node.operator, *node.operator.chained)[-1]
    if isinstance(last, ops.KeyByMap):
        type = type.field_types[1] if isinstance(type, RowTypeInfo) and len(type.field_types) == 2 else None
    return shapes_of(type) if isinstance(type, TypeInformation) else ()


def _all(given: Iterable[Shapes]) -> Shapes:
    found = list(given)
    return () if () in found else any_of(found)

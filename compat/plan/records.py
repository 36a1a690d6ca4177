"""The structure of the records that an operator gets, by their declared types, or by the functions that make them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat.compiler.streamgraph.graph import StreamGraph, StreamNode
from compat.compiler.transformations import operators as ops
from compat.plan.put import shapes_given, shapes_of, with_sources
from compat.state.model.contents import Shapes, any_of
from compat.state.types import TypeInformation
from compat.state.types.composite import RowTypeInfo

_PASSING = (
    ops.Filter
    | ops.KeyByMap
    | ops.ExtractTimestamp
    | ops.TimestampsAndWatermarks
    | ops.RemoveTimestamp
    | ops.PartitionCustomMap
    | ops.PartitionCustomValues
)
"""Operators behind which the records are those before them."""
_DEPTH = 20


def records_of(graph: StreamGraph, id: int) -> tuple[Shapes, ...]:
    """The records of each input of an operator; ``()`` for those that are not known."""
    known: dict[int, Shapes] = {}
    inputs: dict[int, list[Shapes]] = {}
    for edge in graph.edges_in[id]:
        given = () if edge.side_output is not None else _given(graph, edge.source, known, 0)
        inputs.setdefault(max(edge.type_number - 1, 0), []).append(given)
    if not inputs:
        return ()
    return tuple(_all(inputs.get(number, [()])) for number in range(max(inputs) + 1))


def _given(graph: StreamGraph, id: int, known: dict[int, Shapes], depth: int) -> Shapes:
    """What an operator gives: as its type is declared, with what its function computes the parts of."""
    if id not in known:
        node = graph.nodes[id]
        known[id] = ()  # for what comes back to it
        made = () if depth > _DEPTH else _made(graph, node, known, depth)
        declared = _declared(node)
        known[id] = with_sources(declared, made) if declared else made
    return known[id]


def _made(graph: StreamGraph, node: StreamNode, known: dict[int, Shapes], depth: int) -> Shapes:
    """What the functions of an operator give, one behind the other."""
    edges = graph.edges_in[node.id]
    aside = any(edge.side_output is not None for edge in edges)
    records = () if aside else _all([_given(graph, edge.source, known, depth + 1) for edge in edges])
    for one in () if node.operator is None else (node.operator, *node.operator.chained):
        if isinstance(one, ops.Map):
            records = shapes_given(getattr(one.function, "map", one.function), (records,))
        elif not isinstance(one, _PASSING):
            records = ()
    return records


def _declared(node: StreamNode) -> Shapes:
    """By the declared type; PyFlink puts the key or the time before a record, where there is one."""
    type: Any = node.output_type
    last = None if node.operator is None else (node.operator, *node.operator.chained)[-1]
    if isinstance(last, ops.TimestampsAndWatermarks):
        return ()  # with or without a time: what is before it tells
    if isinstance(last, ops.KeyByMap | ops.ExtractTimestamp):
        type = type.field_types[1] if isinstance(type, RowTypeInfo) and len(type.field_types) == 2 else None
    return shapes_of(type) if isinstance(type, TypeInformation) else ()


def _all(given: Iterable[Shapes]) -> Shapes:
    found = list(given)
    return () if () in found else any_of(found)

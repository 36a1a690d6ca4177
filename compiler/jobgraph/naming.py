"""Names and descriptions of vertices. Flink: ``createChainedName`` and ``JobVertexBuildContext``'s descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compat.compiler.jobgraph.chaining import Chain
from compat.compiler.streamgraph.graph import StreamGraph

MAX_DESCRIPTION = 4_000_000
"""The maximum characters of a description. A tree's indentation grows with the square of a chain's length; real Flink
runs out of stack before this."""


def chained_name(chain: Chain, graph: StreamGraph) -> str:
    """``head -> next`` or ``head -> (one, other)``, with the sources inside the head in brackets."""
    return _in_a_row(chain, lambda node: graph.nodes[node].name, graph, ", ")


def description(chain: Chain, graph: StreamGraph, *, cascading: bool) -> str:
    """The description of a vertex: a tree with a line for each operator, or, ``cascading``, their chained descriptions."""
    if cascading:
        return _in_a_row(chain, lambda node: graph.nodes[node].description, graph, " , ")
    return _tree(chain, graph)


def _with_sources(text: str, chain: Chain, text_of: Callable[[int], str]) -> str:
    if not chain.sources:
        return text
    return f"{text} [{', '.join(text_of(edge.source) for edge in chain.sources)}]"


def _in_a_row(chain: Chain, text_of: Callable[[int], str], graph: StreamGraph, comma: str) -> str:
    parts: list[str] = []
    pending: list[int | str] = [chain.head]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        text = text_of(item)
        parts.append(_with_sources(text, chain, text_of) if item == chain.head else text)
        targets = [edge.target for edge in chain.outputs[item]]
        if len(targets) == 1:
            pending += [targets[0], " -> "]
        elif targets:
            pending += [")", *_separated(targets, comma), " -> ("]
    return "".join(parts)


def _separated(targets: Sequence[int], comma: str) -> list[int | str]:
    """The targets, last first, with ``comma`` between them."""
    row: list[int | str] = []
    for target in reversed(targets):
        row += [target, comma]
    return row[:-1]


def _tree(chain: Chain, graph: StreamGraph) -> str:
    lines: list[str] = []
    length = 0
    pending: list[tuple[int, str, str]] = [(chain.head, "", "")]
    while pending:
        node, own, below = pending.pop()
        text = graph.nodes[node].description
        if node == chain.head:
            text = _with_sources(text, chain, lambda source: graph.nodes[source].description)
        lines.append(f"{own}{text}\n")
        length += len(lines[-1])
        if length > MAX_DESCRIPTION:
            lines.append(f"… {len(chain.nodes) - len(lines):,} more operators\n")
            break
        targets = [edge.target for edge in chain.outputs[node]]
        for place, target in reversed(list(enumerate(targets, start=1))):
            last = place == len(targets)
            pending.append((target, below + ("+- " if last else ":- "), below + ("   " if last else ":  ")))
    return "".join(lines)

"""Operator ids. Flink: ``StreamGraphHasherV2`` (generated ids) and ``StreamGraphUserHashHasher`` (set by the user)."""

from __future__ import annotations

from collections import deque

import mmh3

from compat.compiler.errors import ErrorCode, illegal_argument, illegal_state
from compat.compiler.streamgraph.chainable import is_chainable
from compat.compiler.streamgraph.graph import StreamGraph, StreamNode


def uid_hash(uid: str) -> str:
    """The operator id of a uid: 32 hex digits of MurmurHash3 over its UTF-8 bytes."""
    return mmh3.mmh3_x64_128_digest(uid.encode("utf-8", "surrogatepass")).hex()


def generate_hashes(graph: StreamGraph) -> dict[int, str]:
    """The operator id of every node that is reachable from a source, as 32 hex digits by node id.

    Nodes come breadth first, from the sources in the order of their ids. A node with a uid is hashed at once. A node without
    one waits for all its inputs, and goes back into the queue when the next of them is done. Raises Flink's error for a uid
    whose hash was computed before.
    """
    hashes: dict[int, bytes] = {}
    used: set[bytes] = set()
    waiting = {id: {edge.source for edge in edges} for id, edges in graph.edges_in.items()}
    sources = sorted(graph.sources)
    queue = deque(sources)
    visited = set(sources)
    while queue:
        node = graph.nodes[queue.popleft()]
        if node.uid is None and any(source not in hashes for source in waiting[node.id]):
            # An input that is not hashed yet will bring the node back.
            visited.discard(node.id)
            continue
        hashed = _from_uid(node, used) if node.uid is not None else _from_position(node, graph, hashes)
        hashes[node.id] = hashed
        used.add(hashed)
        for edge in graph.edges_out[node.id]:
            if edge.target not in visited:
                visited.add(edge.target)
                queue.append(edge.target)
    return {id: hashed.hex() for id, hashed in hashes.items()}


def user_hashes(graph: StreamGraph) -> dict[int, str]:
    """The hash that the program set with ``setUidHash``, by node id, for the nodes that have one."""
    return {node.id: node.user_hash.lower() for node in graph.nodes.values() if node.user_hash is not None}


def _from_uid(node: StreamNode, used: set[bytes]) -> bytes:
    assert node.uid is not None
    hashed = mmh3.mmh3_x64_128_digest(node.uid.encode("utf-8", "surrogatepass"))
    if hashed in used:
        raise illegal_argument(
            f'Hash collision on user-specified ID "{node.uid}". Most likely cause is a non-unique ID. '
            "Please check that all IDs specified via `uid(String)` are unique.",
            code=ErrorCode.DUPLICATE_UID,
            value=node.uid,
            stage="hashes",
            operator=node.name,
            location=node.location,
        )
    return hashed


def _from_position(node: StreamNode, graph: StreamGraph, hashes: dict[int, bytes]) -> bytes:
    """The id of a node without a uid: of its number, how many outputs it chains with, and its inputs' ids."""
    chained = sum(is_chainable(edge, graph) for edge in graph.edges_out[node.id])
    number = len(hashes).to_bytes(4, "little")
    hashed = bytearray(mmh3.mmh3_x64_128_digest(number * (1 + chained)))
    for edge in graph.edges_in[node.id]:
        other = hashes.get(edge.source)
        if other is None:
            raise illegal_state(
                f"Missing hash for input node {edge.source}. Cannot generate hash for {node.name}.",
                stage="hashes",
                operator=node.name,
                location=node.location,
            )
        for place, byte in enumerate(other):
            hashed[place] = (hashed[place] * 37 & 0xFF) ^ byte
    return bytes(hashed)

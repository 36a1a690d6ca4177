"""When two operators run in one thread, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.streamgraph.chainable import is_chainable
from tests.compiler.graphs import BATCH, op, stream_graph


def chained(*ops: dict[str, Any], **settings: Any) -> dict[str, bool]:
    """For each edge, by the names of its ends, whether its target joins the chain of its source."""
    graph = stream_graph(*ops, **settings)
    return {
        f"{graph.nodes[edge.source].name} > {graph.nodes[edge.target].name}": is_chainable(edge, graph)
        for edges in graph.edges_out.values()
        for edge in edges
    }


A = op("a", "source", name="a")


@pytest.mark.parametrize(
    ("ops", "together"),
    [
        ([op("b", "map", "a", name="b")], True),
        ([op("b", "map", "a", name="b", parallelism=3)], False),
        ([op("b", "map", "a", name="b", slotSharingGroup="other")], False),
        ([op("b", "map", "a", name="b", chaining="head")], False),
        ([op("b", "map", "a", name="b", chaining="never")], False),
        ([op("b", "map", "a", name="b", maxParallelism=7)], True),
        ([op("x", "forward", "a"), op("b", "map", "x", name="b")], True),
        ([op("x", "rebalance", "a"), op("b", "map", "x", name="b")], False),
        ([op("x", "rescale", "a"), op("b", "map", "x", name="b")], False),
        ([op("x", "broadcast", "a"), op("b", "map", "x", name="b")], False),
        ([op("x", "global", "a"), op("b", "map", "x", name="b")], False),
        ([op("x", "key_by", "a"), op("b", "keyed_process", "x", name="b")], False),
    ],
)
def test_an_operator_joins_the_chain_before_it(ops: list[dict[str, Any]], together: bool) -> None:
    assert chained(A, *ops, op("end", "print", "b"))["Source: a > b"] is together


def test_an_operator_with_two_inputs_heads_its_chain() -> None:
    found = chained(
        A, op("c", "source", name="c"), op("b", "connect_map", "a", "c", name="b"), op("end", "print", "b", name="e")
    )

    assert found == {"Source: a > b": False, "Source: c > b": False, "b > Sink: e": True}


def test_what_a_union_brings_is_not_chained() -> None:
    found = chained(
        A,
        op("c", "source", name="c"),
        op("u", "union", "a", "c"),
        op("b", "map", "u", name="b"),
        op("end", "print", "b", name="e"),
    )

    assert found == {"Source: a > b": False, "Source: c > b": False, "b > Sink: e": True}


@pytest.mark.parametrize(
    ("options", "together"),
    [
        ({"pipeline.operator-chaining.enabled": "false"}, False),
        ({"pipeline.operator-chaining.chain-operators-with-different-max-parallelism": "false"}, False),
        ({}, True),
    ],
)
def test_options_of_the_job_decide(options: dict[str, str], together: bool) -> None:
    ops = [A, op("b", "map", "a", name="b", maxParallelism=7), op("end", "print", "b")]

    assert chained(*ops, options=options)["Source: a > b"] is together


@pytest.mark.parametrize(("source", "together"), [("legacy_source", False), ("source", True)])
def test_an_operator_that_yields_is_not_chained_to_a_source_function(source: str, together: bool) -> None:
    found = chained(
        op("a", source, name="a", parallelism=2, parallelSource=True)
        if source == "legacy_source"
        else op("a", source, name="a"),
        op("m", "map", "a", name="m"),
        op("b", "async_wait", "m", name="b"),
        op("end", "print", "b"),
    )

    assert found["Source: a > m"]
    assert found["m > b"] is together


def test_a_keyed_operator_heads_its_chain_in_batch_mode() -> None:
    """Its input is sorted by key first."""
    graph = stream_graph(
        A,
        op("k", "key_by", "a"),
        op("b", "keyed_process", "k", name="b"),
        op("e", "print", "b"),
        options=BATCH,
    )
    (keyed,) = [node for node in graph.nodes.values() if node.name == "b"]

    assert keyed.chaining is not None
    assert keyed.chaining.value == "HEAD"


def test_a_node_knows_the_types_of_what_it_reads_and_writes() -> None:
    graph = stream_graph(
        op("s", "source", name="s"),
        op("a", "map", "s", name="a", outType="Long"),
        op("c", "map", "s", name="c", outType="String"),
        op("b", "connect_map", "a", "c", name="b"),
        op("k", "key_by", "b", keyType="String"),
        op("d", "keyed_process", "k", name="d"),
        op("e", "print", "d", name="e"),
    )
    nodes = {node.name: node for node in graph.nodes.values()}

    assert {name: (node.input_types, node.output_type) for name, node in nodes.items() if name in "abcd"} == {
        "a": ((nodes["Source: s"].output_type,), "Long"),
        "c": ((nodes["Source: s"].output_type,), "String"),
        "b": (("Long", "String"), "Long"),
        "d": (("Long",), "Long"),
    }
    assert (nodes["d"].key_type, nodes["d"].state_keys) == ("String", 1)

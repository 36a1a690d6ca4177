"""Chains, their StreamConfigs, what they exchange, and which groups they are in."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.errors import FlinkError
from compat.compiler.jobgraph.graph import DistributionPattern, JobGraph, JobVertex, ResultPartitionType, StreamConfig
from tests.compiler.graphs import BATCH, job_graph, op

WORDS = [
    op("s", "source", name="s", outType="String"),
    op("m", "map", "s", name="m", outType="String"),
    op("k", "key_by", "m", keyType="String"),
    op("p", "keyed_process", "k", name="p", outType="Long"),
    op("e", "print", "p", name="e"),
]


def vertex(graph: JobGraph, name: str) -> JobVertex:
    return next(each for each in graph.vertices if each.name == name)


def config(graph: JobGraph, name: str) -> StreamConfig:
    return next(each for one in graph.vertices for each in one.chain if each.name == name)


def test_a_chain_has_a_config_for_each_operator() -> None:
    graph = job_graph(*WORDS)
    (first, second) = (vertex(graph, id) for id in ("Source: s -> m", "p -> Sink: e"))

    assert [(each.name, each.index, each.start, each.end) for each in first.chain] == [
        ("Source: s", 1, True, False),
        ("m", 2, False, True),
    ]
    assert [(each.name, each.index, each.start, each.end) for each in second.chain] == [
        ("p", 1, True, False),
        ("Sink: e", 2, False, True),
    ]
    assert [pair.id for pair in reversed(first.operators)] == [each.operator_id for each in first.chain]


def test_a_config_tells_where_records_go() -> None:
    graph = job_graph(*WORDS)
    source, mapped, keyed = (config(graph, name) for name in ("Source: s", "m", "p"))

    assert [edge.target for edge in source.chained_outputs] == [mapped.node]
    assert source.non_chained_outputs == ()
    assert mapped.chained_outputs == ()
    (output,) = mapped.non_chained_outputs
    assert (output.source, output.pattern, output.type) == (
        mapped.node,
        DistributionPattern.ALL_TO_ALL,
        ResultPartitionType.PIPELINED_BOUNDED,
    )
    (exchange,) = vertex(graph, "p -> Sink: e").inputs
    assert (exchange.stream_edge.source, exchange.stream_edge.target) == (mapped.node, keyed.node)


def test_a_config_tells_the_types_that_an_operator_reads_and_writes() -> None:
    graph = job_graph(*WORDS)
    source, mapped, keyed = (config(graph, name) for name in ("Source: s", "m", "p"))

    assert source.input_types == ()
    assert mapped.input_types == (source.output_type,)
    assert keyed.input_types == (mapped.output_type,)
    assert (mapped.state_partitioners, mapped.key_type) == (0, None)
    assert keyed.state_partitioners == 1
    assert keyed.operator is not None
    assert keyed.operator.kind == "keyed_process"


def test_readers_of_a_blocking_data_set_share_it() -> None:
    graph = job_graph(
        op("s", "source", name="s"),
        op("r", "rebalance", "s"),
        op("a", "map", "r", name="a"),
        op("b", "map", "r", name="b"),
        options=BATCH,
    )

    assert len(config(graph, "Source: s").non_chained_outputs) == 1
    assert len({vertex(graph, name).inputs[0].data_set for name in ("a", "b")}) == 1


def test_readers_of_a_pipelined_stream_have_a_data_set_each() -> None:
    graph = job_graph(
        op("s", "source", name="s"),
        op("r", "rebalance", "s"),
        op("a", "map", "r", name="a"),
        op("b", "map", "r", name="b"),
    )

    assert len(config(graph, "Source: s").non_chained_outputs) == 2


@pytest.mark.parametrize(
    ("way", "pattern"),
    [
        ("rebalance", "ALL_TO_ALL"),
        ("rescale", "POINTWISE"),
        ("shuffle", "ALL_TO_ALL"),
        ("broadcast", "ALL_TO_ALL"),
        ("global", "ALL_TO_ALL"),
        ("key_by", "ALL_TO_ALL"),
    ],
)
def test_a_partitioning_decides_who_feeds_whom(way: str, pattern: str) -> None:
    graph = job_graph(op("s", "source", name="s"), op("x", way, "s"), op("m", "process", "x", name="m"))

    assert vertex(graph, "m").inputs[0].pattern.value == pattern


def groups(*ops: dict[str, Any]) -> dict[str, str]:
    return {each.name: each.slot_sharing_group_name for each in job_graph(*ops).vertices}


def test_a_slot_sharing_group_is_inherited_from_all_inputs_or_none() -> None:
    found = groups(
        op("a", "source", name="a", slotSharingGroup="x"),
        op("b", "source", name="b", slotSharingGroup="x"),
        op("c", "source", name="c", slotSharingGroup="y"),
        op("same", "connect_map", "a", "b", name="same"),
        op("mixed", "connect_map", "a", "c", name="mixed"),
    )

    assert (found["same"], found["mixed"]) == ("x", "default")


def test_co_located_operators_are_in_one_slot_sharing_group() -> None:
    ops = [
        op("s", "source", name="s", coLocationGroup="together"),
        op("r", "rebalance", "s"),
        op("m", "map", "r", name="m", coLocationGroup="together", slotSharingGroup="other"),
    ]
    with pytest.raises(FlinkError, match="Cannot co-locate operators from different slot sharing groups"):
        job_graph(*ops)

    ops[2].pop("slotSharingGroup")
    assert {each.co_location_group for each in job_graph(*ops).vertices} == {0}

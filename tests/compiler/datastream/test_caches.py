"""Cached streams in the graph, as PyFlink 2.3 printed them."""

from __future__ import annotations

import pytest

from compat.compiler.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from compat.compiler.datastream.program import Program, running
from compat.compiler.driver import compile_job


class _Keep:
    """Takes the job and compiles it."""

    def submit(self, job):
        self.compilation = compile_job(job)


@pytest.mark.parametrize(
    ("mode", "nodes"),
    [
        (
            RuntimeExecutionMode.STREAMING,
            {1: "Source: Collection Source", 2: "Map", 6: "Sink: Print to Std. Out", 7: "Map, Map"},
        ),
        (
            RuntimeExecutionMode.BATCH,
            {1: "Source: Collection Source", 2: "Map", 3: "CacheWrite", 6: "Sink: Print to Std. Out", 7: "Map, Map"},
        ),
    ],
)
def test_a_cache_is_written_in_batch_mode_only(mode, nodes):
    keep = _Keep()
    with running(Program(keep)):
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(mode)
        env.from_collection([1, 2]).map(lambda x: x).cache().map(lambda x: x).print()
        env.execute_async()
    assert keep.compilation.error is None
    graph = keep.compilation.stream_graph
    assert {node.id: node.name for node in graph.nodes.values()} == nodes
    assert {edge.source for edge in graph.edges_in[7]} == {2}

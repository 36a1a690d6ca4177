"""Cached streams in the graph, as PyFlink 2.3 printed them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat.compiler.datastream import OutputTag, ProcessFunction, RuntimeExecutionMode, StreamExecutionEnvironment
from compat.compiler.datastream.common import Configuration, Types
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


RECORDED = json.loads(
    (Path(__file__).parents[2] / "golden" / "pyflink-2.3" / "caches.json").read_text(encoding="utf-8")
)
INT = Types.INT()


class _Both(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
        yield OutputTag("side", INT), value


def _identity(value):
    return value


def _program(env, kind):
    stream = env.from_collection([1, 2, 3], INT).map(_identity, INT)
    match kind:
        case "other_parallelism":
            stream.set_parallelism(1)
        case "keyed":
            stream = stream.key_by(_identity, INT).map(_identity, INT)
        case "side":
            stream = stream.process(_Both(), INT).get_side_output(OutputTag("side", INT))
    cached = stream.cache()
    cached.map(_identity, INT).print()
    if kind == "two":
        cached.key_by(_identity, INT).map(_identity, INT).print()


@pytest.mark.parametrize("case", RECORDED)
def test_the_graphs_are_those_that_pyflink_makes(case):
    kind, mode, scheduler = case.split("/")
    configuration = Configuration()
    if scheduler == "fixed":
        configuration.set_string("jobmanager.scheduler", "Default")
    keep = _Keep()
    with running(Program(keep)):
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_runtime_mode(RuntimeExecutionMode[mode])
        env.set_parallelism(2)
        _program(env, kind)
        env.execute_async()
    assert keep.compilation.error is None
    graph = keep.compilation.job_graph
    names = {vertex.id: vertex.name for vertex in graph.vertices}
    made = {
        vertex.id: {
            "name": vertex.name,
            "parallelism": vertex.parallelism,
            "ops": sorted(operator.id for operator in vertex.operators),
            "inputs": sorted(
                [names[edge.source], edge.type.value, edge.pattern.value, edge.ship.name] for edge in vertex.inputs
            ),
        }
        for vertex in graph.vertices
    }
    assert made == {
        vertex["id"]: {
            "name": vertex["name"],
            "parallelism": vertex["parallelism"],
            "ops": sorted(vertex["ops"]),
            "inputs": sorted(vertex["inputs"]),
        }
        for vertex in RECORDED[case]
    }

"""Which subtasks share a slot, and how many slots a job needs."""

from __future__ import annotations

from compat.compiler.executiongraph.graph import ExecutionGraph
from tests.compiler.graphs import BATCH, execution_graph, op


def slots(graph: ExecutionGraph) -> dict[str, list[int]]:
    """The slots of each vertex's subtasks, by its name."""
    return {vertex.job_vertex.name: list(vertex.slots) for vertex in graph.vertices}


def test_subtasks_of_one_number_share_a_slot_and_the_widest_vertex_gives_the_count() -> None:
    graph = execution_graph(
        op("s", "source", name="s", parallelism=1),
        op("m", "map", "s", name="m", parallelism=3),
        op("e", "sink", "m", name="e", parallelism=2),
    )

    assert slots(graph) == {"Source: s": [0], "m": [0, 1, 2], "e: Writer": [0, 1]}
    assert (graph.slots, graph.total_slots, graph.total_subtasks) == ({"default": 3}, 3, 6)


def test_a_slot_sharing_group_has_slots_of_its_own() -> None:
    graph = execution_graph(
        op("s", "source", name="s"),
        op("m", "map", "s", name="m", slotSharingGroup="heavy", parallelism=3),
        op("e", "sink", "m", name="e", slotSharingGroup="default"),
    )

    assert slots(graph) == {"Source: s": [0, 1], "m": [2, 3, 4], "e: Writer": [0, 1]}
    assert graph.slots == {"default": 2, "heavy": 3}


def test_the_regions_of_a_batch_job_are_given_the_same_slots_again() -> None:
    graph = execution_graph(
        op("s", "source", name="s"), op("r", "rebalance", "s"), op("m", "map", "r", name="m"), options=BATCH
    )

    assert slots(graph) == {"Source: s": [0, 1], "m": [0, 1]}
    assert graph.slots == {"default #0": 2, "default #1": 2}
    assert {vertex.slot_sharing_group for vertex in graph.vertices} == {"default #0", "default #1"}


def test_the_head_and_the_tail_of_an_iteration_are_co_located() -> None:
    graph = execution_graph(
        op("s", "source", name="s"),
        op("i", "iterate", "s"),
        op("m", "map", "i", name="m"),
        op("c", "close_with", "i", "m"),
        op("e", "sink", "m", name="e"),
        flink="1.20",
    )
    ends = [vertex for vertex in graph.vertices if vertex.job_vertex.co_location_group is not None]

    assert len(ends) == 2
    assert ends[0].slots == ends[1].slots == range(2)


def test_subtasks_have_names_and_slots() -> None:
    (vertex,) = execution_graph(op("s", "source", name="s"), op("p", "print", "s", name="p")).vertices

    assert [(subtask.task_name, subtask.slot) for subtask in vertex.subtasks()] == [
        ("Source: s -> Sink: p (1/2)", 0),
        ("Source: s -> Sink: p (2/2)", 1),
    ]


def test_a_wide_job_is_not_expanded() -> None:
    """The slots and connections of many vertices of the largest parallelism are ranges, not lists."""
    ops = [op("n0", "source")]
    for number in range(1, 200):
        ops += [op(f"r{number}", "rescale", f"n{number - 1}"), op(f"n{number}", "map", f"r{number}")]
    graph = execution_graph(*ops, parallelism=32768)

    assert graph.total_subtasks == 200 * 32768
    assert all(vertex.slots == range(32768) for vertex in graph.vertices)

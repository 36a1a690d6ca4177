"""More subtasks than key groups, which Flink finds when it starts the job: as Flink 1.20.1 and 2.3.0 were seen to do."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.errors import ErrorCode, FlinkError
from tests.compiler.graphs import BATCH, execution_graph, op

MAP = {"id": "m", "kind": "map", "inputs": ["s"], "name": "m"}


def run(*, options: dict[str, str] | None = None, job: int = 4, **of_map: Any) -> list[tuple[str, int, int]]:
    """Each vertex by its name, with its parallelism and max parallelism, of a source and a map of these settings."""
    graph = execution_graph(op("s", "source", name="s"), MAP | of_map, parallelism=job, options=options)
    return [(vertex.job_vertex.name, vertex.parallelism, vertex.max_parallelism) for vertex in graph.vertices]


MAX_OF_THE_JOB = {"pipeline.max-parallelism": "2"}


@pytest.mark.parametrize(
    ("settings", "vertex"),
    [
        ({"options": MAX_OF_THE_JOB}, "Source: s -> m"),
        ({"job": 1, "parallelism": 4, "maxParallelism": 2}, "m"),
        ({"job": 1, "parallelism": 4, "options": MAX_OF_THE_JOB}, "m"),
        ({"job": 1, "parallelism": 4, "maxParallelism": 2, "options": {"jobmanager.scheduler": "adaptive"}}, "m"),
        ({"job": 1, "parallelism": 4, "maxParallelism": 2, "options": BATCH}, "m"),
        ({"job": 1, "parallelism": 4, "maxParallelism": 2, "options": BATCH | {"scheduler-mode": "reactive"}}, "m"),
    ],
)
def test_more_subtasks_than_key_groups_are_refused(settings: dict[str, Any], vertex: str) -> None:
    with pytest.raises(FlinkError) as caught:
        run(**settings)
    error = caught.value
    assert (error.code, error.value, error.stage, error.operator) == (
        ErrorCode.PARALLELISM_ABOVE_MAX,
        "2",
        "executionGraph",
        vertex,
    )
    assert error.message == (
        f"Vertex {vertex}'s parallelism (4) is higher than the max parallelism (2). "
        "Please lower the parallelism or increase the max parallelism."
    )


@pytest.mark.parametrize(
    ("settings", "vertices"),
    [
        ({"job": 2, "options": MAX_OF_THE_JOB}, [("Source: s -> m", 2, 2)]),
        ({"maxParallelism": 2}, [("Source: s -> m", 4, 128)]),  # behind the head of its chain
        (
            {"job": 1, "parallelism": 4, "maxParallelism": 2, "options": {"scheduler-mode": "reactive"}},
            [("Source: s", 1, 128), ("m", 4, 2)],
        ),
        ({"options": MAX_OF_THE_JOB | BATCH}, [("Source: s -> m", 4, 2)]),  # left to the scheduler
        ({"job": 32768}, [("Source: s -> m", 32768, 32768)]),
    ],
)
def test_others_run(settings: dict[str, Any], vertices: list[tuple[str, int, int]]) -> None:
    assert run(**settings) == vertices


def test_a_derived_max_parallelism_has_a_bound() -> None:
    with pytest.raises(FlinkError, match="Operator parallelism not within bounds: 32769") as caught:
        run(job=1, parallelism=32769)
    assert caught.value.stage == "executionGraph"

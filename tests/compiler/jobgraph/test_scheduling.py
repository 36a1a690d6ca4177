"""Which scheduler runs a job."""

from __future__ import annotations

import pytest

from compat.compiler.jobgraph.scheduling import SchedulerType
from tests.compiler.graphs import BATCH, job_graph, op

CHOSEN = "jobmanager.scheduler"


@pytest.mark.parametrize(
    ("options", "streaming", "batch"),
    [
        ({}, "Default", "AdaptiveBatch"),
        ({CHOSEN: "default"}, "Default", "Default"),
        ({CHOSEN: "Adaptive"}, "Adaptive", "AdaptiveBatch"),
        ({CHOSEN: "adaptive-batch"}, "AdaptiveBatch", "AdaptiveBatch"),
        ({"scheduler-mode": "REACTIVE"}, "Adaptive", "AdaptiveBatch"),
        ({"scheduler-mode": "REACTIVE", CHOSEN: "Default"}, "Adaptive", "AdaptiveBatch"),
    ],
)
def test_the_scheduler_follows_from_the_options_and_the_type_of_the_job(
    options: dict[str, str], streaming: str, batch: str
) -> None:
    ops = [op("s", "source"), op("e", "print", "s")]

    found, of_batch = job_graph(*ops, options=options), job_graph(*ops, options={**options, **BATCH})
    assert (found.job_type, found.scheduler) == ("STREAMING", SchedulerType(streaming))
    assert (of_batch.job_type, of_batch.scheduler) == ("BATCH", SchedulerType(batch))

"""Who gets slots, and who waits for what."""

from __future__ import annotations

import pytest

from compat.cluster.records import ClusterJob
from compat.cluster.resources import NotEnoughSlots, free_slots, grants, refuse_too_wide, waiting_for
from compat.compiler.executiongraph.states import JobStatus

CREATED, RUNNING, FINISHED = JobStatus.CREATED, JobStatus.RUNNING, JobStatus.FINISHED


def job(number: int, slots: int, status: JobStatus = CREATED, pool: int | None = None) -> ClusterJob:
    return ClusterJob(
        id=f"{number:032x}", number=number, name="job", program="job.py", slots=slots, status=status, attempt=0, pool=pool,
        by="me", submitted_at=0.0, started_at=None, ended_at=None, restored_from=None, stopped_with=None, message="",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("jobs", "total", "expected"),
    [
        pytest.param([], 4, [], id="nobody"),
        pytest.param([job(1, 2)], 4, [(1, 0)], id="there is room"),
        pytest.param([job(1, 2), job(2, 2)], 4, [(1, 0), (2, 1)], id="for both"),
        pytest.param([job(1, 3), job(2, 2)], 4, [(1, 0)], id="the second waits"),
        pytest.param([job(1, 5), job(2, 1)], 4, [], id="nobody overtakes"),
        pytest.param([job(2, 1), job(1, 4)], 4, [(1, 0)], id="in the order of submission"),
        pytest.param([job(1, 2, RUNNING, 0), job(2, 2)], 4, [(2, 1)], id="beside one that runs"),
        pytest.param([job(1, 2, RUNNING, 0), job(2, 3)], 4, [], id="one that runs has its slots"),
        pytest.param([job(1, 4, FINISHED), job(2, 4)], 4, [(2, 0)], id="one that ended has none"),
        pytest.param([job(1, 1, RUNNING, 1), job(2, 1)], 4, [(2, 0)], id="a pool is used again"),
        pytest.param([job(1, 1, CREATED, 0), job(2, 1)], 4, [(2, 1)], id="one that is being started has its slots"),
    ],
)
def test_slots_go_to_who_waits_longest(jobs: list[ClusterJob], total: int, expected: list[tuple[int, int]]) -> None:
    assert [(grant.job.number, grant.pool) for grant in grants(jobs, total)] == expected


def test_a_waiting_job_says_for_what() -> None:
    jobs = [job(1, 2, RUNNING, 0), job(2, 4), job(3, 1)]
    assert waiting_for(jobs[0], jobs, 4) == ""
    assert waiting_for(jobs[1], jobs, 4) == "waiting for 4 slots, 2 free"
    assert waiting_for(jobs[2], jobs, 4) == "waiting for 1 slots, 2 free, behind 1 job"
    assert free_slots(jobs, 4) == 2


def test_a_job_that_could_never_run_is_refused() -> None:
    refuse_too_wide(4, 4)
    with pytest.raises(NotEnoughSlots, match=r"needs 5 slots, and the cluster has 4.*-p.*--slots 5"):
        refuse_too_wide(5, 4)

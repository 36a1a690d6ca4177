"""Who gets slots, and who waits for what."""

from __future__ import annotations

from math import inf

import pytest

from compat.cluster.records import ClusterJob, Room
from compat.cluster.resources import Capacity, NotEnoughSlots, free_room, grants, waiting_for
from compat.compiler import control_group
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.resources import GroupNeeds, Machine, Machines
from compat.compiler.transformations.resources import ResourceSpec

CREATED, RUNNING, FINISHED = JobStatus.CREATED, JobStatus.RUNNING, JobStatus.FINISHED


def job(number: int, slots: int, status: JobStatus = CREATED, pool: int | None = None, **more: float) -> ClusterJob:
    return ClusterJob(
        id=f"{number:032x}", number=number, name="job", program="job.py", slots=slots, status=status, attempt=0, pool=pool,
        by="me", submitted_at=0.0, started_at=None, ended_at=None, restored_from=None, stopped_with=None, message="", **more,
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
    assert [(grant.job.number, grant.pool) for grant in grants(jobs, Room(slots=total))] == expected


def test_a_waiting_job_says_for_what() -> None:
    jobs = [job(1, 2, RUNNING, 0), job(2, 4), job(3, 1)]
    assert waiting_for(jobs[0], jobs, Room(slots=4)) == ""
    assert waiting_for(jobs[1], jobs, Room(slots=4)) == "waiting for 4 slots, 2 free"
    assert waiting_for(jobs[2], jobs, Room(slots=4)) == "waiting for 1 slots, 2 free, behind 1 job"
    assert free_room(jobs, Room(slots=4)) == Room(slots=2)


def test_a_job_that_could_never_run_is_refused() -> None:
    capacity = Capacity(slots=4)
    capacity.refuse(4)
    with pytest.raises(NotEnoughSlots, match=r"needs 5 slots, and the cluster has 4.*-p.*--slots 5"):
        capacity.refuse(5)


GIBI = 1 << 30
BIG = GroupNeeds(name="big", slots=2, spec=ResourceSpec(cpu_cores=2.5, task_heap_memory=GIBI), location="job.py:7")
MACHINES = Machines(name="This machine", each=(Machine(4, 8 * GIBI),), advice="buy another one")


def test_a_job_whose_group_is_too_large_for_the_machines_is_refused() -> None:
    told = (
        r"The slot sharing group 'big' \(job\.py:7\) asks for 2\.5 cores and 1\.0 GB of memory in each of its 2 slots, 5 cores "
        r"and 2\.0 GB of memory together\. This machine has 4 cores and 8\.0 GB of memory: ask for less .* buy another one"
    )
    with pytest.raises(NotEnoughSlots, match=told):
        Capacity(slots=4, machines=MACHINES).refuse(2, [BIG])
    Capacity(slots=4).refuse(2, [BIG])  # nobody knows


def test_resources_are_counted_over_all_jobs_as_slots_are() -> None:
    total = Capacity(slots=8, machines=MACHINES).room
    jobs = [job(1, 2, RUNNING, 0, cores=3.0, memory=GIBI), job(2, 1, cores=1.5), job(3, 1)]
    assert grants(jobs, total) == []  # nobody overtakes
    assert waiting_for(jobs[1], jobs, total) == (
        "waiting for 1 slots with 1.5 cores and 0 MB of memory, 6 slots with 1 core and 7.0 GB of memory free"
    )
    assert [grant.job.number for grant in grants([jobs[0], jobs[2]], total)] == [3]
    assert [grant.job.number for grant in grants(jobs[1:], total)] == [2, 3]


def test_what_a_job_does_not_ask_for_may_be_short() -> None:
    """A slot of unknown profile takes what there is."""
    assert Room(slots=2, cores=0.0, memory=-1).holds(Room(slots=2))
    assert Room(slots=2, cores=0.3 - 0.1 - 0.1, memory=0).holds(Room(slots=1, cores=0.1))
    assert not Room(slots=2, cores=1, memory=5).holds(Room(slots=1, cores=1, memory=6))


@pytest.mark.parametrize(
    ("master", "options", "expected"),
    [
        ("spark://host:7077", {}, Room(slots=3, cores=inf, memory=inf)),
        ("yarn", {}, Room(slots=3, cores=2, memory=2 * GIBI)),
        (
            "k8s://https://host",
            {"spark.executor.instances": "3", "spark.executor.cores": "4", "spark.executor.memory": "2g",
             "spark.executor.memoryOverhead": "1024"},
            Room(slots=3, cores=12, memory=9 * GIBI),
        ),
        ("yarn", {"spark.dynamicAllocation.enabled": "true"}, Room(slots=3, cores=inf, memory=inf)),
    ],
)  # fmt: skip
def test_what_a_cluster_has(master: str, options: dict[str, str], expected: Room) -> None:
    assert Capacity.of(3, master, options).room == expected


def test_a_cluster_on_this_machine_has_what_the_control_group_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_group, "cores", lambda: 1.5)
    monkeypatch.setattr(control_group, "memory", lambda: GIBI)
    assert Capacity.of(3, "local[3]", {}).room == Room(slots=3, cores=1.5, memory=GIBI)

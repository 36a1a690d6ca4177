"""Who drives a job: a lock where the file system has locks, else a lease that ends without a sign of life."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from obstore.store import MemoryStore

from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.lease import LeaseLost, StoreLease, is_held, take
from compat.state.delta.errors import StoreError
from compat.state.stores.places import Place, place_of


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A store in memory that is like one elsewhere, and leases that are soon over."""
    memory = MemoryStore()
    from compat.state.stores.objects import ObjectFiles

    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.4)
    yield Place(ObjectFiles("s3://memory", memory), "s3://memory/store")
    for thread in threading.enumerate():
        assert not thread.name.startswith("lease-"), "a lease was not given back"


@pytest.fixture
def job(store: Place) -> Place:
    return store / "jobs" / "1a2b"


def pause(held: lease.Lease) -> None:
    """Nothing more is heard of the driver, although its process lives."""
    assert isinstance(held, StoreLease)
    held._closed.set()
    held._thread.join()


@pytest.fixture(params=["here", "elsewhere"])
def either(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "here":
        return place_of(tmp_path / "jobs" / "1a2b")
    found: Place = request.getfixturevalue("job")
    return found


def test_one_at_a_time(either: Place) -> None:
    assert not is_held(either)
    held = take(either, either)
    assert is_held(either)
    assert is_held(either, patient=True)
    with pytest.raises(StoreError, match="Job 1a2b is run by another process"):
        take(either, either)
    held.prove()
    held.close()
    assert not is_held(either)
    again = take(either, either)
    assert again.token == (0 if either.local else held.token + 1)
    again.close()


def test_who_is_refused_leaves_the_lease_as_it_was(tmp_path: Path) -> None:
    place = place_of(tmp_path / "job")
    held = take(place, place)
    before = (tmp_path / "job" / "driver").read_bytes()
    with pytest.raises(StoreError, match="is run by another process"):
        take(place, place)
    assert (tmp_path / "job" / "driver").read_bytes() == before
    assert lease.driver(place) == os.getpid()
    held.close()


def test_a_dispatcher_takes_the_job_from_who_has_it(either: Place) -> None:
    held = take(either, either, 1)
    assert (held.token, held.lost) == (1, False)
    chosen = take(either, either, 5)
    assert (chosen.token, chosen.lost) == (5, False)
    with pytest.raises(LeaseLost, match="Another process drives the job"):
        held.prove()
    assert held.lost
    held.close()
    chosen.prove()
    assert is_held(either)
    chosen.close()
    assert not is_held(either)


def test_it_is_renewed_while_its_driver_lives(job: Place) -> None:
    held = take(job, job)
    for _ in range(2):
        with pytest.raises(StoreError):
            take(job, job)
    held.prove()
    held.close()


def test_a_driver_that_slept_too_long_is_told(job: Place) -> None:
    slept = take(job, job)
    pause(slept)
    slept.prove()  # nobody wanted its place
    assert not slept.lost
    second = take(job, job)
    assert second.token == 2
    with pytest.raises(LeaseLost, match=r"Another process drives the job of s3://memory/store/jobs/1a2b by now"):
        slept.prove()
    assert slept.lost
    slept.close()
    second.prove()
    assert is_held(job)
    second.close()
    assert not is_held(job)


def test_its_renewals_find_out_too(job: Place) -> None:
    first = take(job, job)
    assert isinstance(first, StoreLease)
    lease._place(job / "driver", 2).write(lease._encoded(lease._Sign(term=2)))
    first._thread.join(5)
    assert first.lost
    first.close()


def test_a_process_that_is_seen_to_be_dead_is_not_waited_for(job: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 3600.0)
    dead = lease._Sign(term=7, machine=lease._machine(), pid=os.getpid(), started="another start of the same number")
    lease._place(job / "driver", 7).write(lease._encoded(dead))
    assert not is_held(job)
    held = take(job, job)
    assert held.token == 8
    assert [entry.name for entry in (job / "driver").list()] == [f"{8:020d}.json"]
    held.close()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"term": 1, "more": 2}'])
def test_what_cannot_be_read_is_waited_for(job: Place, damage: bytes) -> None:
    lease._place(job / "driver", 3).write(damage)
    held = take(job, job)
    assert held.token == 4
    held.close()


def test_of_several_that_wait_one_drives(job: Place) -> None:
    elsewhere = lease._Sign(term=1, machine="another machine", pid=1)
    lease._place(job / "driver", 1).write(lease._encoded(elsewhere))
    taken: list[lease.Lease] = []
    refused: list[StoreError] = []

    def want() -> None:
        try:
            taken.append(take(job, job))
        except StoreError as error:
            refused.append(error)

    threads = [threading.Thread(target=want) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1
    assert len(refused) == 4
    taken[0].prove()
    taken[0].close()


def test_a_job_that_is_removed_leaves_nothing(job: Place) -> None:
    held = take(job, job)
    job.remove()
    held.close(gone=True)
    assert not job.exists()


def test_a_lease_of_another_machine_is_shown_by_the_clock(job: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = lease._Sign(term=1, machine="another machine", pid=1)
    lease._place(job / "driver", 1).write(lease._encoded(elsewhere))
    assert is_held(job)
    assert not is_held(job, patient=True)
    monkeypatch.setattr(lease, "_LONG_OVER", 0.0)
    assert not is_held(job)
    assert replace(elsewhere, released=True).over

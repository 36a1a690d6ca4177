"""Who drives a job: a lease that ends without a sign of life, on this machine and elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from obstore.store import MemoryStore

from compat.compiler.spark.driver import lease
from compat.compiler.spark.driver.lease import Lease, LeaseLost, is_held, take
from compat.state.delta.errors import StoreError
from compat.state.stores.objects import ObjectFiles
from compat.state.stores.paths import Place, place_of


@pytest.fixture(autouse=True)
def soon_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leases that are soon over; each is given back."""
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.4)
    yield
    for thread in threading.enumerate():
        assert not thread.name.startswith("lease-"), "a lease was not given back"


@pytest.fixture(params=["here", "elsewhere"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The directory of a job on this machine, or in a store in memory that is like one elsewhere."""
    if request.param == "here":
        return place_of(tmp_path / "jobs" / "1a2b")
    return Place(ObjectFiles("s3://memory", MemoryStore()), "s3://memory/store/jobs/1a2b")


def sleep(held: Lease) -> None:
    """Nothing more is heard of the driver, although its process lives."""
    held.moves = lambda: False
    while held._writing.locked():
        time.sleep(0.01)


def test_one_at_a_time(job: Place) -> None:
    assert not is_held(job)
    held = take(job, job)
    assert is_held(job)
    assert is_held(job, patient=True)
    with pytest.raises(StoreError, match="Job 1a2b is run by another process"):
        take(job, job)
    held.prove()
    held.close()
    assert not is_held(job)
    again = take(job, job)
    assert again.token == held.token + 1
    again.close()


def test_who_is_refused_hears_who_has_it_and_leaves_the_lease_as_it_was(tmp_path: Path) -> None:
    place = place_of(tmp_path / "job")
    held = take(place, place)
    before = {file.name: file.read_bytes() for file in (tmp_path / "job" / "driver").iterdir()}
    with pytest.raises(StoreError, match=rf"is run by another process: process {os.getpid()} on \S+, since \d{{4}}-"):
        take(place, place)
    assert {file.name: file.read_bytes() for file in (tmp_path / "job" / "driver").iterdir()} == before
    assert lease.driver(place) == os.getpid()
    held.close()
    assert lease.driver(place) is None


def test_a_dispatcher_takes_the_job_from_who_has_it(job: Place) -> None:
    held = take(job, job, 1)
    assert (held.token, held.lost) == (1, False)
    chosen = take(job, job, 5)
    assert (chosen.token, chosen.lost) == (5, False)
    with pytest.raises(LeaseLost, match="Another process drives the job"):
        held.prove()
    assert held.lost
    held.close()
    chosen.prove()
    assert is_held(job)
    chosen.close()
    assert not is_held(job)


def test_it_is_renewed_while_its_driver_lives(job: Place) -> None:
    held = take(job, job)
    for _ in range(2):
        with pytest.raises(StoreError):
            take(job, job)
    held.prove()
    held.close()


def test_a_driver_that_slept_too_long_is_told(job: Place) -> None:
    slept = take(job, job)
    sleep(slept)
    slept.prove()  # nobody wanted its place
    assert not slept.lost
    assert is_held(job), "its process lives"
    second = take(job, job)
    assert second.token == 2
    with pytest.raises(LeaseLost, match=f"Another process drives the job of {job} by now"):
        slept.prove()
    assert slept.lost
    slept.close()
    second.prove()
    assert is_held(job)
    second.close()
    assert not is_held(job)


def test_a_driver_that_sleeps_is_watched_once(job: Place) -> None:
    slept = take(job, job)
    sleep(slept)
    assert not is_held(job, patient=True)
    began = time.monotonic()
    assert not is_held(job, patient=True)
    second = take(job, job)
    assert time.monotonic() - began < lease.LEASE_SECONDS / 2
    second.close()
    slept.close()


def test_a_driver_that_slept_and_woke_in_time_goes_on(job: Place) -> None:
    slept = take(job, job)
    sleep(slept)
    threading.Timer(lease.LEASE_SECONDS / 2, lambda: setattr(slept, "moves", lambda: True)).start()
    with pytest.raises(StoreError, match="is run by another process"):
        take(job, job)
    slept.prove()
    slept.close()


def test_a_process_that_is_stopped_gives_no_sign(tmp_path: Path) -> None:
    place = place_of(tmp_path / "job")
    program = (
        "import sys, time; from compat.compiler.spark.driver import lease; from compat.state.stores.paths import place_of; "
        "lease.LEASE_SECONDS = 0.4; held = lease.take(place_of(sys.argv[1]), place_of(sys.argv[1])); "
        "print('has it', flush=True); sys.stdin.readline(); print(held.lost, flush=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    assert is_held(place, patient=True)
    os.kill(process.pid, signal.SIGSTOP)
    held = take(place, place)
    assert held.token == 2
    os.kill(process.pid, signal.SIGCONT)
    time.sleep(2 * lease.LEASE_SECONDS)
    assert process.communicate("\n", timeout=30)[0] == "True\n"
    held.prove()
    held.close()


def test_a_process_that_ended_is_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 3600.0)
    place = place_of(tmp_path / "job")
    program = (
        "import os, sys; from compat.compiler.spark.driver import lease; from compat.state.stores.paths import place_of; "
        "lease.take(place_of(sys.argv[1]), place_of(sys.argv[1])); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", program, str(place)], check=True)
    assert not is_held(place)
    held = take(place, place)
    assert held.token == 2
    held.close()


def test_a_job_that_somebody_removed_is_lost(job: Place) -> None:
    held = take(job, job)
    job.remove()
    with pytest.raises(LeaseLost, match="or has removed it"):
        held.prove()
    held.close()
    assert not job.exists()


def test_terms_are_above_what_the_log_has_seen(job: Place) -> None:
    held = take(job, job, leader=lambda: 7)
    assert held.token == 8
    held.close()
    again = take(job, job, leader=lambda: 100)
    assert again.token == 9
    again.close()


def test_the_locked_file_of_former_versions_is_no_lease(tmp_path: Path) -> None:
    (tmp_path / "driver").write_text("1234 0")
    place = place_of(tmp_path)
    assert not is_held(place)
    held = take(place, place)
    assert is_held(place)
    held.close()


def test_its_renewals_find_out_too(job: Place) -> None:
    first = take(job, job)
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

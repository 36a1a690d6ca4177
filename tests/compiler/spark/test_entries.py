"""The entry of a job that has, or had, two drivers: the later one's stands, and the log has the last word."""

from __future__ import annotations

import json
import uuid
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import write_rows

RUNNING, RESTARTING, FAILED, FINISHED, CANCELED = (
    status.value
    for status in (
        JobStatus.RUNNING,
        JobStatus.RESTARTING,
        JobStatus.FAILED,
        JobStatus.FINISHED,
        JobStatus.CANCELED,
    )
)
PROGRAM = "/jobs/job.py"


def entry(status: str, fence: int = 0, job_id: str = "") -> JobEntry:
    return JobEntry(
        job_id=job_id or uuid.uuid4().hex, name="counting", program=PROGRAM, status=status, pid=1, fence=fence
    )


REFUSED = {
    "an earlier driver, of a job that runs": (entry(RUNNING, 2), entry(RUNNING, 1)),
    "an earlier driver restarts it, which is over": (entry(FINISHED, 2), entry(RESTARTING, 1)),
    "an earlier driver says that it has ended": (entry(RUNNING, 2), entry(FINISHED, 1)),
    "an earlier driver, of a job that failed": (entry(FAILED, 2), entry(RUNNING, 1)),
    "a driver without a token, behind one with a token": (entry(RUNNING, 1), entry(RUNNING)),
    "restarted without a token, which is over": (entry(FINISHED), entry(RESTARTING)),
    "cancelled, although it has finished": (entry(FINISHED), entry(CANCELED)),
    "failed, although it was cancelled": (entry(CANCELED, 1), entry(FAILED, 1)),
}
TAKEN = {
    "the same driver goes on": (entry(RUNNING, 1), entry(RESTARTING, 1)),
    "the same driver ends it": (entry(RUNNING, 1), entry(FINISHED, 1)),
    "a later driver": (entry(RUNNING, 1), entry(RUNNING, 2)),
    "a later driver, which finds it over": (entry(FINISHED, 1), entry(FINISHED, 2)),
    "a job that failed goes on": (entry(FAILED), entry(RUNNING)),
    "both find that it has ended": (entry(FINISHED), entry(FINISHED)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_former_driver_says_of_a_job_is_refused(tmp_path: Path, name: str) -> None:
    store, (there, late) = JobStore(tmp_path), REFUSED[name]
    store.write(there)
    with pytest.raises(Superseded, match=there.status):
        store.write(replace(late, job_id=there.job_id))
    assert store.entry(there.job_id) == there


@pytest.mark.parametrize("name", TAKEN)
def test_what_the_driver_of_a_job_says_of_it_is_taken(tmp_path: Path, name: str) -> None:
    store, (there, next_) = JobStore(tmp_path), TAKEN[name]
    store.write(there)
    after = replace(next_, job_id=there.job_id)
    store.write(after)
    assert store.entry(there.job_id) == after


def test_an_entry_whose_status_nobody_knows_is_damaged(tmp_path: Path) -> None:
    """Whoever follows the job would fail at it, a dispatcher with all its jobs."""
    store, unknown = JobStore(tmp_path), entry("")
    store.write(unknown)
    assert store.entry(unknown.job_id) is None
    assert store.jobs() == []


def test_a_damaged_entry_is_replaced(tmp_path: Path) -> None:
    store, new = JobStore(tmp_path), entry(RUNNING)
    store.write(new)
    Path(store.directory(new.job_id), "job.json").write_text("{")
    store.write(new)
    assert store.entry(new.job_id) == new


def behind(store: JobStore, ended: str | None, status: str = RESTARTING, savepoint: str | None = None) -> JobEntry:
    """A job whose entry says ``status``, and its log, since before that, that it has ended so."""
    left = entry(status, fence=1)
    log = SnapshotLog.create(store.state(left.job_id))
    log.lead(2)
    log.commit(1, [write_rows(log.path, [], 1)], {})
    if ended is not None:
        log.end(ended, savepoint)
    store.write(left)
    return left


@pytest.mark.parametrize("ended", [FINISHED, CANCELED])
def test_a_job_whose_log_says_that_it_is_over_is_known_to_be(tmp_path: Path, ended: str) -> None:
    store = JobStore(tmp_path)
    left = behind(store, ended, savepoint="/savepoints/a")
    assert store.is_over(left.job_id)
    found = store.unfinished(PROGRAM, left.name, None)
    assert found is not None
    assert found.over
    mended = store.give_up(left.job_id)
    assert mended == replace(found, ended=mended.ended)
    assert store.entry(left.job_id) == mended
    assert (mended.status, mended.stopped_with, mended.epoch) == (ended, "/savepoints/a", 1)
    assert mended.ended is not None


@pytest.mark.parametrize("status", [RUNNING, RESTARTING, FAILED])
def test_a_job_whose_log_tells_of_no_end_goes_on(tmp_path: Path, status: str) -> None:
    store = JobStore(tmp_path)
    left = behind(store, None, status)
    assert not store.is_over(left.job_id)
    assert store.unfinished(PROGRAM, left.name, None) == replace(left, epoch=1)


def test_a_job_goes_on_whose_log_says_that_it_failed(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    left = behind(store, FAILED)
    assert not store.is_over(left.job_id)
    found = store.unfinished(PROGRAM, left.name, None)
    assert found is not None
    assert (found.job_id, found.status) == (left.job_id, FAILED)


def test_a_job_that_has_begun_nothing_goes_on(tmp_path: Path) -> None:
    store, left = JobStore(tmp_path), entry(RUNNING)
    store.write(left)
    assert store.unfinished(PROGRAM, left.name, None) == left


def test_who_gives_a_job_up_hears_that_it_had_ended(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    left = behind(store, FINISHED, savepoint="/savepoints/a")
    assert store.give_up(left.job_id).status == FINISHED
    assert store.entry(left.job_id) == store.give_up(left.job_id)
    running = behind(store, None)
    assert store.give_up(running.job_id).status == CANCELED


def test_a_job_that_runs_is_not_begun_again_by_the_same_command(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    running = replace(entry(RUNNING), host="machine-7", pid=4242, started=1.0, arguments=("--topic", "a"))
    store.write(running)
    with closing(store.lock(running.job_id)):
        for savepoint in (None, "/savepoints/a"):
            with pytest.raises(
                StoreError, match=r"process 4242 on machine-7 drives it since 19.*--fresh begins a second"
            ):
                store.unfinished(PROGRAM, running.name, savepoint, 0, running.arguments)
        assert store.unfinished(PROGRAM, running.name, None, 0, ("--topic", "b")) is None
        assert store.unfinished(PROGRAM, running.name, None, 1, running.arguments) is None
    found = store.unfinished(PROGRAM, running.name, None, 0, ("--topic", "b"))
    assert (found and found.job_id) == running.job_id  # whose driver is gone goes on, whatever it was given


def test_a_flipped_bit_anywhere_in_an_entry_is_noticed(tmp_path: Path) -> None:
    """It could be another program's, else, and the job would be begun anew."""
    store = JobStore(tmp_path)
    written = entry(RUNNING, fence=1)
    store.write(written)
    file = Path(store.directory(written.job_id), "job.json")
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 7]) + whole[at + 1 :])
        assert store.entry(written.job_id) in (None, written), whole[at:]
    told = json.loads(whole)
    del told["digest"]
    file.write_text(json.dumps(told))
    assert store.entry(written.job_id) == written, "as former versions wrote it"

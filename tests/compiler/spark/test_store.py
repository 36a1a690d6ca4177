"""What a job's start removes of jobs that never began, and what that costs where each look is a request."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import closing
from pathlib import Path

import pytest

from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from compat.state.stores.local import LocalFiles

LONG_AFTER = 4000
"""Seconds after which a job that has no entry is not about to begin."""


def kept(store: JobStore) -> str:
    """A job that has ended and is kept."""
    job_id = uuid.uuid4().hex
    store.write(JobEntry(job_id=job_id, name="counting", status=JobStatus.FINISHED.value, pid=1))
    return job_id


def left(store: JobStore, name: str, *files: str) -> Path:
    """A directory among those of jobs, without an entry."""
    directory = Path(store.directory(name))
    (directory / "state").mkdir(parents=True)
    for file in files:
        (directory / file).write_text("{}")
    return directory


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed."""
    found: list[str] = []
    real = LocalFiles.list

    def listing(self: LocalFiles, folder: str) -> list[object]:
        found.append(folder)
        return real(self, folder)  # type: ignore[return-value]

    monkeypatch.setattr(LocalFiles, "list", listing)
    return found


def test_kept_jobs_cost_a_sweep_nothing(tmp_path: Path, listed: list[str]) -> None:
    store = JobStore(tmp_path)
    for _ in range(20):
        kept(store)
    never = left(store, uuid.uuid4().hex, "plan.json")
    store.start_time(time.time())
    assert listed == [str(tmp_path / "jobs")]
    listed.clear()
    store.sweep(time.time())
    assert listed == [str(never)]
    store.sweep(time.time() + LONG_AFTER)
    assert not never.exists()
    assert len(store.jobs()) == 20


def test_a_store_that_was_not_read_yet_is(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    never = left(store, uuid.uuid4().hex)
    JobStore(tmp_path).sweep(time.time() + LONG_AFTER)
    assert not never.exists()


def test_a_job_that_began_since_the_jobs_were_read_is_left_alone(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    begins, driven = left(store, uuid.uuid4().hex), left(store, uuid.uuid4().hex)
    store.jobs()
    store.write(JobEntry(job_id=begins.name, name="counting", status=JobStatus.CREATED.value, pid=1))
    with closing(store.lock(driven.name)):
        store.sweep(time.time() + LONG_AFTER)
    assert json.loads((begins / "job.json").read_text())["name"] == "counting"
    assert driven.exists()


@pytest.mark.parametrize("name", ["notes", "0" * 31, "0" * 33, "G" + "0" * 31, "ABCDEF00" * 4, "0" * 32 + "-old"])
def test_what_is_named_as_no_job_is_left_alone(tmp_path: Path, name: str) -> None:
    store = JobStore(tmp_path)
    foreign = left(store, name)
    store.sweep(time.time() + LONG_AFTER)
    assert foreign.exists()


@pytest.mark.parametrize("file", ["submission", "data.csv"])
def test_what_no_driver_writes_before_its_job_begins_is_left_alone(tmp_path: Path, file: str) -> None:
    store = JobStore(tmp_path)
    waits = left(store, uuid.uuid4().hex, file)
    store.sweep(time.time() + LONG_AFTER)
    assert waits.exists()

"""The jobs of a cluster in its database, and who may change them."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from compat.cluster.layout import ClusterFolder
from compat.cluster.leadership import Led, become_leader, dispatcher_process
from compat.cluster.records import Action
from compat.cluster.registry import MOST_FAILURES, Jobs, LeadershipLost, UnknownJob
from compat.compiler.executiongraph.states import JobStatus
from compat.service.database import Database
from tests.compat.service.test_faults import postgres, postgres_database  # noqa: F401 - fixtures

URL = "http://127.0.0.1:1"


@pytest.fixture(params=["sqlite", "postgresql"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ClusterFolder]:
    """The folder of a cluster, whose records are in a file there or on a server."""
    place = ClusterFolder(tmp_path)
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_database")
        monkeypatch.setattr(ClusterFolder, "database", property(lambda self: url))
    jobs_of(place).migrate()
    yield place
    while _opened:
        _opened.pop().close()


_opened: list[Database] = []


def jobs_of(folder: ClusterFolder, timeout: float = 5.0) -> Jobs:
    """The jobs of a cluster, for somebody of their own."""
    _opened.append(Database(folder.database, timeout))
    return Jobs(_opened[-1])


@pytest.fixture
def jobs(folder: ClusterFolder) -> Jobs:
    found = jobs_of(folder)
    assert found.lead(URL, 10, dead=False)
    return found


def add(jobs: Jobs, **given: Any) -> str:
    id = uuid.uuid4().hex
    jobs.add(id, **{"name": "job", "program": "job.py", "slots": 1, "by": "me", "restored_from": None, **given})
    return id


def test_the_life_of_a_job(jobs: Jobs) -> None:
    id = add(jobs, slots=3)
    assert (jobs.get(id).status, jobs.get(id).pool) == (JobStatus.CREATED, None)
    assert jobs.begin(id, 0) == 1
    assert jobs.begin(id, 0) == 2
    jobs.turned(id, JobStatus.RUNNING)
    assert [job.status for job in jobs.unfinished()] == [JobStatus.RUNNING]
    jobs.end(id, JobStatus.FINISHED, stopped_with="/savepoint")
    jobs.end(id, JobStatus.FAILED)
    jobs.turned(id, JobStatus.RUNNING)
    ended = jobs.get(id[:8])
    assert (ended.status, ended.stopped_with, ended.attempt) == (JobStatus.FINISHED, "/savepoint", 2)
    assert jobs.begin(id, 0) is None
    assert jobs.unfinished() == []


@pytest.mark.parametrize("id", ["", "no such job", "%", "_"])
def test_there_is_no_such_job(jobs: Jobs, id: str) -> None:
    add(jobs)
    with pytest.raises(UnknownJob):
        jobs.get(id)


def test_of_the_failures_of_a_job_the_last_ones_are_kept(jobs: Jobs) -> None:
    id = add(jobs)
    for number in range(MOST_FAILURES + 5):
        jobs.failed(id, number, f"cause {number}")
    found = jobs.failures(id)
    assert (len(found), found[0].cause) == (MOST_FAILURES, f"cause {MOST_FAILURES + 4}")


def test_what_was_asked_has_one_outcome(jobs: Jobs) -> None:
    id = add(jobs)
    request = jobs.ask(id, Action.STOP, "/there", drain=True)
    assert [(each.action, each.path, each.drain) for each in jobs.open_requests()] == [(Action.STOP, "/there", True)]
    jobs.answered(request, location="/there/savepoint")
    jobs.answered(request, error="too late")
    found = jobs.request(id, request)
    assert found is not None
    assert (found.location, found.error) == ("/there/savepoint", None)
    assert jobs.open_requests() == []


def test_a_dispatcher_whose_place_was_taken_changes_nothing(folder: ClusterFolder, jobs: Jobs) -> None:
    id = add(jobs)
    new = jobs_of(folder)
    assert not new.lead("http://other", 10, dead=False)  # the first one lives
    assert new.lead("http://other", 10, dead=True)
    for change in (
        lambda: jobs.renew(),
        lambda: add(jobs),
        lambda: jobs.begin(id, 0),
        lambda: jobs.end(id, JobStatus.CANCELED),
        lambda: jobs.turned(id, JobStatus.RUNNING),
        lambda: jobs.failed(id, 1, "cause"),
        lambda: jobs.ask(id, Action.CANCEL),
    ):
        with pytest.raises(LeadershipLost):
            change()
    assert (new.leads, jobs.leads) == (True, False)
    assert [job.status for job in new.all()] == [JobStatus.CREATED]
    assert new.begin(id, 0) == 1


def test_a_lease_that_was_not_renewed_is_over(folder: ClusterFolder, jobs: Jobs) -> None:
    assert jobs_of(folder).lead("http://other", 0.0, dead=False)


def test_a_second_dispatcher_is_refused_while_the_first_lives(folder: ClusterFolder) -> None:
    held = become_leader(folder, jobs_of(folder), URL, 5.0)
    with pytest.raises(Led, match=URL):
        become_leader(folder, jobs_of(folder), "http://other", 5.0)
    held.close()
    become_leader(folder, jobs_of(folder), "http://other", 5.0).close()  # at once: the first is dead


_LEADS = """
import contextlib, sys, time
from compat.cluster.leadership import become_leader
from compat.cluster.layout import ClusterFolder
from compat.cluster.registry import Jobs
from compat.service.database import Database
folder, jobs = ClusterFolder(sys.argv[1]), Jobs(Database(sys.argv[2]))
held = become_leader(folder, jobs, "http://paused", 1.0)
with jobs.leading() if sys.argv[3] == "writing" else contextlib.nullcontext():
    print("leads", flush=True)
    time.sleep(600)
"""


@contextmanager
def sleeper(folder: ClusterFolder, doing: str) -> Iterator[subprocess.Popen[bytes]]:
    """A dispatcher that gives no sign of life any more, in the midst of a write or not."""
    command = [sys.executable, "-c", _LEADS, str(folder.path), folder.database, doing]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as paused:
        try:
            assert paused.stdout is not None
            assert paused.stdout.readline() == b"leads\n"
            assert dispatcher_process(folder) == paused.pid
            yield paused
        finally:
            paused.kill()


@pytest.mark.parametrize("doing", ["nothing", "writing"])
def test_one_that_holds_its_lock_and_gives_no_sign_loses_its_place(folder: ClusterFolder, doing: str) -> None:
    with sleeper(folder, doing) as paused:
        jobs = jobs_of(folder, timeout=0.5)
        jobs.migrate()  # waits for no writer: the tables have their form
        held = become_leader(folder, jobs, URL, 1.0, wait=True)
        assert jobs.leads
        add(jobs)
        held.close()
        if doing == "writing" and jobs.file is not None:  # nobody else could have written to that file
            assert paused.wait(60) == -signal.SIGKILL
        else:
            assert paused.poll() is None


def test_one_that_writes_is_not_killed_while_its_lease_lasts(folder: ClusterFolder) -> None:
    with sleeper(folder, "writing") as writing:
        with pytest.raises(Led, match="http://paused"):
            become_leader(folder, jobs_of(folder, timeout=0.5), URL, 60.0)
        assert writing.poll() is None


def test_a_database_that_nobody_can_write_to_is_told(folder: ClusterFolder) -> None:
    jobs = jobs_of(folder, timeout=0.5)
    if jobs.file is None:
        return
    with closing(sqlite3.connect(jobs.file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OperationalError, match="database is locked"):
            become_leader(folder, jobs, URL, 0.5)
    become_leader(folder, jobs, URL, 0.5).close()

"""A driver that dies between the end of its job and saying so: the same command says it, and runs nothing again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compat.compiler.spark.driver.failures import JobCancelled
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.store import JobStore
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

NUMBERS = [str(number) for number in range(30)]


class Program:
    """Prints thirty numbers, ten an epoch."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.path = cluster.directory / "job.py"
        self.store = JobStore(cluster.directory / "store")
        self.uid = "numbers"

    def run(self, **options: Any) -> None:
        environment = self.cluster.environment(1, program=str(self.path), epoch_records=10, **options)
        stream = environment.from_collection(list(range(30)), Types.LONG()).uid(self.uid)
        stream.map(str, Types.STRING()).print()
        environment.execute("numbers")

    def forgets(self) -> JobEntry:
        """The end of the last job is in its log alone: its driver died as it was about to write the entry."""
        last = self.store.jobs()[0]
        Path(self.store.directory(last.job_id), "job.json").unlink()
        told = replace(last, status="RUNNING", ended=None, stopped_with=None)
        self.store.write(told)
        return told

    def leaves(self) -> JobEntry:
        """The last job is over, and its driver was killed as it tidied up: it has not given its lease back."""
        last = self.store.jobs()[0]
        (sign,) = Path(self.store.directory(last.job_id), "driver").iterdir()
        sign.write_text(json.dumps({**json.loads(sign.read_text()), "released": False, "pid": 2**22 + 1}))
        return last


@pytest.fixture
def program(cluster: Cluster) -> Program:
    return Program(cluster)


def test_a_job_that_has_finished_is_not_run_again(program: Program) -> None:
    program.run()
    job = program.forgets()
    program.run()
    (after,) = program.store.jobs()
    assert (after.job_id, after.status, after.epoch) == (job.job_id, "FINISHED", job.epoch)
    assert program.cluster.lines == NUMBERS
    assert [event["event"] for event in program.cluster.events].count("finished") == 2
    program.run()
    assert program.cluster.lines == NUMBERS * 2, "what is known to have ended is begun anew, as ever"


def test_a_job_that_has_finished_is_not_run_again_where_its_driver_was_killed_then(program: Program) -> None:
    program.run()
    job = program.leaves()
    program.run()
    (after,) = program.store.jobs()
    assert (after.job_id, after.status, after.epoch) == (job.job_id, "FINISHED", job.epoch)
    assert program.cluster.lines == NUMBERS
    program.run()
    assert program.cluster.lines == NUMBERS * 2, "that it has ended was told"


def test_a_job_that_was_stopped_is_not_run_again_where_its_driver_was_killed_then(program: Program) -> None:
    program.run(epochs=1)
    first = program.cluster.events[-1]
    program.leaves()
    program.run(epochs=1)
    assert [program.cluster.events[-1][name] for name in ("event", "path")] == ["stopped", first["path"]]
    assert program.cluster.lines == NUMBERS[:10]


def test_the_savepoint_that_a_job_was_stopped_with_is_told(program: Program) -> None:
    program.run(epochs=1)
    first = program.cluster.events[-1]
    program.forgets()
    program.run(epochs=1)
    assert program.cluster.events[-1]["event"] == "stopped"
    assert program.cluster.events[-1]["path"] == first["path"]
    assert program.cluster.last.master.job.savepoint == first["path"]
    (after,) = program.store.jobs()
    assert (after.status, after.stopped_with) == ("FINISHED", first["path"])
    assert program.cluster.lines == NUMBERS[:10]


def test_that_a_job_was_cancelled_is_told(program: Program) -> None:
    program.run(epochs=1)
    job = program.forgets()
    log = program.store.log(job.job_id)
    assert log is not None
    log.fence = log.leader
    log.end("CANCELED", None)
    program.forgets()
    with pytest.raises(JobCancelled, match=job.job_id):
        program.run()
    (after,) = program.store.jobs()
    assert after.status == "CANCELED"
    assert program.cluster.lines == NUMBERS[:10]


def test_an_edited_program_begins_a_job(program: Program) -> None:
    program.run()
    before = program.forgets()
    program.uid = "edited"
    program.run()
    after, ended = program.store.jobs()
    assert (ended.job_id, ended.status) == (before.job_id, "FINISHED")
    assert after.status == "FINISHED"
    assert program.cluster.lines == NUMBERS * 2

"""What a program sets that changes nothing on Spark is told, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat.compiler.datastream.program import Program, running
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment as Environment
from compat.compiler.job import Job
from compat.compiler.spark.driver.notes import Notes
from tests.compiler.datastream.conftest import Recorder
from tests.compiler.spark.conftest import Cluster


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda env: env.set_buffer_timeout(5), "execution.buffer-timeout.enabled"),
        (lambda env: env.set_buffer_timeout(5), "execution.buffer-timeout.interval"),
        (lambda env: env.set_buffer_timeout(0), "execution.buffer-timeout.interval"),
        (lambda env: env.set_buffer_timeout(-1), "execution.buffer-timeout.enabled"),
        (
            lambda env: env.configuration.set_string("execution.buffer-timeout", "1 s"),
            "execution.buffer-timeout.interval",
        ),
    ],
)
def test_the_buffer_timeout_of_a_job(cluster: Cluster, given: Callable[[Environment], object], told: str) -> None:
    env = cluster.environment(1)
    given(env)
    for _ in range(2):
        env.from_collection([1]).print()
        env.execute()
    (text,) = notes(cluster)
    assert text.startswith("The buffer timeout (execution.buffer-timeout.")
    assert told in text
    assert "has no effect on Spark: the records of an epoch are exchanged when a stage of it ends" in text
    assert "execution.checkpointing.interval" in text


@pytest.mark.parametrize("milliseconds", [0, 7])
def test_that_of_an_operator(cluster: Cluster, milliseconds: int) -> None:
    env = cluster.environment(1)
    env.from_collection([1]).map(lambda n: n).name("same").set_buffer_timeout(milliseconds).print()
    env.execute()
    (text,) = notes(cluster)
    assert f"The buffer timeout ('same' ({__file__}:" in text


def test_what_nobody_set_is_not_told(cluster: Cluster) -> None:
    env = cluster.environment(1)
    assert env.get_buffer_timeout() == 100
    env.from_collection([1]).map(lambda n: n).set_buffer_timeout(-1).print()  # as the job has it
    env.execute()
    assert notes(cluster) == []


def notes(cluster: Cluster) -> list[str]:
    return [event["text"] for event in cluster.events if event["event"] == "note"]


def test_each_executor_tells_of_the_jobs_of_its_program_once() -> None:
    job = job_with_a_buffer_timeout()
    first, second = Told(), Told()
    for told in (first, first, second):
        told.notes.tell(job, None)
    assert [len(told.events) for told in (first, second)] == [1, 1]


class Told:
    """What one listener hears."""

    def __init__(self) -> None:
        self.events: list[dict[str, object]] = []
        self.notes = Notes(self.events.append)


def job_with_a_buffer_timeout() -> Job:
    recorder = Recorder()
    with running(Program(recorder, planning=True)):
        env = Environment.get_execution_environment()
        env.set_buffer_timeout(5).from_collection([1]).print()
        env.execute()
    return recorder.jobs[0]

"""Two programs in one process do not mix: their ids, options and jobs are their own."""

from __future__ import annotations

import subprocess
import sys
from threading import Barrier, Thread

import pytest

from compat.compiler.datastream.program import Program, current_program, running, start
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.job import Job


class Keep:
    """Keeps the jobs of one program."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []

    def submit(self, job: Job) -> None:
        self.jobs.append(job)


def build(name: str) -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.from_collection([1]).map(len).name(name).key_by(len).map(len).print()
    return environment


def told(keep: Keep) -> list[tuple[list[int], int]]:
    return [(sorted(each.id for each in job.pipeline), job.settings.parallelism) for job in keep.jobs]


@pytest.fixture
def alone() -> list[tuple[list[int], int]]:
    """What a program gives that has the process for itself."""
    with running(Program(keep := Keep(), parallelism=3)):
        build("alone").execute_async()
    return told(keep)


def test_one_after_the_other(alone: list[tuple[list[int], int]]) -> None:
    for _ in range(2):
        with running(Program(keep := Keep(), parallelism=3)):
            build("a").execute_async()
        assert told(keep) == alone


def test_one_within_the_other(alone: list[tuple[list[int], int]]) -> None:
    outer, inner = Keep(), Keep()
    with running(Program(outer, parallelism=3)) as program:
        environment = StreamExecutionEnvironment.get_execution_environment()
        with running(Program(inner, options={"parallelism.default": "7"})):
            build("inner").execute_async()
            environment.from_collection([1]).map(len).key_by(len).map(len).print()
            environment.execute_async()
        assert current_program() is program
    assert told(outer) == alone
    assert told(inner) == [(alone[0][0], 7)]


def test_side_by_side_in_two_threads(alone: list[tuple[list[int], int]]) -> None:
    meet, keeps = Barrier(2, timeout=20), [Keep(), Keep()]

    def run(keep: Keep) -> None:
        with running(Program(keep, parallelism=3)):
            meet.wait()
            environment = build("a")
            meet.wait()
            environment.execute_async()

    threads = [Thread(target=run, args=(keep,)) for keep in keeps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [told(keep) for keep in keeps] == [alone, alone]


def test_a_thread_of_the_program_belongs_to_it(alone: list[tuple[list[int], int]]) -> None:
    with running(Program(keep := Keep(), parallelism=3)):
        thread = Thread(target=lambda: build("a").execute_async())
        thread.start()
        thread.join()
    assert told(keep) == alone


def test_local_parallelism_holds_for_all_environments_of_the_program_only() -> None:
    with running(Program(parallelism=3)):
        StreamExecutionEnvironment.get_execution_environment().set_default_local_parallelism(5)
        assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 5
    with running(Program(parallelism=3)):
        assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 3


def test_what_is_started_stays() -> None:
    before, program = current_program(), Program()
    start(program)
    assert current_program() is program
    start(before)


def test_importing_the_execution_changes_nothing_in_the_state() -> None:
    """Rows are read alike, and what cannot be imported is pickled alike, whatever else is imported."""
    script = (
        "from compat.state import serializers\n"
        "from compat.state.serializers import codecs, keys, pickles\n"
        "before = [dict(vars(module)) for module in (serializers, codecs, keys, pickles)]\n"
        "import compat.compiler.spark.task.epochs, compat.compiler.spark.driver.inspection\n"
        "import compat.compiler.spark.driver.executor\n"
        "after = [dict(vars(module)) for module in (serializers, codecs, keys, pickles)]\n"
        "for old in before: old.pop('avro', None)\n"
        "for new in after: new.pop('avro', None)\n"
        "assert before == after, 'an import changed a module'\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)

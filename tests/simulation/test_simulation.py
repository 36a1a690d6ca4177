"""Jobs under faults that a seed decides: each record counts once, state and sinks are exact, nothing is left, and the job ends.

A seed that fails is replayed with ``python -m tests.simulation SEED``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from compat.compiler.spark.driver import driven, orphan_cleanup, runner
from compat.compiler.spark.driver.driven import TRIES
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.task.epochs import Outcome
from tests.simulation.mutations import MUTATIONS, mutated
from tests.simulation.programs import Job, Shape
from tests.simulation.schedule import BEHIND_THE_END, run
from tests.simulation.spark import Context, SparkDouble
from tests.simulation.world import ONCE_IT_GOES_ON

SAMPLED = 40
ALL = 4000
LATE_OR_NEVER = 400
"""Schedules within which the rare ones are found."""
SOON = 60
"""Schedules within which most faults of our own are found."""
COUNTING = Shape(
    job=Job.COUNTS,
    records=11,
    parallelism=2,
    epoch_records=3,
    table=True,
    rescaled=None,
    stop=2,
    tight=False,
    scattered=True,
)
"""A job that counts, into files and a table, and is not rescaled."""
RARE = {
    "an epoch is committed twice",
    "what tasks sent is not held against what arrived",
    "runs of a task are not told apart, and see what came later",
}
"""Faults of our own that need several others at the same time."""


@pytest.mark.parametrize("seed", range(SAMPLED))
def test_results_are_exact(seed: int) -> None:
    result = run(seed)
    assert not result.wrong, result


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SAMPLED, ALL, 40))
def test_results_are_exact_in_many_schedules(first: int) -> None:
    wrong = [result for seed in range(first, first + 40) if (result := run(seed)).wrong]
    assert not wrong


def test_a_seed_replays() -> None:
    first, second = run(10), run(10)
    assert first == second
    assert first.trace


PAUSED = "the driver is paused: "
PRODUCING = replace(COUNTING, job=Job.TOPICS, table=False, scattered=False)
"""A job that reads a topic and writes another one, and is not rescaled."""
HELD_TO_BE_DEAD = "the driver is held to be dead"
FENCES = {
    "a driver that was held to be dead writes the entry": (
        HELD_TO_BE_DEAD,
        f"{ONCE_IT_GOES_ON}store fails: before commit",
        f"{ONCE_IT_GOES_ON}driver killed: after entry",
    ),
    "a driver that takes a job over fences nobody": (f"{PAUSED}before commit", "driver killed: before entry"),
    "a driver that was held to be dead sweeps": (
        *("store fails: before commit", f"{PAUSED}before it sweeps", "driver killed: after commit"),
    ),
}
"""Faults of our own that take two drivers, and how they come about."""
LOCALLY = (
    "memory is used wherever it stands",
    "output of the last epoch is not published after a crash",
    "sources start over after a crash",
)
"""Faults of our own that are found where an epoch is one task, too."""
OF_BROKERS = {"Kafka is not told which epochs it has", "an epoch is produced in several transactions"}
"""Faults of our own that take a driver to be killed between two requests to the brokers."""


TWO_DRIVERS = {
    f"{where}, then {', '.join(faults) or 'the other one goes on to the end'}": (f"{PAUSED}{where}", *faults)
    for where in ("before commit", "after commit", "before file published", "before entry")
    for faults in ((), ("driver killed: after commit",), ("driver killed: before entry",))
}
"""A driver stands still, another one takes its job over and may be killed at it, and the first one goes on."""


@pytest.mark.parametrize("name", TWO_DRIVERS)
def test_a_driver_that_was_held_to_be_dead_does_no_harm(name: str) -> None:
    result = run(79, shape=COUNTING, script=TWO_DRIVERS[name])
    assert list(TWO_DRIVERS[name][:1]) == list(result.trace[:1])
    assert not result.wrong, result


@pytest.mark.parametrize("away", range(1, TRIES))
def test_a_driver_that_was_held_to_be_dead_asks_again_where_the_store_is_away_as_it_tidies_up(away: int) -> None:
    fault = f"{ONCE_IT_GOES_ON}store fails: before restore"
    result = run(79, shape=COUNTING, script=(HELD_TO_BE_DEAD, *[fault] * away))
    assert sum(line.startswith("store fails") for line in result.trace) == away
    assert not result.wrong, result


@pytest.mark.parametrize("script", [("a second one by hand",), ("a second one by hand", "driver killed: after commit")])
def test_the_same_command_is_refused_while_a_driver_lives(script: tuple[str, ...]) -> None:
    result = run(79, shape=COUNTING, script=script)
    assert result.trace == script
    assert not result.wrong, result
    with patch.object(JobStore, "unfinished", lambda *_: None):
        assert run(79, shape=COUNTING, script=script).wrong


@pytest.mark.parametrize("harm", ["a file is damaged", "a file is lost"])
@pytest.mark.parametrize("then", [(), ("driver killed: after commit",), (HELD_TO_BE_DEAD,), ("a machine is lost",) * 2])
def test_what_is_damaged_or_lost_is_noticed_or_not_needed(harm: str, then: tuple[str, ...]) -> None:
    for seed in range(70, 90):
        result = run(seed, shape=COUNTING, script=(harm, *then))
        assert result.trace[0] == harm
        assert not result.wrong, result


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, ALL, 200))
def test_drivers_that_stand_still_anywhere_do_no_harm(first: int) -> None:
    wrong = [result for seed in range(first, first + 200) if (result := run(seed, pauses=True)).wrong]
    assert not wrong


KILLED = (HELD_TO_BE_DEAD, f"{ONCE_IT_GOES_ON}driver killed: before commit")


@pytest.mark.parametrize("shape", [COUNTING, replace(COUNTING, rescaled=1, stop=1)], ids=["finished", "stopped"])
def test_what_a_driver_wrote_that_died_behind_the_end_of_its_job_is_swept_when_another_one_starts(shape: Shape) -> None:
    result = run(79, shape=shape, script=KILLED)
    assert result.trace[:2] == tuple(fault.removeprefix(ONCE_IT_GOES_ON) for fault in KILLED)
    assert not result.wrong, result
    with patch.object(orphan_cleanup, "sweep", lambda *_: None):
        (left,) = run(79, shape=shape, script=KILLED).wrong
        assert left.startswith("left behind")


@pytest.mark.parametrize("name", FENCES)
def test_a_fault_of_our_own_is_found_where_there_are_two_drivers(name: str) -> None:
    assert not run(79, shape=COUNTING, script=FENCES[name]).wrong
    with mutated(name):
        assert run(79, shape=COUNTING, script=FENCES[name]).wrong


@pytest.mark.parametrize("seed", [7000110, 7000284])
def test_an_attempt_may_come_to_its_end_behind_that_of_its_job(seed: int) -> None:
    result = run(seed)
    assert BEHIND_THE_END in result.trace
    assert not result.wrong, result


def test_a_job_has_ended_although_spark_is_lost_then() -> None:
    ended: list[Output] = []
    note, context = Output.note_remains, SparkDouble.context.fget
    assert context is not None

    def lost(self: SparkDouble) -> Context:
        if ended:
            raise RuntimeError("no executors")
        return context(self)  # type: ignore[no-any-return]

    def noted(self: Output) -> None:
        note(self)
        ended.append(self)

    with patch.object(Output, "note_remains", noted), patch.object(SparkDouble, "context", property(lost)):
        result = run(79, shape=COUNTING, script=())
    assert (len(ended), result.trace, result.wrong) == (1, (), ())


LATE = ("an attempt goes on for long",) * 9
"""Attempts that go on, of the first tasks of a job: also of such as write files."""


@pytest.mark.parametrize("name", ["sweep", "note"])
def test_what_an_attempt_leaves_whose_job_is_over_is_swept_when_another_one_starts(name: str) -> None:
    stopped = replace(COUNTING, rescaled=1, stop=1)
    result = run(2, shape=stopped, script=LATE)
    assert BEHIND_THE_END in result.trace
    assert not result.wrong, result
    with patch.object(orphan_cleanup, name, lambda *_: None):
        (left,) = run(2, shape=stopped, script=LATE).wrong
        assert left.startswith("left behind")


def test_what_an_attempt_leaves_is_noted_although_the_store_is_away_for_a_moment() -> None:
    stopped = replace(COUNTING, rescaled=1, stop=1)
    away = "request fails: before note of what remains"
    result = run(2, shape=stopped, script=(*LATE, away, away))
    assert result.trace.count(away) == 2
    assert BEHIND_THE_END in result.trace
    assert not result.wrong, result
    with patch.object(driven, "TRIES", 2):
        (left,) = run(2, shape=stopped, script=(*LATE, away, away)).wrong
        assert left.startswith("left behind")


@pytest.mark.parametrize("name", ["nothing is swept", "nothing of the state is swept"])
def test_what_an_attempt_leaves_whose_job_goes_on_has_to_be_swept(name: str) -> None:
    result = run(0, shape=COUNTING, script=LATE)
    assert "an attempt goes on that nobody waits for" in result.trace
    assert not result.wrong, result
    with mutated(name):
        (left,) = run(0, shape=COUNTING, script=LATE).wrong
        assert left.startswith("left behind")


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in {*RARE, *OF_BROKERS, *FENCES}])
def test_a_fault_of_our_own_is_found(name: str) -> None:
    with mutated(name):
        assert any(run(seed).wrong for seed in range(SOON))


@pytest.mark.parametrize("seed", [2, 6, 19])
def test_what_did_not_run_behind_a_task_that_failed_is_missed_where_another_run_of_that_one_did_not_fail(
    seed: int,
) -> None:
    shape = replace(PRODUCING, scattered=True, epoch_records=2)
    result = run(
        seed, shape=shape, script=("disk full: brokers, consume", "output lost between two fetches"), local=False
    )
    assert not result.wrong, result


@pytest.mark.parametrize("name", LOCALLY)
def test_a_fault_of_our_own_is_found_on_one_machine(name: str) -> None:
    with mutated(name):
        assert any(run(seed, local=True).wrong for seed in range(SOON))


def test_an_epoch_is_one_task_on_one_machine_and_processes_die_in_it() -> None:
    tasks: list[BaseException | None] = []
    real = runner._Whole.__call__

    def call(self: Any, *given: Any) -> Iterator[Any]:
        try:
            made = list(real(self, *given))
        except BaseException as error:
            tasks.append(error)
            raise
        tasks.append(next((what for _, what in made if isinstance(what, Outcome) and what.stopped), None))
        return iter(made)

    with patch.object(runner._Whole, "__call__", call):
        for seed in range(40, 60):
            result = run(seed, local=True)
            assert not result.wrong, result
    assert len(tasks) > 20
    assert any(tasks)
    assert not all(tasks)


@pytest.mark.parametrize("name", sorted(OF_BROKERS))
def test_a_fault_of_our_own_is_found_where_a_driver_dies_behind_a_transaction(name: str) -> None:
    script = ("driver killed: brokers, after commit",)
    assert not run(50, shape=PRODUCING, script=script).wrong
    with mutated(name):
        assert run(50, shape=PRODUCING, script=script).wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RARE))
def test_a_rare_fault_of_our_own_is_found(name: str) -> None:
    for seed in range(LATE_OR_NEVER):
        with mutated(name):
            wrong = run(seed).wrong
        if wrong and not run(seed).wrong:
            return
    pytest.fail(f"not found in {LATE_OR_NEVER} schedules")

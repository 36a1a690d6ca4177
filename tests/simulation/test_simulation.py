"""Jobs under faults that a seed decides: each record counts once, state and sinks are exact, nothing is left, and the job ends.

A seed that fails is replayed with ``python -m tests.simulation SEED``.
"""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, OF_TWO_DRIVERS, mutated
from tests.simulation.schedule import run

SAMPLED = 40
ALL = 4000
SOON = 60
"""Schedules within which most faults of our own are found."""
COUNTING = 79
"""A schedule of a job that counts, into files and a table, and is not rescaled."""
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
    first, second = run(7), run(7)
    assert first == second
    assert first.trace


PRODUCING = 50
"""A schedule of a job that reads a topic and writes another one, and is not rescaled."""
OF_FENCES = {"a driver that takes a job over fences nobody"}
OF_BROKERS = {"Kafka is not told which epochs it has", "an epoch is produced in several transactions"}
"""Faults of our own that take a driver to be killed between two requests to the brokers."""


PAUSED = "the driver is paused: "
TWO_DRIVERS = {
    f"{where}, then {', '.join(faults) or 'the other one goes on to the end'}": (f"{PAUSED}{where}", *faults)
    for where in ("before commit", "after commit", "before file published", "before entry")
    for faults in ((), ("driver killed: after commit",), ("driver killed: before entry",))
}
"""A driver stands still, another one takes its job over and may be killed at it, and the first one goes on."""


@pytest.mark.parametrize("name", TWO_DRIVERS)
def test_a_driver_that_was_held_to_be_dead_does_no_harm(name: str) -> None:
    result = run(COUNTING, script=TWO_DRIVERS[name])
    assert list(TWO_DRIVERS[name][:1]) == list(result.trace[:1])
    assert not result.wrong, result


def test_a_driver_that_is_not_fenced_is_found() -> None:
    """The other one swept what the first one had written, which then commits."""
    with mutated("a driver that takes a job over fences nobody"):
        assert run(COUNTING, script=TWO_DRIVERS["before commit, then driver killed: before entry"]).wrong


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in RARE | OF_BROKERS | OF_FENCES])
def test_a_fault_of_our_own_is_found(name: str) -> None:
    with mutated(name):
        assert any(run(seed, pauses=name in OF_TWO_DRIVERS).wrong for seed in range(SOON))


@pytest.mark.parametrize("name", sorted(OF_BROKERS))
def test_a_fault_of_our_own_is_found_where_a_driver_dies_behind_a_transaction(name: str) -> None:
    script = ("driver killed: brokers, after commit",)
    assert not run(PRODUCING, script=script).wrong
    with mutated(name):
        assert run(PRODUCING, script=script).wrong


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RARE))
def test_a_rare_fault_of_our_own_is_found(name: str) -> None:
    with mutated(name):
        assert any(run(seed, pauses=name in OF_TWO_DRIVERS).wrong for seed in range(400))

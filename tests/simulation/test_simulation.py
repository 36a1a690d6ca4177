"""Jobs under faults that a seed decides: each record counts once, state and sinks are exact, nothing is left, and the job ends.

A seed that fails is replayed with ``python -m tests.simulation SEED``.
"""

from __future__ import annotations

import pytest

from tests.simulation.mutations import MUTATIONS, mutated
from tests.simulation.schedule import run

SAMPLED = 25
ALL = 1000
SOON = 20
"""Schedules within which most faults of our own are found."""
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
@pytest.mark.parametrize("first", range(SAMPLED, ALL, 25))
def test_results_are_exact_in_many_schedules(first: int) -> None:
    wrong = [result for seed in range(first, first + 25) if (result := run(seed)).wrong]
    assert not wrong


def test_a_seed_replays() -> None:
    first, second = run(7), run(7)
    assert first == second
    assert first.trace


@pytest.mark.parametrize("name", [name for name in MUTATIONS if name not in RARE])
def test_a_fault_of_our_own_is_found(name: str) -> None:
    with mutated(name):
        assert any(run(seed).wrong for seed in range(SOON))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(RARE))
def test_a_rare_fault_of_our_own_is_found(name: str) -> None:
    with mutated(name):
        assert any(run(seed).wrong for seed in range(200))

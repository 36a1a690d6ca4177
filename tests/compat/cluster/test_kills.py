"""Processes of a cluster are killed at moments that a seed decides; see :mod:`tests.compat.cluster.kills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.cluster.kills import CLIENT, MOMENTS, PROCESSES, STEPS, kills_of, live

LIVES = 9
SEED = 20


def test_a_seed_decides() -> None:
    assert kills_of(7, 3) == kills_of(7, 3)
    assert kills_of(7, 3) != kills_of(8, 3)


def test_each_process_is_killed_at_each_moment() -> None:
    killed = {(kill.process, kill.moment) for life in range(LIVES) for kill in kills_of(SEED, life)}
    in_deployments = {(process, step) for process in (*PROCESSES, CLIENT) for step in STEPS}
    assert killed == {(process, moment) for process in PROCESSES for moment in MOMENTS} | in_deployments


def test_three_lives_kill_each_process_in_a_deployment() -> None:
    killed = {kill.process for life in range(3) for kill in kills_of(SEED, life) if kill.moment in STEPS}
    assert killed == {*PROCESSES, CLIENT}


@pytest.mark.slow
@pytest.mark.spark
def test_whatever_is_killed_whenever_results_are_exact(tmp_path: Path) -> None:
    assert len(live(tmp_path, SEED, range(LIVES), print)) == LIVES * (len(MOMENTS) + len(STEPS)) >= 60

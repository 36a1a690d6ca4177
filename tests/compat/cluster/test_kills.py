"""Processes of a cluster are killed at moments that a seed decides; see :mod:`tests.compat.cluster.kills`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compat.cluster.kills import MOMENTS, PROCESSES, kills_of, live

LIVES = 13
SEED = 20


def test_a_seed_decides() -> None:
    assert kills_of(7, 3) == kills_of(7, 3)
    assert kills_of(7, 3) != kills_of(8, 3)


def test_each_process_is_killed_at_each_moment() -> None:
    killed = {(kill.process, kill.moment) for life in range(len(PROCESSES)) for kill in kills_of(SEED, life)}
    assert killed == {(process, moment) for process in PROCESSES for moment in MOMENTS}


@pytest.mark.slow
@pytest.mark.spark
def test_whatever_is_killed_whenever_results_are_exact(tmp_path: Path) -> None:
    assert len(live(tmp_path, SEED, range(LIVES), print)) == LIVES * len(MOMENTS) >= 60

"""Kills inside savepoints and restores, at steps that a seed decides on: see :mod:`tests.compiler.spark.savepoint_kills`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.compiler.spark.savepoint_kills import LONGEST, PROCESSES, live

pytestmark = pytest.mark.spark


def test_a_life(tmp_path: Path) -> None:
    killed = live(tmp_path, 1, range(1))
    assert [work for work, *_ in killed] == list(LONGEST)


@pytest.mark.slow
def test_lives_in_which_each_process_is_killed_in_each_work(tmp_path: Path) -> None:
    seed = int(os.environ.get("CRASH_SEED", time.time()))
    killed = live(tmp_path, seed, range(2 * len(PROCESSES)), print)
    assert len(killed) == 2 * len(PROCESSES) * len(LONGEST), f"CRASH_SEED={seed}"

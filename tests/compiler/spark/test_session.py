"""The settings that Spark is started with."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.masters import refuse_unsafe


@pytest.mark.parametrize(
    ("options", "master"),
    [
        ({}, None),
        ({}, "local[2]"),
        ({}, "local[*, 1]"),
        ({}, "spark://host:7077"),
        ({"spark.speculation": "false", "spark.task.maxFailures": "1", "spark.executor.memory": "2g"}, None),
    ],
)
def test_settings_that_leave_an_epoch_whole(options: dict[str, str], master: str | None) -> None:
    refuse_unsafe(options, master)


@pytest.mark.parametrize(
    ("options", "master", "named"),
    [
        ({"spark.speculation": "true"}, None, "spark.speculation=true"),
        ({"spark.speculation": " TRUE"}, None, "spark.speculation= TRUE"),
        ({"spark.task.maxFailures": "4"}, None, "spark.task.maxFailures=4"),
        ({"spark.stage.maxConsecutiveAttempts": "4"}, None, "spark.stage.maxConsecutiveAttempts=4"),
        ({}, "local[2,3]", r"--master local\[2,3\]"),
        ({}, "local[*, 3]", r"--master local\[\*, 3\]"),
    ],
)
def test_settings_that_run_tasks_twice_are_refused(options: dict[str, str], master: str | None, named: str) -> None:
    with pytest.raises(ProgramError, match=f"{named} would have Spark run tasks .* restart strategy"):
        refuse_unsafe(options, master)


def test_they_are_refused_before_the_job_starts(cluster: Any) -> None:
    env = cluster.environment(1)
    env.configuration.set_string("spark.speculation", "true")
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=r"spark\.speculation=true would have"):
        env.execute()
    assert not cluster.events

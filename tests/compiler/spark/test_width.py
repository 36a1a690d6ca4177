"""Which epochs run in one task."""

from __future__ import annotations

import pytest

from compat.compiler.spark.driver.width import FEW, Width


@pytest.mark.parametrize(
    ("epochs", "narrow"),
    [
        ([], [False]),
        ([(10, 5.0)], [False, False]),  # Spark was starting
        ([(10, 5.0), (10, 0.1), (10, 0.05)], [False, False, True, True]),
        ([(10, 0.1), (FEW + 1, 0.1), (10, 0.1)], [False, True, False, True]),
        ([(10, 0.9), (10, 1.2), (10, 1.4)], [False, True, True, False]),  # what takes long is better spread
        ([(10, 0.1), (10, 0.24), (10, 0.26)], [False, True, True, False]),
        ([(10, 0.5), (10, 1.0), *[(10, 0.5)] * 20], [False, True, *[False] * 20, True]),  # and tried again later
    ],
)
def test_an_epoch_runs_in_one_task_while_those_before_had_little_to_do(
    epochs: list[tuple[int, float]], narrow: list[bool]
) -> None:
    width = Width()
    found = [width.narrow]
    for records, seconds in epochs:
        width.done(records, seconds)
        found.append(width.narrow)
    assert found == narrow

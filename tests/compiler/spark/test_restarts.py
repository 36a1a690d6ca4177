"""When a job that failed starts again."""

from __future__ import annotations

import pytest

from compat.compiler.spark.driver.restarts import RestartStrategy

_FIXED = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "2"}
_RATE = {
    "restart-strategy": "failure-rate",
    "restart-strategy.failure-rate.max-failures-per-interval": "2",
    "restart-strategy.failure-rate.failure-rate-interval": "10 s",
    "restart-strategy.failure-rate.delay": "500 ms",
}
_GROWING = {
    "restart-strategy.type": "exponential-delay",
    "restart-strategy.exponential-delay.initial-backoff": "1 s",
    "restart-strategy.exponential-delay.backoff-multiplier": "2",
    "restart-strategy.exponential-delay.max-backoff": "3 s",
    "restart-strategy.exponential-delay.reset-backoff-threshold": "1 min",
}
_LIMITED = {
    "restart-strategy.type": "exponential-delay",
    "restart-strategy.exponential-delay.attempts-before-reset-backoff": "2",
}


@pytest.mark.parametrize(
    ("options", "checkpointing", "failures", "delays"),
    [
        ({}, False, [0], [None]),
        ({}, True, [0, 2, 5, 9], [1, 1.5, 2.25, 3.375]),
        ({}, True, [0, 3601, 7204], [1, 1.5, 1]),
        (_LIMITED, True, [0, 1, 2], [1, 1.5, None]),
        (_LIMITED, True, [0, 1, 3604], [1, 1.5, 1]),
        ({"restart-strategy.type": "none"}, True, [0], [None]),
        ({"restart-strategy.type": "off"}, True, [0], [None]),
        (_FIXED, False, [0, 1000, 2000], [1, 1, None]),
        (_RATE, False, [0, 1, 20, 21, 22], [0.5, 0.5, 0.5, 0.5, None]),
        (_GROWING, False, [0, 1, 2, 3], [1, 2, 3, 3]),
        (_GROWING, False, [0, 1, 2, 68], [1, 2, 3, 1]),
        (_GROWING, False, [0, 1, 2, 67], [1, 2, 3, 3]),
    ],
)
def test_strategies(
    options: dict[str, str], checkpointing: bool, failures: list[float], delays: list[float | None]
) -> None:
    strategy = RestartStrategy.of(options, checkpointing)
    assert [strategy.next_delay(now) for now in failures] == delays


def test_a_job_with_checkpoints_never_gives_up() -> None:
    """The delay stays finite, however often it has grown."""
    strategy = RestartStrategy.of({}, True)
    assert [strategy.next_delay(60.0 * number) for number in range(5000)][-1] == 60

"""Options whose values Flink checks when it reads them."""

from __future__ import annotations

import pytest

from compat.compiler.configuration import MAX_PARALLELISM, JobSettings
from compat.compiler.errors import FlinkError
from compat.state.model.job import STATE_BACKEND


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (MAX_PARALLELISM, "0", "The maximum parallelism must be greater than 0."),
        (MAX_PARALLELISM, "-1", "The maximum parallelism must be greater than 0."),
        (STATE_BACKEND, "rocks", "Cannot find configured state backend factory class: rocks"),
        ("state.backend", "rocks", "Cannot find configured state backend factory class: rocks"),
        ("restart-strategy.type", "sometimes", "sometimes is an unknown value of RestartStrategyType."),
        ("restart-strategy", "Off", "Off is an unknown value of RestartStrategyType."),
    ],
)
def test_a_value_that_flink_refuses(key: str, value: str, message: str) -> None:
    with pytest.raises(FlinkError, match=message):
        JobSettings.from_options({key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (MAX_PARALLELISM, "1"),
        *[("restart-strategy.type", name) for name in ("off", "fixeddelay", "failure-rate", "org.acme.Strategy")],
        *[(STATE_BACKEND, name) for name in ("hashmap", "RocksDB", "forst", "filesystem", "org.acme.BackendFactory")],
    ],
)
def test_a_value_that_flink_takes(key: str, value: str) -> None:
    assert JobSettings.from_options({key: value}).options == {key: value}

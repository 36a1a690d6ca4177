"""A batch gives records of a key by time, its timers behind them, and what is broadcast first: as PyFlink does.

``python -m tests.compiler.spark.test_batch PYTHON`` records the results of a PyFlink, in thread mode.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.state.descriptors import ListStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.batch_programs import programs
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.test_against_pyflink import run_here, run_there
from tests.compiler.spark.test_time import PAIR, ByNumber

RECORDED = Path(__file__).parents[2] / "golden" / "batch" / "pyflink_2.3.json"
SEEDS = (1, 2)


def recorded() -> dict[str, Any]:
    """What PyFlink 2.3 gave, by seed and program."""
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


def together(found: list[Any]) -> dict[str, Any]:
    return dict(zip([f"{name} {seed}" for seed in SEEDS for name in programs(seed)], found, strict=True))


@pytest.mark.parametrize("epoch_records", [0, 7])
def test_the_order_is_that_of_pyflink(tmp_path: Path, epoch_records: int) -> None:
    """Whatever the size of epochs."""
    given = [program for seed in SEEDS for program in programs(seed).values()]
    assert together(run_here(given, tmp_path, epoch_records)) == recorded()


class Fragile(KeyedProcessFunction):
    """The records of a key in the order in which they come; fails once, at the timer of a key."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def open(self, runtime_context: Any) -> None:
        self._seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self._seen.add(value[1])
        ctx.timer_service().register_event_time_timer(value[1])

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        if ctx.get_current_key() == "b" and not os.path.exists(self._mark):
            Path(self._mark).touch()
            raise ValueError("once")
        ctx.timer_service().register_event_time_timer(timestamp + 1)  # none is set behind the last record
        yield ctx.get_current_key(), timestamp, list(self._seen.get())


def test_a_batch_goes_on_from_its_checkpoint_in_the_same_order(cluster: Cluster, tmp_path: Path) -> None:
    env = cluster.environment(2, epoch_records=2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "0 s")
    monotonous = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(ByNumber())
    stream = env.from_collection([("a", 5), ("b", 9), ("a", 2), ("b", 1), ("a", 4), ("b", 6)], PAIR)
    keyed = stream.assign_timestamps_and_watermarks(monotonous).key_by(lambda pair: pair[0], Types.STRING())
    found = sorted(keyed.process(Fragile(str(tmp_path / "failed"))).execute_and_collect())
    assert found == [(key, time, times) for key, times in (("a", [2, 4, 5]), ("b", [1, 6, 9])) for time in times]
    assert [event["event"] for event in cluster.events].count("restarting") == 1


def test_keys_that_cannot_be_hashed_and_records_without_time_keep_their_order(cluster: Cluster) -> None:
    env = cluster.environment(1, epoch_records=2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_collection([([1], "c"), ([2], "x"), ([1], "a"), ([1], "b")])
    joined = stream.key_by(lambda pair: pair[0]).reduce(lambda left, right: (left[0], left[1] + right[1]))
    assert sorted(joined.execute_and_collect()) == [([1], "cab"), ([2], "x")]


def main(python: str) -> None:
    """Record what a PyFlink gives."""
    with tempfile.TemporaryDirectory() as folder:
        given = [program for seed in SEEDS for program in programs(seed).values()]
        found = together(run_there(python, given, Path(folder), "thread"))
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])

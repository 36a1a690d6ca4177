"""The cost of an epoch by slots: what crosses for one of them is the same however many there are."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream import program
from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.own_code import is_our_file
from compat.compiler.spark.driver.options import RunOptions
from compat.state.descriptors import ValueStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.metered import Crossed, MeteredExecutor

LEVELS = 5
RECORDS = 64
EPOCHS = 3


class Count(KeyedProcessFunction):
    """Counts, and passes on."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Itself(TimestampAssigner):
    """A number's timestamp is the number."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def crossed(folder: Path, slots: int, records: int = RECORDS, *, marks: bool = False, local: bool = False) -> Crossed:
    """What crosses in the last epoch of a job of keyed operators, each of whose slots sends to each."""
    options = RunOptions(epochs=EPOCHS, epoch_records=records, replicas=str(folder / "replicas"))
    executor = MeteredExecutor(folder, local=local, options=options, printer=lambda line: None)
    program.start(program.Program(executor))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(slots)
    env.set_max_parallelism(1024)
    strategy = WatermarkStrategy.no_watermarks()
    if marks:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
    stream = env.from_source(NumberSequenceSource(1, 10**9), strategy, "numbers")
    for level in range(1, LEVELS):
        stream = stream.key_by(lambda n: n % 1009, Types.LONG()).process(Count(), Types.LONG()).uid(f"count {level}")
    stream.filter(lambda n: False).print()
    with executor.running():
        env.execute("slots")
    program.start(program.Program())
    found = executor.epochs[EPOCHS - 1]
    found.items["hosts"] = executor.hosts
    return found


def calls(work: Callable[[], Crossed]) -> tuple[int, Crossed]:
    """How many functions of ours some work calls: what it costs, whatever the machine or the double of Spark does beside it."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call" and is_our_file(frame.f_code.co_filename)

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        result = work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return count, result


def assert_linear(folder: Path, few: int, many: int) -> None:
    """As many records for each slot; what is counted of each must be the same, but for digits of numbers."""
    crossed(folder / "imports", 2)
    counted = {
        slots: calls(lambda slots=slots: crossed(folder / str(slots), slots, 4 * slots)) for slots in (few, many)
    }  # type: ignore[misc]
    (few_calls, less), (many_calls, more) = counted[few], counted[many]

    assert set(less.bytes) == {"driver to tasks", "code", "between stages", "tasks to driver"}
    for what, size in less.bytes.items():
        assert more.bytes[what] / many < 1.05 * size / few, what
        assert more.items[what] / many < 1.05 * less.items[what] / few, what
    assert many_calls / many < 1.1 * few_calls / few


def test_what_crosses_for_a_slot_does_not_grow_with_their_number(tmp_path: Path) -> None:
    assert_linear(tmp_path, 8, 32)


@pytest.mark.slow
def test_what_crosses_for_a_slot_does_not_grow_up_to_hundreds(tmp_path: Path) -> None:
    assert_linear(tmp_path, 40, 400)


def test_a_watermark_costs_a_channel_and_no_more(tmp_path: Path) -> None:
    """It goes from each subtask to each, as in Flink; what a channel costs does not grow with their number."""
    channels = {slots: (LEVELS - 1) * slots**2 for slots in (4, 16)}
    marked = {
        slots: calls(lambda slots=slots: crossed(tmp_path / f"m{slots}", slots, marks=True)) for slots in channels
    }  # type: ignore[misc]
    plain = {slots: calls(lambda slots=slots: crossed(tmp_path / f"p{slots}", slots)) for slots in channels}  # type: ignore[misc]

    for slots, count in channels.items():
        more = marked[slots][1].bytes["between stages"] - plain[slots][1].bytes["between stages"]
        assert 0 < more < 400 * count
        assert marked[slots][0] - plain[slots][0] < 40 * EPOCHS * count + 500 * slots * LEVELS * EPOCHS


def test_an_epoch_is_one_task_on_one_machine(tmp_path: Path) -> None:
    """Nothing goes from task to task, however much there is to do; on a cluster each slot of a level has a task of its own."""
    spread, whole = crossed(tmp_path / "cluster", 4, 4000), crossed(tmp_path / "machine", 4, 4000, local=True)

    assert spread.items["code"] == 4 * LEVELS
    assert whole.items["code"] == 1
    assert whole.items["tasks to driver"] == spread.items["tasks to driver"] == 4 * LEVELS
    assert whole.bytes["between stages"] < spread.bytes["between stages"] / 2


def test_slots_beyond_the_cores_of_one_machine_share_hosts(tmp_path: Path) -> None:
    """Twenty slots of a machine with two cores have four hosts."""
    own, shared = crossed(tmp_path / "own", 20), crossed(tmp_path / "shared", 20, local=True)

    assert own.items["hosts"] == 20
    assert shared.items["hosts"] == 4

"""Keys that Python finds equal and Flink does not, or the reverse, are those of PyFlink, as recorded in thread mode.

There a key is what Flink has of it. In process mode it is so too, as long as no two such keys come one behind the other:
PyFlink's ``RemoteKeyedStateBackend.set_current_key`` takes a key that Python finds equal to the one before for that one. A
state or a window of one is then the other's, and its windows may be lost where their timers are due together.

``python -m tests.compiler.spark.test_keys PYTHON`` records anew what a PyFlink gives.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest

from tests.compiler.spark.test_against_pyflink import run_here, run_there

RECORDED = Path(__file__).parents[2] / "golden" / "streams" / "keys_pyflink_2.3.json"
PROGRAM = """
import datetime
from decimal import Decimal
from pyflink.common import Duration, Row, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import *
from pyflink.datastream.state import *
from pyflink.datastream.window import *

inf, nan, utc = float("inf"), float("nan"), datetime.timezone.utc
from urllib.parse import DefragResult as Named

class Stamped(TimestampAssigner):
    def extract_timestamp(self, value, before):
        return value[1]

class Counted(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(10**6)
        yield "seen", repr(ctx.get_current_key()), self.count.value()

    def on_timer(self, timestamp, ctx):
        yield "timer", repr(ctx.get_current_key()), self.count.value()

class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield "window", repr(key), sorted(e[1] for e in elements)

def joined(left, right):
    return left[0] + " " + right[0], right[1]

keys = KEYS
def build(env):
    env.set_parallelism(PARALLELISM)
    s = env.from_collection([(repr(key), at) for at, key in enumerate(keys)], Types.TUPLE([Types.STRING(), Types.LONG()]))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1000))
    s = s.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Stamped()))
    s = s.key_by(lambda v: keys[v[1]], TYPE)
    return s.STEP
"""
KEYS = {
    "zeros": ("[0.0, 1.5, -0.0, 0.0]", "Types.DOUBLE()"),
    "not a number": ("[nan, nan, 1.0, nan]", "Types.FLOAT()"),
    "decimals": ("[Decimal('1.0'), Decimal('1'), Decimal('1.00'), Decimal('1.0')]", "Types.BIG_DEC()"),
    "tuples of zeros": (
        "[(0.0, 1), (-0.0, 1), (0.0, 1), (nan, 2), (nan, 2)]",
        "Types.TUPLE([Types.DOUBLE(), Types.INT()])",
    ),
    "rows of zeros": ("[Row(a=0.0), Row(a=-0.0), Row(a=0.0)]", "Types.ROW_NAMED(['a'], [Types.DOUBLE()])"),
    "numbers": ("[1, 'x', True, 1.0, 1, True, Decimal('1'), 0, False, 0.0, -0.0, nan, nan, 0]", "None"),
    "nested numbers": ("[(1, ('a', 2)), (True, ('a', 2)), (1, ('a', 2.0)), (1, ('a', 2)), (1, 2), (1.0, 2)]", "None"),
    "lists": ("[(1, 'a'), [1, 'a'], (1, 'a'), [1, 'a'], Named(1, 'a'), [True, 'a'], {1: 2}, {1: 2.0}]", "None"),
    "times": (
        "[datetime.datetime(2024, 1, 1, tzinfo=utc), datetime.datetime(2024, 1, 1, 1, tzinfo=datetime.timezone("
        "datetime.timedelta(hours=1))), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=utc)]",
        "None",
    ),
}
STEPS = {
    "state": "process(Counted())",
    "reduce": "reduce(joined)",
    "window": "window(TumblingEventTimeWindows.of(Time.milliseconds(500))).process(Contents())",
    "reduced window": "window(TumblingEventTimeWindows.of(Time.milliseconds(500))).reduce(joined)",
    "session": "window(EventTimeSessionWindows.with_gap(Time.milliseconds(500))).process(Contents())",
}


def programs() -> dict[str, str]:
    """By what they are about."""
    return {
        f"{name}, {step}, {parallelism}": PROGRAM.replace("KEYS", keys)
        .replace("TYPE", type_info)
        .replace("STEP", call)
        .replace("PARALLELISM", str(parallelism))
        for name, (keys, type_info) in KEYS.items()
        for step, call in STEPS.items()
        for parallelism in ((1, 2) if step == "state" else (1,))
    }


@pytest.mark.parametrize("epoch_records", [0, 1])
def test_keys_are_those_of_pyflink(tmp_path: Path, epoch_records: int) -> None:
    known: dict[str, list[str]] = json.loads(RECORDED.read_text())
    ours = run_here(list(programs().values()), tmp_path, epoch_records)
    assert dict(zip(programs(), ours, strict=True)) == known


def main(python: str) -> None:
    """Record what a PyFlink gives."""
    with tempfile.TemporaryDirectory() as folder:
        given = run_there(python, list(programs().values()), Path(folder), "thread")
    lines = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in zip(programs(), given, strict=True))
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

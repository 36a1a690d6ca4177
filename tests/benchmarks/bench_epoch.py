"""The cost of an epoch with next to nothing to do, and the parts of a cold start.

Runs ``compat job run`` on a keyed count with ten records an epoch, and beside it the parts: an empty Spark job of as many
stages, a commit of a Delta table, the start of a SparkContext. Prints seconds: median, and the fastest and slowest.

    python tests/benchmarks/bench_epoch.py --epochs 40
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
numbers = env.from_source(NumberSequenceSource(1, 10**9), WatermarkStrategy.no_watermarks(), "numbers")
numbers.key_by(lambda n: n % 5, Types.LONG()).process(Count(), Types.LONG()).print()
env.execute("ten records")
"""


def spread(name: str, seconds: list[float]) -> None:
    """A line of the result."""
    print(f"{name:<58}{statistics.median(seconds):8.3f}   {min(seconds):.3f} to {max(seconds):.3f}")


def timed(work: Callable[[], object], times: int) -> list[float]:
    """How long each call took."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        found.append(time.perf_counter() - began)
    return found


def run_job(folder: Path, epochs: int) -> None:
    """The command as a user gives it."""
    (folder / "job.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "compat", "run", "job.py", "--output", "json"]
    began = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--epochs", str(epochs), "--epoch-records", "10"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    seconds: list[float] = []
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == "started":
            spread("cold start to a planned job", [time.perf_counter() - began])
        if event["event"] == "checkpoint":
            if not seconds:
                spread("cold start to the first checkpoint and the first record", [time.perf_counter() - began])
            seconds.append(event["seconds"])
    process.wait()
    spread("first epoch after Spark's start (workers start and import)", seconds[:1])
    spread("an epoch of 10 records", seconds[1:])


def run_parts(folder: Path, times: int) -> None:
    """The same without us: what Spark and Delta cost."""
    sys.path.insert(0, str(ROOT))
    from compat.compiler.spark.driver.session import Spark
    from compat.state.delta.log import SnapshotLog
    from compat.state.delta.rows import Kind, Row, write_rows

    spark = Spark(None, None, (), str(folder / "spark.log"))
    spread("a SparkContext", timed(lambda: spark.context, 1))
    base = spark.context.parallelize(range(2), 2)
    empty = base.map(lambda n: (n, n)).partitionBy(2, lambda n: n).values()
    spread("first empty Spark job of two Python stages", timed(empty.collect, 1))
    spread("an empty Spark job of two Python stages", timed(lambda: _again(base), times))
    spark.stop()
    log = SnapshotLog.create(folder / "log")
    row = Row("operator", Kind.VALUE, 0, "count", b"key", b"", b"", b"1")

    def commit() -> None:
        epoch = log.epoch + 1
        log.commit(epoch, [write_rows(log.path, [row] * 10, epoch)], {"token": "t"})

    spread("a commit of 10 changed rows", timed(commit, times))


def _again(base: object) -> object:
    return base.map(lambda n: (n, n)).partitionBy(2, lambda n: n).values().collect()  # type: ignore[attr-defined]


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run_job(Path(folder), arguments.epochs)
        run_parts(Path(folder), arguments.epochs)


if __name__ == "__main__":
    main()

"""The cost of held state: processor time of an epoch that touches 1,000 keys, memory, and bytes a key, by keys held.

    python tests/benchmarks/bench_spark_state.py [--keys 10000 100000 1000000 5000000]

For each number: one epoch that makes that many keys, then ten that touch 1,000 of them, in this process; then the state is
restored into a job of another parallelism. Epochs that cost the same whatever is held are what to look for; the first of
the small epochs of a restored job builds the replicas.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.base import Sink, Source
from compat.compiler.datastream.program import Program, start
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.spark.connectors.sources import Read, Split
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.options import RunOptions
from compat.state.types import Types

TOUCHED = 1000
SMALL = 10
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Steps(Source):
    """First a record of each key, then in each epoch one of every hundredth of the first keys."""

    def __init__(self, keys: int) -> None:
        super().__init__(bounded=True, produced_type=Types.LONG())
        self.keys = keys

    complete = True

    def create_enumerator(self, parallelism: int) -> Any:
        return self

    def create_reader(self) -> Any:
        return self

    def discover(self, known: set[str]) -> list[Split]:
        return [] if known else [{"id": "0", "step": 0}]

    def read(self, split: Split, limit: int) -> Read:
        step = split["step"]
        stride = max(self.keys // TOUCHED, 1)
        values = list(range(self.keys) if step == 0 else range(0, stride * TOUCHED, stride))
        return Read(values, None, {"id": "0", "step": step + 1}, step == 2 * SMALL)


class Nothing(Sink):
    """Takes records and forgets them."""

    def create_writer(self, context: Any) -> Any:
        return self

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""

    def prepare_commit(self) -> list[Any]:
        """Nothing."""
        return []


def run(folder: Path, keys: int, parallelism: int, **options: Any) -> tuple[list[float], str | None, Path]:
    """Processor seconds of each epoch, the savepoint, and the job's state."""
    marks: list[float] = []
    run_options = RunOptions(replicas=str(folder / f"replicas-{parallelism}"), **options)
    told: Any = lambda event: marks.append(time.process_time()) if event["event"] in ("started", "checkpoint") else None  # noqa: E731
    executor = InProcessExecutor(str(folder / "store"), options=run_options, listener=told)
    start(Program(executor))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.set_max_parallelism(128)
    numbers = env.from_source(Steps(keys), WatermarkStrategy.no_watermarks(), "steps").uid("steps")
    pairs = numbers.map(lambda n: (f"key-{n}", n), PAIR).uid("pairs")
    pairs.key_by(lambda p: p[0], Types.STRING()).sum(1).uid("sum").sink_to(Nothing()).uid("nothing")
    env.execute("state")
    master = executor.clients[-1].master
    return [b - a for a, b in pairwise(marks)], master.job.savepoint, folder / "store"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, nargs="*", default=[10_000, 100_000, 1_000_000, 5_000_000])
    for keys in parser.parse_args().keys:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            first, savepoint, store = run(folder, keys, 2, epochs=1 + SMALL)
            files = [file.stat().st_size for file in (store / "jobs").rglob("*.parquet")]
            second, _, _ = run(folder, keys, 3, savepoint=savepoint, epochs=SMALL)
            print(
                f"{keys:>9} keys: {first[0]:.2f} CPU s to make, then {statistics.median(first[1:]) * 1000:.0f} ms an epoch; "
                f"restored at parallelism 3 in {second[0]:.2f} CPU s, then {statistics.median(second[1:]) * 1000:.0f} ms; "
                f"{max(files) * 2 / keys:.1f} bytes a key; "
                f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB at most",
                flush=True,
            )


if __name__ == "__main__":
    main()

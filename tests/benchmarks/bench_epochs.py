"""A job over many epochs of few records: what an epoch costs at the start and at the end, and what is left on the disk.

Runs a keyed count, in this process by default (``--spark`` has Spark run it), and prints for every tenth of the epochs: the
processor time of an epoch, the memory of this process, the files and bytes of the state's table and of its log, and the bytes
of the replicas. Nothing of it may grow with the number of epochs: what is not needed is removed from time to time.

    python tests/benchmarks/bench_epochs.py --epochs 2000
    python tests/benchmarks/bench_epochs.py --epochs 20 --records 1000000 --keys 20000000
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from compat.compiler.datastream import program
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.options import RunOptions
from compat.state.descriptors import ValueStateDescriptor
from compat.state.types import Types


class Count(KeyedProcessFunction):
    """Counts the records of a key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield value


class Growth:
    """Prints a line every so many epochs."""

    def __init__(self, folder: Path, every: int) -> None:
        self._folder, self._every = folder, every
        self._seen, self._before = 0, time.process_time()
        names = ("epoch", "processor ms", "clock ms", "memory MB", "data files", "MB", "log files", "MB", "replicas MB")
        print("".join(f"{name:>14}" for name in names))
        self._began = time.perf_counter()

    def told(self, event: dict[str, Any]) -> None:
        """An event of the job's."""
        if event["event"] != "checkpoint":
            return
        self._seen += 1
        if self._seen % self._every:
            return
        now, clock = time.process_time(), time.perf_counter()
        data = list(self._folder.glob("store/jobs/*/state/*.parquet"))
        log = list(self._folder.glob("store/jobs/*/state/_delta_log/*"))
        replicas = sum(file.stat().st_blocks * 512 for file in self._folder.glob("replicas/**/data.mdb"))
        shown = (
            f"{event['epoch']}",
            f"{(now - self._before) / self._every * 1000:.1f}",
            f"{(clock - self._began) / self._every * 1000:.1f}",
            f"{resident():.0f}",
            f"{len(data)}",
            f"{megabytes(data):.2f}",
            f"{len(log)}",
            f"{megabytes(log):.2f}",
            f"{replicas / 1e6:.2f}",
        )
        print("".join(f"{each:>14}" for each in shown), flush=True)
        self._before, self._began = time.process_time(), time.perf_counter()


def resident() -> float:
    """The megabytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def megabytes(files: list[Path]) -> float:
    """The size of files."""
    return sum(file.stat().st_size for file in files if file.exists()) / 1e6


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=2000)
    parser.add_argument("--records", type=int, default=10)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--spark", action="store_true")
    arguments = parser.parse_args()
    keys = arguments.keys
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        growth = Growth(folder, max(arguments.epochs // 10, 1))
        options = RunOptions(
            epochs=arguments.epochs, epoch_records=arguments.records, replicas=str(folder / "replicas")
        )
        kind = SparkExecutor if arguments.spark else InProcessExecutor
        executor = kind(str(folder / "store"), options=options, printer=lambda line: None, listener=growth.told)
        program.start(program.Program(executor))
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        numbers = env.from_source(NumberSequenceSource(1, 10**12), WatermarkStrategy.no_watermarks(), "numbers")
        counted = numbers.key_by(lambda n: n % keys, Types.LONG()).process(Count(), Types.LONG())
        counted.filter(lambda n: False).print()
        env.execute("epochs")
        executor.close()


if __name__ == "__main__":
    main()

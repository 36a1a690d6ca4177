"""Where the processor time of a record goes: the jobs of ``bench_spark.py`` in this one process, without Spark.

    python tests/benchmarks/bench_parts.py process [--records 1000000] [--keys 1000] [--epoch-records 50000] [--parts]

Printed are µs of processor time a record: of epochs, the median and the lower quartile, since others on the machine only ever
add to it, and the mean, which has what only some epochs do; and the same of the bare loop, in pieces as long, in the same run.
With ``--parts``, also those of each part, which are measured at the cost of some more. ``--root`` names another checkout, to
compare two in turns.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

HERE = Path(__file__).parents[2]
sys.path.insert(0, str(HERE))
from tests.benchmarks.bench_spark import BARE, FLINK, JOBS  # noqa: E402

PARTS = (
    ("source", "operators.source", "SourceOperator", "_read"),
    ("map", "operators.stateless", "MapOperator", "process"),
    ("filter", "operators.stateless", "FilterOperator", "process"),
    ("key_by", "operators.stateless", "KeyByMap", "process"),
    ("timestamps", "operators.watermarks", "ExtractTimestamp", "process"),
    ("timestamps", "operators.watermarks", "RemoveTimestamp", "process"),
    ("watermarks", "operators.watermarks", "TimestampsAndWatermarks", "process"),
    ("keyed process", "operators.keyed", "KeyedProcess", "process_keyed"),
    ("keyed reduce", "operators.keyed", "KeyedReduce", "process_keyed"),
    ("window", "operators.windows", "WindowOperator", "process_keyed"),
    ("window fires", "operators.windows", "WindowOperator", "process_watermark"),
    ("spreading", "task.channels", "RecordWriter", "records"),
    ("spreading", "task.channels", "RecordWriter", "keyed"),
    ("encoding", "task.channels", None, "encode_elements"),
    ("decoding", "task.stream_task", None, "decode_elements"),
    ("snapshot", "task.stream_task", "StreamTask", "snapshot_state"),
    ("memory", "state.memory", "Memory", "take"),
    ("memory", "state.memory", "Memory", "save"),
    ("log's table", "state.changes", "Changes", "table"),
    ("log's file", "task.epochs", None, "write_table"),
    ("rest of a subtask", "task.epochs", "Subtasks", "run"),
)
"""What is measured: the name of the part, and the function's module below ``compat.compiler.spark``, class and name."""


class Parts:
    """Processor time by part: a part's is without those that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inner: list[float] = []

    def measure(self, place: Any, name: str, part: str) -> None:
        """Have calls of a function measured."""
        function = getattr(place, name)

        def measured(*arguments: Any, **options: Any) -> Any:
            self._inner.append(0.0)
            began = time.thread_time()
            try:
                return function(*arguments, **options)
            finally:
                spent = time.thread_time() - began
                self.seconds[part] = self.seconds.get(part, 0.0) + spent - self._inner.pop()
                if self._inner:
                    self._inner[-1] += spent

        setattr(place, name, measured)


def measure_parts() -> Parts:
    """Have all parts measured that this version has."""
    parts = Parts()
    for part, module, owner, name in PARTS:
        try:
            place = importlib.import_module(f"compat.compiler.spark.{module}")
        except ImportError:
            continue
        place = place if owner is None else getattr(place, owner)
        if name in vars(place):
            parts.measure(place, name, part)
    return parts


def run_job(job: str, what: str, records: int, keys: int, epoch_records: int) -> list[float]:
    """Run a job in this process; gives the processor seconds of each of its epochs but the first, which opens all."""
    from compat.compiler.datastream.program import Program, start
    from compat.compiler.gc_policy import collect_rarely
    from compat.compiler.spark.driver.executor import InProcessExecutor
    from compat.compiler.spark.driver.options import RunOptions
    from compat.compiler.spark.task.epochs import InProcessRunner
    from compat.loader.imports import prepare_for_programs

    seconds: list[float] = []
    run = InProcessRunner.run

    def timed(self: Any, spec: Any) -> Any:
        began = time.thread_time()
        reports = run(self, spec)
        seconds.append(time.thread_time() - began)
        return reports

    with tempfile.TemporaryDirectory() as folder:
        options = RunOptions(replicas=f"{folder}/replicas", epoch_records=epoch_records)
        prepare_for_programs()
        start(Program(InProcessExecutor(f"{folder}/store", options=options, listener=lambda event: None)))
        collect_rarely()
        InProcessRunner.run = timed  # type: ignore[method-assign]
        sys.argv = ["job", what, str(records), str(keys), "compat"]
        exec(compile(job, "job.py", "exec"), {"__name__": "__main__"})
    return seconds[1:]


def run_bare(bare: str, what: str, records: int, keys: int) -> float:
    """The processor seconds of the bare loop, in this process."""
    sys.argv = ["bare", what, str(records), str(keys)]
    code = compile(bare, "bare.py", "exec")
    began = time.thread_time()
    exec(code, {"__name__": "__main__"})
    return time.thread_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=JOBS)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--epoch-records", type=int, default=50_000)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--root", type=Path, default=HERE)
    given = parser.parse_args()
    sys.path.insert(0, str(given.root))

    silent: Callable[..., None] = lambda *words: None  # noqa: E731 - the jobs print
    bare, job = (f"print = silent\n{code}" for code in (BARE, FLINK))
    import builtins

    builtins.silent = silent  # type: ignore[attr-defined]
    parts = measure_parts() if given.parts else Parts()
    epochs = run_job(job, given.what, given.records, given.keys, given.epoch_records)
    size = given.epoch_records
    whole = [each for each in epochs if each > 0.5 * median(epochs)]  # the last ones are not full
    loops = [run_bare(bare, given.what, size, given.keys) for _ in range(min(10, max(3, len(whole))))]
    for part, seconds in sorted(parts.seconds.items(), key=lambda each: -each[1]):
        print(f"{part:20}{seconds / given.records * 1e6:8.3f}")
    for name, measured in (("epochs", whole), ("bare loop", loops)):
        lower, middle, _ = quantiles(measured, n=4)
        average = mean(measured) / size * 1e6
        print(f"{name:20}{middle / size * 1e6:8.3f} (lower quartile {lower / size * 1e6:.3f}, mean {average:.3f})")


if __name__ == "__main__":
    main()

"""Large state: how long a savepoint, a compaction and a restore at another parallelism take, and the memory of each process.

    python tests/benchmarks/bench_large.py --keys 200000 --bytes 512
    python tests/benchmarks/bench_large.py --keys 20000000 --bytes 512 --folder /big/disk     # 10 GB of values

A job fills its state with one value of so many bytes for each key and stops with a savepoint; its log is compacted by tasks of
Spark, as a job has it done beside its epochs; a job at another parallelism restores the savepoint, reads and writes some of
it, and takes a savepoint again. Each step is a process with what it starts. Prints its seconds by the clock and of the
processors, and the highest memory of its processes by what they are, and of all of them together: their own, without the
pages of files that they have mapped, which the system takes back when it needs them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = """
import base64
import os

from pyflink.common import Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Keep(KeyedProcessFunction):
    def open(self, context):
        self.value = context.get_state(ValueStateDescriptor("value", Types.STRING()))

    def process_element(self, number, ctx):
        if self.value.value() is None:
            self.value.update(base64.b64encode(os.urandom({bytes} * 3 // 4)).decode())

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(NumberSequenceSource(1, 1000 * {keys}), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
numbers.key_by(lambda number: number, Types.LONG()).process(Keep(), Types.LONG()).uid("keep").print().uid("out")
env.execute("large state")
"""
COMPACT = """
import sys

from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.workers import SparkWorkers
from compat.state.delta.compaction import decide
from compat.state.delta.log import SnapshotLog

if __name__ == "__main__":
    log, spark = SnapshotLog.open(sys.argv[1]), Spark("local[2]", None, (), "spark.log")
    compaction = decide(log)
    assert compaction.commit(log, compaction.done(workers=SparkWorkers(lambda: spark, "job")), {"token": "bench"})
    log.clean(1)
    spark.stop()
"""
EPOCHS = 20
"""The epochs in which the state is filled."""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--bytes", type=int, default=512, help="of each value")
    parser.add_argument("--parallelism", type=int, nargs=2, default=(2, 3), help="to fill with, and to restore with")
    parser.add_argument("--folder", help="where the state goes (default: a folder for temporary files)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-large-", dir=given.folder) as folder:
        (Path(folder) / "job.py").write_text(
            PROGRAM.replace("{bytes}", str(given.bytes)).replace("{keys}", str(given.keys))
        )
        first, second = given.parallelism
        print(f"{given.keys:,} keys of {given.bytes:,} bytes: {given.keys * given.bytes / 1e9:.1f} GB", flush=True)
        filled = ("--store", f"{folder}/store", "--epochs", EPOCHS, "--epoch-records", -(-given.keys // EPOCHS))
        _step(folder, f"fill and savepoint, parallelism {first}", _run("job.py", "-p", first, *filled))
        savepoint = _savepoint(folder, "store")
        print(f"   the savepoint has {_size(savepoint) / 1e6:,.0f} MB", flush=True)
        (state,) = Path(folder).glob("store/jobs/*/state")
        (Path(folder) / "compact.py").write_text(COMPACT)
        _step(folder, "compaction", [sys.executable, "compact.py", str(state)])
        shutil.rmtree(state)  # two of such size are enough for a disk
        again = ("--store", f"{folder}/other", "-s", savepoint, "--epochs", 2, "--epoch-records", 1000)
        _step(folder, f"restore and savepoint, parallelism {second}", _run("job.py", "-p", second, *again))
        print(f"   the savepoint has {_size(_savepoint(folder, 'other')) / 1e6:,.0f} MB", flush=True)


def _run(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "compat", "run", *map(str, arguments), "--output", "json"]


def _savepoint(folder: str, store: str) -> Path:
    (found,) = Path(folder).glob(f"{store}/savepoints/*")
    return found


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _step(folder: str, name: str, command: list[str]) -> None:
    """Run a step, looking at its processes all the time; ends the program where it fails."""
    began, log = time.perf_counter(), Path(folder) / "step.log"
    before = os.times()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with log.open("w") as written:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=written, stderr=subprocess.STDOUT)
        highest: defaultdict[str, int] = defaultdict(int)
        together = 0
        while process.poll() is None:
            sizes = _sizes(process.pid)
            together = max(together, sum(size for _, size in sizes))
            for kind, size in sizes:
                highest[kind] = max(highest[kind], size)
            time.sleep(0.25)
    if process.returncode:
        sys.exit(f"{name} failed:\n{log.read_text()[-3000:]}")
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{name}: {time.perf_counter() - began:.1f} s, processors {used:.1f} s", flush=True)
    told = ", ".join(f"{kind} {size / 1e6:,.0f}" for kind, size in sorted(highest.items()))
    print(f"   MB at most: {told}; together {together / 1e6:,.0f}", flush=True)


def _sizes(root: int) -> list[tuple[str, int]]:
    """What each process below one is, and the memory that it has."""
    parents, found = {}, []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int(Path(entry.path, "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
    for pid in parents:
        above = pid
        while above not in (root, 0, 1):
            above = parents.get(above, 0)
        if above == root:
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                status = Path(f"/proc/{pid}/status").read_text()
            except (OSError, ValueError, IndexError):
                continue
            own = re.search(r"RssAnon:\s+(\d+) kB", status)
            found.append((_kind(pid == root, words), 1024 * int(own[1]) if own is not None else 0))
    return found


def _kind(is_root: bool, words: list[bytes]) -> str:
    if is_root:
        return "driver"
    return "java" if b"java" in words[0] else "worker" if any(b"daemon" in word for word in words) else "host"


if __name__ == "__main__":
    main()

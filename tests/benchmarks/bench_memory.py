"""The memory of a job on Spark, all of its processes together, from its start to its end.

    python tests/benchmarks/bench_memory.py keys --keys 10000000          # a sum for each of so many keys
    python tests/benchmarks/bench_memory.py steady --epochs 300           # counts and windows, epoch after epoch
    python tests/benchmarks/bench_memory.py steady --epochs 60 -p 64

Samples the memory of the driver, the JVM, the workers and the hosts: their own, in shares where a fork has left it to several
processes (Pss_Anon, Pss_Shmem). Pages of files are left out: how many count for a process depends on who else has them. Prints
for each kind, in MB, what it has after the first epoch, its mean in each third of what follows, its peak, and the last third as
a ratio of the one before; of a job that does not grow that is 1. What the job computed is held against plain arithmetic.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compat.compiler.spark.driver.classes import SWITCH
from compat.compiler.spark.driver.inspection import state_rows

ROOT = Path(__file__).parents[2]
EVERY = 0.5
"""Seconds from sample to sample."""
MARK = "COMPAT_BENCH_MEMORY"
"""The variable by which processes of a run are known, whoever their parent is."""
HEAD = """
from pyflink.common import Encoder, Time, Types
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.window import TumblingEventTimeWindows

class SameInEachSplit(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return (value - 1) % {length}

class Sum(KeyedProcessFunction):
    def open(self, context):
        self.sum = context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value, ctx):
        self.sum.update((self.sum.value() or 0) + value)
        if value % 100_000 == 0:
            yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.enable_checkpointing(1000)
strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SameInEachSplit())
numbers = env.from_source(NumberSequenceSource(1, {end}), strategy, "numbers").uid("numbers")
keyed = numbers.key_by(lambda n: n % {keys}, Types.LONG())
some = keyed.process(Sum(), Types.LONG()).uid("sum")
"""
WINDOWS = """
windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10_000)))
some = some.union(windows.reduce(lambda a, b: a + b).uid("windows").filter(lambda n: n % 1000 == 0))
"""
FOOT = """
files = FileSink.for_row_format("files", Encoder.simple_string_encoder()).build()
some.map(str, Types.STRING()).sink_to(files).uid("files")
env.execute("memory")
"""
Sample = tuple[int, Mapping[str, int]]
"""How many epochs were told by then, and the bytes of each kind of process."""


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["keys", "steady"])
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3, help="how often each key comes, of keys")
    parser.add_argument("--epochs", type=int, default=300, help="of steady")
    parser.add_argument("--records", type=int, default=20_000, help="of an epoch of steady")
    parser.add_argument("-p", "--parallelism", type=int, default=2)
    parser.add_argument("--samples", type=Path, help="a file for all samples, as lines of JSON")
    parser.add_argument("-D", dest="options", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    steady = given.what == "steady"
    end = given.epochs * given.records if steady else given.rounds * given.keys
    if end % given.keys or end % given.parallelism:
        parser.error(f"{end:,} records are not as many for each key and each subtask")
    with tempfile.TemporaryDirectory(prefix="bench-memory-") as name:
        folder = Path(name)
        text = HEAD + (WINDOWS if steady else "") + FOOT
        for word, value in {"end": end, "keys": given.keys, "length": end // given.parallelism}.items():
            text = text.replace(f"{{{word}}}", str(value))
        (folder / "job.py").write_text(text)
        options = [word for option in given.options for word in ("-D", option)]
        options += ["--epoch-records", str(given.records)] if steady else []
        began = time.perf_counter()
        samples = sampled(folder, ["run", "job.py", "-p", str(given.parallelism), *options])
        seconds = time.perf_counter() - began
        print(
            f"{given.what}: {given.keys:,} keys, {end:,} records, {samples[-1][0]} epochs, {seconds:.0f} s", flush=True
        )
        if given.samples is not None:
            given.samples.write_text("".join(json.dumps(each) + "\n" for each in samples))
        show(samples)
        verify(folder, given.keys, end)
        print("all sums are right", flush=True)


def sampled(folder: Path, arguments: Sequence[str]) -> list[Sample]:
    """Run a command to its end, looking at its processes all the time; ends the program where it fails."""
    mark = uuid.uuid4().hex
    environment = {**os.environ, MARK: mark, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder), SWITCH: "off"}
    told, said, samples = folder / "events", folder / "said", list[Sample]()
    with told.open("wb") as out, said.open("wb") as errors:
        command = [sys.executable, "-m", "compat", *arguments, "--output", "json"]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=errors)
        while process.poll() is None:
            sizes: defaultdict[str, int] = defaultdict(int)
            for kind, size in memory_of(f"{MARK}={mark}".encode(), process.pid):
                sizes[kind] += size
            samples.append((told.read_bytes().count(b'"checkpoint"'), dict(sizes)))
            time.sleep(EVERY)
    if process.returncode:
        sys.exit(f"The job failed:\n{said.read_text()[-3000:]}")
    return samples


def memory_of(mark: bytes, driver: int) -> Iterator[tuple[str, int]]:
    """What each process with a mark is, and the bytes that are its share of memory."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if mark not in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    continue
                words = Path(entry.path, "cmdline").read_bytes().split(b"\0")
                lines = Path(entry.path, "smaps_rollup").read_text().splitlines()
            except OSError:  # it has ended meanwhile
                continue
            shares = [int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:"))]
            yield kind_of(int(entry.name) == driver, words), 1024 * sum(shares)


def kind_of(is_driver: bool, words: Sequence[bytes]) -> str:
    """What a process is."""
    if is_driver:
        return "driver"
    return "jvm" if words[0].endswith(b"java") else "workers and hosts"


def show(samples: Sequence[Sample]) -> None:
    """Print the table."""
    running = [sizes for epochs, sizes in samples if epochs] or [sizes for _, sizes in samples]
    kinds = sorted({kind for sizes in running for kind in sizes})
    columns = ("first", "1st third", "2nd third", "3rd third", "peak", "3rd/2nd")
    print(" " * 20 + "".join(f"{name:>12}" for name in columns))
    for kind in (*kinds, "together"):
        line = [sum(sizes.values()) if kind == "together" else sizes.get(kind, 0) for sizes in running]
        thirds = [_mean(line[len(line) * part // 3 : len(line) * (part + 1) // 3]) for part in range(3)]
        megabytes = (line[0], *thirds, max(line))
        told = "".join(f"{size / 1e6:>12,.0f}" for size in megabytes)
        print(f"{kind:<20}{told}{thirds[2] / max(thirds[1], 1):>12.2f}", flush=True)


def _mean(sizes: Sequence[int]) -> float:
    return sum(sizes) / max(len(sizes), 1)


def verify(folder: Path, keys: int, end: int) -> None:
    """That the state has a sum for each key, that of its numbers up to the end."""
    (state,) = (folder / ".compat").glob("jobs/*/state")
    rounds, found = end // keys, 0
    for row in state_rows(str(state), "sum"):
        key = row["key"] or keys
        assert row["value"] == rounds * key + keys * (rounds * (rounds - 1) // 2), row
        found += 1
    assert found == keys, found


if __name__ == "__main__":
    main()

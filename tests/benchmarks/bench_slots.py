"""The cost of an epoch by the number of slots: five levels of keyed operators on a real Spark.

Runs ``compat job run`` with a thousand records an epoch at each parallelism, and prints, side by side: the processor
seconds of an epoch in all processes (driver, JVM, Python workers, hosts), the same for a slot and for a task, the
seconds by the clock, the processor seconds up to the first checkpoint, in which workers and hosts start, and the memory
that all processes take.

    python tests/benchmarks/bench_slots.py --slots 8 32 96
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
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
LEVELS = 5
HOST = "compat.compiler.spark.task.hosts"
PROGRAM = """
import sys
from pyflink.common import Types
from pyflink.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield value

class Itself(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value

slots, levels, marks = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "marks"
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(slots)
env.set_max_parallelism(1024)
strategy = WatermarkStrategy.no_watermarks()
if marks:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Itself())
stream = env.from_source(NumberSequenceSource(1, 10**9), strategy, "numbers")
for level in range(1, levels):
    stream = stream.key_by(lambda n: n % 100003, Types.LONG()).process(Count(), Types.LONG()).uid(f"count-{level}")
stream.filter(lambda n: False).print()
env.execute("slots")
"""


class Epoch(NamedTuple):
    """An epoch: seconds by the clock, and processor seconds by process."""

    seconds: float
    driver: float
    jvm: float
    python: float

    @property
    def processor(self) -> float:
        """The processor seconds of all."""
        return self.driver + self.jvm + self.python


class Found(NamedTuple):
    """What was measured at a number of slots; ``memory`` in MB."""

    slots: int
    first: Epoch
    later: Epoch
    memory: float


def processes(root: int) -> dict[int, str]:
    """The process ``root`` and its descendants, by their ids: the driver, java or python. A host names its daemon."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                stat = (each / "stat").read_text().rsplit(")", 1)[1].split()
                command = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            names[int(each.name)] = "java" if command[0].endswith("java") else "python"
            parents[int(each.name)] = int(command[-2] if HOST in command else stat[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: "driver" if pid == root else names[pid] for pid in found if pid in names}


def used(root: int) -> dict[str, float]:
    """The processor seconds of all processes so far, those that have ended and were waited for included."""
    seconds = {"driver": 0.0, "java": 0.0, "python": 0.0}
    tick = os.sysconf("SC_CLK_TCK")
    for pid, name in processes(root).items():
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        own, waited = int(stat[11]) + int(stat[12]), int(stat[13]) + int(stat[14])
        seconds[name] += (own + (waited if name == "python" else 0)) / tick
    return seconds


def memory(root: int) -> float:
    """The megabytes that the processes have to themselves, or their share of."""
    total = 0
    for pid in processes(root):
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def measure(slots: int, epochs: int, records: int, marks: bool) -> Found:
    """Run the job at a number of slots."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.py").write_text(PROGRAM)
        command = [sys.executable, "-m", "compat", "run", "job.py", "--output", "json", "--fresh"]
        command += ["--epochs", str(epochs), "--epoch-records", str(records)]
        command += ["--args", f"{slots} {LEVELS} {'marks' if marks else 'none'}"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        found: list[Epoch] = []
        before = None
        took = 0.0
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "checkpoint":
                now = used(process.pid)
                spent = {key: now[key] - (before or {}).get(key, 0.0) for key in now}
                found.append(Epoch(event["seconds"], spent["driver"], spent["java"], spent["python"]))
                before = now
                took = max(took, memory(process.pid)) if len(found) == epochs - 1 else took
        _, errors = process.communicate()
        if process.returncode:
            raise SystemExit(errors[-3000:])
    later = Epoch(*(statistics.median(column) for column in zip(*found[1:-1], strict=True)))
    return Found(slots, found[0], later, took)


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slots", type=int, nargs="+", default=[8, 32, 96])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--marks", action="store_true", help="watermarks, which go from each slot to each other")
    arguments = parser.parse_args()
    print(f"{LEVELS} levels, {arguments.records:,} records an epoch; medians of epochs behind the first")
    header = (
        "slots",
        "processor s",
        "a slot, ms",
        "a task, ms",
        "ratio",
        "driver",
        "JVM",
        "Python",
        "clock s",
        "first",
        "MB",
    )
    print("".join(f"{each:>12}" for each in header))
    base = None
    for slots in arguments.slots:
        found = measure(slots, arguments.epochs, arguments.records, arguments.marks)
        slot = found.later.processor / slots
        base = base or slot
        shown = [
            f"{slots}",
            f"{found.later.processor:.2f}",
            f"{slot * 1000:.1f}",
            f"{slot * 1000 / LEVELS:.1f}",
            f"{slot / base:.2f}",
            f"{found.later.driver:.2f}",
            f"{found.later.jvm:.2f}",
            f"{found.later.python:.2f}",
            f"{found.later.seconds:.2f}",
            f"{found.first.processor:.1f}",
            f"{found.memory:.0f}",
        ]
        print("".join(f"{each:>12}" for each in shown), flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()

"""Keyed running sums and window counts: this runtime, a bare loop, PyFlink and Spark's own stateful operators.

    python tests/benchmarks/bench_spark.py [--records 5000000] [--keys 1000 100000 1000000] [--flink PYTHON] [--only NAME …]

``process`` is a running sum by key in a ``KeyedProcessFunction`` that yields, with a ``ValueState``; the bare loop calls that
very function once a record, over a state that is a dict. ``sum`` is the same by ``sum(1)``; ``parse`` that of amounts that the
program reads from JSON, so that its functions are most of the work; ``window`` counts words in windows of event time, and
``session`` in sessions. ``list`` and ``map`` use a ``ListState`` and a ``MapState``, ``timer`` sets a timer for each record,
most of which are set already, and ``broadcast`` looks into a broadcast state; each beside the same function over dicts.

Each contender runs in processes of its own, one after the other, at parallelism 2 with checkpoints on. Printed are records
a second by the clock, and records a second of processor time of all its processes, which a loaded machine disturbs less,
both less what a run over one record takes (``fixed``), and their ratios to the bare loop's on one core: the clock's per core.
A line as JSON follows each run, and one table of all ends the output.

``--epoch-records`` holds epochs to one size: on a machine that others load, the pace of a job makes them too small.
``--flink`` names an interpreter that has PyFlink; Spark's transformWithState needs ``pip install protobuf``. Peers are given
``--peer-records`` records: some need hours for millions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SPREAD = 2654435761
PARALLELISM = 2
TICKS = os.sysconf("SC_CLK_TCK")

LINE = """'{"user": "key-%d", "amount": %d, "at": %d, "tags": ["a", "b"]}' % (n * {spread} % keys, n, n * 7)""".replace(
    "{spread}", str(SPREAD)
)

FUNCTIONS = """
class Sum(Keyed):
    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))
    def process_element(self, value, ctx):
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total

class Recent(Keyed):
    def open(self, context):
        self.recent = context.get_list_state(ListStateDescriptor("recent", Types.LONG()))
    def process_element(self, value, ctx):
        self.recent.add(value[1])
        if value[1] % 16 == 0:
            total = sum(self.recent.get())
            self.recent.clear()
            yield value[0], total

class Counts(Keyed):
    def open(self, context):
        self.counts = context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))
    def process_element(self, value, ctx):
        count = (self.counts.get(value[1] % 8) or 0) + 1
        self.counts.put(value[1] % 8, count)
        yield value[0], count

class Alarm(Keyed):
    def open(self, context):
        self.total = context.get_state(ValueStateDescriptor("total", Types.LONG()))
    def process_element(self, value, ctx):
        self.total.update((self.total.value() or 0) + value[2])
        ctx.timer_service().register_event_time_timer(value[1] // 10000 * 10000 + 9999)
    def on_timer(self, timestamp, ctx):
        yield ctx.get_current_key(), timestamp, self.total.value()
        self.total.clear()

class Ruled(Broadcast):
    def process_element(self, value, ctx):
        yield value[0], value[1] * (ctx.get_broadcast_state(RULES).get(value[1] % 4) or 1)
    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value, value + 1)
"""
"""The functions of the jobs, which the bare loop calls, too."""

FLINK = (
    """
import json, sys, time
from pyflink.common import Types, WatermarkStrategy, Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import KeyedProcessFunction as Keyed, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import BroadcastProcessFunction as Broadcast
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
{functions}
RULES = MapStateDescriptor("rules", Types.LONG(), Types.LONG())

class Timestamps(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]

what, count, keys, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
env = StreamExecutionEnvironment.get_execution_environment()
env.get_config().set_auto_watermark_interval(200)
env.set_parallelism(2)
env.enable_checkpointing(2000)
if mode != "compat":
    from pyflink.common import Configuration
    settings = Configuration()
    settings.set_string("python.execution-mode", mode)
    settings.set_string("python.executable", sys.executable)
    settings.set_string("restart-strategy.type", "none")
    env.configure(settings)
numbers = env.from_source(NumberSequenceSource(0, count - 1), WatermarkStrategy.no_watermarks(), "numbers")
if what in ("sum", "parse", "process", "list", "map", "broadcast"):
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    def parsed(n):
        event = json.loads({line})
        return event["user"], event["amount"]
    make = parsed if what == "parse" else lambda n: ("key-%d" % (n * {spread} % keys), n)
    pairs = numbers.map(make, pair)
    keyed = pairs.key_by(lambda p: p[0], Types.STRING())
    functions = {"process": Sum, "list": Recent, "map": Counts}
    if what == "broadcast":
        rules = env.from_collection([0, 1, 2], Types.LONG()).broadcast(RULES)
        made = pairs.connect(rules).process(Ruled(), pair)
    else:
        made = keyed.process(functions[what](), pair) if what in functions else keyed.sum(1)
else:
    triple = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])
    pause = 1000 if what == "session" else 0
    half = max(count // 2, 1)  # what each of the two splits has, which are read side by side: both are at the same time
    def word(n):
        now = n % half * 2
        return "word-%d" % (n * {spread} % keys), now // 10 + now // 10000 * pause, 1
    words = numbers.map(word, triple)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(1000))
    timed = words.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Timestamps()))
    keyed = timed.key_by(lambda w: w[0], Types.STRING())
    if what == "timer":
        made = keyed.process(Alarm(), triple)
    else:
        windows = TumblingEventTimeWindows.of(Time.milliseconds(10000))
        if what == "session":
            windows = EventTimeSessionWindows.with_gap(Time.milliseconds(500))
        made = keyed.window(windows).reduce(lambda a, b: (a[0], a[1], a[2] + b[2]))
made.filter(lambda p: False).print()
began = time.time()
env.execute("bench")
print("SECONDS", time.time() - began)
""".replace("{functions}", FUNCTIONS)
    .replace("{spread}", str(SPREAD))
    .replace("{line}", LINE)
)

SPARK = """
import sys, time, tempfile
import pandas as pd
from pyspark.sql import SparkSession, functions as F
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

how, count, keys, store, per = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], 500000
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    .config("spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider").getOrCreate())
files = max(1, count // per)
numbers = spark.range(0, count, 1, files)
key = F.concat(F.lit("key-"), ((F.col("id") * {spread}) % keys).cast("string"))
numbers.select(key.alias("key"), F.col("id").alias("value")).write.parquet(store + "/input")
stream = spark.readStream.schema("key string, value long").option("maxFilesPerTrigger", 1).parquet(store + "/input")
grouped = stream.groupBy("key")
if how == "pandas":
    def add(key, frames, state):
        total = state.get[0] if state.exists else 0
        for frame in frames:
            sums = frame["value"].cumsum() + total
            total = int(sums.iloc[-1])
            yield pd.DataFrame({"key": key[0], "value": sums})
        state.update((total,))
    made = grouped.applyInPandasWithState(add, "key string, value long", "total long", "append", GroupStateTimeout.NoTimeout)
else:
    class Sum(StatefulProcessor):
        def init(self, handle):
            self.total = handle.getValueState("total", "total long")
        def handleInputRows(self, key, rows, timers):
            from pyspark.sql import Row
            total = self.total.get()[0] if self.total.exists() else 0
            for row in rows:
                total += row.value
                yield Row(key=key[0], value=total)
            self.total.update((total,))
        def close(self):
            pass
    made = grouped.transformWithState(Sum(), "key string, value long", "append", "none")
began = time.time()
query = made.writeStream.format("noop").option("checkpointLocation", store + "/checkpoint").trigger(availableNow=True).start()
query.awaitTermination()
print("SECONDS", time.time() - began)
""".replace("{spread}", str(SPREAD))

BARE = (
    """
import json, sys, time
Keyed = Broadcast = object
RULES = None
{functions}
what, count, keys = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

class State:
    def __init__(self):
        self.values = {}
    def value(self):
        return self.values.get(self.key)
    def update(self, value):
        self.values[self.key] = value
    def clear(self):
        self.values.pop(self.key, None)

class ListState(State):
    def add(self, value):
        self.values.setdefault(self.key, []).append(value)
    def get(self):
        return self.values.get(self.key, ())

class MapState(State):
    def get(self, name):
        return self.values.get(self.key, {}).get(name)
    def put(self, name, value):
        self.values.setdefault(self.key, {})[name] = value

class Timers:
    def __init__(self):
        self.due, self.soonest = {}, 1 << 62
    def timer_service(self):
        return self
    def register_event_time_timer(self, time):
        self.due.setdefault(time, set()).add(self.key)
        self.soonest = min(self.soonest, time)
    def get_current_key(self):
        return self.key

class Rules(dict):
    def get_broadcast_state(self, descriptor):
        return self
    def put(self, name, value):
        self[name] = value

began, state = time.time(), {}
kinds = {"process": (Sum, "total", State), "list": (Recent, "recent", ListState), "map": (Counts, "counts", MapState)}
if what in kinds:
    make, name, kind = kinds[what]
    function, state = make(), kind()
    setattr(function, name, state)
    call = function.process_element
    for n in range(count):
        record = ("key-%d" % (n * {spread} % keys), n)
        state.key = record[0]
        for result in call(record, None):
            pass
    count = 0
elif what == "broadcast":
    function, rules = Ruled(), Rules()
    for rule in range(3):
        function.process_broadcast_element(rule, rules)
    for n in range(count):
        for result in function.process_element(("key-%d" % (n * {spread} % keys), n), rules):
            pass
    count = 0
elif what == "timer":
    function, timers, state = Alarm(), Timers(), State()
    function.total = state
    for n in range(count):
        record = ("word-%d" % (n * {spread} % keys), n // 10, 1)
        if record[1] - 1000 > timers.soonest:
            for key in timers.due.pop(timers.soonest):
                state.key = timers.key = key
                for result in function.on_timer(timers.soonest, timers):
                    pass
            timers.soonest = min(timers.due, default=1 << 62)
        state.key = timers.key = record[0]
        function.process_element(record, timers)
    count = 0
elif what == "session":
    for n in range(count):
        record = ("word-%d" % (n * {spread} % keys), n // 10 + n // 10000 * 1000, 1)
        present = state.get(record[0])
        if present is None or record[1] > present[0]:
            state[record[0]] = record[1] + 500, record
        else:
            first = present[1]
            state[record[0]] = record[1] + 500, (first[0], first[1], first[2] + record[2])
    count = 0
for n in range(count):
    if what in ("sum", "parse"):
        if what == "parse":
            event = json.loads({line})
            record = event["user"], event["amount"]
        else:
            record = ("key-%d" % (n * {spread} % keys), n)
        place = record[0]
        present = state.get(place)
        state[place] = record if present is None else (present[0], present[1] + record[1])
    else:
        record = ("word-%d" % (n * {spread} % keys), n // 10, 1)
        place = record[0], record[1] // 10000
        present = state.get(place)
        state[place] = record if present is None else (present[0], present[1], present[2] + record[2])
print("SECONDS", time.time() - began)
""".replace("{functions}", FUNCTIONS)
    .replace("{spread}", str(SPREAD))
    .replace("{line}", LINE)
)

JOBS = ("process", "sum", "parse", "window", "list", "map", "timer", "session", "broadcast")
"""What can be measured."""


def contenders(
    what: str, count: int, keys: int, flink: str | None, store: str, epoch_records: int | None = None
) -> dict[str, list[str]]:
    """The commands that run a job, by name."""
    job = Path(store) / "job.py"
    job.write_text(FLINK)
    compat = [sys.executable, "-m", "compat", "run", str(job), "--args", f"{what} {count} {keys} compat"]
    made = {
        "bare": [sys.executable, "-c", BARE, what, str(count), str(keys)],
        "compat": [*compat, "--store", f"{store}/store", "-p", str(PARALLELISM)],
    }
    if epoch_records is not None:
        made["compat"] += ["--epoch-records", str(epoch_records)]
    if what in ("sum", "process"):
        made["spark-pandas"] = [sys.executable, "-c", SPARK, "pandas", str(count), str(keys), store]
        made["spark-state"] = [sys.executable, "-c", SPARK, "state", str(count), str(keys), store]
    if flink is not None:
        for mode in ("process", "thread"):
            made[f"flink-{mode}"] = [flink, str(job), what, str(count), str(keys), mode]
    return made


def timed(command: list[str], limit: float) -> tuple[float, float] | None:
    """Seconds by the clock and of processor time; None if the command fails or takes longer than ``limit`` seconds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment["PYSPARK_PYTHON"] = command[0]
    if command[0] != sys.executable:
        environment["PYTHONPATH"] = _packages_of(command[0])  # where Flink's embedded interpreter looks for pemja
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, env=environment)
        spent: dict[int, int] = {}
        began = time.monotonic()
        while process.poll() is None and time.monotonic() - began < limit:
            spent.update(_spent(process.pid))
            time.sleep(0.1)
        clock = time.monotonic() - began
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()
            return None
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        print(text[-2000:], file=sys.stderr)
        return None
    return clock, sum(spent.values()) / TICKS


@cache
def _packages_of(python: str) -> str:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _spent(session: int) -> dict[int, int]:
    """Processor time of each process of a session, in ticks; those are among them that left it for one of their own."""
    every: dict[int, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            every[int(stat.parent.name)] = stat.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
    inside = {pid for pid, fields in every.items() if int(fields[3]) == session}
    while more := {pid for pid, fields in every.items() if int(fields[1]) in inside} - inside:
        inside |= more
    return {pid: int(every[pid][11]) + int(every[pid][12]) for pid in inside}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, nargs="*", default=[1000, 100_000, 1_000_000])
    parser.add_argument("--what", nargs="*", choices=JOBS, default=JOBS[:4])
    parser.add_argument("--flink")
    parser.add_argument("--peer-records", type=int, default=500_000)
    parser.add_argument("--epoch-records", type=int)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--limit", type=float, default=1800)
    given = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for what in given.what:
        fixed: dict[str, Any] = {}
        for keys in given.keys:
            bare: dict[str, Any] = {}
            for name in contenders(what, 1, keys, given.flink, tempfile.gettempdir()):
                if given.only and name not in given.only:
                    continue
                records = given.records if name in ("bare", "compat") else given.peer_records
                run = lambda count: _run(given, what, count, keys, name)  # noqa: B023, E731 - called here
                if name not in fixed:
                    fixed[name] = run(1)
                line = {"what": what, "keys": keys, "name": name, **_rates([fixed[name], run(records)], records)}
                bare = line if name == "bare" else bare
                cores = 1 if name == "bare" else PARALLELISM
                for rate, ratio, parts in (
                    ("records_per_cpu_s", "cpu_ratio", 1),
                    ("records_per_s", "core_ratio", cores),
                ):
                    if rate in line and rate in bare:
                        line[ratio] = round(line[rate] / bare[rate] / parts, 2)
                lines.append(line)
                print(json.dumps(line), flush=True)
    print(table(lines))


def _run(given: argparse.Namespace, what: str, count: int, keys: int, name: str) -> tuple[float, float] | None:
    with tempfile.TemporaryDirectory() as store:
        return timed(contenders(what, count, keys, given.flink, store, given.epoch_records)[name], given.limit)


def table(lines: list[dict[str, Any]]) -> str:
    """All runs as a table of Markdown."""
    head = (
        "what",
        "keys",
        "who",
        "records per CPU s",
        "of bare",
        "records/s",
        "of bare, per core",
        "start s",
        "start CPU s",
    )
    rows = [head, ("---",) * len(head)]
    for line in lines:
        if "failed" in line:
            rows.append((line["what"], f"{line['keys']:,}", line["name"], "failed", *[""] * 5))
            continue
        rates = (f"{line['records_per_cpu_s']:,}", line.get("cpu_ratio"), f"{line['records_per_s']:,}")
        fixed = (line.get("core_ratio"), line["fixed_s"], line["fixed_cpu_s"])
        rows.append((line["what"], f"{line['keys']:,}", line["name"], *rates, *fixed))
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def _rates(measured: list[Any], records: int) -> dict[str, Any]:
    if None in measured:
        return {"failed": True}
    (first, fixed), (clock, spent) = measured
    return {
        "fixed_s": round(first, 1),
        "fixed_cpu_s": round(fixed, 1),
        "records_per_s": round(records / max(clock - first, 0.01)),
        "records_per_cpu_s": round(records / max(spent - fixed, 0.01)),
    }


if __name__ == "__main__":
    main()

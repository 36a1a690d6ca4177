"""A job whose results tell every lost and every doubled record, and the processes that can be killed under it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from compat.compiler.spark.driver.store import JobStore

KEYS = 7
JOB = """
from pyflink.common import Encoder, Types
from pyflink.common.watermark_strategy import WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor

from compat.compiler.datastream.connectors.delta import DeltaSink

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % {keys}, count

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism({parallelism})
env.enable_checkpointing({interval})
numbers = env.from_source(NumberSequenceSource(1, {end}), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
counted = numbers.key_by(lambda n: n % {keys}, Types.LONG()).process(Count(), pair).uid("count")
files = FileSink.for_row_format("{folder}/files", Encoder.simple_string_encoder())
files = files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build()
counted.map(lambda p: "%d:%d" % p, Types.STRING()).uid("text").sink_to(files).uid("files")
counts = Types.ROW_NAMED(["key", "count"], [Types.LONG(), Types.LONG()])
counted.sink_to(DeltaSink.for_row_data("{folder}/table", counts).build()).uid("table")
env.execute("counting")
"""


class CrashingJob:
    """The job in a folder, run by ``compat job run`` as often as it takes. ``place`` is where its sinks write, and
    its store is.

    ``first`` is what each driver runs before anything else, ``text`` is that of the program.
    """

    def __init__(
        self,
        folder: Path,
        end: int,
        arguments: Sequence[str] = (),
        place: str = "",
        first: str = "",
        text: str = JOB,
        parallelism: int = 2,
    ) -> None:
        self.folder, self.end = folder, end
        self.place = place or str(folder)
        self.starts = 0
        self.program = write_program(folder, end, place=self.place, parallelism=parallelism, text=text)
        self._main = f"{first}\nfrom compat.__main__ import main\nmain()"
        self._arguments = [
            *("-D", "restart-strategy.type=fixed-delay", "-D", "restart-strategy.fixed-delay.attempts=1000"),
            *("-D", "restart-strategy.fixed-delay.delay=100 ms", "--store", f"{self.place}/.compat", *arguments),
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start a driver."""
        self.starts += 1
        with open(self.folder / f"stderr-{self.starts}", "wb") as errors, open(self.folder / "events", "ab") as events:
            command = [sys.executable, "-c", self._main, "run", str(self.program), "--output", "json", *self._arguments]
            self.process = subprocess.Popen(
                command, cwd=self.folder, stdout=events, stderr=errors, env={**os.environ, "TMPDIR": str(self.folder)}
            )

    @property
    def pid(self) -> int:
        """The driver's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def checkpoints(self) -> int:
        """How many checkpoints all drivers together told of."""
        return (self.folder / "events").read_bytes().count(b'"checkpoint"')

    @property
    def running(self) -> bool:
        """True while the driver does."""
        return self.process is not None and self.process.poll() is None

    def wait_for(self, checkpoints: int, timeout: float = 300) -> None:
        """Until so many more checkpoints were told, or the driver has ended."""
        wanted, end = self.checkpoints + checkpoints, time.monotonic() + timeout
        while self.running and self.checkpoints < wanted:
            assert time.monotonic() < end, self.said()
            time.sleep(0.02)

    def kill(self, pids: Sequence[int]) -> bool:
        """kill -9; False if there was nobody to kill."""
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                return False
        return bool(pids)

    def finish(self, timeout: float = 600) -> None:
        """Run to the end of the input, starting the driver again as often as it is missing."""
        end = time.monotonic() + timeout
        while True:
            if not self.running:
                if self.process is not None and self.process.returncode == 0:
                    return
                assert self.process is None or self.process.returncode < 0, self.said()
                self.start()
            assert time.monotonic() < end, self.said()
            time.sleep(0.1)

    def said(self) -> str:
        """The output of the last driver."""
        return (self.folder / f"stderr-{self.starts}").read_text()[-4000:]

    def close(self) -> None:
        """End what still runs."""
        if self.process is not None and self.running:
            self.process.kill()
            self.process.wait()

    def verify(self) -> None:
        """Nothing lost, nothing doubled: in both sinks and in the state."""
        store = JobStore(f"{self.place}/.compat")
        (job,) = store.jobs()
        verify_job(self.place, self.end, store, job.job_id)


def write_program(
    folder: Path, end: int, interval: int = 100, place: str = "", parallelism: int = 2, text: str = JOB
) -> Path:
    """The program of the job, in a folder, which counts to ``end`` and writes into ``place``, or into the folder.

    ``interval`` is that of its checkpoints, in ms: sources give less in an epoch that takes longer. ``text`` is the version.
    """
    program = folder / "job.py"
    for name, value in {
        "keys": KEYS,
        "end": end,
        "folder": place or folder,
        "interval": interval,
        "parallelism": parallelism,
    }.items():
        text = text.replace(f"{{{name}}}", str(value))
    program.write_text(text)
    return program


def verify_job(place: str, end: int, store: JobStore, job_id: str, uid: str = "count") -> None:
    """The same of a job of a store, whose program wrote into ``place``, and counted in the operator of that uid."""
    from compat.compiler.spark.driver.inspection import state_rows

    sizes = Counter(number % KEYS for number in range(1, end + 1))
    expected = Counter((key, count) for key, size in sizes.items() for count in range(1, size + 1))
    assert written(place) == {"table": expected, "files": expected}
    rows = state_rows(store.state(job_id), uid)
    assert {row["key"]: row["value"] for row in rows if row["state"] == "count"} == dict(sizes)
    job = store.read(job_id)
    assert job is not None
    assert job.status == "FINISHED"


def written(place: str) -> dict[str, Counter[tuple[int, ...]]]:
    """What both sinks of jobs that wrote into ``place`` have published."""
    from deltalake import DeltaTable

    from compat.state.stores.options import table_options
    from compat.state.stores.paths import place_of

    path = f"{place}/table"
    table = DeltaTable(path, storage_options=table_options(path)).to_pyarrow_table().to_pylist()
    lines = [
        line
        for file in place_of(f"{place}/files").walk()
        if not file.name.startswith(".")
        for line in file.read().decode().splitlines()
    ]
    return {
        "table": Counter((row["key"], row["count"]) for row in table),
        "files": Counter(tuple(map(int, line.split(":"))) for line in lines),
    }


def processes() -> dict[int, tuple[int, str]]:
    """Parent and command line of all processes."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            except (OSError, ValueError):
                continue
            found[int(entry.name)] = (parent, command)
    return found


def below(pid: int, text: str) -> list[int]:
    """The processes that ``pid`` started, and those they started, whose command line has ``text``."""
    every = processes()
    found, waiting = [], [pid]
    while waiting:
        parent = waiting.pop()
        children = [child for child, (its_parent, _) in every.items() if its_parent == parent]
        waiting += children
        found += [child for child in children if text in every[child][1]]
    return sorted(found)


def environment(pid: int) -> bytes:
    """What a process was started with; nothing for one that has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def victims(job: CrashingJob, what: str, workers: Sequence[int] | None = None) -> list[int]:
    """Whom to kill: the driver, its JVM, a Python worker, a host or an executor, below the ``workers`` of a cluster."""
    if what == "driver":
        return [job.pid]
    if what == "jvm":
        return below(job.pid, "org.apache.spark.deploy.SparkSubmit")[:1]
    roots = [job.pid] if workers is None else workers
    wanted = {
        "worker": "-m compat.compiler.spark.driver.daemon",
        "host": "compat.compiler.spark.task.hosts",
        "executor": "CoarseGrainedExecutorBackend",
    }[what]
    found = [pid for root in roots for pid in below(root, wanted)]
    if what == "host" and workers is None:  # it may have been forked: it is written down
        marks = (*Path(tempfile.gettempdir()).glob("compat-hosts-*/*.pid"), *job.folder.glob("compat-hosts-*/*.pid"))
        hosts = {int(mark.read_text() or 0) for mark in marks}
        found = [pid for pid in hosts if f"TMPDIR={job.folder}".encode() in environment(pid)]
    elif what == "host":  # it lives as long as the daemon that it names last, not as the worker that started it
        homes = {str(pid) for root in roots for pid in below(root, "-m compat.compiler.spark.driver.daemon")}
        found = [pid for pid, (_, line) in processes().items() if wanted in line and line.split()[-1] in homes]
    return [random.choice(found)] if found else []

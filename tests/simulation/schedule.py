"""One schedule: a job from its first record to its last under the faults of a seed, and what is wrong with its results."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from compat.compiler.datastream import program
from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.connectors.delta import DeltaSink
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink
from compat.compiler.datastream.functions import KeyedProcessFunction, MapFunction
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.state.inspection import state_rows
from compat.compiler.spark.state.memory import MANAGED_MEMORY
from compat.state.delta.log import SnapshotLog
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from compat.state.types import Types
from tests.simulation.hooks import SimulatedExecutor, simulated
from tests.simulation.world import Killed, World

KEYS = 5
PAIR = Types.TUPLE([Types.INT(), Types.LONG()])
COUNTS = Types.ROW_NAMED(["key", "count"], [Types.INT(), Types.LONG()])
STARTS = 60
"""More starts of the driver than a schedule has faults: a job that needs them makes no progress."""
_LAST = 10**12
_worlds: list[World] = []


class Scatter(MapFunction):
    """Sends each record to any lane: another run of the task sends it elsewhere."""

    def map(self, value: Any) -> Any:
        return _worlds[-1].random.randrange(4), value


class Count(KeyedProcessFunction):
    """Counts the records of a key, remembers them, and tells the number of those that it remembers at the end."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.INT(), Types.BOOLEAN()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        _worlds[-1].task_point("a record")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        self.seen.put(value, True)
        ctx.timer_service().register_event_time_timer(_LAST)
        yield value % KEYS, count

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -len(list(self.seen.keys()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The job of a schedule."""

    records: int
    parallelism: int
    epoch_records: int
    table: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a schedule: what is wrong, in words, and how it went."""

    seed: int
    wrong: tuple[str, ...]
    trace: tuple[str, ...]
    starts: int


def run(seed: int) -> Result:
    """Run a schedule."""
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=_memory()) as folder:
        return Schedule(seed, Path(folder)).run()


def _memory() -> str | None:
    """A disk in memory, where there is one: a schedule waits for its disk hundreds of times."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class Schedule:
    """The job, its drivers one after the other, and those who meddle."""

    def __init__(self, seed: int, folder: Path) -> None:
        faults = 1 + seed % 8
        self.world = World(seed, folder, faults=faults, rate=0.03)
        draw = self.world.random
        self.shape = Shape(
            records=draw.randrange(15, 45),
            parallelism=draw.choice((1, 2, 2, 3)),
            epoch_records=draw.choice((3, 5, 9)),
            table=draw.random() < 0.15,
        )
        self.folder = folder
        self.starts = 0
        self._depth = 0
        self._finished = False
        self.world.between = self._between

    def run(self) -> Result:
        """Run to the end, starting the driver as often as it is missing."""
        with simulated(self.world), _current(self.world):
            while not self._finished and self.starts < STARTS:
                self._driver()
            left = [file.name for file in self.folder.glob("files/.*.inprogress")]
            self._late()  # nobody can tidy up behind these
        wrong = (
            tuple(self._wrong(left))
            if self._finished
            else ("The job does not end, although no fault happens any more.",)
        )
        return Result(seed=self.world.seed, wrong=wrong, trace=tuple(self.world.trace), starts=self.starts)

    def _driver(self) -> None:
        """Run the program once, until the job ends or its driver does."""
        self.starts += 1
        self._depth += 1
        try:
            self._program()
            self._finished = True
        except Killed:
            self.world.dying = False
        except Exception as error:
            self.world.trace.append(f"the program failed: {type(error).__name__}: {str(error)[:80]}")
        finally:
            self._depth -= 1

    def _program(self) -> None:
        shape = self.shape
        options = RunOptions(program="job.py", epoch_records=shape.epoch_records, replicas="/replicas")
        executor = SimulatedExecutor(self.world, str(self.folder / "store"), options=options, printer=lambda line: None)
        program.start(program.Program(executor))
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(shape.parallelism)
        env.enable_checkpointing(100)
        env.configure(_settings(self.world.seed))
        numbers = env.from_collection(list(range(shape.records)), Types.INT())
        lanes = numbers.map(Scatter(), Types.TUPLE([Types.INT(), Types.INT()])).key_by(lambda p: p[0], Types.INT())
        numbers = lanes.map(lambda p: p[1], Types.INT())
        counted = numbers.key_by(lambda n: n % KEYS, Types.INT()).process(Count(), PAIR).uid("count")
        files = FileSink.for_row_format(str(self.folder / "files"), Encoder.simple_string_encoder())
        files = files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
        counted.map(lambda p: f"{p[0]}:{p[1]}", Types.STRING()).sink_to(files.build())
        if shape.table:
            counted.sink_to(DeltaSink.for_row_data(str(self.folder / "table"), COUNTS).build())
        env.execute("counting")

    # Those who meddle

    def _between(self) -> None:
        """What may happen between two steps of a driver."""
        world = self.world
        if world.zombies and world.random.random() < 0.5:
            self._late()
        if world.chance("the clock is set"):
            world.jump()
        if world.chance("a machine is lost"):
            world.lose_machine()
        if world.chance("replicas are cut"):
            world.cut_replicas()
        if world.chance("published files are moved away"):
            self._move()
        if world.chance("the state is optimized"):
            self._optimize()
        if self._depth == 1 and world.chance("the driver is held to be dead"):
            self._driver()

    def _late(self) -> None:
        """Attempts that nobody waits for come to their end."""
        zombies, self.world.zombies = self.world.zombies, []
        for zombie in zombies:
            zombie()

    def _move(self) -> None:
        aside = self.folder / "aside"
        aside.mkdir(exist_ok=True)
        for file in sorted(self.folder.glob("files/part-*")):
            shutil.move(file, aside / file.name)

    def _optimize(self) -> None:
        for state in sorted(self.folder.glob("store/jobs/*/state")):
            with suppress(Exception):  # a table that is not there yet, or is written at the same time
                DeltaTable(str(state)).optimize.compact()

    # The results

    def _wrong(self, left: list[str]) -> Iterator[str]:
        """What is not as it has to be."""
        sizes = Counter(number % KEYS for number in range(self.shape.records))
        expected = Counter((key, count) for key, size in sizes.items() for count in (*range(1, size + 1), -size))
        files = [file for folder in ("files", "aside") for file in sorted((self.folder / folder).glob("part-*"))]
        lines = Counter(
            (int(key), int(count))
            for file in files
            for key, count in (line.split(":") for line in file.read_text().split())
        )
        yield from _compared("files", expected, lines)
        if self.shape.table:
            rows = DeltaTable(str(self.folder / "table")).to_pyarrow_table().to_pylist()
            yield from _compared("table", expected, Counter((row["key"], row["count"]) for row in rows))
        jobs = list((self.folder / "store" / "jobs").iterdir())
        begun = [
            job
            for job in jobs
            if DeltaTable.is_deltatable(str(job / "state")) and SnapshotLog.open(job / "state").epoch
        ]
        if len(begun) != 1:
            yield f"{len(begun)} jobs have state"
            return
        (job,) = begun
        found = {row["key"]: row["value"] for row in state_rows(str(job), "count") if row["state"] == "count"}
        if found != dict(sizes):
            yield f"state: {found} in place of {dict(sizes)}"
        if left:
            yield f"left behind: {left}"


def _compared(what: str, expected: Counter[Any], found: Counter[Any]) -> Iterator[str]:
    if lost := expected - found:
        yield f"{what}: lost {dict(lost)}"
    if more := found - expected:
        yield f"{what}: too often, or never written {dict(more)}"


@contextmanager
def _current(world: World) -> Iterator[None]:
    _worlds.append(world)
    try:
        yield
    finally:
        _worlds.pop()
        program.start(program.Program())


def _settings(seed: int) -> Configuration:
    """Restarts for ever; in every third schedule memory is too small for any state."""
    configuration = Configuration()
    if seed % 3 == 0:
        configuration.set_string(MANAGED_MEMORY, "0 b")
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "100")
    configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    return configuration

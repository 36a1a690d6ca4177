"""One schedule: a job from its first record to its last under the faults of a seed, and what is wrong with its results."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import deltalake
from msgspec import Struct

from compat.compiler.datastream import program
from compat.compiler.datastream.stream_execution_environment import StreamExecutionEnvironment
from compat.compiler.executiongraph.states import JobStatus
from compat.compiler.spark.connectors.kafka.clients import Pool
from compat.compiler.spark.driver import orphan_cleanup
from compat.compiler.spark.driver.driven import TRIES
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.master import JobMaster
from compat.compiler.spark.driver.options import RunOptions
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.state.memory import SAVE_AFTER
from compat.state.delta.errors import StoreError, Superseded
from compat.state.delta.savepoint import read_description
from compat.state.delta.work import LARGE
from tests.simulation.doubles.kafka import Brokers
from tests.simulation.doubles.libraries import doubled
from tests.simulation.hooks import Made, SimulatedExecutor, broker_point, simulated
from tests.simulation.programs import PARTITIONS, Job, Shape, build, expected, fill, program_of, sizes, worlds
from tests.simulation.world import Killed, World

STARTS = 60
"""More starts of the driver than a schedule has faults: a job that needs them makes no progress."""

LOCAL = 0.3
"""The share of schedules on one machine, where an epoch is one task of Spark's."""

SOON = 6
"""Changes after which a replica is written in half of the schedules; in the others it falls behind."""

_DIGEST_IN_NAME = re.compile(r"-[0-9a-f]{32}(?=\.parquet)")
BEHIND_THE_END = "its job was over"
"""In a trace: the attempt that came to its end just before was of a job that had ended."""


class Result(Struct, frozen=True, kw_only=True):
    """What came of a schedule: what is wrong, in words, and how it went."""

    seed: int
    wrong: tuple[str, ...]
    trace: tuple[str, ...]
    starts: int


def run(
    seed: int,
    *,
    real: bool = False,
    pauses: bool = False,
    script: Sequence[str] | None = None,
    shape: Shape | None = None,
    local: bool | None = None,
) -> Result:
    """Run a schedule, with ``real`` on the libraries themselves: on doubles of them it comes to the same.

    With ``pauses`` a driver may stand still anywhere, and go on once another one has taken its job over. With a ``script``
    its faults happen, in that order, and no others. Without a ``shape`` the seed decides what the job is, too, and where
    nobody says whether all is on one machine, ``local``, it decides that.
    """
    libraries = nullcontext() if real else doubled()
    with _workplace() as folder, libraries:
        schedule = Schedule(seed, folder, pauses=pauses or script is not None, local=local)
        schedule.world.script = None if script is None else list(script)
        schedule.shape = shape or schedule.shape
        return schedule.run()


class _Harmed(Struct, frozen=True):
    """A file that was damaged or lost: what it had, and what it has ``now``, None for nothing."""

    file: Path
    whole: bytes
    now: bytes | None


@contextmanager
def _workplace() -> Iterator[Path]:
    """An empty folder, in memory where that can be: a schedule waits for its disk hundreds of times.

    It is the same one for all schedules of a process, so that they can share what is made of their programs.
    """
    memory = Path("/dev/shm")
    folder = (memory if memory.is_dir() else Path(tempfile.gettempdir())) / f"simulation-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=512)
def _made(program: Shape, folder: Path) -> Made:
    """What schedules make of the same program."""
    return Made()


class Schedule:
    """The job, its drivers one after the other, and those who meddle."""

    def __init__(self, seed: int, folder: Path, *, pauses: bool, local: bool | None = None) -> None:
        faults = 1 + seed % 8
        if local is None:
            local = Random(f"{seed} local").random() < LOCAL
        self.world = World(seed, folder, faults=faults, rate=0.08, local=local)
        draw = self.world.random
        job = draw.choice((Job.COUNTS, Job.COUNTS, Job.WINDOWS, Job.TOPICS, Job.TOPICS))
        self.shape = Shape(
            job=job,
            records=draw.choice((*range(4, 11), 20)),
            parallelism=draw.choice((1, 2, 2, 3)),
            epoch_records=draw.choice((2, 3, 5)),
            table=job is Job.COUNTS and draw.random() < 0.2,
            rescaled=draw.choice((None, None, 1, 2, 3)),
            stop=draw.randrange(1, 4),
            tight=seed % 3 == 0,
            scattered=True,
        )
        self.folder = folder
        self.store = JobStore(folder / "store")
        self.brokers = Brokers(("numbers", "lines"), PARTITIONS, lambda where: broker_point(self.world, where))
        self.starts = 0
        self._depth = 0
        self._finished = False
        self._savepoint: str | None = None
        self._meddling = Random(f"{seed} meddling")
        self._harmed: list[_Harmed] = []
        self._second: str | None = None
        self._excused: set[Path] = set()
        self._stood_still = False
        self.world.between = self._between
        if pauses:
            self.world.paused = self._paused

    def run(self) -> Result:
        """Run to the end, starting the driver as often as it is missing."""
        if self.shape.job is Job.TOPICS:
            fill(self.brokers, self.shape)
        large = 1 if self.world.seed & 2 else LARGE
        save_after = SOON if self.world.seed & 4 else SAVE_AFTER
        with (
            simulated(self.world, self.brokers, large=large, save_after=save_after),
            patch.object(Pool, "_free", {}),  # behind the last driver, too: others know other brokers
            _current(self.world),
        ):
            while not self._finished and self.starts < STARTS:
                self._driver()
            left = {file.name for file in self._left() if file not in self._excused}
            self._late()
            self._later_job()
            left |= {file.name for file in self._left()}
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
        self.world.taken_over = self._depth > 1
        driven = self._savepoint
        try:
            with patch.object(Pool, "_free", {}):  # a process has its own clients
                self._program()
        except Killed:
            self.world.dying = False
            if any(job.savepoint == driven and job.ended is not None for job in self._jobs()):
                self._excused |= set(self._left())  # it died behind the job's end: a later job's start sweeps
        except Exception as error:
            if isinstance(error, Superseded) and self._store_stayed_away():
                self._excused |= set(self._left())  # it could not tidy up behind the end: a later job's start sweeps
            told = str(error).replace(str(self.folder), "")  # which is another one each time
            told = _DIGEST_IN_NAME.sub("", told)  # doubles write other bytes
            self.world.trace.append(f"the program failed: {type(error).__name__}: {told[:80]}")
        finally:
            self._depth -= 1
            self.world.taken_over = self._depth > 1
            self._repair()
        self._look()

    def _store_stayed_away(self) -> bool:
        """Whether the store was away each time that it was asked to the last, as often as a driver tries."""
        return all(line.startswith("store fails: ") for line in self.world.trace[-TRIES:])

    def _look(self) -> None:
        """See whether the job has ended: it is over, or goes on from its savepoint."""
        ended = next((job for job in self._jobs() if job.savepoint == self._savepoint), None)
        if ended is None or ended.status != JobStatus.FINISHED.value:
            return
        savepoints = []
        for name in _names(self.folder / "store" / "savepoints"):
            path = self.folder / "store" / "savepoints" / name
            if name.startswith(f"savepoint-{ended.job_id[:6]}-"):
                with suppress(StoreError):  # one that was not finished
                    savepoints.append((read_description(path)["epoch"], str(path)))
        if savepoints and self._savepoint is None:
            self._savepoint = max(savepoints)[1]
        else:
            self._finished = True

    def _jobs(self) -> list[JobEntry]:
        return self.store.jobs()

    def _program(self) -> None:
        shape = program_of(self.shape, restored=self._savepoint is not None)
        options = RunOptions(
            program="job.py", epoch_records=self.shape.epoch_records, replicas="/replicas", savepoint=self._savepoint
        )
        made = _made(shape, self.folder)
        executor = SimulatedExecutor(self.world, made, str(self.store.root), options=options, printer=lambda line: None)
        if made.job is not None:
            executor.submit(made.job).get_job_execution_result().result()
            return
        program.start(program.Program(executor))
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(shape.parallelism)
        build(env, shape, self.folder)
        env.execute("counting")

    # Those who meddle

    def _between(self, master: JobMaster) -> None:
        """What may happen between two steps of a driver."""
        world, shape = self.world, self.shape
        world.quiet -= 1
        if world.late and world.random.random() < 0.5:
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
        if world.chance("a file is damaged", drawn=self._meddling):
            self._harm(damaged=True)
        if world.chance("a file is lost", drawn=self._meddling):
            self._harm(damaged=False)
        if self._depth == 1 and self._begun() and world.chance("a second one by hand", cost=0, drawn=self._meddling):
            self._by_hand()
        if self._depth == 1 and world.chance("the driver is held to be dead"):
            self._driver()
        if shape.rescaled and master.job.options.savepoint is None and master.job.coordinator.epoch >= shape.stop:
            master.stop()

    def _paused(self, where: str) -> None:
        """A driver stands still in the midst of its work, and another one takes its job over."""
        if self._depth == 1 and self._begun() and self.world.chance(f"the driver is paused: {where}"):
            self._stood_still = True
            self._driver()

    def _begun(self) -> bool:
        """Whether there is a job to take over."""
        return any(job.savepoint == self._savepoint and job.ended is None for job in self._jobs())

    def _late(self) -> None:
        """Attempts that nobody waits for come to their end.

        Those of a job that is over may do no harm, but what they write its driver cannot tidy up: a job's end closes all of
        its hosts that can be reached, and sweeps behind them. These are where it could not reach: a later job's start sweeps.
        """
        attempts, self.world.late = self.world.late, []
        for attempt in attempts:
            before = set(self._left()) if self._over(attempt.job_id) else None
            attempt.run()
            if before is not None:
                self.world.trace.append(BEHIND_THE_END)
                self._excused |= set(self._left()) - before

    def _later_job(self) -> None:
        """Another job starts, long after."""
        orphan_cleanup.sweep(self.store, time.time() + 2 * orphan_cleanup.PATIENCE)

    def _over(self, job_id: str) -> bool:
        return any(job.job_id == job_id and job.ended is not None for job in self._jobs())

    def _move(self) -> None:
        aside = self.folder / "aside"
        aside.mkdir(exist_ok=True)
        for file in sorted(self.folder.glob("files/part-*")):
            shutil.move(file, aside / file.name)

    def _optimize(self) -> None:
        for state in sorted(self.folder.glob("store/jobs/*/state")):
            with suppress(
                OSError, deltalake.exceptions.DeltaError
            ):  # a table that is not there yet, or is written at the same time
                deltalake.DeltaTable(str(state)).optimize.compact()

    def _harm(self, *, damaged: bool) -> None:
        """One of the files that a job keeps has another bit, or is gone, until its driver ends."""
        jobs = self.folder / "store" / "jobs"
        entries = (each.with_name("job.json") for each in jobs.glob("*/published"))
        kept = [*jobs.glob("*/state/*.parquet"), *(each for each in entries if each.exists())]
        if not kept:
            return
        file = self._meddling.choice(sorted(kept))
        whole = file.read_bytes()
        now = bytearray(whole)
        now[int(len(now) * self._meddling.random())] ^= 1 << self._meddling.randrange(8)
        if damaged:
            file.write_bytes(now)
        else:
            file.unlink()
        self._harmed.append(_Harmed(file, whole, bytes(now) if damaged else None))

    def _repair(self) -> None:
        """Somebody puts files back from a copy, but for those that the job has replaced or removed since."""
        harmed, self._harmed = self._harmed, []
        for each in reversed(harmed):
            there = each.file.read_bytes() if each.file.exists() else None
            if there == each.now and (there is not None or self._is_missed(each.file)):
                each.file.write_bytes(each.whole)

    @staticmethod
    def _is_missed(file: Path) -> bool:
        """Whether a commit names a data file, or it is the entry of a job."""
        if file.name == "job.json":
            return file.parent.exists()
        log = file.parent / "_delta_log"
        return any(file.name.encode() in (log / name).read_bytes() for name in _names(log) if name.endswith(".json"))

    def _by_hand(self) -> None:
        """Somebody gives the same command while the driver lives: it is refused, and does nothing."""
        try:
            with patch.object(Pool, "_free", {}), patch.object(JobStore, "_held", lambda *_, **__: True):
                self._program()
        except StoreError as error:
            if "runs already" in str(error) or "The store is away" in str(error):
                return
            self._second = f"a second driver: {error}"
        except Killed:
            self.world.dying = False
        else:
            self._second = "a second driver was not refused"

    def _left(self) -> Iterator[Path]:
        """Files that are nothing's."""
        files = self.folder / "files"
        yield from (files / name for name in _names(files) if name.startswith(".") and name.endswith(".inprogress"))
        yield from self._unnamed()

    def _unnamed(self) -> Iterator[Path]:
        """Data files that no commit of their table names; of a job that never began nobody looks after any."""
        begun = (self.folder / "store" / "jobs" / job.job_id / "state" for job in self._jobs())
        for table in (*begun, self.folder / "table"):
            files = [name for name in _names(table) if name.endswith(".parquet")]
            if files:
                log = table / "_delta_log"
                commits = b"".join((log / name).read_bytes() for name in _names(log) if name.endswith(".json"))
                yield from (table / name for name in files if name.encode() not in commits)

    # The results

    def _wrong(self, left: set[str]) -> Iterator[str]:
        """What is not as it has to be."""
        if self._second is not None:
            yield self._second
        wanted = expected(self.shape)
        yield from _compared("lines", wanted, Counter(self._lines()))
        if self.shape.table:
            try:
                rows = deltalake.DeltaTable(str(self.folder / "table")).to_pyarrow_table().to_pylist()
            except (OSError, deltalake.exceptions.DeltaError) as error:
                yield f"table: cannot be read: {error}"
            else:
                yield from _compared("table", wanted, Counter(f"{row['key']}:{row['count']}" for row in rows))
        jobs = self._jobs()
        if len(jobs) != (1 if self._savepoint is None else 2):
            yield f"there are {len(jobs)} jobs"
            return
        (last,) = (job for job in jobs if job.savepoint == self._savepoint)
        try:
            yield from self._wrong_state(last)
        except (StoreError, ValueError) as error:
            yield f"state: cannot be read: {error}"
        if (
            left and not self._stood_still
        ):  # what a driver writes once another one has ended its job nobody can tidy up behind
            yield f"left behind: {sorted(left)}"

    def _wrong_state(self, last: JobEntry) -> Iterator[str]:
        if self.shape.job is Job.WINDOWS:
            rows = [row for uid in ("windows", "reminders") for row in state_rows(str(self._directory(last)), uid)]
            if rows:
                yield f"state is left: {rows}"
        else:
            rows = state_rows(str(self._directory(last)), "count")
            found = {row["key"]: row["value"] for row in rows if row["state"] == "count"}
            if found != dict(sizes(self.shape)):
                yield f"state: {found} in place of {dict(sizes(self.shape))}"

    def _directory(self, job: JobEntry) -> Path:
        return self.store.directory(job.job_id)

    def _lines(self) -> Iterator[str]:
        if self.shape.job is Job.TOPICS:
            yield from (value.decode() for value in self.brokers.committed("lines"))
        for folder in ("files", "aside"):
            for file in sorted((self.folder / folder).glob("part-*")):
                yield from file.read_text().split()


def _names(folder: Path) -> list[str]:
    """What is in a folder, if it is there."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _compared(what: str, expected: Counter[Any], found: Counter[Any]) -> Iterator[str]:
    if lost := expected - found:
        yield f"{what}: lost {dict(lost)}"
    if more := found - expected:
        yield f"{what}: too often, or never written {dict(more)}"


@contextmanager
def _current(world: World) -> Iterator[None]:
    worlds.append(world)
    try:
        yield
    finally:
        worlds.pop()
        program.start(program.Program())

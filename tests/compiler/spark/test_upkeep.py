"""Large state is compacted, copied and restored by tasks: to the same as in process, beside epochs, whole after a kill."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream import program
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.spark.driver import checkpoints
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.failures import JobCancelled
from compat.compiler.spark.driver.inspection import describe_snapshot, state_rows
from compat.compiler.spark.driver.workers import SparkWorkers
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.delta import compaction, slices, work
from compat.state.delta.compaction import Compaction
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.work import Workers
from compat.state.descriptors import ValueStateDescriptor
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.faults import Killed, failing

KEYS = 40
NUMBERS = 600
COMPACT_AFTER = 6
PATIENCE = 120.0


class Count(KeyedProcessFunction):
    def open(self, context: Any) -> None:
        self.count = context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, number: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield f"{number}"


class Held(Workers):
    """Workers who have a part to do only once they are let go; ``asked`` is set when they are given one."""

    def __init__(self) -> None:
        self.asked, self.free = threading.Event(), threading.Event()
        self.done = 0

    def each(self, work: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        self.asked.set()
        if not self.free.wait(PATIENCE):
            raise AssertionError("nobody let them go")
        self.done += len(parts)
        return [work(part) for part in parts]

    def beside(self) -> Workers:
        return self

    def give_up(self) -> None:
        self.free.set()


class HoldingExecutor(InProcessExecutor):
    """Runs epochs in this process, and work on much state by workers that are held."""

    held = Held()

    def workers(self, made: Any, job_id: str) -> Workers:
        return self.held


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """All state is large, and is cut into many slices."""
    monkeypatch.setattr(work, "LARGE", 1)
    monkeypatch.setattr(checkpoints, "COMPACT_AFTER", COMPACT_AFTER)
    monkeypatch.setattr(slices, "SLICE_BYTES", 4000)
    monkeypatch.setattr(slices, "_SMALL_BYTES", 0)
    monkeypatch.setattr(compaction, "_LEAST_GROUP", 100)


@pytest.fixture
def holding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: None) -> Iterator[tuple[Cluster, Held]]:
    """A cluster whose workers are held."""
    monkeypatch.setattr(HoldingExecutor, "held", Held())
    yield Cluster(tmp_path, HoldingExecutor), HoldingExecutor.held
    HoldingExecutor.held.free.set()
    program.start(program.Program())


def build(env: Any, numbers: int = NUMBERS) -> Any:
    source = env.from_source(NumberSequenceSource(1, numbers), WatermarkStrategy.no_watermarks(), "numbers").uid(
        "numbers"
    )
    counted = source.key_by(lambda number: number % KEYS, Types.LONG()).process(Count(), Types.STRING())
    counted.uid("count").print().uid("out")
    return env


def counts(path: str) -> dict[int, int]:
    return {row["key"]: row["value"] for row in state_rows(path, "count") if row["state"] == "count"}


def until(number: int) -> dict[int, int]:
    """The counts of the first numbers."""
    return dict(Counter(each % KEYS for each in range(1, number + 1)))


def verify(cluster: Cluster) -> None:
    """All numbers were counted and printed once, and no file is left that no commit names."""
    master = cluster.last.master
    assert counts(str(master.job.store.directory(master.job.job_id))) == until(NUMBERS)
    assert sorted(int(line.rpartition("> ")[2]) for line in cluster.lines) == list(range(1, NUMBERS + 1))
    verify_no_files(cluster)


def verify_no_files(cluster: Cluster) -> None:
    state = Path(cluster.last.master.job.coordinator.log.path)
    commits = "".join(file.read_text() for file in state.glob("_delta_log/*.json"))
    assert [file.name for file in state.glob("*.parquet") if file.name not in commits] == []


def rewrites(cluster: Cluster) -> list[tuple[int, int]]:
    """The epoch that each compaction was committed behind, and the one until which it merged."""
    log = SnapshotLog.open(cluster.last.master.job.coordinator.log.path)
    return [(int(entry["epoch"]), int(entry["floor"])) for entry in log._line() if "floor" in entry]


def wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def let_go_behind(held: Held, epochs: int) -> Callable[..., Any]:
    """Epochs, so many of which run before those are let go who were given work."""
    real, left = InProcessRunner.run, [epochs]

    def run(self: Any, spec: Any) -> Any:
        if held.asked.is_set():
            left[0] -= 1
            if left[0] == 0:
                held.free.set()
        return real(self, spec)

    return run


def test_epochs_go_on_while_a_compaction_does_and_nothing_is_lost(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, held = holding
    monkeypatch.setattr(InProcessRunner, "run", let_go_behind(held, 5))
    build(cluster.environment(epoch_records=20)).execute("count")
    verify(cluster)
    assert any(behind >= merged + 4 for behind, merged in rewrites(cluster))
    assert held.done > 2


def test_a_savepoint_holds_up_no_epochs_and_is_of_the_one_it_was_asked_behind(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, held = holding
    monkeypatch.setattr(checkpoints, "COMPACT_AFTER", 10**6)
    client = build(cluster.environment(epoch_records=20), 10**9).execute_async("count")
    wait(lambda: client.epoch >= 2)
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(client.trigger_savepoint().result()))
    asking.start()
    assert held.asked.wait(PATIENCE)
    began = client.epoch
    wait(lambda: client.epoch >= began + 5)
    assert not answers
    held.free.set()
    asking.join(PATIENCE)
    client.cancel().result()
    with suppress(JobCancelled):
        client.wait()
    (path,) = answers
    epoch = SnapshotLog.open(path).epoch
    assert epoch <= began + 1
    assert sum(counts(path).values()) == 20 * epoch


def test_what_a_savepoint_is_made_of_is_not_removed_meanwhile(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compaction ends while a savepoint is being written: its files stay until that is done."""
    cluster, held = holding
    client = build(cluster.environment(epoch_records=20), 10**9).execute_async("count")
    other = Held()
    assert held.asked.wait(PATIENCE)  # by the compaction
    monkeypatch.setattr(HoldingExecutor, "held", other)
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(client.trigger_savepoint().result()))
    asking.start()
    assert other.asked.wait(PATIENCE)
    monkeypatch.setattr(HoldingExecutor, "held", held)
    log = Path(client.master.job.coordinator.log.path)
    oldest = log / client.master.job.coordinator.log.files()[0].path
    held.free.set()
    wait(lambda: bool(rewrites(cluster)))
    assert oldest.exists()
    other.free.set()
    asking.join(PATIENCE)
    wait(lambda: not oldest.exists())
    client.cancel().result()
    (path,) = answers
    assert sum(counts(path).values()) == 20 * SnapshotLog.open(path).epoch


def test_a_job_that_ends_waits_for_savepoints_and_gives_compactions_up(holding: tuple[Cluster, Held]) -> None:
    cluster, held = holding
    client = build(cluster.environment(epoch_records=20)).execute_async("count")
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(client.trigger_savepoint().result()))
    wait(lambda: client.epoch >= 2)
    asking.start()
    assert held.asked.wait(PATIENCE)
    wait(lambda: client.master.job.records == NUMBERS)
    time.sleep(0.2)
    assert not client.over
    held.free.set()
    client.wait()
    asking.join(PATIENCE)
    assert sum(counts(answers[0]).values()) == 20 * SnapshotLog.open(answers[0]).epoch
    verify(cluster)


def test_a_cancelled_job_leaves_no_half_savepoint(holding: tuple[Cluster, Held], tmp_path: Path) -> None:
    cluster, _held = holding
    client = build(cluster.environment(epoch_records=20), 10**9).execute_async("count")
    wait(lambda: client.epoch >= 2)
    failed: list[str] = []

    def ask() -> None:
        try:
            client.trigger_savepoint(str(tmp_path / "savepoint")).result()
        except RuntimeError as error:
            failed.append(str(error))

    monkey = pytest.MonkeyPatch()
    monkey.setattr(Held, "each", _refusing)
    asking = threading.Thread(target=ask)
    asking.start()
    wait(lambda: bool(client.master._upkeep._savepoints))
    client.cancel().result()
    asking.join(PATIENCE)
    monkey.undo()
    assert failed == ["The job ended before the savepoint was written."]
    assert list((tmp_path / "savepoint").iterdir()) == []
    verify_no_files(cluster)


def _refusing(self: Held, work: Any, parts: Any) -> Any:
    """As workers do who are given up."""
    self.asked.set()
    self.free.wait(PATIENCE)
    raise StoreError("The work was given up.")


def test_a_compaction_that_fails_is_tried_again_later(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, held = holding
    held.free.set()
    real = Held.each
    monkeypatch.setattr(Held, "each", failing(real, 1, False, StoreError("An executor is lost.")))
    client = build(cluster.environment(epoch_records=20), 10**9).execute_async("count")
    wait(lambda: bool(rewrites(cluster)))
    client.cancel().result()
    verify_no_files(cluster)


@pytest.mark.parametrize("what", ["its files are written", "it is committed"])
def test_a_driver_that_is_killed_while_a_compaction_goes_on_harms_nothing(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    cluster, held = holding
    held.free.set()
    after = what == "it is committed"
    with monkeypatch.context() as patched:
        patched.setattr(Compaction, "commit", failing(Compaction.commit, 1, after, Killed()))
        with pytest.raises(Killed):
            build(cluster.environment(epoch_records=20, program="job.py")).execute("count")
    job_id = cluster.last.master.job.job_id
    cluster.executor = None  # another process
    build(cluster.environment(epoch_records=20, program="job.py")).execute("count")
    assert cluster.last.master.job.job_id == job_id
    verify(cluster)


def test_a_compaction_is_given_up_where_its_job_takes_up_its_last_checkpoint(
    holding: tuple[Cluster, Held], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it wrote is swept, so that it must not be committed."""
    cluster, held = holding
    real = InProcessRunner.run
    lost: list[bool] = []

    def run(self: Any, spec: Any) -> Any:
        if held.asked.is_set() and not lost:
            lost.append(True)
            raise StoreError("The store is away.")
        return real(self, spec)

    monkeypatch.setattr(InProcessRunner, "run", run)
    env = build(cluster.environment(epoch_records=20))
    env.configuration.set_string("restart-strategy.type", "fixed-delay")
    env.configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env.execute("count")
    assert lost
    verify(cluster)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("parallelism", [1, 3])
def test_large_state_is_restored_to_what_little_is(
    tmp_path: Path, parallelism: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At another parallelism, in many slices and in one."""
    cluster = Cluster(tmp_path)
    build(cluster.environment(epochs=12, epoch_records=20)).execute("count")
    path = cluster.last.master.job.savepoint
    assert path is not None
    found = []
    for limit in (1, work.LARGE * 10**9):
        monkeypatch.setattr(work, "LARGE", limit)
        cluster.events.clear()
        build(cluster.environment(parallelism, savepoint=path)).execute("count")
        (started,) = [event for event in cluster.events if event["event"] == "started"]
        restored = {key: value for key, value in started["restored"].items() if key != "path"}
        master = cluster.last.master
        found.append((restored, counts(str(master.job.store.directory(master.job.job_id)))))
    assert found[0] == found[1] == ({"keys": KEYS, "entries": KEYS + 2, "migrated": 0, "dropped": 0}, until(NUMBERS))


def test_a_snapshot_is_described_the_same_in_many_slices(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    cluster = Cluster(tmp_path)
    build(cluster.environment(epochs=3, epoch_records=20)).execute("count")
    path = cluster.last.master.job.savepoint
    assert path is not None
    whole = describe_snapshot(path)
    request.getfixturevalue("large")
    assert describe_snapshot(path) == whole
    (count,) = (each for each in whole["operators"] if each["uid"] == "count")
    (state,) = count["totals"]["states"]
    assert state["entries"] == len(counts(path))
    assert state["key_groups"][0] < state["key_groups"][1]
    program.start(program.Program())


@pytest.mark.spark
@pytest.mark.usefixtures("large")
def test_tasks_of_spark_compact_copy_and_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: Counter[str] = Counter()
    real = SparkWorkers._job

    def counted(self: SparkWorkers, work: Any, parts: Sequence[Any]) -> Any:
        jobs["beside" if self._beside else "alone"] += 1
        return real(self, work, parts)

    monkeypatch.setattr(SparkWorkers, "_job", counted)
    cluster = Cluster(tmp_path, SparkExecutor)
    try:
        client = build(cluster.environment(epoch_records=20), 10**9).execute_async("count")
        wait(lambda: client.epoch > 0 and len(rewrites(cluster)) > 0)
        path = client.stop_with_savepoint(False).result()
        assert path is not None
        epoch = SnapshotLog.open(path).epoch
        assert sum(counts(path).values()) == 20 * epoch
        assert jobs["beside"] > 1
        alone = jobs["alone"]
        assert alone >= 1
        build(cluster.environment(3, savepoint=path, epochs=2, epoch_records=20), 10**9).execute("count")
        again = cluster.last.master.job.savepoint
        assert again is not None
        assert sum(counts(again).values()) == 20 * (epoch + 2)
        assert jobs["alone"] > alone + 1
        verify_no_files(cluster)
    finally:
        assert cluster.executor is not None
        cluster.executor.close()
        program.start(program.Program())

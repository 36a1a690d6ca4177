"""A fault at every step of an epoch, and a driver that dies there: nothing is lost, nothing doubled. Without Spark."""

from __future__ import annotations

import errno
import itertools
import os
import pickle
import re
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.connectors.delta import DeltaSink
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.spark.connectors.collection.source import CollectionEnumerator
from compat.compiler.spark.connectors.delta.sink import DeltaCommitter
from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.failures import JobCancelled, JobFailed
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.mailbox import Mailbox, send
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.task import epochs
from compat.compiler.spark.task.epochs import EpochLost, InProcessRunner
from compat.compiler.spark.task.hosts import remove_forgotten
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.descriptors import ValueStateDescriptor
from compat.state.types import Types
from tests import needs
from tests.compiler.spark.faults import Killed, failing

NUMBERS = list(range(120))
KEYS = 5
PAIR = Types.TUPLE([Types.INT(), Types.LONG()])
COUNTS = Types.ROW_NAMED(["key", "count"], [Types.INT(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % KEYS, count


def run(cluster: Any, folder: Path, **options: Any) -> None:
    """Run the job to its end, with sinks in ``folder``."""
    env = cluster.environment(2, epoch_records=30, program="job.py", **options)
    env.enable_checkpointing(100)
    env.configure(_restarts())
    counted = env.from_collection(NUMBERS, Types.INT()).key_by(lambda n: n % KEYS, Types.INT()).process(Count(), PAIR)
    counted.uid("count")
    files = FileSink.for_row_format(str(folder / "files"), Encoder.simple_string_encoder())
    files = files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    counted.map(lambda p: f"{p[0]}:{p[1]}", Types.STRING()).sink_to(files.build())
    counted.sink_to(DeltaSink.for_row_data(str(folder / "table"), COUNTS).build())
    env.execute("counting")


def _restarts() -> Any:
    from compat.compiler.datastream.common.configuration import Configuration

    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "3")
    configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    return configuration


def verify(cluster: Any, folder: Path) -> None:
    sizes = Counter(number % KEYS for number in NUMBERS)
    expected = Counter((key, count) for key, size in sizes.items() for count in range(1, size + 1))
    rows = DeltaTable(str(folder / "table")).to_pyarrow_table().to_pylist()
    assert Counter((row["key"], row["count"]) for row in rows) == expected
    files = [file for file in (folder / "files").iterdir() if not file.name.startswith(".")]
    lines = [line for file in files for line in file.read_text().split()]
    assert Counter(tuple(map(int, line.split(":"))) for line in lines) == expected
    job = cluster.last.master.job.store.directory(cluster.last.master.job.job_id)
    assert {row["key"]: row["value"] for row in state_rows(str(job), "count") if row["state"] == "count"} == sizes


FULL = OSError(errno.ENOSPC, "No space left on device")
STEPS: dict[str, tuple[Any, str, BaseException]] = {
    "epoch": (InProcessRunner, "run", EpochLost("a worker was killed")),
    "commit": (SnapshotLog, "_write", StoreError("The store cannot be written: No space left on device.")),
    "files": (FileCommitter, "commit", FULL),
    "table": (DeltaCommitter, "commit", FULL),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("step", STEPS)
def test_a_fault_is_repaired_by_a_restart(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int, after: bool
) -> None:
    owner, name, error = STEPS[step]
    monkeypatch.setattr(owner, name, failing(getattr(owner, name), call, after, error))
    run(cluster, tmp_path)
    assert [event["event"] for event in cluster.events].count("restarting") == 1
    verify(cluster, tmp_path)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("step", STEPS)
def test_a_driver_that_dies_is_followed_by_another(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int, after: bool
) -> None:
    owner, name, _ = STEPS[step]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, failing(getattr(owner, name), call, after, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    first = cluster.last.master.job.job_id
    run(cluster, tmp_path)
    assert cluster.last.master.job.job_id == first
    verify(cluster, tmp_path)


@pytest.mark.parametrize("step", STEPS)
def test_a_fault_that_stays_ends_the_job_and_what_it_had_goes_on(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    owner, name, error = STEPS[step]
    real, calls = getattr(owner, name), itertools.count()

    def fail(*arguments: Any, **named: Any) -> Any:
        if next(calls) > 1:
            raise error
        return real(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, fail)
        with pytest.raises(JobFailed, match=str(error.args[-1])[:20]):
            run(cluster, tmp_path)
    failed = cluster.last.master.job
    assert failed.status.value == "FAILED"
    run(cluster, tmp_path, savepoint=str(failed.store.directory(failed.job_id)))
    verify(cluster, tmp_path)


def test_a_driver_does_not_take_a_running_job_over(cluster: Any, tmp_path: Path) -> None:
    run(cluster, tmp_path)
    master = cluster.last.master
    held = master.job.store.lock(master.job.job_id)
    with pytest.raises(StoreError, match="run by another process"):
        master.job.store.lock(master.job.job_id)
    held.close()
    master.job.store.lock(master.job.job_id).close()


def test_two_drivers_cannot_both_commit_an_epoch(tmp_path: Path) -> None:
    first = SnapshotLog.create(tmp_path / "log")
    second = SnapshotLog.open(tmp_path / "log")
    assert first.commit(1, [], {"token": "first"})
    with pytest.raises(StoreError):
        second.commit(1, [], {"token": "second"})
    second.refresh()
    assert not second.commit(1, [], {"token": "second"})


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    needs.mounts(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)])
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_stops_the_job_and_loses_nothing(cluster: Any, tmp_path: Path, small_disk: Path) -> None:
    cluster.directory = small_disk
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"0" * (2 * 1024 * 1024 - 36 * 1024))
    replicas = str(tmp_path / "replicas")
    with pytest.raises(JobFailed, match="No space left"):
        run(cluster, tmp_path, replicas=replicas)
    ballast.unlink()
    failed = cluster.last.master.job
    assert failed.coordinator.epoch > 0
    # Where even the end could not be put down, the job counts as interrupted.
    ended = failed.store.read(failed.job_id).ended
    run(cluster, tmp_path, replicas=replicas, savepoint=str(failed.store.directory(failed.job_id)) if ended else None)
    verify(cluster, tmp_path)


FULL_DISK = r"{} @\S* cannot be written: .*No space left on device.* The disk is full: make room on it, or {}"


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("replicas", FULL_DISK.format("The folder of local state", "have it elsewhere with --replicas FOLDER")),
        ("files", FULL_DISK.format("The sink's folder", "give the sink another")),
        ("table", FULL_DISK.format("The sink's folder", "give the sink another")),
        ("store", FULL_DISK.format("The store", "")),
    ],
)
def test_a_full_disk_is_named(cluster: Any, tmp_path: Path, small_disk: Path, what: str, told: str) -> None:
    """Whichever folder it is: the error says which, why, and what to do."""
    (small_disk / "ballast").write_bytes(b"0" * (2 * 1024 * 1024 - 4 * 1024))
    options = {"replicas": str(small_disk / "replicas")} if what == "replicas" else {}
    for folder in ("files", "table"):
        (small_disk / folder if what == folder else tmp_path / folder).mkdir(exist_ok=True)
        if what == folder:
            (tmp_path / folder).symlink_to(small_disk / folder)
    if what == "store":
        cluster.directory = small_disk
    folder = tmp_path / what if what in ("files", "table") else small_disk
    told = told.replace("@", re.escape(str(folder)))
    with pytest.raises((JobFailed, StoreError), match=f"(?s){told}") as failed:
        run(cluster, tmp_path, **{"replicas": str(tmp_path / "replicas"), **options})
    assert "Traceback" not in str(failed.value)


@pytest.mark.parametrize("error", [FULL, StoreError("The store is away.")], ids=["full", "away"])
def test_a_job_has_finished_though_that_cannot_be_written_down(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """All of it is committed and published by then: the program is told so, and nothing is done twice."""
    real = JobStore.write

    def write(store: JobStore, entry: JobEntry) -> None:
        real(store, entry)
        if entry.status == "FINISHED":
            raise error

    monkeypatch.setattr(JobStore, "write", write)
    run(cluster, tmp_path)
    assert [event["event"] for event in cluster.events].count("finished") == 1
    verify(cluster, tmp_path)


def test_an_answer_that_comes_after_the_end_is_waited_for(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    lock, mailbox = store.lock("job"), Mailbox(store.directory("job"))

    def driver() -> None:
        while not (asked := list(mailbox.requests())):
            time.sleep(0.01)
        store.write(JobEntry(job_id="job", name="", status="CANCELED", pid=0))
        time.sleep(0.3)
        send(asked[0][0], {"status": "CANCELED"})
        lock.close()

    thread = threading.Thread(target=driver)
    thread.start()
    assert mailbox.ask("cancel") == {"status": "CANCELED"}
    thread.join()
    assert "not running" in mailbox.ask("cancel")["error"]


@pytest.mark.parametrize("step", STEPS)
def test_the_same_command_goes_on_after_a_failure(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    owner, name, error = STEPS[step]
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, failing(getattr(owner, name), 3, False, error, for_good=True))
        with pytest.raises(JobFailed):
            run(cluster, tmp_path)
    failed = cluster.last.master.job
    run(cluster, tmp_path)
    assert cluster.last.master.job.job_id == failed.job_id
    verify(cluster, tmp_path)


def test_a_failed_job_starts_anew_where_that_is_asked_for(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(
            InProcessRunner, "run", failing(InProcessRunner.run, 3, False, EpochLost("gone"), for_good=True)
        )
        with pytest.raises(JobFailed):
            run(cluster, tmp_path / "first")
    failed = cluster.last.master.job.job_id
    run(cluster, tmp_path / "second", fresh=True)
    assert cluster.last.master.job.job_id != failed
    verify(cluster, tmp_path / "second")


@pytest.mark.parametrize("left", [b"", b"{", b"[]"], ids=["empty", "half", "else"])
def test_a_damaged_entry_does_not_start_the_job_anew(
    cluster: Any, tmp_path: Path, monkeypatch: Any, left: bytes
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(InProcessRunner, "run", failing(InProcessRunner.run, 3, False, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    master = cluster.last.master
    (master.job.store.directory(master.job.job_id) / "job.json").write(left)
    with pytest.raises(StoreError, match=f"job.json is damaged.* go on from its state with -s .*{master.job.job_id}"):
        run(cluster, tmp_path)
    run(cluster, tmp_path, savepoint=str(master.job.store.directory(master.job.job_id)))
    verify(cluster, tmp_path)


@pytest.mark.parametrize(
    "rewrite", [lambda table: table.optimize.compact(), lambda table: table.optimize.z_order(["value"])]
)
def test_others_may_optimize_the_table(cluster: Any, tmp_path: Path, monkeypatch: Any, rewrite: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(InProcessRunner, "run", failing(InProcessRunner.run, 4, False, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    master = cluster.last.master
    rewrite(DeltaTable(master.job.store.state(master.job.job_id)))
    run(cluster, tmp_path)
    verify(cluster, tmp_path)


def test_a_job_goes_on_from_where_its_table_was_rolled_back_to(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """State, positions and replicas stand at the same checkpoint: the counts are those of all records, once."""
    with monkeypatch.context() as patched:
        patched.setattr(InProcessRunner, "run", failing(InProcessRunner.run, 4, False, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    master = cluster.last.master
    path = master.job.store.state(master.job.job_id)
    log = SnapshotLog.open(path)
    DeltaTable(path).restore(log.version_of_epoch(1))
    run(cluster, tmp_path)
    assert cluster.last.master.job.job_id == master.job.job_id
    job = str(master.job.store.directory(master.job.job_id))
    counted = {row["key"]: row["value"] for row in state_rows(job, "count") if row["state"] == "count"}
    assert counted == Counter(number % KEYS for number in NUMBERS)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:4096])


def _scribble(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:8192] + b"\xff" * (size - 8192))


@pytest.mark.parametrize("damage", [_cut, _scribble])
def test_a_damaged_replica_is_made_anew(cluster: Any, tmp_path: Path, monkeypatch: Any, damage: Any) -> None:
    damaged = []

    def run_damaged(self: Any, spec: Any) -> Any:
        if spec.epoch == 3:
            for file in (tmp_path / "replicas").rglob("data.mdb"):
                damage(file)
                damaged.append(file)
        return real(self, spec)

    real = InProcessRunner.run
    monkeypatch.setattr(InProcessRunner, "run", run_damaged)
    run(cluster, tmp_path)
    assert len(damaged) == 2
    assert "restarting" not in [event["event"] for event in cluster.events]
    verify(cluster, tmp_path)


def test_a_replica_that_a_function_failed_on_is_made_anew(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Damage that only decoding notices looks like a failure of the function: the next attempt reads the log."""
    damaged: list[int] = []

    def run_anew(self: Any, spec: Any) -> Any:
        if spec.epoch == 3 and not damaged:
            self._subtasks.close()  # what was in memory is lost
        return real(self, spec)

    def damage(replica: Any, task: Any, spec: Any, subtask: int) -> str:
        found = caught_up(replica, task, spec, subtask)
        if spec.epoch == 3 and not damaged:
            damaged.append(subtask)
            entries = {key: b"\7damaged" for key, _ in replica.scan(b"s")}
            replica.apply(entries, replica.position, replica.position)
        return found

    real, caught_up = InProcessRunner.run, epochs._caught_up
    monkeypatch.setattr(InProcessRunner, "run", run_anew)
    monkeypatch.setattr(epochs, "_caught_up", damage)
    run(cluster, tmp_path)
    assert len(damaged) == 1
    assert [event["event"] for event in cluster.events].count("restarting") == 1
    verify(cluster, tmp_path)


def test_a_reader_may_take_published_files_away(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """The driver dies behind the publication, and what it published is gone when the next one looks for it."""
    with monkeypatch.context() as patched:
        patched.setattr(FileCommitter, "commit", failing(FileCommitter.commit, 3, True, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    taken = [file for file in (tmp_path / "files").iterdir() if not file.name.startswith(".")]
    (tmp_path / "archive").mkdir()
    for file in taken:
        file.rename(tmp_path / "archive" / file.name)
    run(cluster, tmp_path)
    for file in taken:
        (tmp_path / "archive" / file.name).rename(file)
    verify(cluster, tmp_path)


AWAY = StoreError("The store cannot be read: Transport endpoint is not connected.")


@pytest.mark.parametrize("calls", [1, 2])
def test_a_recovery_that_fails_is_tried_again(cluster: Any, tmp_path: Path, monkeypatch: Any, calls: int) -> None:
    """The store goes away in an epoch, and comes back after the job wanted to go on once, or twice."""
    failures = iter([AWAY] * calls)

    def away(*arguments: Any, **named: Any) -> Any:
        for error in failures:
            raise error
        return real(*arguments, **named)

    def lost(self: Any, spec: Any) -> Any:
        monkeypatch.setattr(SnapshotLog, "open", away)
        return failing_once(self, spec)

    real = SnapshotLog.open
    failing_once = failing(InProcessRunner.run, 3, False, EpochLost("a worker was killed"))
    monkeypatch.setattr(InProcessRunner, "run", lost)
    run(cluster, tmp_path)
    told = [event for event in cluster.events if event["event"] == "restarting"]
    assert [event["error"] for event in told] == ["a worker was killed", *[str(AWAY)] * calls]
    verify(cluster, tmp_path)


def test_a_recovery_that_never_succeeds_is_given_up(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    def lost(self: Any, spec: Any) -> Any:
        monkeypatch.setattr(SnapshotLog, "open", failing(SnapshotLog.open, 1, False, AWAY, for_good=True))
        raise EpochLost("a worker was killed")

    monkeypatch.setattr(InProcessRunner, "run", lost)
    with pytest.raises(JobFailed, match="endpoint is not connected"):
        run(cluster, tmp_path)
    assert cluster.last.master.job.status.value == "FAILED"


def test_a_source_that_cannot_be_asked_is_asked_again(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    broken = failing(CollectionEnumerator.discover, 3, False, ConnectionError("try again later"))
    monkeypatch.setattr(CollectionEnumerator, "discover", broken)
    run(cluster, tmp_path)
    (told,) = (event for event in cluster.events if event["event"] == "restarting")
    assert told["error"].endswith("ConnectionError: try again later")
    verify(cluster, tmp_path)


def test_a_job_is_cancelled_while_it_waits_for_its_store(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    def away(*arguments: Any, **named: Any) -> Any:
        cluster.last.master.cancel()
        raise AWAY

    def lost(self: Any, spec: Any) -> Any:
        monkeypatch.setattr(SnapshotLog, "open", away)
        raise EpochLost("a worker was killed")

    monkeypatch.setattr(InProcessRunner, "run", lost)
    with pytest.raises(JobCancelled):
        run(cluster, tmp_path)
    assert cluster.last.master.job.status.value == "CANCELED"


def test_lost_executors_are_no_failures_of_the_program(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Each epoch is lost once, and the job, which may not fail once, comes to its end."""
    lost: set[int] = set()

    def lost_once(self: Any, spec: Any) -> Any:
        if spec.epoch not in lost:
            lost.add(spec.epoch)
            raise EpochLost("an executor was preempted")
        return real(self, spec)

    real = InProcessRunner.run
    monkeypatch.setattr(InProcessRunner, "run", lost_once)
    env = cluster.environment(2, epoch_records=30)
    numbers = env.from_collection(NUMBERS, Types.INT())
    made = list(numbers.key_by(lambda n: n % KEYS, Types.INT()).process(Count(), PAIR).execute_and_collect())
    assert len(lost) > 3
    assert Counter(key for key, _ in made) == Counter(number % KEYS for number in NUMBERS)


def test_an_epoch_that_takes_its_executors_with_it_fails_the_job(cluster: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(
        InProcessRunner, "run", failing(InProcessRunner.run, 2, False, EpochLost("gone"), for_good=True)
    )
    env = cluster.environment(2, epoch_records=30)
    env.from_collection(NUMBERS, Types.INT()).print()
    with pytest.raises(JobFailed, match="gone"):
        env.execute()
    assert [event["event"] for event in cluster.events].count("restarting") == 3


def test_an_epoch_that_could_not_be_done_is_tried_smaller(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Workers die of more than five records: the job comes to its end, although it may not fail once."""

    def dies_of_many(self: Any, spec: Any) -> Any:
        given = [work.limit for by_node in spec.work.values() for work in by_node.values()]
        tried.append(sum(given))
        if sum(given) > 5:
            raise EpochLost("Java heap space")
        return real(self, spec)

    tried: list[int] = []
    real = InProcessRunner.run
    monkeypatch.setattr(InProcessRunner, "run", dies_of_many)
    env = cluster.environment(1, epoch_records=64)
    env.from_collection(NUMBERS, Types.INT()).map(str, Types.STRING()).print()
    env.execute()
    assert tried[:5] == [64, 16, 4, 4, 4]
    assert max(tried[3:]) <= 8  # now and then, more are tried
    assert sorted(map(int, cluster.lines)) == NUMBERS


class Large(KeyedProcessFunction):
    """Keeps a large value for each key."""

    def open(self, runtime_context: Any) -> None:
        self.large = runtime_context.get_state(ValueStateDescriptor("large", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.large.update(bytes([value]) * 300_000)
        yield value


def test_what_travels_to_the_driver_is_bounded(cluster: Any, monkeypatch: Any) -> None:
    def measured(self: Any, epoch: int, token: str, reports: Any, records: int) -> None:
        sizes.extend(len(pickle.dumps(report)) for report in reports)
        real(self, epoch, token, reports, records)

    sizes: list[int] = []
    real = CheckpointCoordinator.commit
    monkeypatch.setattr(CheckpointCoordinator, "commit", measured)
    env = cluster.environment(2)
    env.from_collection(NUMBERS, Types.INT()).key_by(lambda n: n, Types.INT()).process(Large(), Types.INT()).uid(
        "large"
    )
    env.execute()
    assert max(sizes) < 2_000_000
    job = cluster.last.master.job.store.directory(cluster.last.master.job.job_id)
    assert {row["key"]: len(row["value"]) for row in state_rows(str(job), "large")} == dict.fromkeys(NUMBERS, 300_000)


def hidden_and_unnamed(folder: Path) -> list[str]:
    """The files of both sinks that no reader sees."""
    named = {Path(file).name for file in DeltaTable(str(folder / "table")).file_uris()}
    hidden = [file.name for file in (folder / "files").rglob(".*")]
    return hidden + [file.name for file in (folder / "table").glob("*.parquet") if file.name not in named]


@pytest.mark.parametrize("call", [1, 3])
def test_attempts_that_failed_leave_no_files(cluster: Any, tmp_path: Path, monkeypatch: Any, call: int) -> None:
    """The tasks wrote all of the epoch, and then it was lost."""
    monkeypatch.setattr(InProcessRunner, "run", failing(InProcessRunner.run, call, True, EpochLost("gone")))
    run(cluster, tmp_path)
    verify(cluster, tmp_path)
    assert hidden_and_unnamed(tmp_path) == []
    assert list((tmp_path / "replicas").glob("*")) == []


def test_a_driver_that_died_leaves_no_files_for_long(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(InProcessRunner, "run", failing(InProcessRunner.run, 3, True, Killed()))
        with pytest.raises(Killed):
            run(cluster, tmp_path)
    assert len(hidden_and_unnamed(tmp_path)) == 4
    run(cluster, tmp_path)
    verify(cluster, tmp_path)
    assert hidden_and_unnamed(tmp_path) == []


def test_a_task_that_fails_takes_its_files_with_it(cluster: Any, tmp_path: Path) -> None:
    class Broken(Encoder):
        def encode(self, value: Any, stream: Any) -> None:
            stream.write(b"half of")
            raise ValueError("broken")

    env = cluster.environment(1)
    env.from_collection(NUMBERS, Types.INT()).sink_to(
        FileSink.for_row_format(str(tmp_path / "out"), Broken(None)).build()
    )
    with pytest.raises(JobFailed, match="broken"):
        env.execute()
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


def test_replicas_that_nobody_used_for_long_are_removed(tmp_path: Path) -> None:
    for job, age in (("a" * 32, 8), ("b" * 32, 6), ("not-a-job", 8)):
        mark = tmp_path / job / "task-1-0" / "data.mdb.in-use"
        mark.parent.mkdir(parents=True)
        mark.touch()
        then = time.time() - age * 24 * 3600
        os.utime(mark, (then, then))
    remove_forgotten(str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b" * 32, "not-a-job"]


def test_how_local_state_was_found_is_told(cluster: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """Two subtasks lose it before the third of four epochs."""

    def run_without(self: Any, spec: Any) -> Any:
        if spec.epoch == 3:
            shutil.rmtree(tmp_path / "replicas")
        return real(self, spec)

    real = InProcessRunner.run
    monkeypatch.setattr(InProcessRunner, "run", run_without)
    run(cluster, tmp_path)
    told = [event["replicas"] for event in cluster.events if event["event"] == "checkpoint"]
    assert told[:4] == [{"current": 2}, {"current": 2}, {"rebuilt": 2}, {"current": 2}]
    (finished,) = (event["replicas"] for event in cluster.events if event["event"] == "finished")
    assert (finished["rebuilt"], finished["current"]) == (2, 2 * len(told) - 2)

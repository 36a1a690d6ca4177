"""Jobs whose state, savepoints, sources and sinks are on object stores or on HDFS: servers on this machine, most of S3."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from compat.cli.jobs import cancel, discard, list_jobs
from compat.cli.run import run as run_command
from compat.cli.state import state
from compat.compiler.datastream import program
from compat.compiler.datastream.common.configuration import Configuration
from compat.compiler.datastream.common.serialization import Encoder, SimpleStringSchema
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.delta import DeltaSink, DeltaSource
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from compat.compiler.datastream.execution_mode import RuntimeExecutionMode
from compat.compiler.datastream.functions import KeyedProcessFunction
from compat.compiler.spark.connectors.delta.sink import DeltaCommitter
from compat.compiler.spark.connectors.files.sink import FileCommitter
from compat.compiler.spark.connectors.kafka import sink
from compat.compiler.spark.connectors.kafka.sink import PendingWriter, Publication
from compat.compiler.spark.driver import checkpoints, job_folders, lease, life_cycle, mailbox
from compat.compiler.spark.driver.checkpoints import CheckpointCoordinator
from compat.compiler.spark.driver.driven import DrivenJob
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.inspection import state_rows
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.lease import LeaseLost
from compat.compiler.spark.driver.mailbox import Mailbox, send
from compat.compiler.spark.driver.output import Output
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.runtime_api.sinks import WriterContext
from compat.compiler.spark.task import epochs
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import write_rows
from compat.state.delta.savepoint import LogState, remove_savepoint, write_savepoint
from compat.state.descriptors import ValueStateDescriptor
from compat.state.stores.options import table_options
from compat.state.stores.paths import Place, place_of
from compat.state.types import Types
from tests import object_store
from tests.compiler.spark import test_caches as kept
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.crashes import CrashingJob
from tests.compiler.spark.faults import Killed, failing
from tests.conftest import forget_buckets

KEYS = 3
NUMBERS = list(range(40))
PAIR = Types.TUPLE([Types.INT(), Types.LONG()])
COUNTS = Types.ROW_NAMED(["key", "count"], [Types.INT(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % KEYS, count


_SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("abfss", "hdfs")]


@pytest.fixture(params=["s3", pytest.param("gs", marks=pytest.mark.slow), *_SLOW])
def bucket(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A folder of the test's own in a bucket or on HDFS; nothing may be written to a local folder of its name."""
    address: str = request.getfixturevalue(request.param)
    monkeypatch.chdir(tmp_path)
    yield place_of(address) / tmp_path.name
    assert not list(tmp_path.glob(f"{address.partition(':')[0]}*"))


@pytest.fixture
def remote(bucket: Place, tmp_path: Path) -> Iterator[Cluster]:
    """A cluster whose jobs are kept in a bucket."""
    yield Cluster(tmp_path, store=str(bucket / "store"))
    program.start(program.Program())


def counting(cluster: Cluster, bucket: Place, parallelism: int = 2, **options: Any) -> None:
    """Count lines of files in a bucket, into files and a table there."""
    env = cluster.environment(parallelism, epoch_records=10, program="job.py", **options)
    env.enable_checkpointing(100)
    configuration = Configuration()
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "2")
    configuration.set_string("restart-strategy.fixed-delay.delay", "1 ms")
    env.configure(configuration)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(bucket / "input")).build()
    numbers = env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines").uid("lines").map(int, Types.INT())
    counted = numbers.key_by(lambda n: n % KEYS, Types.INT()).process(Count(), PAIR).uid("count")
    files = FileSink.for_row_format(str(bucket / "files"), Encoder.simple_string_encoder())
    files = files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    counted.map(lambda p: f"{p[0]}:{p[1]}", Types.STRING()).sink_to(files.build()).uid("files")
    counted.sink_to(DeltaSink.for_row_data(str(bucket / "table"), COUNTS).build()).uid("table")
    env.execute("counting")


def give(bucket: Place, numbers: list[int]) -> None:
    half = len(numbers) // 2
    for name, part in (("a", numbers[:half]), ("deep/b", numbers[half:]), ("_hidden", [77])):
        (bucket / "input" / name).write("".join(f"{n}\n" for n in part).encode())


def rows_of(path: Place) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (
        DeltaTable(path.path, storage_options=table_options(path.path)).to_pyarrow_table().to_pylist()
    )
    return rows


def verify(cluster: Cluster, bucket: Place, numbers: list[int] = NUMBERS) -> None:
    """Nothing lost, nothing doubled, nothing left over."""
    sizes = Counter(number % KEYS for number in numbers)
    expected = Counter((key, count) for key, size in sizes.items() for count in range(1, size + 1))
    assert Counter((row["key"], row["count"]) for row in rows_of(bucket / "table")) == expected
    files = list((bucket / "files").walk())
    assert not [file.name for file in files if file.name.startswith(".")]
    lines = [line for file in files for line in file.read().decode().split()]
    assert Counter(tuple(map(int, line.split(":"))) for line in lines) == expected
    job = cluster.last.master.job.store.directory(cluster.last.master.job.job_id)
    assert {row["key"]: row["value"] for row in state_rows(str(job), "count") if row["state"] == "count"} == sizes
    (entry,) = [each for each in cluster.last.master.job.store.jobs() if each.job_id == job.name]
    assert entry.status == "FINISHED"


@pytest.mark.parametrize("bucket", ["s3", "gs", *_SLOW], indirect=True)
def test_a_job_in_a_bucket_its_savepoint_and_the_commands(remote: Cluster, bucket: Place, monkeypatch: Any) -> None:
    """One run of all: a failure, a restart, a savepoint, a restore at another parallelism; and what the commands tell of it."""
    monkeypatch.setattr(epochs, "INLINE_ROWS", 0)
    monkeypatch.setattr(checkpoints, "COMPACT_AFTER", 5)
    monkeypatch.setattr(life_cycle, "_ENTRY_SECONDS", 0.0)
    give(bucket, NUMBERS)
    with monkeypatch.context() as patched:
        patched.setattr(DeltaCommitter, "commit", failing(DeltaCommitter.commit, 2, False, Killed()))
        with pytest.raises(Killed):
            counting(remote, bucket)
    first = remote.last.master.job.job_id
    there = ["--store", str(bucket / "store")]
    assert f"{first} : counting (INTERRUPTED, checkpoint 2)" in CliRunner().invoke(list_jobs, there).output
    counting(remote, bucket, epochs=1)
    assert remote.last.master.job.job_id == first
    savepoint = remote.last.master.job.savepoint
    assert savepoint is not None
    assert savepoint.startswith(f"{bucket}/store/savepoints/savepoint-")
    counting(remote, bucket, 3, savepoint=savepoint)
    assert remote.last.master.job.job_id != first
    verify(remote, bucket)
    for what, options in ((savepoint, []), (first, there), (f"{bucket}/store/jobs/{first}", [])):
        told = CliRunner().invoke(state, [what, "count", "--format", "json", *options])
        assert told.exit_code == 0, told.output
        assert sum(row["value"] for row in json.loads(told.output)) == 30
    log = SnapshotLog.open(remote.last.master.job.store.state(first))
    assert log.floor > 0, "the log was not compacted"
    listed = json.loads(CliRunner().invoke(list_jobs, ["--all", "--format", "json", *there]).output)
    assert [(job["job_id"], job["status"], job["alive"]) for job in listed] == [
        (remote.last.master.job.job_id, "FINISHED", False),
        (first, "FINISHED", False),
    ]
    assert CliRunner().invoke(cancel, [first, *there]).exit_code == 2
    assert CliRunner().invoke(discard, [first[:8], *there]).exit_code == 0
    assert not (bucket / "store" / "jobs" / first).exists()
    written = [file.read() for file in bucket.walk()]
    for secret in object_store.SECRETS:
        assert not any(secret.encode() in data for data in written)


@pytest.mark.parametrize("where", ["before the lease is proven", "between that and the commit"])
def test_a_driver_that_slept_cannot_commit(
    remote: Cluster, bucket: Place, tmp_path: Path, monkeypatch: Any, where: str
) -> None:
    """While the first driver sleeps, a second one, on another machine, takes the job over and ends it."""
    give(bucket, NUMBERS)
    monkeypatch.setattr(lease, "LEASE_SECONDS", 0.4)
    monkeypatch.setattr(lease, "_machine", lambda: "")
    second = Cluster(tmp_path / "second", store=remote.store)
    sleeping: list[DrivenJob] = []
    owner: Any = Output if where.startswith("before") else CheckpointCoordinator
    name = "prove" if where.startswith("before") else "commit"
    real = getattr(owner, name)

    def asleep(self: Any, *arguments: Any) -> Any:
        if remote.last.master.job.coordinator.epoch < 1 or sleeping:
            return real(self, *arguments)
        remote.last.master.job.lease.moves = lambda: False
        sleeping.append(remote.last.master.job)
        counting(second, bucket)
        return real(self, *arguments)

    monkeypatch.setattr(owner, name, asleep)
    with pytest.raises((LeaseLost, StoreError), match="Another process drives the job"):
        counting(remote, bucket)
    assert second.last.master.job.job_id == sleeping[0].job_id
    verify(second, bucket)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("call", [1, 3])
@pytest.mark.parametrize("step", ["commit", "files", "table"])
def test_a_driver_that_dies_is_followed_by_another(
    remote: Cluster, bucket: Place, monkeypatch: pytest.MonkeyPatch, step: str, call: int, after: bool
) -> None:
    owner: Any = {"commit": SnapshotLog, "files": FileCommitter, "table": DeltaCommitter}[step]
    name = "_write" if step == "commit" else "commit"
    give(bucket, NUMBERS)
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, failing(getattr(owner, name), call, after, Killed()))
        with pytest.raises(Killed):
            counting(remote, bucket)
    first = remote.last.master.job.job_id
    counting(remote, bucket)
    assert remote.last.master.job.job_id == first
    verify(remote, bucket)


def test_checkpoints_elsewhere_than_the_job(cluster: Cluster, bucket: Place) -> None:
    """A store on this machine, and Flink's option for checkpoints with a bucket."""

    def run(value: int, **options: Any) -> None:
        env = cluster.environment(1, epoch_records=2, **options)
        env.configuration.set_string("execution.checkpointing.dir", str(bucket / "checkpoints"))
        env.from_collection([1, 2, 3, value], Types.INT()).map(lambda n: 6 // n, Types.INT()).print()
        env.execute()

    with pytest.raises(Exception, match="ZeroDivisionError"):
        run(0, program="job.py")
    first = cluster.last.master.job
    place = bucket / "checkpoints" / first.job_id
    assert SnapshotLog.open(place / "state").epoch == 1
    assert first.store.state(first.job_id) == f"{place}/state"
    run(6, program="job.py")
    assert cluster.last.master.job.job_id == first.job_id
    assert cluster.lines == ["6", "3", "2", "1"]
    run(6, savepoint=str(place))
    first.store.discard(first.job_id)
    assert not place.exists()


def test_what_tasks_need_lies_beside_the_state_and_goes_with_it(bucket: Place, tmp_path: Path) -> None:
    """They do not see a store on the driver's machine: not what is shipped, nor kept streams."""
    jobs = JobStore(tmp_path / "store")
    assert str(jobs.shipped("1a2b")) == str(jobs.directory("1a2b") / "shipped")
    for given in (bucket / "checkpoints", place_of(str(tmp_path / "mounted"))):
        jobs.lock("1a2b").close()
        jobs.place_state("1a2b", str(given))
        assert str(jobs.shipped("1a2b")) == f"{given}/1a2b/shipped"
        kept = job_folders.caches_below(given) / "1a2b" / "0" / "part"
        kept.write(b"records")
        jobs.discard("1a2b")
        assert not kept.exists()


def test_a_driver_answers_through_the_store(bucket: Place, monkeypatch: Any) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    monkeypatch.setattr(mailbox, "_SLOW", 0.05)
    jobs = JobStore(str(bucket))
    held, box = jobs.lock("1a2b"), Mailbox(jobs.directory("1a2b"))
    done = threading.Event()

    def answering() -> None:
        while not done.wait(0.02):
            for answer, request in box.requests():
                send(answer, {"path": request["path"] * 2})

    thread = threading.Thread(target=answering)
    thread.start()
    assert box.ask("savepoint", path="x") == {"path": "xx"}
    done.set()
    thread.join()
    held.close()
    assert box.ask("savepoint", path="x") == {"error": "Job 1a2b is not running any more."}


def test_a_job_that_was_interrupted_is_given_up(bucket: Place, monkeypatch: Any) -> None:
    monkeypatch.setattr(lease, "LEASE_SECONDS", 1.0)
    jobs = JobStore(str(bucket))
    entry = JobEntry(job_id="1a2b", name="n", status="RUNNING", pid=1, program="job.py")
    held = jobs.lock("1a2b")
    jobs.write(entry)
    assert (jobs.alive(entry), jobs.interrupted(entry)) == (True, False)
    with pytest.raises(StoreError, match="Job 1a2b of this program runs already"):
        jobs.unfinished("job.py", "n", None)
    with pytest.raises(StoreError, match="Job 1a2b is run by another process"):
        jobs.give_up("1a2b")
    held.close()
    assert (jobs.alive(entry), jobs.interrupted(entry), jobs.unfinished("job.py", "n", None)) == (False, True, entry)
    assert jobs.give_up("1a2b").status == "CANCELED"
    assert jobs.unfinished("job.py", "n", None) is None
    (bucket / "jobs" / "3c4d" / "job.json").write(b"{")
    with pytest.raises(StoreError, match=f"{bucket}/jobs/3c4d/job.json is damaged or gone"):
        jobs.unfinished("job.py", "another", None)
    jobs.discard("1a2b")
    assert [entry.name for entry in (bucket / "jobs").list()] == ["3c4d"]


def test_what_jobs_ship_and_keep(remote: Cluster, bucket: Place, tmp_path: Path) -> None:
    """A module that travels with the job, and a stream that is kept between two jobs."""
    (tmp_path / "shipped_here.py").write_text("TEN = 10")

    def times_ten(number: int) -> int:
        import shipped_here

        return int(number * shipped_here.TEN)

    env = remote.environment(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.add_python_file(str(tmp_path / "shipped_here.py"))
    cached = env.from_collection([1, 2, 3], Types.INT()).map(times_ten, Types.INT()).cache()
    for _ in range(2):
        assert sorted(cached.map(lambda n: n + 1, Types.INT()).execute_and_collect()) == [11, 21, 31]
    names = [file.name for file in bucket.walk()]
    assert names.count("manifest.json") == 1
    assert "shipped.tar.gz" not in names


@pytest.mark.parametrize("damage", kept.DAMAGES, ids=["other", "gone", "cut"])
def test_a_damaged_stream_that_was_kept_is_made_again(
    remote: Cluster, bucket: Place, tmp_path: Path, monkeypatch: Any, damage: Any
) -> None:
    """By another job, while the one that has read a part of it waits."""
    stream = kept.Program(remote, tmp_path / "marks", epoch_records=1)
    assert stream.job() == ([11, 21, 31], 3)
    kept.DamagedMeanwhile(stream, remote, damage, monkeypatch, call=2)
    assert [stream.job() for _ in range(2)] == [([11, 21, 31], 6)] * 2
    assert [file.name for file in bucket.walk()].count("manifest.json") == 1


def test_records_that_are_for_kafka_wait_on_s3(bucket: Place) -> None:
    wanted = Publication(properties={}, topic="topic", value=SimpleStringSchema(), exactly_once=True)
    context = WriterContext("sink", 0, 3, "attempt", str(bucket / "state"))
    writer = PendingWriter(wanted, context)
    for text in ("a", "b"):
        writer.write(text, 7)
    ((path, topics, size),) = writer.prepare_commit()
    assert (place_of(path).size(), topics) == (size, ("topic",))
    assert [(message[0], message[2]) for message in sink._messages(path)] == [("topic", b"a"), ("topic", b"b")]
    assert not PendingWriter(wanted, context).prepare_commit()
    sink._remove_up_to(place_of(path).parent, 2)
    assert place_of(path).exists()
    sink._remove_up_to(place_of(path).parent, 3)
    assert not place_of(path).exists()


def test_tables_and_partitions_on_s3(remote: Cluster, bucket: Place) -> None:
    """A Delta sink with partitions whose values are awkward in addresses, read back by a Delta source."""
    awkward = ["a b", "ä/ö", "50%", "x=y", "q?r"]
    row = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])
    rows = DeltaSink.for_row_data(str(bucket / "table"), row).with_partition_columns("name").build()
    env = remote.environment(1)
    env.from_collection([(name, len(name)) for name in awkward], row).sink_to(rows)
    env.execute()
    assert {each["name"]: each["n"] for each in rows_of(bucket / "table")} == {name: len(name) for name in awkward}
    env = remote.environment(1)
    source = DeltaSource.for_bounded_row_data(str(bucket / "table")).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").map(
        lambda each: f"{each['name']} {each['n']}", Types.STRING()
    ).print()
    env.execute()
    assert sorted(remote.lines) == sorted(f"{name} {len(name)}" for name in awkward)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("s3://no-such-bucket/x", r"The store s3://no-such-bucket/x cannot be written: there is no bucket"),
        ("s3://key:secret@bucket/x", r"It has a key or password in it.* credentials by the environment"),
        ("s3:///x", "names no bucket"),
    ],
)
def test_a_store_that_cannot_be_had_is_refused(s3: str, tmp_path: Path, place: str, told: str, capfd: Any) -> None:
    (tmp_path / "job.py").write_text("print('ran')")
    outcome = CliRunner().invoke(run_command, [str(tmp_path / "job.py"), "--store", place])
    assert outcome.exit_code == 2
    said = re.sub(r"[\s│]+", " ", outcome.output + "".join(capfd.readouterr()))
    assert re.search(told, said)
    assert "secret" not in said
    assert "ran" not in said


@pytest.mark.parametrize("command", [list_jobs, cancel, discard])
def test_commands_say_why_a_store_cannot_be_had(s3: str, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job = [] if command is list_jobs else ["1a2b"]
    outcome = CliRunner().invoke(command, [*job, "--store", "s3://no-such-bucket/x"])
    assert outcome.exit_code == 2
    assert "The store s3://no-such-bucket/x cannot be read: there is no bucket s3://no-such-bucket" in outcome.output
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    forget_buckets()
    outcome = CliRunner().invoke(command, [*job, "--store", "s3://bucket/x"])
    assert outcome.exit_code == 2
    assert "pip install 'stream-compat[stores]'" in outcome.output
    forget_buckets()


def test_a_storage_without_conditional_puts_is_refused(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with object_store.serving("unconditional") as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        object_store.make_bucket(address, "bucket")
        forget_buckets()
        try:
            with pytest.raises(StoreError, match=r"The store s3://bucket/x does not do conditional puts"):
                InProcessExecutor("s3://bucket/x")
            with pytest.raises(
                StoreError, match=r"directory for checkpoints s3://bucket/y does not do conditional puts"
            ):
                JobStore(os.curdir).place_state("1a2b", "s3://bucket/y")
            assert not list(place_of("s3://bucket").walk())
        finally:
            forget_buckets()


@pytest.mark.slow
@pytest.mark.spark
def test_drivers_that_are_killed(bucket: Place, tmp_path: Path) -> None:
    """kill -9 of drivers on Spark: the same command goes on each time."""
    job = CrashingJob(tmp_path, end=30_000, arguments=["--epoch-records", "4000"], place=str(bucket))
    try:
        for _ in range(3):
            if not job.running:
                job.start()
            job.wait_for(2)
            job.kill([job.pid])
            assert job.process is not None
            job.process.wait()
        job.finish()
        job.verify()
    finally:
        job.close()


def test_a_savepoint_is_removed_by_what_it_lists(bucket: Place) -> None:
    log = SnapshotLog.create(bucket / "state")
    assert log.commit(1, [write_rows(log.path, [], 1)], {"token": "t"})
    one, other = (place_of(write_savepoint(LogState.of(log), bucket / name, {}, {})) for name in ("one", "one/other"))
    (one / "notes.txt").write(b"mine")
    remove_savepoint(one)
    assert sorted(file.path.removeprefix(one.path) for file in one.walk() if "other" not in file.path) == ["/notes.txt"]
    assert SnapshotLog.open(other).epoch == 1

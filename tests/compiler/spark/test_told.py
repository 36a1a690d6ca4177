"""What a program is told about its jobs: how they end, what they measured, and what cannot be had here."""

from __future__ import annotations

import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.job_execution_result import DetachedJobExecutionResult
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import MapFunction
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.failures import JobCancelled, JobFailed
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.types import Types


class Listener:
    """Notes what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, bool, Any]] = []

    def on_job_submitted(self, client: Any, error: Any) -> None:
        self.heard.append(("submitted", client is not None, error))

    def on_job_executed(self, result: Any, error: Any) -> None:
        self.heard.append(("executed", result is not None, error))


class Counted(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_metrics_group().counter("seen")

    def map(self, value: Any) -> Any:
        self.seen.inc()
        return value


def slow(env: Any) -> Any:
    numbers = env.from_source(NumberSequenceSource(1, 10**9), WatermarkStrategy.no_watermarks(), "numbers")
    return numbers.map(lambda n: n, Types.LONG())


def test_a_cancelled_job_is_no_finished_one(cluster: Any) -> None:
    """Somebody else cancels it: ``execute`` raises, and the listener hears of it."""
    env = cluster.environment(1, epoch_records=10)
    listener = Listener()
    env.register_job_listener(listener)
    slow(env).print()

    def cancel() -> None:
        while not cluster.events:
            time.sleep(0.01)
        master = cluster.last.master
        assert Mailbox(master.job.store.directory(master.job.job_id)).ask("cancel") == {"status": "CANCELED"}

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(JobCancelled, match=r"Job \w+ was cancelled\.") as cancelled:
        env.execute()
    thread.join()
    assert listener.heard == [("submitted", True, None), ("executed", False, cancelled.value)]


def test_a_program_that_cancels_its_own_job_is_not_told_of_it(cluster: Any) -> None:
    env = cluster.environment(1, epoch_records=10)
    slow(env).print()
    client = env.execute_async()
    client.cancel().result()
    assert cluster.last.told
    with pytest.raises(JobCancelled):
        client.get_job_execution_result().result()


def test_records_are_read_until_enough(cluster: Any) -> None:
    env = cluster.environment(1, epoch_records=10)
    with slow(env).execute_and_collect() as records:
        assert next(records) == 1


def test_a_listener_hears_why_a_job_failed(cluster: Any) -> None:
    env = cluster.environment(1)
    listener = Listener()
    env.register_job_listener(listener)
    env.from_collection([1, 0], Types.INT()).map(lambda n: 1 // n).print()
    with pytest.raises(JobFailed) as failed:
        env.execute()
    assert listener.heard == [("submitted", True, None), ("executed", False, failed.value)]


def test_a_listener_hears_why_a_job_was_not_submitted(cluster: Any) -> None:
    env = cluster.environment(1)
    listener = Listener()
    env.register_job_listener(listener)
    env.configuration.set_string("spark.speculation", "true")
    env.from_collection([1]).print()
    with pytest.raises(ProgramError) as refused:
        env.execute()
    assert listener.heard == [("submitted", False, refused.value)]


def test_the_result_has_what_was_measured(cluster: Any) -> None:
    env = cluster.environment(2, epoch_records=10)
    numbers = env.from_collection(list(range(40)), Types.INT())
    numbers.map(Counted(), Types.INT()).disable_chaining().map(Counted(), Types.INT()).print()
    result = env.execute()
    assert result.get_all_accumulator_results() == {"seen": 80}
    assert result.get_accumulator_result("seen") == 80
    assert cluster.last.get_accumulators().result() == {"seen": 80}


def test_savepoints_go_where_the_program_says(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    env.set_default_savepoint_directory(f"file://{tmp_path}/mine")
    env.from_collection([1]).print()
    env.execute()
    path = Path(cluster.last.master.take_savepoint())
    assert path.parent == tmp_path / "mine"
    assert (path / "_savepoint.json").exists()


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        (
            "execution.checkpointing.savepoint-dir",
            "ftp://host/x",
            "directory for savepoints.* ftp://host/x is not on this",
        ),
        ("state.savepoints.dir", "ftp://host/x", "directory for savepoints.* ftp://host/x is not on this"),
        ("execution.checkpointing.dir", "ftp://host/x", "directory for checkpoints.* ftp://host/x is not on this"),
        ("state.checkpoints.dir", "webhdfs:///flink", "directory for checkpoints.* webhdfs:///flink is not on this"),
    ],
)
def test_options_that_cannot_be_had_are_refused_with_the_line(cluster: Any, option: str, value: str, told: str) -> None:
    env = cluster.environment(1)
    env.configuration.set_string(option, value)
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=told) as refused:
        env.execute()
    assert Path(str(refused.value.location.file)).name == Path(__file__).name
    assert not cluster.events


@pytest.mark.parametrize("option", ["execution.checkpointing.dir", "state.checkpoints.dir"])
def test_checkpoints_go_where_the_program_says(cluster: Any, tmp_path: Path, option: str) -> None:
    """And a job goes on from there, also where only that directory is left of it."""

    def run(value: int, **options: Any) -> Any:
        env = cluster.environment(1, epoch_records=2, **options)
        env.configuration.set_string(option, f"file://{tmp_path}/checkpoints")
        env.from_collection([1, 2, 3, value], Types.INT()).map(lambda n: 6 // n, Types.INT()).print()
        return env

    with pytest.raises(JobFailed):
        run(0, program="job.py").execute()
    job = cluster.last.master.job.job_id
    place = tmp_path / "checkpoints" / job
    assert SnapshotLog.open(place / "state").epoch == 1
    assert SnapshotLog.open(cluster.last.master.job.store.state(job)).epoch == 1
    run(6, program="job.py").execute()
    assert cluster.last.master.job.job_id == job
    assert cluster.lines == ["6", "3", "2", "1"]
    assert [each.name for each in (tmp_path / "checkpoints").iterdir()] == [job]
    shutil.rmtree(tmp_path / "store")
    cluster.lines.clear()
    run(6, savepoint=f"{place}@1").execute()
    assert cluster.lines == ["2", "1"]


def test_a_directory_for_checkpoints_that_cannot_be_made_is_told(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    env = cluster.environment(1)
    env.configuration.set_string("execution.checkpointing.dir", str(tmp_path / "file"))
    env.from_collection([1]).print()
    with pytest.raises(
        StoreError, match=re.escape(f"The directory for checkpoints {tmp_path / 'file'} cannot be written")
    ):
        env.execute()


def test_a_claimed_checkpoint_is_removed_where_it_lies(cluster: Any, tmp_path: Path) -> None:
    def run(**options: Any) -> None:
        env = cluster.environment(1, **options)
        env.configuration.set_string("execution.checkpointing.dir", str(tmp_path / "checkpoints"))
        env.from_collection([1, 2], Types.INT()).print()
        env.execute()

    run()
    store, first = cluster.last.master.job.store, cluster.last.master.job.job_id
    run(savepoint=str(store.directory(first)), claim=True)
    assert [each.name for each in (tmp_path / "checkpoints").iterdir()] == [cluster.last.master.job.job_id]
    assert not store.directory(first).exists()


def test_a_program_that_does_not_wait_is_told_the_id_only(cluster: Any) -> None:
    env = cluster.environment(1, epoch_records=10)
    env.configuration.set_string("execution.attached", "false")
    listener = Listener()
    env.register_job_listener(listener)
    slow(env).print()
    result = env.execute()
    assert isinstance(result, DetachedJobExecutionResult)
    assert not cluster.last.master.job.status.terminal
    assert str(result.get_job_id()) == cluster.last.master.job.job_id
    assert listener.heard == [("submitted", True, None), ("executed", True, None)]
    for ask in (result.get_net_runtime, result.get_all_accumulator_results, lambda: result.get_accumulator_result("n")):
        with pytest.raises(ProgramError, match="Job was submitted in detached mode"):
            ask()
    cluster.last.cancel().result()

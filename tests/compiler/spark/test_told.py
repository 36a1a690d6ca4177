"""What a program is told about its jobs: how they end, what they measured, and what cannot be had here."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.functions import MapFunction
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.master import JobCancelled, JobFailed
from compat.compiler.spark.driver.session import refuse_unreachable
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
        assert master.store.request(master.job_id, "cancel") == {"status": "CANCELED"}

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
        ("execution.attached", "false", r"execution\.attached=false .* call execute_async"),
        (
            "execution.checkpointing.savepoint-dir",
            "s3://bucket",
            "directory for savepoints.* s3://bucket is not on this",
        ),
        ("state.savepoints.dir", "s3://bucket", "directory for savepoints.* s3://bucket is not on this"),
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


def test_a_directory_for_checkpoints_is_said_not_to_be_used(cluster: Any) -> None:
    env = cluster.environment(1)
    env.configuration.set_string("execution.checkpointing.dir", "s3://bucket")
    env.from_collection([1]).print()
    env.execute()
    (note,) = (event["text"] for event in cluster.events if event["event"] == "note")
    assert note.startswith("execution.checkpointing.dir is not used: checkpoints of jobs on Spark are in their store")


@pytest.mark.parametrize("master", [None, "local", "local[2]", "local[*]", "local[*,1]", "k8s://https://host:6443"])
def test_masters_that_spark_asks_itself(master: str | None) -> None:
    refuse_unreachable(master)


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("bogus", "--master bogus names no Spark master: give local"),
        ("spark://host", "--master spark://host names no Spark master"),
        ("yarn", "--master yarn needs .* set HADOOP_CONF_DIR or YARN_CONF_DIR"),
        ("spark://127.0.0.1:1", r"No Spark master answers at spark://127\.0\.0\.1:1 \(127\.0\.0\.1:1: .*refused"),
        ("spark://127.0.0.1:99999", "No Spark master answers at"),
    ],
)
def test_masters_that_there_are_not(monkeypatch: Any, master: str, told: str) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    began = time.monotonic()
    with pytest.raises(ProgramError, match=told):
        refuse_unreachable(master)
    assert time.monotonic() - began < 10


def test_a_master_that_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        refuse_unreachable(f"spark://127.0.0.1:1,127.0.0.1:{server.getsockname()[1]}")

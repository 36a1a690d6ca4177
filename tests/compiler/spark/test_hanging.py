"""Functions that hang: jobs are cancelled within seconds, epochs have a deadline, hosts end with those they work for."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

import pytest

from compat.compiler.datastream.functions import MapFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.mailbox import Mailbox
from compat.compiler.spark.task.epochs import EpochSpec, PackedPlan
from compat.compiler.spark.task.hosts import HostLoad, _folder, _Request
from compat.state.delta.replica import Position
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster
from tests.compiler.spark.crashes import processes
from tests.compiler.spark.standalone import StandaloneCluster

NUMBERS = list(range(20))


class Hanging(MapFunction):
    """Hangs at a record, unless it did so before and is to do it once only."""

    def __init__(self, folder: Path, *, once: bool = False) -> None:
        self.mark, self.once = str(folder / "hangs"), once
        self.kept: list[int] = []

    def map(self, value: Any) -> Any:
        self.kept.append(value)
        if value == 13 and not (self.once and os.path.exists(self.mark)):
            Path(self.mark).write_text(str(os.getpid()))
            time.sleep(600)
        return value


def wait_for(condition: Callable[[], Any], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One Spark, whose hosts are its own."""
    made = Cluster(tmp_path_factory.mktemp("cluster"), SparkExecutor)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield made
        start(Program())
        if made.executor is not None:
            made.executor.close()


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["function", "lambda"])
def test_a_job_that_hangs_is_cancelled_within_seconds(spark: Cluster, tmp_path: Path, kind: str) -> None:
    hanging = Hanging(tmp_path)
    env = spark.environment(2, epoch_records=10)
    env.from_collection(NUMBERS, Types.INT()).map(hanging if kind == "function" else lambda n: hanging.map(n)).print()
    client = env.execute_async()
    wait_for((tmp_path / "hangs").exists, 300)
    host = int((tmp_path / "hangs").read_text())
    answers: list[Any] = []
    store, job = spark.last.master.job.store, str(client.get_job_id())
    asking = threading.Thread(target=lambda: answers.append(Mailbox(store.directory(job)).ask("cancel")))
    asking.start()
    asking.join(60)
    assert answers == [{"status": "CANCELED"}]
    wait_for(lambda: not processes().get(host, (0, ""))[1], 60)  # those that wait to be noticed have no command line
    wait_for(lambda: not os.listdir(_folder()), 60)


@pytest.mark.spark
def test_an_epoch_that_is_late_is_tried_again(spark: Cluster, tmp_path: Path) -> None:
    env = spark.environment(2, epoch_records=10)
    env.enable_checkpointing(100)
    env.get_checkpoint_config().set_checkpoint_timeout(10_000)
    made = env.from_collection(NUMBERS, Types.INT()).map(Hanging(tmp_path, once=True))
    assert sorted(made.execute_and_collect()) == NUMBERS
    job = spark.last.master.job.job_id
    told = [event["error"] for event in spark.events if event["event"] == "restarting" and event["job_id"] == job]
    assert told[0].startswith("The epoch was not done within 10 s (execution.checkpointing.timeout).")


def fails_once_while_others_sleep(folder: Path) -> Callable[[Any], Any]:
    """A function that, the first time, fails at record 0 once another record's task sleeps, for long."""
    failed, sleeps = str(folder / "failed"), str(folder / "sleeps")

    def work(value: Any) -> Any:
        if not os.path.exists(failed):
            if value != 0:
                Path(sleeps).touch()
                time.sleep(600)
            while not os.path.exists(sleeps):
                time.sleep(0.01)
            Path(failed).touch()
            raise ValueError("It fails at its first record.")
        return value

    return work


@pytest.mark.spark
@pytest.mark.parametrize("restarts", [False, True])
def test_the_first_failure_ends_the_epoch(spark: Cluster, tmp_path: Path, restarts: bool) -> None:
    """Whatever the other subtasks do: the failure is the real one, with the subtask that failed."""
    env = spark.environment(2)
    kind = "fixed-delay" if restarts else "none"
    env.configuration.set_string("restart-strategy.type", kind)
    made = env.from_collection([0, 1], Types.INT()).rebalance().map(fails_once_while_others_sleep(tmp_path))
    began = time.monotonic()
    if restarts:
        assert sorted(made.execute_and_collect()) == [0, 1]
        job = spark.last.master.job.job_id
        told = [event for event in spark.events if event["event"] == "restarting" and event["job_id"] == job]
        assert ["It fails at its first record." in event["error"] for event in told] == [True]
    else:
        made.print()
        with pytest.raises(JobFailed, match=r"It fails at its first record\.") as failed:
            env.execute()
        assert failed.value.failure.subtask is not None
        assert "ValueError" in failed.value.failure.cause
    assert time.monotonic() - began < 300
    wait_for(lambda: not os.listdir(_folder()), 60)
    assert not [thread.name for thread in threading.enumerate() if thread.name == "listening"]


@pytest.mark.slow
@pytest.mark.spark
def test_the_first_failure_ends_the_epoch_on_a_cluster(tmp_path: Path) -> None:
    standalone = StandaloneCluster(tmp_path)
    made = Cluster(tmp_path, cast(Any, partial(SparkExecutor, master=standalone.url)))
    try:
        env = made.environment(2)
        env.configuration.set_string("restart-strategy.type", "fixed-delay")
        stream = env.from_collection([0, 1], Types.INT()).rebalance().map(fails_once_while_others_sleep(tmp_path))
        began = time.monotonic()
        assert sorted(stream.execute_and_collect()) == [0, 1]
        assert time.monotonic() - began < 400
        told = [event for event in made.events if event["event"] == "restarting"]
        assert ["It fails at its first record." in event["error"] for event in told] == [True]
    finally:
        start(Program())
        if made.executor is not None:
            made.executor.close()
        standalone.close()


HOST = """
import os, sys, time
from compat.compiler.spark.task import hosts

class Subtasks:
    def __init__(self, *given): pass
    def close(self): pass
    def run(self, *request):
        print(os.getpid(), file=open(sys.argv[3], "w"), flush=True)
        time.sleep(600)

hosts.Subtasks = Subtasks
hosts.GRACE_SECONDS = 1
hosts.main(sys.argv[1:3])
"""


@pytest.mark.parametrize("leaves", ["asker", "parent"])
def test_a_host_that_hangs_ends_with_those_that_it_works_for(tmp_path: Path, leaves: str) -> None:
    """The worker that asked is killed, or the daemon of its executor, in the middle of a record."""
    program = tmp_path / "host.py"
    program.write_text(HOST)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        arguments = [sys.executable, str(program), str(listening.fileno()), str(parent.pid), str(tmp_path / "busy")]
        host = subprocess.Popen(arguments, stdin=subprocess.PIPE, pass_fds=[listening.fileno()], env=environment)
    plan = PackedPlan(tasks=(), stages=(), payloads={}, stateful=frozenset(), lasting=frozenset())
    assert host.stdin is not None
    with host.stdin:
        pickle.dump(HostLoad(pickle.dumps(None), pickle.dumps(plan)), host.stdin)
    spec = EpochSpec(
        job_id="", epoch=1, attempt=0, token="", committed=Position(0, ""), store="", replicas="", options={}
    )
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(tmp_path / "s"))
        connection = Connection(asking.detach())
    connection.send_bytes(pickle.dumps(_Request(spec, 0, 0, [])))
    wait_for((tmp_path / "busy").exists, 30)
    assert host.poll() is None
    if leaves == "parent":
        parent.kill()
        parent.wait()
    else:
        connection.close()
    assert host.wait(60) == 1
    connection.close()
    parent.kill()
    parent.wait()

"""The settings that Spark is started with, and the JVM that is started before it is known what Spark will want."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pytest

from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver import session
from compat.compiler.spark.driver.masters import refuse_unsafe
from compat.compiler.spark.driver.session import DRIVER_JVM, EarlyJvm, MissingJava, Spark


@pytest.mark.parametrize(
    ("options", "master"),
    [
        ({}, None),
        ({}, "local[2]"),
        ({}, "local[*, 1]"),
        ({}, "spark://host:7077"),
        ({"spark.speculation": "false", "spark.task.maxFailures": "1", "spark.executor.memory": "2g"}, None),
    ],
)
def test_settings_that_leave_an_epoch_whole(options: dict[str, str], master: str | None) -> None:
    refuse_unsafe(options, master)


@pytest.mark.parametrize(
    ("options", "master", "named"),
    [
        ({"spark.speculation": "true"}, None, "spark.speculation=true"),
        ({"spark.speculation": " TRUE"}, None, "spark.speculation= TRUE"),
        ({"spark.task.maxFailures": "4"}, None, "spark.task.maxFailures=4"),
        ({"spark.stage.maxConsecutiveAttempts": "4"}, None, "spark.stage.maxConsecutiveAttempts=4"),
        ({}, "local[2,3]", r"--master local\[2,3\]"),
        ({}, "local[*, 3]", r"--master local\[\*, 3\]"),
    ],
)
def test_settings_that_run_tasks_twice_are_refused(options: dict[str, str], master: str | None, named: str) -> None:
    with pytest.raises(ProgramError, match=f"{named} would have Spark run tasks .* restart strategy"):
        refuse_unsafe(options, master)


def test_they_are_refused_before_the_job_starts(cluster: Any) -> None:
    env = cluster.environment(1)
    env.configuration.set_string("spark.speculation", "true")
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=r"spark\.speculation=true would have"):
        env.execute()
    assert not cluster.events


class Launched:
    """A gateway to a JVM that is none, and its process."""

    def __init__(self, log: str) -> None:
        Path(log).parent.mkdir(parents=True)
        Path(log).touch()
        self.over = False
        self.proc = self.stdin = self

    def shutdown(self) -> None:
        self.over = True

    def close(self) -> None: ...

    def wait(self, seconds: float) -> None: ...


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Launched]:
    """The gateways to all JVMs that are started within the test."""
    made: list[Launched] = []

    def launch(conf: Any, log: str) -> Launched:
        made.append(Launched(log))
        return made[-1]

    monkeypatch.setattr(session, "_launched", launch)
    return made


def early_jvm(folder: Path) -> tuple[Spark, EarlyJvm]:
    """A Spark, and a JVM as it would start it."""
    spark = Spark(None, None, (), str(folder / "store" / "logs" / "spark.log"))
    early = spark.start_early()
    assert early is not None
    return spark, early


def test_a_jvm_that_was_started_early_is_taken_once(tmp_path: Path, launched: list[Launched]) -> None:
    spark, early = early_jvm(tmp_path)
    folders = Spark(
        "local[7]", None, ("/program",), spark.log
    )  # where modules are is told later, as is how many tasks run
    assert early.taken(folders._jvm_settings()) is launched[0]
    assert early.taken(folders._jvm_settings()) is None
    early.end()
    assert not launched[0].over
    assert Path(spark.log).exists()


@pytest.mark.parametrize("what", ["memory", "a variable", "a folder", "nothing of it"])
def test_one_that_is_not_as_spark_wants_it_ends(
    tmp_path: Path, launched: list[Launched], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark, early = early_jvm(tmp_path)
    settings = spark._jvm_settings()
    if what == "memory":
        settings["spark.driver.memory"] = "3g"
    elif what == "a variable":
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    elif what == "a folder":
        monkeypatch.chdir(tmp_path)
    if what == "nothing of it":
        early.end()
    else:
        assert early.taken(settings) is None
    assert launched[0].over
    assert not list(tmp_path.iterdir()), "a log with nothing in it is no use to anybody"


def test_what_it_said_is_kept(tmp_path: Path, launched: list[Launched]) -> None:
    spark, early = early_jvm(tmp_path)
    early._thread.join()
    Path(spark.log).write_text("out of memory")
    early.end()
    assert Path(spark.log).read_text() == "out of memory"


def test_one_that_does_not_start_is_started_again_by_who_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_launched", lambda conf, log: 1 / 0)
    spark, early = early_jvm(tmp_path)
    assert early.taken(spark._jvm_settings()) is None
    early.end()


def test_none_is_started_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise MissingJava

    monkeypatch.setattr(session, "find_java", missing)
    assert Spark(None, None, (), str(tmp_path / "spark.log")).start_early() is None


@pytest.mark.spark
def test_spark_runs_in_the_jvm_that_was_started_early(tmp_path: Path) -> None:
    _, early = early_jvm(tmp_path)
    early._thread.join()
    process = early._gateway.proc
    spark = Spark("local[1]", None, (), str(tmp_path / "store" / "logs" / "spark.log"), early=early)
    try:
        assert spark.context._gateway.proc is process
        assert spark.context.defaultParallelism == 1
        assert spark.context.parallelize([1, 2], 1).map(lambda each: each + 1).collect() == [2, 3]
        assert "-XX:TieredStopAtLevel=1" in spark.context.getConf().get(DRIVER_JVM, "")
    finally:
        spark.stop()
    assert process.poll() is not None


@pytest.mark.spark
def test_nobody_waits_for_the_server_of_accumulators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark, stopped, ended = Spark("local[1]", None, (), str(tmp_path / "spark.log")), Event(), Event()
    server = spark.context._accumulatorServer
    close = server.shutdown

    def shutdown() -> None:
        assert stopped.wait(60)
        close()
        ended.set()

    monkeypatch.setattr(server, "shutdown", shutdown)
    spark.stop()
    stopped.set()
    assert ended.wait(60)
    assert not spark.alive

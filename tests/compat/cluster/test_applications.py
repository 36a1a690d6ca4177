"""Jobs as applications of their own: what is called to start one, what is refused, and how their ends are told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cli.run import run
from compat.cluster import application as application_module
from compat.cluster.application import ApplicationFolder, attempt_of
from compat.cluster.applications import Application, Applications, command_of, refuse_no_cluster
from compat.cluster.client import JobRefused
from compat.cluster.submission import Travelled, pickled
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.job_entry import JobEntry
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.store import JobStore
from compat.compiler.spark.environment import Shipped
from compat.compiler.spark.resources import GroupNeeds
from compat.compiler.transformations.resources import ResourceSpec
from compat.state.stores.paths import place_of


@pytest.mark.parametrize(
    ("container", "attempt"),
    [
        ("container_1410901177871_0001_01_000005", 1),
        ("container_1410901177871_0001_12_000001", 12),
        ("container_e17_1410901177871_0001_03_000001", 3),
        ("", 1),
        ("spark-driver", 1),
    ],
)
def test_attempts_are_counted_as_yarn_counts_them(container: str, attempt: int) -> None:
    assert attempt_of(container) == attempt


def application(master: str, tmp_path: Path, **settings: str) -> Application:
    return Application(
        job="1a2b",
        name="counting words",
        store="hdfs://nn:8020/jobs",
        master=master,
        settings=settings,
        log=str(tmp_path / "log"),
    )


@pytest.mark.parametrize("attached", [True, False])
def test_what_starts_an_application_on_yarn(tmp_path: Path, attached: bool) -> None:
    """As Spark's page on YARN has it: the driver's interpreter is the application master's variable."""
    made = application("yarn", tmp_path, **{"spark.archives": "/e.tar.gz#environment"})
    command = command_of(made, "/tmp/file", attached=attached)
    assert os.path.basename(command[0]) == "spark-submit"
    driver = next(place for place, part in enumerate(command) if part.endswith(".py"))
    assert os.path.isfile(command[driver])
    assert command[driver + 1 :] == ["1a2b", "hdfs://nn:8020/jobs", "yarn"]
    assert command[1:7] == ["--master", "yarn", "--deploy-mode", "cluster", "--name", "counting words"]
    assert command[driver - 2 : driver] == ["--files", "/tmp/file#submission"]
    settings = [command[place + 1] for place, part in enumerate(command) if part == "--conf"]
    assert settings == [
        "spark.archives=/e.tar.gz#environment",
        "spark.yarn.appMasterEnv.PYSPARK_PYTHON=./environment/bin/python",
        f"spark.yarn.submit.waitAppCompletion={str(attached).lower()}",
    ]


def test_what_starts_an_application_on_kubernetes(tmp_path: Path) -> None:
    image = {"spark.kubernetes.container.image": "spark:4", "spark.kubernetes.file.upload.path": "s3a://b/up"}
    made = application("k8s://https://host:6443", tmp_path, **image, **{"spark.kubernetes.namespace": "jobs"})
    command = command_of(made, "/tmp/file", attached=False)
    settings = [command[place + 1] for place, part in enumerate(command) if part == "--conf"]
    assert settings == [
        "spark.kubernetes.container.image=spark:4",
        "spark.kubernetes.file.upload.path=s3a://b/up",
        "spark.kubernetes.namespace=jobs",
        "spark.kubernetes.submission.waitAppCompletion=false",
    ]


def test_the_environment_that_travels_is_what_workers_run_in(monkeypatch: pytest.MonkeyPatch) -> None:
    from compat.compiler.spark.driver import session

    monkeypatch.setattr(session, "packed_environment", lambda own: Path("/cache/env.tar.gz"))
    spark = Spark("yarn", None, ("/program",), "", ship=True)
    spark.add({"spark.archives": "data.zip#data", "spark.executor.memory": "1g", "parallelism.default": "2"})
    settings = spark.settings()
    assert settings["spark.archives"] == "data.zip#data,/cache/env.tar.gz#environment"
    assert settings["spark.pyspark.python"] == "./environment/bin/python"
    assert settings["spark.executor.memory"] == "1g"
    assert "spark.executorEnv.PYTHONPATH" not in settings
    assert "parallelism.default" not in settings
    assert "spark.driver.host" not in settings
    assert settings["spark.python.unix.domain.socket.enabled"] == "false", (
        "paths of containers are too long for sockets"
    )
    here = Spark("spark://127.0.0.1:7077", None, ("/program",), "").settings()
    assert here["spark.executorEnv.PYTHONPATH"].startswith("/program")
    assert "spark.archives" not in here


def test_containers_of_an_application_follow_the_groups_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """That Spark is started with the sizes that :mod:`tests.compiler.spark.test_resources` shows."""
    from compat.compiler.spark.driver import session

    monkeypatch.setattr(session, "packed_environment", lambda own: Path("/cache/env.tar.gz"))
    spec = ResourceSpec(cpu_cores=2.0, task_heap_memory=1 << 30)
    spark = Spark("yarn", None, ("/program",), "", ship=True)
    spark.add({"spark.executor.memory": "3g"})
    spark.size_for([GroupNeeds(name="some", slots=3, spec=spec)], 4)
    settings = spark.settings()
    assert (settings["spark.executor.cores"], settings["spark.executor.instances"]) == ("2", "4")
    assert settings["spark.executor.memory"] == "3g"


@pytest.mark.parametrize(
    ("master", "store", "told"),
    [
        (None, "hdfs://nn/x", "takes --master yarn or k8s://URL"),
        ("local[2]", "hdfs://nn/x", "takes --master yarn or k8s://URL"),
        ("spark://host:7077", "hdfs://nn/x", "Spark's own masters take no drivers in Python"),
        ("yarn", "/srv/jobs", "does not see /srv/jobs: give a --store that all machines see, hdfs://HOST:PORT/FOLDER"),
    ],
)
def test_where_no_driver_can_run(master: str | None, store: str, told: str) -> None:
    with pytest.raises(ProgramError, match=told):
        refuse_no_cluster(master, store)


def test_the_command_refuses_before_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.py").write_text("print('ran')")
    outcome = CliRunner().invoke(run, ["job.py", "--master", "yarn", "--deploy-mode", "cluster"])
    assert outcome.exit_code == 2
    assert "does not see" in outcome.output
    assert "ran\n" not in outcome.output
    outcome = CliRunner().invoke(run, ["job.py", "--cluster", "http://127.0.0.1:1", "--deploy-mode", "cluster"])
    assert outcome.exit_code == 2
    assert "--deploy-mode goes with a --master" in outcome.output


class Submitted:
    """What stands for spark-submit, which ends when it is told to."""

    def __init__(self) -> None:
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self.returncode


@pytest.fixture
def applications(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Applications:
    from compat.cluster import applications as module

    monkeypatch.setattr(module, "_LOOKS", 0.01)
    made = Applications(str(tmp_path))
    (tmp_path / "log").write_text("INFO Client\nException in thread main: Queue x is unknown\n\tat org.f(F.java)\n")
    made._running["1a2b"] = application("yarn", tmp_path), Submitted()  # type: ignore[assignment]
    return made


def entry(status: str, **how: Any) -> JobEntry:
    return JobEntry(job_id="1a2b", name="counting", status=status, pid=1, **how)


def test_what_happens_to_a_job_is_read_in_the_store(applications: Applications, tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    heard = applications.events("1a2b")
    store.write(entry("RUNNING", epoch=1, records=10))
    event, _ = next(heard)
    assert (event["event"], event["name"], event["checkpoint"]) == ("started", "counting", 1)
    store.write(entry("RUNNING", epoch=3, records=40))
    event, _ = next(heard)
    assert (event["event"], event["epoch"], event["records"]) == ("checkpoint", 3, 30)
    assert applications.find("1a2b").state == "RUNNING"
    store.write(entry("FINISHED", epoch=4, records=50))
    event, status = next(heard)
    assert (event["event"], event["records"], status) == ("finished", 50, "FINISHED")
    assert next(heard, None) is None


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"status": "FAILED", "message": "ZeroDivisionError"}, {"event": "failed", "error": "ZeroDivisionError"}),
        ({"status": "FINISHED", "stopped_with": "hdfs://s"}, {"event": "stopped", "path": "hdfs://s"}),
        ({"status": "CANCELED"}, {"event": "stopped", "path": None}),
    ],
)
def test_how_a_job_ended(applications: Applications, tmp_path: Path, how: dict[str, Any], told: dict[str, Any]) -> None:
    JobStore(tmp_path).write(entry(**how))
    ((event, status),) = applications.events("1a2b")
    assert {key: event[key] for key in told} == told
    assert status == how["status"]


def test_an_application_that_never_ran_its_job(applications: Applications) -> None:
    running: Any = applications._running["1a2b"][1]
    running.returncode = 1
    ((event, _),) = applications.events("1a2b")
    assert event["event"] == "refused"
    assert "Queue x is unknown" in event["error"]
    assert applications.find("1a2b").state == "CREATED"
    with pytest.raises(JobRefused, match="Job 1a2b is not running any more"):
        applications.savepoint("1a2b")


def test_the_driver_finds_its_submission_where_it_was_started(tmp_path: Path) -> None:
    folder = ApplicationFolder(str(tmp_path), str(tmp_path / "store"), "yarn")
    folder.events("1a2b").add({"event": "note"})
    assert str(folder.store.root) == str(tmp_path / "store")
    assert folder.replicas_of_tasks is None
    assert folder.attached("").log == "the application's own"
    with pytest.raises(FileNotFoundError):
        folder.submission("1a2b")


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [("FINISHED", 0, 0), ("FAILED", 1, 1), ("FAILED", 0, 1), ("CANCELED", 0, 0), (None, 2, 2)],
)
def test_an_application_fails_with_its_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str | None, code: int, told: int
) -> None:
    """Also where an attempt finds that the one before had told of the failure."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(application_module.JobProcess, "run", lambda self: code)
    if status is not None:
        JobStore(tmp_path / "store").write(entry(status))
    assert application_module.main("1a2b", str(tmp_path / "store"), "yarn") == told


def test_what_travels_is_laid_out_where_all_machines_see_it(tmp_path: Path) -> None:
    from compat.cluster.submission import packed
    from compat.state.stores.hdfs import HadoopFiles
    from compat.state.stores.paths import Place
    from tests.hadoop.double import NameNode

    (tmp_path / "files" / "file-0").mkdir(parents=True)
    (tmp_path / "files" / "file-0" / "a.py").write_text("A = 1")
    shipped = Shipped(
        folder="elsewhere",
        digest="d",
        version=(3, 11),
        executable=None,
        files=("file-0/a.py",),
        archives=(),
        requirements=None,
        packages=None,
        cached={},
    )
    came = Travelled(pickled(shipped), packed(tmp_path / "files"))
    here = came.ship(place_of(tmp_path / "here"))
    assert here.folder == str(tmp_path / "here")
    assert (tmp_path / "here" / "file-0" / "a.py").read_text() == "A = 1"
    store = Place(HadoopFiles("hdfs://double:8020", NameNode), "hdfs://double:8020/job/shipped")
    there = came.ship(store)
    assert there.folder.startswith("hdfs://double:8020/job/shipped/")
    assert [file.name for file in store.walk()] == ["shipped.tar.gz"]


def test_a_submission_that_spark_refuses_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from compat.cluster import applications as module
    from compat.cluster.submission import Submission
    from compat.execution.failures import Refused

    monkeypatch.setattr(
        module, "command_of", lambda *_, attached: ["sh", "-c", "echo 'Exception: no queue' >&2; exit 1"]
    )
    submission = Submission(name="n", program="p", folder="", flink="2.3", slots=1, job=b"", setup=b"", plan=b"{}")
    with pytest.raises(Refused, match="ended without running it: Exception: no queue"):
        Applications(str(tmp_path)).start(application("yarn", tmp_path), submission, attached=False)
    assert not list(Path(tmp_path).glob("**/submission"))

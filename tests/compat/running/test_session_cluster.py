"""Real session clusters: PyFlink's own distributions, with jobs in Python, SQL and Java that take checkpoints."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from compat.cli import main
from compat.loader.jvm.maven import Artifact, fetch
from tests import needs
from tests.compat.cluster.fakes import wait_for
from tests.compat.service.test_gate import free_port
from tests.needs import Need

pytestmark = pytest.mark.nightly

PAYMENTS = Path(__file__).parents[3] / "compat" / "examples" / "payments"
PATIENCE = 180.0
"""Seconds in which a cluster is up, and a job has its first checkpoint."""

SQL = """
SET 'execution.checkpointing.interval' = '1s';
SET 'pipeline.name' = 'amounts';
CREATE TABLE orders (item STRING, amount INT) WITH (
  'connector' = 'datagen', 'rows-per-second' = '20', 'fields.item.length' = '1'
);
CREATE TABLE totals (item STRING, total BIGINT) WITH ('connector' = 'blackhole');
INSERT INTO totals SELECT item, {what} FROM orders GROUP BY item;
"""
RUN_SQL = """
import sys
from pyflink.table import EnvironmentSettings, TableEnvironment

tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
for statement in filter(str.strip, open(sys.argv[1]).read().split(";")):
    if statement.strip().startswith("SET"):
        tables.get_config().set(*(each.strip().strip("'") for each in statement.strip().removeprefix("SET").split("=")))
    else:
        tables.execute_sql(statement)
"""
"""PyFlink's distribution has no SQL client that runs."""
COUNTS = """
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor


class Count(KeyedProcessFunction):
    def open(self, context):
        self.seen = context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value, context):
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield seen


def slow(value):
    import time

    time.sleep(0.02)
    return value


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.enable_checkpointing(1000)
numbers = env.from_source(NumberSequenceSource(1, 10**9), WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
keyed = numbers.map(slow, Types.LONG()).key_by(lambda value: value % 7, Types.LONG())
keyed.process(Count(), Types.LONG()).name("count").uid("count").print()
env.execute("the counts")
"""


class SessionCluster:
    """A JobManager and a TaskManager, and the distribution that they are of."""

    def __init__(self, python: Path, folder: Path) -> None:
        said = subprocess.run(
            [python, "-c", "import pyflink, os; print(os.path.dirname(pyflink.__file__))"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.python, self.home, self.folder = python, Path(said.stdout.strip()), folder
        self.port = free_port()
        (folder / "conf").mkdir()
        options = re.search(
            r"^env:.*?(?=^\S|\Z)", (self.home / "conf/config.yaml").read_text(), re.DOTALL | re.MULTILINE
        )
        (folder / "conf/config.yaml").write_text(
            f"{options[0] if options else ''}\n"
            f"jobmanager: {{rpc: {{address: localhost, port: {free_port()}}}, memory: {{process: {{size: 1000m}}}}}}\n"
            "taskmanager: {host: localhost, numberOfTaskSlots: 4, memory: {process: {size: 1200m}}}\n"
            f"rest: {{address: localhost, port: {self.port}, bind-port: {self.port}}}\n"
            f"execution: {{checkpointing: {{dir: 'file://{folder}/checkpoints', savepoint-dir: 'file://{folder}/savepoints'}}}}\n"
        )
        self.environment = {
            **os.environ,
            "FLINK_HOME": str(self.home),
            "FLINK_CONF_DIR": str(folder / "conf"),
            "FLINK_LOG_DIR": str(folder),
            "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        }
        self._started = [self._start("jobmanager.sh"), self._start("taskmanager.sh")]

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://localhost:{self.port}"

    def _start(self, script: str) -> subprocess.Popen[bytes]:
        with open(self.folder / f"{script}.log", "wb") as log:
            command = ["bash", self.home / "bin" / script, "start-foreground"]
            return subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)

    def get(self, path: str) -> Any:
        """What its REST API answers; None for no answer."""
        try:
            with urlopen(self.url + path, timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    def run(self, *command: object) -> None:
        """Run a command of the distribution."""
        done = subprocess.run(
            ["bash", *map(str, command)], env=self.environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @cached_property
    def connector(self) -> Path:
        """The connector of the job in Java, which no distribution has."""
        version = self.get("/config")["flink-version"]
        (found,) = fetch(
            "datagen", [Artifact(group="org.apache.flink", name="flink-connector-datagen", version=version, alone=True)]
        )
        return found

    def with_connector(self, jar: Path) -> Path:
        """A job's jar that has the connector in it."""
        made = self.folder / jar.name
        shutil.copy(jar, made)
        with zipfile.ZipFile(made, "a") as archive, zipfile.ZipFile(self.connector) as taken:
            for name in taken.namelist():
                if name.endswith(".class"):
                    archive.writestr(name, taken.read(name))
        return made

    def close(self) -> None:
        """End it."""
        for process in self._started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module", params=["COMPAT_PYFLINK", "COMPAT_PYFLINK_1"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCluster]:
    """One of Flink 2, and one of Flink 1."""
    named = os.environ.get(request.param)
    if not named:
        needs.without(Need.PYFLINK, request.param)
    made = SessionCluster(Path(named), tmp_path_factory.mktemp("cluster"))
    try:
        wait_for(lambda: (made.get("/overview") or {}).get("slots-total"), PATIENCE)
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def jobs(cluster: SessionCluster) -> SessionCluster:
    """The cluster, with a job in Python, one in SQL and one in Java that have each taken a checkpoint."""
    flink, folder = cluster.home / "bin", cluster.folder
    (folder / "counts.py").write_text(COUNTS)
    (folder / "amounts.sql").write_text(SQL.format(what="SUM(amount)"))
    where = ("-m", f"localhost:{cluster.port}", "-pyexec", cluster.python, "-pyclientexec", cluster.python)
    cluster.run(flink / "flink", "run", "-d", *where, "-py", folder / "counts.py")
    (folder / "run_sql.py").write_text(RUN_SQL)
    cluster.run(flink / "flink", "run", "-d", *where, "-py", folder / "run_sql.py", folder / "amounts.sql")
    cluster.run(
        flink / "flink",
        "run",
        "-d",
        *where[:2],
        "-Dexecution.checkpointing.interval=1s",
        cluster.with_connector(PAYMENTS / "v1.jar"),
    )
    running = cluster.get("/jobs")["jobs"]
    assert len(running) == 3
    for one in running:
        wait_for(lambda one=one: cluster.get(f"/jobs/{one['id']}/checkpoints")["latest"]["completed"], PATIENCE)
    return cluster


def compat(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(one) for one in arguments])


def said(result: Result) -> str:
    return " ".join(result.output.split())


def test_the_jobs_are_listed_with_their_checkpoints(jobs: SessionCluster) -> None:
    listed = json.loads(compat("list", "--flink", jobs.url, "--format", "json").stdout)
    assert {one["name"] for one in listed} == {"the counts", "amounts", "payments"}
    assert all(Path(one["snapshot"].removeprefix("file:")).parts[-1].startswith("chk-") for one in listed)


def test_a_job_in_python(jobs: SessionCluster) -> None:
    program, running = jobs.folder / "counts.py", f"flink:{jobs.url}/the%20counts"
    same = compat("check", running, program, "--names", program)
    assert same.exit_code == 0, same.output
    (jobs.folder / "other.py").write_text(COUNTS.replace('uid("count")', 'uid("counts")'))
    moved = compat("check", running, jobs.folder / "other.py", "--names", program)
    assert moved.exit_code == 1
    assert "Its uid was changed from 'count' to 'counts'." in said(moved)


@pytest.mark.parametrize(("what", "code"), [("SUM(amount)", 0), ("MAX(amount)", 1)], ids=["the same", "another"])
def test_a_job_in_sql(jobs: SessionCluster, what: str, code: int) -> None:
    file = jobs.folder / "new.sql"
    file.write_text(SQL.format(what=what))
    names = jobs.folder / "amounts.sql"
    result = compat("check", f"flink:{jobs.url}/amounts", file, "--flink-home", jobs.home, "--names", names)
    assert result.exit_code == code, result.output


@pytest.mark.parametrize(("new", "code"), [("v1.jar", 0), ("v2.jar", 1)])
def test_a_job_in_java(jobs: SessionCluster, new: str, code: int) -> None:
    surroundings = ("--flink-home", jobs.home, "--classpath", jobs.connector)
    result = compat("check", f"flink:{jobs.url}/payments", PAYMENTS / new, *surroundings)
    assert result.exit_code == code, result.output


def test_a_savepoint_is_taken_and_the_job_goes_on(jobs: SessionCluster) -> None:
    program, running = jobs.folder / "counts.py", f"flink:{jobs.url}/the%20counts"
    result = compat("check", running, program, "--names", program, "--take-savepoint", "default")
    assert result.exit_code == 0, result.output
    (taken,) = (jobs.folder / "savepoints").iterdir()
    assert taken.name in "".join(result.output.split())
    assert {one["status"] for one in jobs.get("/jobs")["jobs"]} == {"RUNNING"}

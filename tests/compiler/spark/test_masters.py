"""Spark masters: those that are not there, or lack something, are refused at once, and say what to do."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cli.run import run
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver import masters
from compat.compiler.spark.driver.masters import is_elsewhere, on_loopback, refuse_incomplete, refuse_unreachable
from compat.compiler.spark.driver.session import ships

IMAGE = "spark.kubernetes.container.image"


@pytest.mark.parametrize("master", [None, "local", "local[2]", "local[*]", "local[*,1]"])
def test_masters_that_spark_asks_itself(master: str | None) -> None:
    refuse_unreachable(master)


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("bogus", "--master bogus names no Spark master: give local"),
        ("spark://host", "--master spark://host names no Spark master"),
        ("yarn", "--master yarn needs .* set HADOOP_CONF_DIR or YARN_CONF_DIR"),
        ("spark://127.0.0.1:1", r"No Spark master answers at spark://127\.0\.0\.1:1 \(127\.0\.0\.1:1: .*refused"),
        ("spark://127.0.0.1:99999", r"No Spark master answers at .*127\.0\.0\.1:99999: ports end at 65535"),
        (
            "k8s://https://127.0.0.1:1",
            r"No Kubernetes answers at k8s://https://127\.0\.0\.1:1 \(127\.0\.0\.1:1: .*refused",
        ),
        ("k8s://127.0.0.1:1/path", "No Kubernetes answers at"),
        (
            "local-cluster[2,1,1024]",
            r"--master local-cluster\[2,1,1024\] is Spark's own for its tests.* give local\[N\]",
        ),
    ],
)
def test_masters_that_there_are_not(monkeypatch: Any, master: str, told: str) -> None:
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    began = time.monotonic()
    with pytest.raises(ProgramError, match=told):
        refuse_unreachable(master)
    assert time.monotonic() - began < 10


def test_a_port_beyond_the_last_is_not_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1] + 65_536
        with pytest.raises(ProgramError, match="ports end at 65535"):
            refuse_unreachable(f"spark://127.0.0.1:{port}")


def test_a_master_that_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        refuse_unreachable(f"spark://127.0.0.1:1,127.0.0.1:{port}")
        refuse_unreachable(f"k8s://https://127.0.0.1:{port}")
        refuse_unreachable(f"k8s://http://127.0.0.1:{port}/")
        monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
        for manager in (
            {"yarn.resourcemanager.address": f"127.0.0.1:{port}"},
            {
                "yarn.resourcemanager.ha.rm-ids": "one, two",
                "yarn.resourcemanager.address.one": "127.0.0.1:1",
                "yarn.resourcemanager.address.two": f"127.0.0.1:{port}",
            },
        ):
            configure(tmp_path, manager)
            refuse_unreachable("yarn")


def configure(folder: Path, settings: dict[str, str]) -> None:
    text = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    (folder / "yarn-site.xml").write_text(f"<configuration>{text}</configuration>")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (None, r"there is no yarn-site\.xml in .*: set HADOOP_CONF_DIR or YARN_CONF_DIR"),
        ({}, r"yarn-site\.xml names no resource manager: it has to have yarn\.resourcemanager\.hostname, or \.address"),
        (
            {"yarn.resourcemanager.hostname": "127.0.0.1"},
            r"No resource manager of YARN answers at yarn \(127\.0\.0\.1:8032: .*refused",
        ),
        ({"yarn.resourcemanager.address": "127.0.0.1:1"}, r"answers at yarn \(127\.0\.0\.1:1: .*refused"),
    ],
)
def test_a_yarn_that_there_is_not(
    settings: dict[str, str] | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("YARN_CONF_DIR", raising=False)
    if settings is not None:
        configure(tmp_path, settings)
    with pytest.raises(ProgramError, match=told):
        refuse_unreachable("yarn")


@pytest.fixture
def no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for a cluster's file, without one; this is no pod."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(masters, "_ACCOUNT", tmp_path / "token")
    return tmp_path


def test_kubernetes_takes_an_image_and_credentials(no_credentials: Path) -> None:
    master = "k8s://https://host:6443"
    refuse_incomplete({}, "yarn")
    with pytest.raises(ProgramError, match=rf"needs an image for its pods.* give -D {IMAGE}=REGISTRY/IMAGE:TAG"):
        refuse_incomplete({}, master)
    with pytest.raises(ProgramError, match=r"needs credentials, and there are none: .*/config is not there"):
        refuse_incomplete({IMAGE: "spark"}, master)
    refuse_incomplete({IMAGE: "spark", "spark.kubernetes.authenticate.oauthTokenFile": "token"}, master)
    for name in ("config", "token"):
        (no_credentials / name).write_text("")
        refuse_incomplete({"spark.kubernetes.executor.container.image": "spark"}, master)
        (no_credentials / name).unlink()


def test_the_command_refuses_kubernetes_at_once(no_credentials: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(no_credentials)
    Path("job.py").write_text(
        "from pyflink.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "env.from_collection([1]).print()\n"
        "env.execute()\n"
    )
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        master = f"k8s://https://127.0.0.1:{server.getsockname()[1]}"
        for given, told in (([], "needs an image"), (["-D", f"{IMAGE}=spark"], "needs credentials")):
            outcome = CliRunner().invoke(run, ["job.py", "--master", master, *given])
            assert outcome.exit_code == 2, outcome.output
            assert told in outcome.output
    assert time.monotonic() - began < 20
    assert not Path(".compat", "jobs").exists()


@pytest.mark.parametrize(
    ("master", "loopback", "elsewhere"),
    [
        (None, False, False),
        ("local[2]", False, False),
        ("spark://127.0.0.1:7077", True, False),
        ("spark://localhost:1,[::1]:2", True, False),
        ("spark://localhost:1,host:2", False, True),
        ("spark://10.0.0.1:7077", False, True),
        ("yarn", False, True),
        ("k8s://https://127.0.0.1:6443", False, True),
    ],
)
def test_where_tasks_run(master: str | None, loopback: bool, elsewhere: bool) -> None:
    assert (master is not None and on_loopback(master), is_elsewhere(master)) == (loopback, elsewhere)
    assert ships(master, {}, None) is elsewhere
    assert not ships(master, {"spark.pyspark.python": "python3"}, None)
    assert (ships(master, {}, True), ships(master, {}, False)) == (True, False)

"""The archive of the classes of Spark's JVM: whose it is, and that nothing depends on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compat.compiler.spark.driver.classes import SWITCH, archive_path, sharing


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the archive of a Spark of two jars is to be."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    monkeypatch.delenv(SWITCH, raising=False)
    for name in ("spark/jars/spark.jar", "spark/jars/scala.jar", "java/bin/java", "other/bin/java"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    path = archive_path()
    path.parent.mkdir(parents=True)
    return path


def test_it_is_used_where_it_is_unless_it_is_switched_off(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sharing() == ""
    archive.write_bytes(b"classes")
    archive.chmod(0o600)
    assert sharing() == f"-Xshare:auto -XX:SharedArchiveFile={archive}"
    monkeypatch.setenv(SWITCH, "off")
    assert sharing() == ""


def test_it_is_not_used_where_others_can_write_it(archive: Path) -> None:
    archive.write_bytes(b"classes")
    archive.chmod(0o666)
    assert sharing() == ""


def test_another_java_and_other_jars_have_another_one(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert archive_path() == archive
    found = {archive}
    os.utime(tmp_path / "spark" / "jars" / "spark.jar", (1, 1))
    found.add(archive_path())
    (tmp_path / "spark" / "jars" / "more.jar").write_text("more")
    found.add(archive_path())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "other"))
    found.add(archive_path())
    assert len(found) == 4


def test_without_java_or_spark_there_is_none(archive: Path, tmp_path: Path) -> None:
    archive.write_bytes(b"classes")
    shutil.rmtree(tmp_path / "java")
    assert sharing() == ""


@pytest.mark.skipif(shutil.which("java") is None, reason="needs Java")
@pytest.mark.parametrize("content", [b"", b"no archive", bytes(100_000), b"\xf0\x0b\xab\xa8" * 10_000])
def test_a_jvm_starts_with_a_damaged_one(tmp_path: Path, content: bytes) -> None:
    damaged = tmp_path / "damaged.jsa"
    damaged.write_bytes(content)
    command = ["java", "-Xshare:auto", f"-XX:SharedArchiveFile={damaged}", "-version"]
    assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0


MAPPED = """
import sys
from pathlib import Path
from compat.compiler.spark.driver.session import Spark
spark = Spark("local[2]", None, (), sys.argv[1])
maps = Path(f"/proc/{spark.context._gateway.proc.pid}/maps").read_text()
spark.stop()
print(maps)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_it_is_made_and_spark_maps_it(tmp_path: Path) -> None:
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    variables.pop(SWITCH, None)

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=900, check=True).stdout

    made = run("-m", "compat.compiler.spark.driver.classes").strip()
    assert list((tmp_path / "compat" / "spark-classes").iterdir()) == [Path(made)]
    assert made in run("-c", MAPPED, str(tmp_path / "log"))

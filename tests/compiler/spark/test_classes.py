"""The archive of the classes of Spark's JVM: whose it is, and that nothing depends on it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.spark.driver import classes, session
from compat.compiler.spark.driver.classes import SWITCH, NoArchive, archive_path, main, make_later, sharing
from tests import needs
from tests.needs import Need


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
    assert sharing() == f'-Xshare:auto "-XX:SharedArchiveFile={archive}"'
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


@needs.unless(shutil.which("java"), Need.JAVA)
@pytest.mark.parametrize("content", [b"", b"no archive", bytes(100_000), b"\xf0\x0b\xab\xa8" * 10_000])
def test_a_jvm_starts_with_a_damaged_one(tmp_path: Path, content: bytes) -> None:
    damaged = tmp_path / "damaged.jsa"
    damaged.write_bytes(content)
    command = ["java", "-Xshare:auto", f"-XX:SharedArchiveFile={damaged}", "-version"]
    assert subprocess.run(command, capture_output=True, timeout=120, check=False).returncode == 0


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands of the processes that are started in the background."""
    found: list[list[str]] = []
    monkeypatch.setattr(classes.subprocess, "Popen", lambda command, **options: found.append(command))
    monkeypatch.setattr(classes, "_started", [])
    return found


def test_a_process_makes_it_where_there_is_none(archive: Path, started: list[list[str]]) -> None:
    archive.parent.rmdir()
    assert make_later()
    assert [command[0] for command in started] == [sys.executable]
    assert archive.parent.is_dir()


def test_its_process_does_not_use_the_runs_folder_for_temporary_files(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That may be removed behind the run: the JVM would wait in vain, and keep others from making an archive."""
    used: list[str] = []
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(classes.subprocess, "Popen", lambda _, **options: used.append(options["env"]["TMPDIR"]))
    monkeypatch.setattr(classes, "_started", [])
    assert make_later()
    assert used == [str(archive.parent)]


@pytest.mark.parametrize("reason", ["there is one", "switched off", "it failed before", "no folder"])
def test_no_process_makes_it(
    archive: Path, started: list[list[str]], monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    match reason:
        case "there is one":
            archive.write_bytes(b"classes")
        case "switched off":
            monkeypatch.setenv(SWITCH, "OFF")
        case "it failed before":
            archive.with_suffix(".log").write_text("no memory")
        case "no folder":
            archive.parent.rmdir()
            archive.parent.write_text("a file")
    assert not make_later()
    assert started == []


class OfWords:
    """In the place of Spark: its JVM says something in its log, and writes the given archive when it is stopped."""

    content: bytes | None = None

    def __init__(self, master: str, plan: None, folders: tuple[str, ...], log: str) -> None:
        self.log = Path(log)
        self.fresh = self.log.with_suffix("")
        self.returncode = 0

    def settings(self) -> dict[str, str]:
        """As Spark's."""
        return {session.DRIVER_JVM: "-Xmx1g"}

    def add(self, options: dict[str, str]) -> None:
        """What it is started with."""
        assert options == {session.DRIVER_JVM: f'-Xmx1g "-XX:ArchiveClassesAtExit={self.fresh}"'}
        self.log.write_text("words")

    def stop(self) -> None:
        """End it."""
        if self.content is not None:
            self.fresh.write_bytes(self.content)


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> type[OfWords]:
    """A Spark whose JVM is none."""
    monkeypatch.setattr(session, "Spark", OfWords)
    monkeypatch.setattr(session, "find_java", lambda: None)
    monkeypatch.setattr(classes, "_run_a_job", lambda spark: spark)
    monkeypatch.setattr(classes.os, "nice", lambda by: by)
    return OfWords


@pytest.mark.parametrize("arguments", [[], ["--later"]])
def test_what_is_made_is_whole_and_nothing_else_is_left(
    archive: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(spark, "content", b"classes")
    assert main(arguments) == 0
    assert [path.read_bytes() for path in archive.parent.iterdir()] == [b"classes"]
    assert sharing()


def test_where_it_fails_the_log_says_why_until_it_is_asked_for(
    archive: Path, spark: Any, started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NoArchive, match=f"its log: {archive.with_suffix('.log')}"):
        classes.make_archive()
    assert [path.read_text() for path in archive.parent.iterdir()] == ["words"]
    assert not make_later()
    monkeypatch.setattr(spark, "content", b"classes")
    assert main([]) == 0
    assert list(archive.parent.iterdir()) == [archive]


def test_one_process_at_a_time_makes_it_behind_all_others(
    archive: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "content", b"classes")
    with classes._alone(archive.parent) as alone:
        assert alone
        assert main(["--later"]) == 0
        assert not archive.exists()
    archive.write_bytes(b"of another")
    assert main(["--later"]) == 0
    assert archive.read_bytes() == b"of another"


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
@pytest.mark.parametrize("later", [False, True])
def test_it_is_made_and_spark_maps_it(tmp_path: Path, later: bool) -> None:
    folder = tmp_path / "compat" / "spark-classes"
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    variables.pop(SWITCH, None)

    def run(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=900, check=True).stdout

    if later:
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        variables["TMPDIR"] = str(temporary)
        assert run("-c", "from compat.compiler.spark.driver import classes; print(classes.make_later())") == "True\n"
        temporary.rmdir()  # as at the end of a batch job
        del variables["TMPDIR"]
        end = time.monotonic() + 600
        while not (whole := list(folder.glob("*.jsa"))) and time.monotonic() < end:
            time.sleep(0.1)
        (made,) = map(str, whole)
    else:
        made = run("-m", "compat.compiler.spark.driver.classes").strip()
        assert list(folder.iterdir()) == [Path(made)]
    assert made in run("-c", MAPPED, str(tmp_path / "log"))

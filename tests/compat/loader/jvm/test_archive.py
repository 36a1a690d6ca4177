"""Which programs make an archive of Flink's classes, and which use one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from compat.compiler.spark.driver.java import drop_old_archives
from compat.loader.jvm.archive import Archive, archive_for
from compat.loader.jvm.distribution import FlinkDistribution
from compat.loader.jvm.java import Java


@pytest.fixture
def flink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FlinkDistribution:
    """A Flink of one jar, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return FlinkDistribution(version="2.3.0", jars=(_file(tmp_path / "flink.jar"),))


@pytest.fixture
def java(tmp_path: Path) -> Java:
    return Java(home=tmp_path, library=_file(tmp_path / "libjvm.so"), major=17)


def _file(path: Path) -> Path:
    path.write_text(path.name)
    return path


def made(flink: FlinkDistribution, java: Java) -> Path:
    """The archive of a class path that two programs had."""
    archive_for(flink, java)
    archive = archive_for(flink, java)
    assert archive.path is not None
    assert archive.fresh is not None
    archive.fresh.write_text("classes")
    archive.keep()
    return archive.path


def test_the_first_program_of_a_class_path_makes_none_the_second_does_the_third_uses_it(
    flink: FlinkDistribution, java: Java
) -> None:
    plain = Archive(options=("-Xshare:auto",))
    assert archive_for(flink, java) == plain
    archive = made(flink, java)
    assert archive_for(flink, java).options == ("-Xshare:auto", f"-XX:SharedArchiveFile={archive}")
    os.utime(flink.jars[0], (1, 1))
    assert archive_for(flink, java) == plain  # other jars than those that it was made of


def test_one_that_is_used_stays(flink: FlinkDistribution, java: Java) -> None:
    archive = made(flink, java)
    other = _file(archive.with_name("other.jsa"))
    for ago, path in ((60, archive), (30, other)):
        os.utime(path, (time.time() - ago,) * 2)
    archive_for(flink, java)
    drop_old_archives(archive.parent, 1)
    assert archive.exists()
    assert not other.exists()


def test_classes_of_folders_are_in_none(flink: FlinkDistribution, java: Java, tmp_path: Path) -> None:
    folders = FlinkDistribution(version=flink.version, jars=(*flink.jars, tmp_path))
    for _ in range(3):
        assert archive_for(folders, java).fresh is None

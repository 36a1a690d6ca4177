"""Archives of modules are read again when they have changed, and not before."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
import zipimport
from pathlib import Path

import pytest

from compat.compiler.datastream.program import Program, start
from compat.compiler.spark.driver.archives import leave_archive_of_installed, read_archives_when_they_change
from compat.compiler.spark.driver.executor import SparkExecutor
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster


def _write(path: Path, names: list[str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.py", f"name = {name!r}\n")


def test_an_archive_is_read_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "modules.zip"
    _write(path, ["one_in_archive"])
    monkeypatch.setattr(zipimport.zipimporter, "invalidate_caches", zipimport.zipimporter.invalidate_caches)
    monkeypatch.setattr(sys, "path", [str(path), *sys.path])
    assert importlib.import_module("one_in_archive").name == "one_in_archive"
    read_archives_when_they_change()
    read: list[str] = []
    real = zipimport._read_directory  # type: ignore[attr-defined]
    monkeypatch.setattr(zipimport, "_read_directory", lambda archive: read.append(archive) or real(archive))
    importlib.invalidate_caches()
    assert str(path) not in read
    path.unlink()
    _write(path, ["one_in_archive", "two_in_archive"])
    os.utime(path, (1, 1))
    importlib.invalidate_caches()
    assert str(path) in read
    assert importlib.import_module("two_in_archive").name == "two_in_archive"


def _installed(folder: Path) -> str:
    """A Spark that is installed in a folder; gives its archive."""
    archive = folder / "pyspark" / "python" / "lib" / "pyspark.zip"
    archive.parent.mkdir(parents=True)
    (folder / "pyspark" / "worker.py").touch()
    archive.touch()
    return str(archive)


def test_spark_is_loaded_from_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from an archive that comes with it; one of another Spark, whose JVM this may be, stays first."""
    here, other = _installed(tmp_path / "here"), _installed(tmp_path / "other")
    monkeypatch.setattr(sys, "path", [here, other, "", str(tmp_path / "here"), str(tmp_path)])
    leave_archive_of_installed()
    assert sys.path == [other, "", str(tmp_path / "here"), str(tmp_path)]


def _where_spark_is(_: int) -> str:
    return str(sys.modules["pyspark.worker"].__file__)


@pytest.mark.spark
def test_workers_do_not_compile_spark_anew(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, SparkExecutor)
    env = cluster.environment(1)
    env.from_collection([1], Types.LONG()).map(_where_spark_is, Types.STRING()).print()
    try:
        env.execute()
    finally:
        assert cluster.executor is not None
        cluster.executor.close()
        start(Program())
    (path,) = cluster.lines
    assert Path(path).is_file(), "it is in no archive"

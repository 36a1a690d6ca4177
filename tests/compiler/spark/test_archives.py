"""Archives of modules are read again when they have changed, and not before."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
import zipimport
from pathlib import Path

import pytest

from compat.compiler.spark.driver.archives import read_archives_when_they_change


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

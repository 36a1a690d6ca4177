"""The Java runtime of a package, behind a wrapper that Spark can start."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from compat.compiler.spark.driver.java import drop_old_archives, java_home
from compat.compiler.spark.driver.session import find_java


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without Java and without caches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)


@pytest.mark.usefixtures("no_java")
def test_the_package_is_found_where_no_java_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    find_java()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    java = Path(java_home()) / "bin" / "java"
    assert java.is_relative_to(tmp_path)
    done = subprocess.run([java, "--add-modules=jdk.incubator.vector", "-version"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert 'version "25' in done.stderr


def test_a_java_that_is_there_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    find_java()
    assert java_home() != str(tmp_path)


def test_the_last_archives_are_kept_and_what_is_being_made(tmp_path: Path) -> None:
    ages = {"old.jsa": 9, "new.jsa": 1, "newer.jsa": 0, "killed.17": 7200, "killed.18.log": 7200, "at work.19": 60}
    for name, age in ages.items():
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    drop_old_archives(tmp_path, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"new.jsa", "newer.jsa", "at work.19"}

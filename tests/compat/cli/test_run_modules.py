"""A program's own modules travel with it: to workers in other folders, and to machines that have none of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compat.loader.copies import CopiedModules, copied_modules
from tests import needs
from tests.compiler.spark.standalone import StandaloneCluster

ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "shared"))
import common, tools.words
from pyflink.common import Types
from pyflink.datastream import MapFunction, StreamExecutionEnvironment

class Told(MapFunction):
    def open(self, runtime_context):
        import late
        self.late = late.WHAT

    def map(self, value):
        import shipped
        return " ".join([common.WHAT, tools.words.read(), self.late, shipped.WHAT])

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
{ships}
stream = env.from_collection([common.Kind(1), common.Kind(2)]).rebalance()
stream.map(lambda kind: kind.number).map(Told(), Types.STRING()).print()
env.execute()
"""
MODULES = {
    "jobs/tools/__init__.py": "",
    "jobs/tools/words.py": "import pathlib\ndef read():\n    return (pathlib.Path(__file__).parent / 'data.txt').read_text()",
    "jobs/tools/data.txt": "a package",
    "jobs/late.py": "WHAT = 'a late import'",
    "shared/common.py": "class Kind:\n    def __init__(self, number):\n        self.number = number\nWHAT = 'another folder'",
    "shipped/shipped.py": "WHAT = 'a file'",
}
TOLD = "another folder a package a late import a file"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    write(
        folder, {**MODULES, "jobs/job.py": PROGRAM.replace("{ships}", "env.add_python_file('../shipped/shipped.py')")}
    )
    (folder / "work").mkdir()
    return subprocess.run(
        [sys.executable, "-c", "from compat.cli import main; main()", "run", "../jobs/job.py", *options],
        cwd=folder / "work",
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "work")},
        capture_output=True,
        text=True,
        timeout=300,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(line.partition("> ")[2] for line in done.stdout.splitlines())


@pytest.mark.spark
def test_on_spark_in_this_process(tmp_path: Path) -> None:
    assert lines(run(tmp_path)) == [TOLD] * 2


@pytest.mark.spark
@pytest.mark.slow
def test_on_a_machine_that_has_none_of_the_folders(tmp_path: Path) -> None:
    needs.hidden(tmp_path)
    write(tmp_path, MODULES)
    hidden = [tmp_path / name for name in ("jobs", "shared", "shipped")]
    cluster = StandaloneCluster(tmp_path, hidden=hidden)
    try:
        assert lines(run(tmp_path, "--master", cluster.url)) == [TOLD] * 2
    finally:
        cluster.close()


@pytest.fixture
def copies(tmp_path: Path) -> CopiedModules:
    write(tmp_path, {**MODULES, "jobs/venv/lib/other.py": "", "jobs/tools/__pycache__/x.pyc": "", "jobs/notes.md": ""})
    found = copied_modules([str(tmp_path / "jobs")], [str(tmp_path / "jobs")])
    assert found is not None
    return found


def test_what_is_copied(copies: CopiedModules, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "there"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "there"))
    jobs = str(tmp_path / "jobs")
    assert copies.found(["/else", jobs]) == ("/else", jobs)
    (tmp_path / "jobs" / "late.py").write_text("WHAT = 'an older version'")
    other, copy, kept = copies.found(["/else", jobs])
    assert (other, kept) == ("/else", jobs)
    files = {str(path.relative_to(copy)) for path in Path(copy).rglob("*") if path.is_file()}
    assert files == {"late.py", "tools/__init__.py", "tools/words.py", "tools/data.txt"}
    assert Path(copy, "late.py").read_text() == "WHAT = 'a late import'"
    assert copies.found([jobs])[0] == copy


def test_only_code_travels_of_packages_that_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, MODULES)
    monkeypatch.setattr("compat.loader.copies.LIMIT", 100)
    found = copied_modules([str(tmp_path / "jobs")], [str(tmp_path / "jobs")])
    assert found is not None
    assert b"data.txt" not in found.archive
    assert b"words.py" in found.archive


def test_there_may_be_nothing_to_copy(tmp_path: Path) -> None:
    assert copied_modules([str(tmp_path)], [str(tmp_path)]) is None

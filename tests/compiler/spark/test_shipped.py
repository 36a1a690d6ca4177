"""What a program ships with its job is there for its functions: modules, archives, packages, an interpreter, cached files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.functions import MapFunction
from compat.compiler.datastream.program import Program, start
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.executor import InProcessExecutor, SparkExecutor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.environment import EnvironmentFailed, Shipped
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

SPARK = pytest.param(SparkExecutor, marks=[pytest.mark.spark, pytest.mark.slow])


@pytest.fixture(scope="module", params=[InProcessExecutor, SPARK])
def runs(request: Any, tmp_path_factory: Any) -> Iterator[Cluster]:
    """Where jobs run: without Spark, and on Spark in this process."""
    cluster = Cluster(tmp_path_factory.mktemp("shipped"), request.param)
    yield cluster
    if cluster.executor is not None:
        cluster.executor.close()
    start(Program())


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def zipped(path: Path, files: dict[str, str], mode: int = 0o644) -> str:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, text)
    return str(path)


def wheel(folder: Path, name: str, version: str, text: str) -> Path:
    """A wheel with one module, for a folder of packages."""
    info = f"{name}-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    zipped(
        folder / f"{name}-{version}-py3-none-any.whl",
        {
            f"{name}.py": text,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        },
    )
    return folder


def told(cluster: Cluster, env: Any, function: Any) -> set[Any]:
    """What a function gives for records, from both of its subtasks."""
    cluster.lines.clear()
    env.from_collection([1, 2, 3, 4], Types.INT()).rebalance().map(function, Types.STRING()).print()
    env.execute()
    assert len(cluster.lines) == 4
    return {line.partition("> ")[2] for line in cluster.lines}


def environment(cluster: Cluster) -> Any:
    return cluster.environment(2, epoch_records=2)


def imported(name: str) -> Any:
    return lambda _: __import__(name).WHAT


@pytest.mark.parametrize(
    ("file", "made"),
    [
        ("one.py", lambda at: write(at, {"one.py": "WHAT = 'a module'"}) / "one.py"),
        ("two", lambda at: write(at, {"lib/two/__init__.py": "WHAT = 'a folder'"}) / "lib"),
        ("three", lambda at: zipped(at / "three.zip", {"three/__init__.py": "WHAT = 'a zip file'"})),
        ("four", lambda at: wheel(at, "four", "1.0", "WHAT = 'a wheel'") / "four-1.0-py3-none-any.whl"),
    ],
)
def test_python_files_can_be_imported(runs: Cluster, tmp_path: Path, file: str, made: Any) -> None:
    env = environment(runs)
    env.add_python_file(str(made(tmp_path)))
    (what,) = told(runs, env, imported(file.removesuffix(".py")))
    assert what.startswith("a ")
    assert file.removesuffix(".py") not in sys.modules


def test_a_later_job_finds_its_own_file_of_the_same_name(runs: Cluster, tmp_path: Path) -> None:
    for version in ("old", "new"):
        env = environment(runs)
        env.add_python_file(str(write(tmp_path / version, {"rules.py": f"WHAT = '{version}'"}) / "rules.py"))
        assert told(runs, env, imported("rules")) == {version}


def test_paths_are_from_the_folder_that_the_program_runs_in(
    runs: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"lib/here.py": "WHAT = 'here'"})
    monkeypatch.chdir(tmp_path)
    env = environment(runs)
    env.add_python_file("lib/here.py")
    assert told(runs, env, imported("here")) == {"here"}


def test_archives_are_unpacked_in_the_working_directory(runs: Cluster, tmp_path: Path) -> None:
    env = environment(runs)
    env.add_python_archive(zipped(tmp_path / "data.zip", {"words/a.txt": "in its own name"}))
    env.add_python_archive(zipped(tmp_path / "other.zip", {"b.txt": "where it is to be"}), "target")
    script = zipped(tmp_path / "tools.zip", {"run.sh": "#!/bin/sh\necho it runs\n"}, 0o755)
    env.add_python_archive(script)

    def read(_: Any) -> str:
        ran = subprocess.run(["tools.zip/run.sh"], capture_output=True, text=True, check=True).stdout.strip()
        return " | ".join([Path("data.zip/words/a.txt").read_text(), Path("target/b.txt").read_text(), ran])

    assert told(runs, env, read) == {"in its own name | where it is to be | it runs"}
    assert not Path("data.zip").exists()


def test_cached_files_are_found_by_their_names(runs: Cluster, tmp_path: Path) -> None:
    class Reading(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.cache = runtime_context.get_distributed_cache()

        def map(self, value: Any) -> str:
            with pytest.raises(ValueError, match=r"'other' is not available.*Registered are: 'folder', 'model'"):
                self.cache.get_file("other")
            model, folder = map(self.cache.get_file, ("model", "folder"))
            return f"{Path(model).read_text()} {os.access(model, os.X_OK)} {sorted(os.listdir(folder))}"

    write(tmp_path, {"model.bin": "weights", "many/a": "", "many/b": ""})
    env = environment(runs)
    env.register_cached_file(str(tmp_path / "model.bin"), "model", True)
    env.register_cached_file(f"file://{tmp_path}/many", "folder")
    assert told(runs, env, Reading()) == {"weights True ['a', 'b']"}


def test_requirements_are_installed_once_a_machine(runs: Cluster, tmp_path: Path) -> None:
    """And away from the packages that are here: an environment of the job's own."""
    packages = wheel(tmp_path / "packages", "compat_shipped_one", "1.5", "WHAT = 'required'")
    env = environment(runs)
    env.set_python_requirements(
        str(write(tmp_path, {"needs.txt": "compat-shipped-one==1.5\n"}) / "needs.txt"), str(packages)
    )

    def found(_: Any) -> str:
        import compat_shipped_one

        return f"{compat_shipped_one.WHAT} {os.stat(compat_shipped_one.__file__).st_ino}"

    (what,) = told(runs, env, found)
    assert what.startswith("required ")


def test_requirements_that_cannot_be_installed_fail_the_job_with_what_pip_says(runs: Cluster, tmp_path: Path) -> None:
    env = environment(runs)
    (tmp_path / "none").mkdir()
    env.set_python_requirements(
        str(write(tmp_path, {"needs.txt": "compat-no-such==1\n"}) / "needs.txt"), str(tmp_path / "none")
    )
    with pytest.raises(
        JobFailed, match=r"(?s)cannot be installed \(.*No matching distribution found for compat-no-such"
    ):
        told(runs, env, str)


@pytest.fixture(scope="module")
def another_python(tmp_path_factory: Any) -> Path:
    """An environment with a package that there is nowhere else."""
    folder: Path = tmp_path_factory.mktemp("python") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    write(packages, {"only_there.py": "import sys\nWHAT = sys.executable\n"})
    return folder


def test_functions_run_with_the_interpreter_that_is_set(runs: Cluster, another_python: Path) -> None:
    env = environment(runs)
    env.set_python_executable(str(another_python / "bin" / "python"))
    assert told(runs, env, imported("only_there")) == {str(another_python / "bin" / "python")}


def test_an_interpreter_may_come_in_an_archive(runs: Cluster, another_python: Path, tmp_path: Path) -> None:
    import shutil

    packed = shutil.make_archive(str(tmp_path / "py"), "gztar", another_python.parent, "venv")
    env = environment(runs)
    env.add_python_archive(packed, "mine")
    env.set_python_executable("mine/venv/bin/python")
    (what,) = told(runs, env, imported("only_there"))
    assert what.endswith("working/mine/venv/bin/python")


@dataclass
class Pair:
    left: int


def test_records_of_the_programs_own_classes_come_and_go(runs: Cluster, tmp_path: Path) -> None:
    """Through Spark's workers, which do not find what is shipped."""
    write(tmp_path, {"kinds.py": "import dataclasses\n@dataclasses.dataclass\nclass Kind:\n    number: int\n"})
    env = environment(runs)
    env.add_python_file(str(tmp_path / "kinds.py"))
    sys.path.insert(0, str(tmp_path))
    try:
        import kinds  # type: ignore[import-not-found]

        stream = env.from_collection([kinds.Kind(1), kinds.Kind(2)])
        parted = stream.partition_custom(lambda key, count: key % count, lambda each: each.number)
        with parted.map(lambda each: kinds.Kind(each.number * 10)).execute_and_collect() as found:
            assert sorted(each.number for each in found) == [10, 20]
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("kinds", None)


def test_nothing_is_left_of_a_job_that_has_ended(runs: Cluster, tmp_path: Path) -> None:
    env = environment(runs)
    env.add_python_file(str(write(tmp_path, {"gone.py": "WHAT = 'gone'"}) / "gone.py"))
    told(runs, env, imported("gone"))
    master = runs.last.master
    assert not (master.job.store.directory(master.job.job_id) / "shipped").exists()
    assert not (runs.directory / "replicas" / master.job.job_id).exists()


HERE = re.escape(os.getcwd())
"""Where relative paths count from."""


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda env: env.add_python_file("no/such.py"), rf"python\.files: {HERE}/no/such\.py does not exist"),
        (lambda env: env.add_python_archive("none.zip", "x"), rf"python\.archives: {HERE}/none\.zip does not exist"),
        (lambda env: env.add_python_archive("/bin/sh", "../x"), r"python\.archives: .* is to be unpacked in \.\./x"),
        (
            lambda env: env.set_python_requirements("none.txt"),
            rf"python\.requirements: {HERE}/none\.txt does not exist",
        ),
        (
            lambda env: env.set_python_requirements("/bin/sh", "none"),
            rf"python\.requirements: {HERE}/none does not exist",
        ),
        (lambda env: env.set_python_executable("python9.9"), r"python\.executable: there is no interpreter python9\.9"),
        (
            lambda env: env.register_cached_file("none.bin", "n"),
            rf"pipeline\.cached-files: {HERE}/none\.bin does not exist",
        ),
        (lambda env: env.add_python_file("hdfs:///a.py"), r"python\.files: hdfs:///a\.py is not on this machine"),
    ],
)
def test_what_is_not_there_is_refused_with_the_line(cluster: Cluster, ask: Any, message: str) -> None:
    env = cluster.environment(1)
    ask(env)
    env.from_collection([1]).print()
    with pytest.raises(ProgramError, match=message) as refused:
        env.execute()
    assert refused.value.location is not None
    assert refused.value.location.file == __file__
    assert not (cluster.directory / "store" / "jobs").exists()


def test_an_interpreter_of_another_version_is_told(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    shipped = Shipped(folder=str(tmp_path / "source"), digest="d", version=(3, 1), executable=sys.executable)
    with pytest.raises(
        EnvironmentFailed, match=r"is Python \d\.\d+, and the program runs with Python 3\.1: functions can"
    ):
        shipped.settle(str(tmp_path / "here"))


def test_an_archive_that_is_damaged_fails_the_job(runs: Cluster, tmp_path: Path) -> None:
    env = environment(runs)
    env.add_python_archive(str(write(tmp_path, {"bad.zip": "no archive"}) / "bad.zip"))
    with pytest.raises(JobFailed, match=r"What the job ships cannot be laid out in .*not a zip file"):
        told(runs, env, str)

"""Where jobs write: other storage is refused by its name, relative paths are the driver's, missing files are not committed."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from deltalake import DeltaTable

from compat.cli.jobs import list_jobs, savepoint
from compat.cli.run import run
from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.delta import DeltaSink, DeltaSource
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink, FileSource, StreamFormat
from compat.compiler.errors import ProgramError
from compat.compiler.spark.connectors.delta.sink import DeltaWriter
from compat.compiler.spark.connectors.files.sink import FileWriter
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.driver.restore import find_snapshot
from compat.compiler.spark.task import epochs
from compat.compiler.spark.task.epochs import InProcessRunner
from compat.state.delta.errors import StoreError
from compat.state.delta.rows import DataFile, write_table
from compat.state.types import Types

ELSEWHERE = "ftp://host/folder"
ROW = Types.ROW_NAMED(["n"], [Types.LONG()])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_store_elsewhere(folder: Path) -> None:
    with pytest.raises(StoreError, match="The store: ftp://host/folder is not on this machine"):
        InProcessExecutor(ELSEWHERE)
    assert not list(folder.iterdir())


def test_a_savepoint_elsewhere(cluster: Any, folder: Path) -> None:
    with pytest.raises(StoreError, match="The snapshot: ftp://host/folder is not"):
        find_snapshot(ELSEWHERE)
    env = cluster.environment(1)
    env.from_collection([1], Types.INT()).print()
    env.execute()
    with pytest.raises(StoreError, match="The savepoint: ftp://host/folder is not"):
        cluster.last.master.take_savepoint(ELSEWHERE)
    assert not (folder / "ftp:").exists()


def test_sinks_and_sources_elsewhere(cluster: Any, folder: Path) -> None:
    env = cluster.environment(1)
    stream = env.from_collection(["a"], Types.STRING())
    stream.sink_to(FileSink.for_row_format(ELSEWHERE, Encoder.simple_string_encoder()).build()).name("files")
    stream.map(lambda text: (1,), ROW).sink_to(DeltaSink.for_row_data("ftp://host/table", ROW).build()).name("table")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), ELSEWHERE).build()
    env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines").print()
    rows = DeltaSource.for_bounded_row_data(ELSEWHERE).build()
    env.from_source(rows, WatermarkStrategy.no_watermarks(), "rows").print()
    with pytest.raises(ProgramError) as refused:
        env.execute()
    said = str(refused.value)
    assert said.count("is not on this machine's file system") == 4
    assert not cluster.events
    assert not (folder / "ftp:").exists()


def test_commands(folder: Path) -> None:
    (folder / "job.py").touch()
    for command, arguments in (
        (list_jobs, ["--store", ELSEWHERE]),
        (run, ["job.py", "--store", ELSEWHERE]),
        (savepoint, ["1234", ELSEWHERE]),
    ):
        outcome = CliRunner().invoke(command, arguments)
        assert (outcome.exit_code, "is not on this machine's file system" in outcome.output) == (2, True)
    assert [entry.name for entry in folder.iterdir()] == ["job.py"]


def test_a_store_with_a_scheme_of_this_machine(cluster: Any, folder: Path) -> None:
    assert CliRunner().invoke(list_jobs, ["--store", f"file://{folder}"]).output.startswith("No running jobs")


class Elsewhere:
    """A runner whose tasks work in another folder than the driver, as workers do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def run(self, runner: InProcessRunner, spec: Any) -> Any:
        with contextlib.chdir(self.folder):
            return self._run(runner, spec)

    _run = staticmethod(InProcessRunner.run)


def both_sinks(env: Any) -> None:
    rows = env.from_collection([(n,) for n in range(20)], ROW).rebalance().map(lambda row: row, ROW)
    files = FileSink.for_row_format("files", Encoder.simple_string_encoder())
    files = files.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    rows.map(lambda row: str(row[0]), Types.STRING()).sink_to(files.build())
    rows.sink_to(DeltaSink.for_row_data("table", ROW).build())


def test_relative_paths_are_from_the_drivers_folder(cluster: Any, folder: Path, monkeypatch: Any) -> None:
    elsewhere = Elsewhere(folder / "worker")
    monkeypatch.setattr(InProcessRunner, "run", lambda self, spec: elsewhere.run(self, spec))
    env = cluster.environment(2, epoch_records=7)
    both_sinks(env)
    (folder / "input").write_text("a\nb\n")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "input").build()
    env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines").print()
    env.execute()
    assert sorted(int(line) for file in (folder / "files").iterdir() for line in file.read_text().split()) == [
        *range(20)
    ]
    assert sorted(row["n"] for row in DeltaTable("table").to_pyarrow_table().to_pylist()) == [*range(20)]
    assert not list((folder / "worker").iterdir())


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["missing", "short"])
@pytest.mark.parametrize("writer", [FileWriter, DeltaWriter])
def test_output_that_the_driver_does_not_find_is_not_committed(
    cluster: Any, folder: Path, monkeypatch: Any, writer: Any, change: Any
) -> None:
    real = writer.prepare_commit

    def lost(self: Any) -> list[Any]:
        made: list[Any] = real(self)
        for name, *_ in made:
            change(folder / "table" / name)
        return made

    with monkeypatch.context() as patched:
        patched.setattr(writer, "prepare_commit", lost)
        env = cluster.environment(2, epoch_records=7, program="job.py")
        both_sinks(env)
        with pytest.raises(JobFailed, match=r"A task wrote .* the driver finds .* that all machines of the job share"):
            env.execute()
    assert cluster.last.master.job.coordinator.log.epoch == 0
    env = cluster.environment(2, epoch_records=7, program="job.py")
    both_sinks(env)
    env.execute()
    files = [file for file in (folder / "files").iterdir() if not file.name.startswith(".")]
    assert sorted(int(line) for file in files for line in file.read_text().split()) == [*range(20)]
    assert sorted(row["n"] for row in DeltaTable("table").to_pyarrow_table().to_pylist()) == [*range(20)]


def test_state_that_the_driver_does_not_find_is_not_committed(cluster: Any, monkeypatch: Any) -> None:
    def lost(directory: str, table: Any) -> DataFile:
        file = write_table(directory, table)
        (Path(directory) / file.path).unlink()
        return file

    monkeypatch.setattr(epochs, "INLINE_ROWS", 0)
    monkeypatch.setattr(epochs, "write_table", lost)
    env = cluster.environment(2)
    numbers = env.from_collection([*range(20)], Types.INT())
    numbers.key_by(lambda n: n % 5, Types.INT()).reduce(lambda a, b: a + b).print()
    with pytest.raises(JobFailed, match=r"A task wrote .* the driver finds no such file"):
        env.execute()
    assert cluster.last.master.job.coordinator.log.epoch == 0

"""Storage that jobs cannot write is refused by its name: no local folder gets the name of a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from compat.cli.jobs import list_jobs, savepoint
from compat.cli.run import run
from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.common.watermark_strategy import WatermarkStrategy
from compat.compiler.datastream.connectors.delta import DeltaSink, DeltaSource
from compat.compiler.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from compat.compiler.errors import ProgramError
from compat.compiler.spark.driver.executor import InProcessExecutor
from compat.compiler.spark.driver.restore import find_snapshot
from compat.state.delta.errors import StoreError
from compat.state.types import Types

BUCKET = "s3://bucket/folder"
ROW = Types.ROW_NAMED(["n"], [Types.LONG()])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_store_elsewhere(folder: Path) -> None:
    with pytest.raises(StoreError, match="The store: s3://bucket/folder is not on this machine"):
        InProcessExecutor(BUCKET)
    assert not list(folder.iterdir())


def test_a_savepoint_elsewhere(cluster: Any, folder: Path) -> None:
    with pytest.raises(StoreError, match="The snapshot: s3://bucket/folder is not"):
        find_snapshot(BUCKET)
    env = cluster.environment(1)
    env.from_collection([1], Types.INT()).print()
    env.execute()
    with pytest.raises(StoreError, match="The savepoint: s3://bucket/folder is not"):
        cluster.last.master.take_savepoint(BUCKET)
    assert not (folder / "s3:").exists()


def test_sinks_and_sources_elsewhere(cluster: Any, folder: Path) -> None:
    env = cluster.environment(1)
    stream = env.from_collection(["a"], Types.STRING())
    stream.sink_to(FileSink.for_row_format(BUCKET, Encoder.simple_string_encoder()).build()).name("files")
    stream.map(lambda text: (1,), ROW).sink_to(DeltaSink.for_row_data("hdfs:///table", ROW).build()).name("table")
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), BUCKET).build()
    env.from_source(lines, WatermarkStrategy.no_watermarks(), "lines").print()
    rows = DeltaSource.for_bounded_row_data(BUCKET).build()
    env.from_source(rows, WatermarkStrategy.no_watermarks(), "rows").print()
    with pytest.raises(ProgramError) as refused:
        env.execute()
    said = str(refused.value)
    assert said.count("is not on this machine's file system") == 4
    assert not cluster.events
    assert not (folder / "s3:").exists()


def test_commands(folder: Path) -> None:
    (folder / "job.py").touch()
    for command, arguments in (
        (list_jobs, ["--store", BUCKET]),
        (run, ["job.py", "--store", BUCKET]),
        (savepoint, ["1234", BUCKET]),
    ):
        outcome = CliRunner().invoke(command, arguments)
        assert (outcome.exit_code, "is not on this machine's file system" in outcome.output) == (2, True)
    assert [entry.name for entry in folder.iterdir()] == ["job.py"]


def test_a_store_with_a_scheme_of_this_machine(cluster: Any, folder: Path) -> None:
    assert CliRunner().invoke(list_jobs, ["--store", f"file://{folder}"]).output.startswith("No running jobs")

"""Every sink: each record once, whatever the epochs, also when an epoch or a commit is done twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from compat.compiler.datastream.common.serialization import Encoder
from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.connectors.base import Sink, committer, writer
from compat.compiler.datastream.connectors.delta import DeltaSink
from compat.compiler.datastream.connectors.file_system import BucketAssigner, FileSink, OutputFileConfig, RollingPolicy
from compat.compiler.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from compat.compiler.datastream.formats.csv import CsvBulkWriters, CsvSchema
from compat.compiler.datastream.formats.parquet import ParquetBulkWriters
from compat.compiler.errors import ProgramError
from compat.compiler.spark.connectors.sinks import committer_of
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.transformations.kinds import SinkTopology
from compat.state.types import Types

SHAPES = pytest.mark.parametrize(("parallelism", "epoch_records"), [(1, None), (2, 7), (5, 20)])
ROW = Types.ROW_NAMED(["n", "word"], [Types.LONG(), Types.STRING()])
RECORDS = [(n, None if n == 3 else f"w{n % 4}") for n in range(40)]
BASE = BucketAssigner.base_path_bucket_assigner()


def rows(env: Any) -> Any:
    return env.from_collection([Row(*record) for record in RECORDS], ROW).rebalance().map(lambda row: row, ROW)


def visible(path: Path) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file() and not file.name.startswith(".")]


@SHAPES
def test_lines(cluster: Any, tmp_path: Path, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    path = tmp_path / "out"
    config = OutputFileConfig.builder().with_part_prefix("lines").with_part_suffix(".txt").build()
    sink = FileSink.for_row_format(str(path), Encoder.simple_string_encoder()).with_bucket_assigner(BASE)
    rows(env).map(lambda row: f"{row.n}", Types.STRING()).sink_to(sink.with_output_file_config(config).build())
    env.execute()
    files = visible(path)
    assert all(file.name.startswith("lines-") and file.suffix == ".txt" for file in files)
    assert sorted(line for file in files for line in file.read_text().split()) == sorted(str(n) for n, _ in RECORDS)
    assert not list(path.rglob(".*"))


def test_two_runs_into_one_directory_keep_each_others_files(cluster: Any, tmp_path: Path) -> None:
    for _ in range(2):
        env = cluster.environment(2)
        sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).build()
        rows(env).map(lambda row: f"{row.n}", Types.STRING()).sink_to(sink)
        env.execute()
    lines = [line for file in visible(tmp_path / "out") for line in file.read_text().split()]
    assert sorted(lines) == sorted([str(n) for n, _ in RECORDS] * 2)


def test_a_file_is_closed_at_its_size(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    policy = RollingPolicy.default_rolling_policy(part_size=30)
    sink = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder()).with_rolling_policy(policy)
    stream = env.from_collection([f"{n:09d}" for n in range(10)], Types.STRING())
    stream.sink_to(sink.with_bucket_assigner(BASE).build())
    env.execute()
    assert sorted(file.stat().st_size for file in visible(tmp_path / "out")) == [10, 30, 30, 30]


@SHAPES
def test_parquet(cluster: Any, tmp_path: Path, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    factory = ParquetBulkWriters.for_row_type(ROW)
    rows(env).sink_to(FileSink.for_bulk_format(str(tmp_path / "out"), factory).with_bucket_assigner(BASE).build())
    env.execute()
    found = [row for file in visible(tmp_path / "out") for row in pq.read_table(file).to_pylist()]
    assert sorted((row["n"], row["word"]) for row in found) == RECORDS


def test_csv(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    schema = CsvSchema.builder().add_number_column("n").add_string_column("word").build()
    factory = CsvBulkWriters.for_schema(schema)
    rows(env).sink_to(FileSink.for_bulk_format(str(tmp_path / "out"), factory).with_bucket_assigner(BASE).build())
    env.execute()
    lines = [line for file in visible(tmp_path / "out") for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{n},{word or ''}" for n, word in RECORDS)


def delta(path: Path, columns: tuple[str, ...] = (), declared: bool = True) -> Any:
    builder = DeltaSink.for_row_data(str(path), ROW if declared else None)
    return builder.with_partition_columns(*columns).build()


def contents(path: Path) -> list[Any]:
    return sorted((row["n"], row["word"]) for row in DeltaTable(path).to_pyarrow_table().to_pylist())


@SHAPES
@pytest.mark.parametrize("columns", [(), ("word",)])
def test_delta(cluster: Any, tmp_path: Path, parallelism: int, epoch_records: int | None, columns: Any) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    rows(env).sink_to(delta(tmp_path / "table", columns))
    env.execute()
    assert contents(tmp_path / "table") == RECORDS
    assert DeltaTable(tmp_path / "table").metadata().partition_columns == list(columns)


def test_partitions_whose_values_are_escaped(cluster: Any, tmp_path: Path) -> None:
    words = ["a b", "ä/ö", "50%", "x=y", "q?r"]
    env = cluster.environment(1)
    env.from_collection([(n, word) for n, word in enumerate(words)], ROW).sink_to(delta(tmp_path / "table", ("word",)))
    env.execute()
    assert contents(tmp_path / "table") == list(enumerate(words))


def test_a_delta_commit_that_is_done_twice(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    sink = delta(tmp_path / "table")
    rows(env).sink_to(sink)
    made: list[Any] = []
    committing = committer_of(sink)
    assert committing is not None
    original: Callable[..., None] = type(committing).commit

    def twice(self: Any, committables: list[Any], transaction: tuple[str, int]) -> None:
        made.append(transaction)
        original(self, committables, transaction)
        original(self, committables, transaction)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(committing), "commit", twice)
        env.execute()
    assert made
    assert contents(tmp_path / "table") == RECORDS


def test_a_delta_table_without_types(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    env.from_collection([Row(n=1, word=None)]).sink_to(delta(tmp_path / "table", declared=False))
    with pytest.raises(JobFailed, match=r"columns \['word'\] .* give the sink its row type"):
        env.execute()


class Ledger(Sink):
    """A sink in Python, which publishes into a file a transaction."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def topology(self) -> SinkTopology:
        return SinkTopology(writer=writer(self), committer=committer(self))

    def create_writer(self, context: Any) -> Any:
        return Entries()

    def create_committer(self) -> Any:
        return self

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        (self.path / f"{transaction[1]}").write_text("\n".join(map(str, committables)))


class Entries:
    def __init__(self) -> None:
        self.values: list[Any] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        if value < 0:
            raise ValueError("no negative numbers")
        self.values.append(value)

    def prepare_commit(self) -> list[Any]:
        return self.values


@SHAPES
def test_a_sink_in_python(cluster: Any, tmp_path: Path, parallelism: int, epoch_records: int | None) -> None:
    (tmp_path / "ledger").mkdir()
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    env.from_collection(list(range(30)), Types.INT()).sink_to(Ledger(tmp_path / "ledger"))
    env.execute()
    found = [int(line) for file in visible(tmp_path / "ledger") for line in file.read_text().split()]
    assert sorted(found) == list(range(30))


def test_a_sink_that_fails_names_the_record(cluster: Any, tmp_path: Path) -> None:
    env = cluster.environment(1)
    env.from_collection([1, -2], Types.INT()).sink_to(Ledger(tmp_path))
    with pytest.raises(JobFailed, match="-2"):
        env.execute()


@pytest.mark.parametrize(
    ("type_info", "value", "line"),
    [
        (Types.TUPLE([Types.STRING(), Types.INT()]), ("a", 1), "(a,1)"),
        (ROW, Row(1, "a"), "+I[1,a]"),
        (None, ("a", 1), "('a', 1)"),
        (Types.BOOLEAN(), True, "true"),
        (Types.DOUBLE(), 1.0, "1.0"),
        (Types.STRING(), "a", "a"),
        (Types.LIST(Types.INT()), [1, 2], "[1, 2]"),
        (Types.MAP(Types.STRING(), Types.INT()), {"a": 1}, "{a=1}"),
        (Types.TUPLE([Types.STRING(), Types.BOOLEAN()]), (None, False), "(null,false)"),
    ],
)
def test_lines_are_printed_as_flink_prints_them(cluster: Any, type_info: Any, value: Any, line: str) -> None:
    env = cluster.environment(1)
    env.from_collection([value], type_info).print()
    env.execute()
    assert cluster.lines == [line]


def test_a_printed_line_names_its_subtask(cluster: Any) -> None:
    env = cluster.environment(2)
    env.from_collection([1, 2], Types.INT()).rebalance().print("out").set_parallelism(2)
    env.execute()
    assert sorted(cluster.lines) == ["out:1> 1", "out:2> 2"]


def test_sinks_that_cannot_be_run_are_refused_before_the_start(cluster: Any, tmp_path: Path) -> None:
    from compat.compiler.datastream.connectors.file_system import FileCompactor, FileCompactStrategy

    env = cluster.environment(1)
    options = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x").build()
    rows(env).add_sink(JdbcSink.sink("insert", ROW, options))
    strategy = FileCompactStrategy.builder().set_size_threshold(1).build()
    files = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder())
    files = files.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
    rows(env).sink_to(files).uid("files")
    with pytest.raises(ProgramError, match=r"(?s)no writer for the sink.*makes no small files one"):
        env.execute()
    assert not cluster.events

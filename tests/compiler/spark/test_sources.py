"""Every source, whatever the epochs: each record once, positions kept, watermarks of each split."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.compiler.datastream.common.types import Row
from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.connectors.base import Source
from compat.compiler.datastream.connectors.datagen import DataGeneratorSource
from compat.compiler.datastream.connectors.delta import DeltaSource
from compat.compiler.datastream.connectors.dynamic_kafka import DynamicKafkaSource, SingleClusterTopicMetadataService
from compat.compiler.datastream.connectors.file_system import FileSource, StreamFormat
from compat.compiler.datastream.connectors.number_seq import NumberSequenceSource
from compat.compiler.datastream.connectors.socket import SocketTextSource
from compat.compiler.datastream.formats.avro import AvroInputFormat, AvroSchema
from compat.compiler.datastream.formats.csv import CsvReaderFormat, CsvSchema
from compat.compiler.datastream.formats.json import JsonReaderFormat
from compat.compiler.datastream.formats.parquet import ParquetColumnarRowInputFormat
from compat.compiler.datastream.functions import MapFunction, ProcessFunction
from compat.compiler.errors import ProgramError
from compat.compiler.spark.connectors.sources import Read, Split
from compat.compiler.spark.driver.epoch_sizing import Pace
from compat.compiler.spark.driver.failures import JobFailed
from compat.compiler.spark.operators import source as source_operator
from compat.state.time import Duration
from compat.state.types import Types
from tests.compiler.spark.conftest import Cluster

NONE = WatermarkStrategy.no_watermarks()
SHAPES = pytest.mark.parametrize(("parallelism", "epoch_records"), [(1, None), (2, 3), (5, 7)])
ROW = Types.ROW_NAMED(["word", "count"], [Types.STRING(), Types.LONG()])
RECORDS = [("to", 1), ('say "hi",\nagain', 2), ("é", 3), ("", 4), ("be", 5), ("not", 6), ("or", 7)]


@pytest.fixture(autouse=True, params=["at leisure", "in a hurry"])
def hurry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of an epoch is enough for all records, or over with the first one: readers say where that leaves them."""
    if request.param == "in a hurry":
        monkeypatch.setattr(Pace, "seconds", lambda pace, share: 0.0)


def rows(records: Any) -> list[Row]:
    made = []
    for record in records:
        row = Row(*record)
        row.set_field_names(["word", "count"])
        made.append(row)
    return made


def read(env: Any, source: Any, type_info: Any = None) -> list[Any]:
    return list(env.from_source(source, NONE, "source", type_info).execute_and_collect())


@SHAPES
def test_numbers(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    assert sorted(read(env, NumberSequenceSource(-3, 40))) == list(range(-3, 41))


@SHAPES
def test_generated_records(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    source = DataGeneratorSource(lambda n: f"r{n}", 25, Types.STRING())
    assert sorted(read(env, source)) == sorted(f"r{n}" for n in range(25))


def test_a_rate_is_kept(cluster: Any) -> None:
    import time

    env = cluster.environment(2)
    began = time.monotonic()
    assert len(read(env, DataGeneratorSource(lambda n: n, 20, Types.LONG(), rate=40))) == 20
    assert time.monotonic() - began > 0.4


def lines_file(path: Path) -> Any:
    path.write_bytes(b"one\r\ntwo\n\nthree\nfour")
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(path)).build()


def json_file(path: Path) -> Any:
    path.write_text("".join(json.dumps({"word": word, "count": count}) + "\n" for word, count in RECORDS))
    return FileSource.for_record_stream_format(JsonReaderFormat.for_type(ROW), str(path)).build()


def csv_file(path: Path) -> Any:
    cells = ('"' + word.replace('"', '""') + '"' for word, _ in RECORDS)
    path.write_text("word;count\n" + "".join(f"{w};{count}\n" for w, (_, count) in zip(cells, RECORDS, strict=True)))
    schema = CsvSchema.builder().add_string_column("word").add_number_column("count")
    schema = schema.set_column_separator(";").set_use_header().build()
    return FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build()


def parquet_file(path: Path) -> Any:
    table = pa.table({"count": [c for _, c in RECORDS], "word": [w for w, _ in RECORDS], "more": [0.5] * len(RECORDS)})
    pq.write_table(table, path, row_group_size=2)
    return FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(ROW), str(path)).build()


FILES = {
    lines_file: ["one", "two", "", "three", "four"],
    json_file: rows(RECORDS),
    csv_file: rows(RECORDS),
    parquet_file: rows(RECORDS),
}


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("epoch_records", [None, 1, 2, 3])
def test_files(cluster: Any, tmp_path: Path, make: Any, epoch_records: int | None) -> None:
    env = cluster.environment(1, epoch_records=epoch_records)
    assert read(env, make(tmp_path / "file")) == FILES[make]


@pytest.mark.parametrize("epoch_records", [None, 2])
def test_avro_files(cluster: Any, tmp_path: Path, epoch_records: int | None) -> None:
    from avro import datafile as avro
    from avro.io import DatumWriter

    from compat.state.serializers.avro import parsed

    text = '{"type": "record", "name": "Count", "fields": [{"name": "n", "type": "long"}]}'
    with open(tmp_path / "file.avro", "wb") as file, avro.DataFileWriter(file, DatumWriter(), parsed(text)) as writer:
        for number in range(5):
            writer.append({"n": number})
    env = cluster.environment(1, epoch_records=epoch_records)
    stream = env.create_input(AvroInputFormat(str(tmp_path / "file.avro"), AvroSchema.parse_string(text)))
    assert list(stream.map(lambda record: record["n"], Types.LONG()).execute_and_collect()) == list(range(5))


@SHAPES
def test_a_directory_without_hidden_files(
    cluster: Any, tmp_path: Path, parallelism: int, epoch_records: int | None
) -> None:
    tmp_path /= "files"
    for number in range(4):
        (tmp_path / f"{number}").mkdir(parents=True)
        (tmp_path / f"{number}" / "part.txt").write_text(f"{number}a\n{number}b\n")
    (tmp_path / "_temporary").write_text("no\n")
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    assert sorted(read(env, source)) == [f"{n}{letter}" for n in range(4) for letter in "ab"]


def test_a_growing_directory(cluster: Any, tmp_path: Path) -> None:
    tmp_path /= "files"
    tmp_path.mkdir()
    (tmp_path / "1.txt").write_text("a\nb\n")
    env = cluster.environment(2)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    stream = env.from_source(source.monitor_continuously(Duration.of_millis(20)).build(), NONE, "files")
    with stream.execute_and_collect() as records:
        assert sorted([next(records), next(records)]) == ["a", "b"]
        (tmp_path / ".2.txt").write_text("c\nd\n")
        (tmp_path / ".2.txt").rename(tmp_path / "2.txt")
        assert sorted([next(records), next(records)]) == ["c", "d"]


def test_a_path_that_is_not_there(cluster: Any, tmp_path: Path) -> None:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "no")).build()
    with pytest.raises(
        JobFailed, match=r"(?s)side of operator 'Source: source' failed.*FileNotFoundError: .* does not exist"
    ):
        read(cluster.environment(1), source)


def test_a_socket(cluster: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                for part in (b"one\ntw", b"o\r\n", b"three"):
                    connection.sendall(part)

        thread = threading.Thread(target=serve)
        thread.start()
        env = cluster.environment(2, epoch_records=2)
        assert read(env, SocketTextSource("127.0.0.1", server.getsockname()[1])) == ["one", "two", "three"]
        thread.join()


def test_a_delta_table_of_one_version(cluster: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, pa.table({"n": [1, 2, 3], "day": ["a", "a", "b b"]}), partition_by=["day"])
    write_deltalake(path, pa.table({"n": [4], "day": ["c"]}), mode="append")
    builder = DeltaSource.for_bounded_row_data(path)
    found = read(cluster.environment(2, epoch_records=2), builder.build())
    assert sorted((row["n"], row["day"]) for row in found) == [(1, "a"), (2, "a"), (3, "b b"), (4, "c")]
    first = read(cluster.environment(1), builder.version_as_of(0).column_names(["n"]).build())
    assert sorted(row["n"] for row in first) == [1, 2, 3]
    assert all(set(row) == {"n"} for row in first)


def test_a_growing_delta_table(cluster: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, pa.table({"n": [1, 2]}))
    row_type = Types.ROW_NAMED(["n"], [Types.LONG()])
    source = DeltaSource.for_continuous_row_data(path).row_type(row_type).update_check_interval(20).build()
    stream = cluster.environment(2).from_source(source, NONE, "table").map(lambda row: row.n, Types.LONG())
    with stream.execute_and_collect() as records:
        assert sorted([next(records), next(records)]) == [1, 2]
        write_deltalake(path, pa.table({"n": [3]}), mode="append")
        assert next(records) == 3
        DeltaTable(path).delete("n = 1")
        with pytest.raises(JobFailed, match=r"ValueError: .* deletes or changes rows: call"):
            next(records)


class Countdowns(Source):
    """A source in Python: each split counts down. Splits come one after the other."""

    def __init__(self, lengths: list[int], concurrent: bool = False) -> None:
        super().__init__(bounded=True, produced_type=Types.LONG())
        self.lengths, self.concurrent = lengths, concurrent

    def create_enumerator(self, parallelism: int) -> Any:
        return CountdownEnumerator(self.lengths, self.concurrent)

    def create_reader(self) -> Any:
        return CountdownReader()


class CountdownEnumerator:
    def __init__(self, lengths: list[int], concurrent: bool) -> None:
        self.lengths, self.concurrent = lengths, concurrent
        self.found = 0

    def discover(self, known: set[str]) -> list[Split]:
        place = len(known)
        if place == len(self.lengths):
            return []
        return [{"id": f"s{place}", "left": self.lengths[place], "place": place}]

    @property
    def complete(self) -> bool:
        self.found += 1
        return self.found > 5 * len(self.lengths)


class CountdownReader:
    def read(self, split: Split, limit: int) -> Read:
        count = min(limit, split["left"])
        values = [split["place"] * 100 + split["left"] - n for n in range(count)]
        return Read(
            values,
            [100 - value % 100 for value in values],
            {**split, "left": split["left"] - count},
            count == split["left"],
        )


@SHAPES
def test_a_source_in_python(cluster: Any, parallelism: int, epoch_records: int | None) -> None:
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    found = read(env, Countdowns([3, 0, 5]))
    assert sorted(found) == sorted([3, 2, 1, 205, 204, 203, 202, 201])


class Marks(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


class Given(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return record_timestamp


def test_a_split_that_is_behind_holds_the_watermark_back(cluster: Any) -> None:
    class Together(Countdowns):
        def create_enumerator(self, parallelism: int) -> Any:
            return AllAtOnce([40, 80])

    class AllAtOnce(CountdownEnumerator):
        concurrent = True
        complete = True  # type: ignore[assignment]

        def __init__(self, lengths: list[int]) -> None:
            self.lengths = lengths

        def discover(self, known: set[str]) -> list[Split]:
            return [] if known else [{"id": f"s{n}", "left": left, "place": n} for n, left in enumerate(self.lengths)]

    env = cluster.environment(1, epoch_records=10)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Given())
    found = list(env.from_source(Together([]), strategy, "both").process(Marks()).execute_and_collect())
    assert len(found) == 120
    # Five records of each in an epoch: the second split starts at 20, the first at 60.
    second = [(value, mark) for value, _, mark in found if value >= 100]
    assert dict(second)[175] == 23
    assert max(mark for _, mark in second[:40]) < 60
    assert dict(second)[101] > 80


class Costly(MapFunction):
    """Records that cost time, by a clock that nothing else moves."""

    now = 0.0

    def __init__(self, costs: list[float]) -> None:
        self._costs = costs

    def map(self, value: Any) -> Any:
        Costly.now += self._costs[value % len(self._costs)]
        return value

    @staticmethod
    def monotonic() -> float:
        """The clock."""
        return Costly.now


def lived(costs: list[float], records: int) -> list[int]:
    """The records of each epoch of a job with a checkpoint a second, whose records cost that."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr(source_operator, "time", Costly)
        cluster = Cluster(Path(folder))
        env = cluster.environment(1)
        env.enable_checkpointing(1000)
        numbers = env.from_source(NumberSequenceSource(0, records - 1), NONE, "numbers")
        assert list(numbers.map(Costly(costs), Types.LONG()).execute_and_collect()) == list(range(records))
    return [event["records"] for event in cluster.events if event["event"] == "checkpoint"]


@given(costs=st.lists(st.sampled_from([0.0, 0.001, 0.03, 0.3, 5.0]), min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_epochs_that_end_early_lose_and_double_nothing(costs: list[float]) -> None:
    assert sum(lived(costs, 150)) == 150


@pytest.mark.parametrize(("cost", "most"), [(0.02, 65), (0.3, 5), (5.0, 1)])
def test_an_epoch_ends_when_its_time_is_over_whatever_records_cost(cost: float, most: int, hurry: None) -> None:
    assert max(lived([cost], 150)) <= most


def test_what_cannot_be_run_is_refused_before_the_start(cluster: Any) -> None:
    from compat.compiler.datastream.common.serialization import SimpleStringSchema

    env = cluster.environment(1)
    kafka = DynamicKafkaSource.builder().set_stream_ids({"s"}).set_value_only_deserializer(SimpleStringSchema())
    kafka = kafka.set_kafka_metadata_service(SingleClusterTopicMetadataService("c", {})).build()
    with pytest.raises(
        ProgramError,
        match=r"(?s)checked, but not run.*'Source: k'.*test_sources.py.*no reader for the source DynamicKafkaSource",
    ):
        env.from_source(kafka, NONE, "k").execute_and_collect()
    assert not cluster.events

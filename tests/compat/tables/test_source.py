from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, In

from compat.compiler.datastream.served import served
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Row, read_rows, write_rows
from compat.tables import StateSource, delta_session, register
from compat.tables.reading import open_snapshot
from tests.compat.savepoint.golden import SAVEPOINTS


def reader(path: str, **options: str) -> Any:
    served()  # types travel by the names of their classes
    source = StateSource({"path": path, **options})
    return source.reader(source.schema())


def rows(reader: Any) -> list[dict[str, Any]]:
    reader = pickle.loads(pickle.dumps(reader))
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_columns_are_typed_where_one_state_is_chosen(savepoint: Callable[..., str]) -> None:
    path = savepoint()
    fields = {
        field.name: field.dataType.simpleString() for field in StateSource({"path": path, "state": "person"}).schema()
    }
    assert fields["value"] == "struct<name:string,seen:array<bigint>>"
    assert fields["namespace"] == "struct<start:bigint,end:bigint,number:bigint>"
    assert {row["key"]: row["value"] for row in rows(reader(path, state="sum"))} == {"k0": 3, "k1": 5, "k2": 7}


def test_filters_on_operators_and_states_are_taken_over(savepoint: Callable[..., str]) -> None:
    one = reader(savepoint())
    left = GreaterThan(("key",), "k0")
    assert list(one.pushFilters([EqualTo(("uid",), "keeps"), In(("state",), ("sum", "items")), left])) == [left]
    assert {row["state"] for row in rows(one)} == {"sum", "items"}
    assert list(one.pushFilters([EqualTo(("operator",), "another")])) == []
    assert one.partitions() == []


def test_one_kind_of_a_state_is_chosen(savepoint: Callable[..., str]) -> None:
    path = savepoint()
    assert {row["kind"] for row in rows(reader(path, operator="keeps", kind="map"))} == {"map"}
    assert rows(reader(path, state="sum", kind="map")) == []


def test_all_tasks_read_one_version(savepoint: Callable[..., str]) -> None:
    """Whatever the job commits between two of them."""
    path = savepoint()
    one = reader(path, state="sum")
    version, before = SnapshotLog.open(path).version, rows(one)
    log = SnapshotLog.open(path)
    gone = [Row(*row[:7], None) for table in log.parts() for row in read_rows(table) if row.state == "sum"]
    epoch = log.next_epoch
    log.commit(epoch, [write_rows(log.path, gone, epoch)], {"token": "t"})
    assert rows(reader(path, state="sum", checkpoint=str(epoch))) == []
    assert rows(one) == before
    assert pickle.loads(pickle.dumps(open_snapshot(path, epoch - 1))).table == (path, version)


@pytest.mark.parametrize("checkpoint", [None, 2])
def test_a_snapshot_has_an_address(savepoint: Callable[..., str], checkpoint: int | None) -> None:
    path = savepoint()
    assert open_snapshot(open_snapshot(path, checkpoint).address).address == f"{path}@2"
    of_flink = open_snapshot(str(SAVEPOINTS / "small_uid_p2_canonical"))
    again = pickle.loads(pickle.dumps(of_flink))
    assert (again.address, again.states) == (of_flink.address, of_flink.states)


@pytest.mark.parametrize(
    ("options", "message"), [({}, "'path' is missing"), ({"path": "x", "checkpoint": "-1"}, "not '-1'")]
)
def test_wrong_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StateSource(options).schema()


@pytest.mark.spark
@pytest.mark.slow
def test_spark_reads_it(savepoint: Callable[..., str], tmp_path: Path) -> None:
    """Slow: it starts Spark."""
    path = savepoint()
    spark = delta_session(str(tmp_path / "spark.log"))
    try:
        register(spark)
        table = spark.read.format("compat").option("path", path).load()
        found = table.where("uid = 'keeps' and state = 'sum' and key > 'k0'").select("key", "value").collect()
        assert sorted(map(tuple, found)) == [("k1", "5"), ("k2", "7")]
        typed = spark.read.format("compat").options(path=path, operator="keeps", state="items").load()
        assert typed.selectExpr("sum(aggregate(value, 0D, (a, b) -> a + b))").collect()[0][0] == 7.5
        timed = spark.read.format("compat").options(path=path, operator="keeps").load()
        assert timed.where("kind = 'processing-timer'").count() == 6
    finally:
        spark.stop()

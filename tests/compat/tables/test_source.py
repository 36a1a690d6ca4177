from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, In

from compat.compiler.datastream.served import served
from compat.tables import StateSource, delta_session, register


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

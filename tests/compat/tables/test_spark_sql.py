"""The same query gives the same rows by DuckDB and by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from compat import tables
from compat.cli import main
from compat.compiler.datastream import program
from compat.compiler.spark.driver.session import MissingJava
from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.tables import delta_session, query, query_on_spark
from compat.tables.reading import open_snapshot
from compat.tables.spark_sql import SparkFailed
from compat.tables.sql import ALL, QueryError, quoted, table_names
from tests.compat.savepoint.golden import SAVEPOINTS
from tests.compat.tables.conftest import RECORDS, job
from tests.compiler.spark.conftest import Cluster
from tests.needs import Need, without

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Slow: it starts Spark."""
    folder = tmp_path_factory.mktemp("spark")
    try:
        session = delta_session(
            str(folder / "spark.log"), options={"spark.sql.warehouse.dir": str(folder / "warehouse")}
        )
    except MissingJava:
        without(Need.JAVA)
    except StoreError as error:
        without(Need.MAVEN, error)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A savepoint of the job with states of several types."""
    cluster = Cluster(tmp_path_factory.mktemp("job"))
    list(job(cluster.environment(2, epochs=2, epoch_records=3), RECORDS).execute_and_collect())
    yield str(cluster.last.master.job.savepoint)
    program.start(program.Program())


@pytest.mark.parametrize(
    "sql",
    [
        'select key, value from "keeps"."sum" order by value desc limit 2',
        "select * from keeps.sum order by key;",
        "select * from keeps.person order by key",
        "select * from keeps.items order by key",
        "select * from keeps.loose order by key",
        'select key, map_key, value from "keeps"."parity" order by key, map_key',
        'select key, timestamp, namespace from "keeps"."_timers" order by timestamp',
        "select keeps.sum.value, sum.key from keeps.sum where sum.value > 3 order by keeps.sum.value",
        "select keeps.person.value.name as name from keeps.person order by name",
        "select sum.* from keeps.sum join keeps.person on keeps.sum.key = keeps.person.key order by sum.key",
        "select s.key, p.value.seen from keeps.sum s join keeps.person p on s.key = p.key order by s.key",
        'with "é😀" as (select max(value) as most from keeps.sum) select \'"keeps"."sum"\' as text, most from "é😀"',
        "select key from keeps.sum where value = (select max(value) from KEEPS.SUM) -- the largest",
        "select state, count(*) as n from entries where uid = 'keeps' group by state order by state",
        "select key, key from keeps.sum union all select state, kind from entries order by 1, 2",
        "select count(*) as n, count(value) as values from entries where kind like '%timer'",
        "select key from keeps.sum where value > 100",
    ],
)
def test_a_query_has_the_same_rows(spark: Any, path: str, sql: str) -> None:
    expected, found = query(path, sql), query_on_spark(spark, path, sql).read_all()
    assert [column.to_pylist() for column in found.columns] == [column.to_pylist() for column in expected.columns]
    assert found.schema.types == expected.schema.types
    assert found.schema.names[:1] == expected.schema.names[:1]


def test_the_columns_of_every_table_have_the_same_types(spark: Any, path: str) -> None:
    for table in (*table_names(open_snapshot(path).states), ("", ALL)):
        sql = f"select * from {quoted(*table)}"
        assert query_on_spark(spark, path, sql).schema == query(path, sql).schema, table


def test_the_changes_are_a_table(spark: Any, path: str) -> None:
    found = query_on_spark(spark, path, "select count(*) as n from changes").read_all()
    assert found.to_pylist() == [{"n": sum(file.rows for file in SnapshotLog.open(path).files())}]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select * from keeps.nothing", "`keeps`.`nothing` cannot be found"),
        ("select nothing from keeps.sum", "`nothing` cannot be resolved"),
        ("selec 1", "near 'selec'"),
        ("delete from changes", "near 'delete'"),
        ("drop view entries", "near 'drop'"),
    ],
)
def test_what_is_no_query_changes_nothing_and_is_told_the_tables(
    spark: Any, path: str, sql: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = SnapshotLog.open(path).version
    with pytest.raises(QueryError, match=r'(?s)The tables are:\n.*"keeps"."sum"\n.*"entries"\n  "changes"$') as error:
        query_on_spark(spark, path, sql)
    assert said in str(error.value).splitlines()[0]
    assert SnapshotLog.open(path).version == before
    assert capsys.readouterr().err == ""


def test_rows_come_before_the_query_has_ended(spark: Any, path: str) -> None:
    sql = "select value from keeps.sum union all select cast(raise_error('too late') as bigint)"
    reader = query_on_spark(spark, path, sql)
    assert reader.read_next_batch()["value"].to_pylist()
    with pytest.raises(SparkFailed, match=r"Spark did not answer the query: .*too late"):
        reader.read_all()


def test_savepoints_of_flink_have_no_changes(spark: Any) -> None:
    path = str(SAVEPOINTS / "small_uid_p2_canonical")
    sql = "select state, kind, count(*) as n from entries group by state, kind order by state, kind"
    assert query_on_spark(spark, path, sql).read_all().to_pylist() == query(path, sql).to_pylist()
    with pytest.raises(QueryError, match=r'"entries"$'):
        query_on_spark(spark, path, "select * from changes")


def test_the_command(spark: Any, path: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[dict[str, str]] = []
    stopped: list[bool] = []

    def session(log: str, options: dict[str, str]) -> Any:
        Path(log).touch()
        started.append({"log": log, **options})
        return SimpleNamespace(newSession=spark.newSession, stop=lambda: stopped.append(True))

    def compat(*arguments: str) -> Any:
        return CliRunner().invoke(main, ["state", path, "--on", "spark", *arguments])

    monkeypatch.setattr(tables, "delta_session", session, raising=False)
    monkeypatch.chdir(tmp_path)
    sql = "select key, value from keeps.sum order by key"
    rows = [{"key": "k0", "value": 3}, {"key": "k1", "value": 5}, {"key": "k2", "value": 7}]
    assert json.loads(compat("--sql", sql, "--format", "json").stdout) == rows
    assert json.loads(compat("--sql", sql, "--format", "json", "--limit", "1").stdout) == rows[:1]
    assert "k2" in compat("--sql", sql).stdout
    assert compat("--sql", sql, "--output", "jsonl=rows.jsonl").stderr == "3 rows in rows.jsonl\n"
    wrong = compat("--sql", "select * from nothing")
    assert (wrong.exit_code, "The tables are:" in wrong.stderr) == (2, True)
    assert not any(Path(each["log"]).parent.exists() for each in started)
    failed = compat("--sql", "select raise_error('no')", "--format", "json")
    assert (failed.exit_code, f"(Spark's log: {started[-1]['log']})" in failed.stderr) == (2, True)
    assert Path(started[-1]["log"]).exists()
    rmtree(Path(started[-1]["log"]).parent)
    assert len(stopped) == len(started)
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]

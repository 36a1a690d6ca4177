"""SQL over state, by Spark: the same tables as with DuckDB, for tables larger than the memory of a process."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql.pandas.types import to_arrow_schema

from compat.compiler.spark.driver.session import reason_of
from compat.state.delta.errors import StoreError
from compat.tables.delta import SparkSnapshot
from compat.tables.reading import open_snapshot
from compat.tables.snapshots import TableState
from compat.tables.source import register
from compat.tables.sql import ALL, QueryError, Table, mentioned, quoted, table_names, with_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CHANGES = "changes"
"""The name of the Delta table of a snapshot of a job on Spark."""
_SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    # A job knows its partitions. A query does not: it begins with many, and Spark joins those that turn out to be small.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.shuffle.partitions": "200",
}
_RELATION, _STAR = "TABLE_OR_VIEW_NOT_FOUND", "CANNOT_RESOLVE_STAR_EXPAND"
_UNKNOWN = {
    _RELATION: "relationName",
    _STAR: "targetString",
    "UNRESOLVED_COLUMN.WITH_SUGGESTION": "objectName",
}
"""What Spark says of a name that it does not know, and the parameter of that message with the name."""
_PART = re.compile(r"`((?:[^`]|``)*)`")
_PACKED = "batch binary"


class SparkFailed(StoreError):
    """Spark did not finish a query."""


def query_on_spark(spark: SparkSession, path: str, sql: str, *, checkpoint: int | None = None) -> pa.RecordBatchReader:
    """The result of a query over the state at a path, batch by batch: of the tables that :func:`compat.tables.query` has.

    The query runs in its own session, and each range of key groups is a task. ``changes`` is the Delta table of a
    job on Spark, for a session with Delta's classes (:func:`compat.tables.delta_session`). Raises QueryError and the errors of
    :func:`compat.tables.read`; while rows are read, SparkFailed.
    """
    snapshot = open_snapshot(path, checkpoint)
    tables = table_names(snapshot.states)
    session = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    register(session)
    others = [("", ALL), *([("", CHANGES)] if isinstance(snapshot, SparkSnapshot) else [])]
    with _explained([*tables, *others]):
        for table, states in mentioned(sql, tables).items():
            chosen = {} if table == ("", ALL) else _options(*states)
            session.read.format("compat").options(path=snapshot.address, **chosen).load().createTempView(
                quoted(_view(table))
            )
        if isinstance(snapshot, SparkSnapshot) and re.search(rf"\b{CHANGES}\b", sql.lower()):
            folder, version = snapshot.table
            session.read.format("delta").option("versionAsOf", version).load(folder).createTempView(CHANGES)
        frame = _analyzed(session, sql.strip().rstrip(";"), tables)
        schema = to_arrow_schema(frame.schema)
    return pa.RecordBatchReader.from_batches(schema, _batches(frame, schema))


@contextmanager
def _explained(tables: Iterable[Table]) -> Iterator[None]:
    """Raises QueryError for what Spark cannot analyze; it is not logged as well."""
    logger = logging.getLogger("SQLQueryContextLogger")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    except AnalysisException as error:
        said = str(error).strip().splitlines()[0].partition(" SQLSTATE")[0]
        raise QueryError(with_tables(said, tables)) from error
    finally:
        logger.setLevel(before)


def _options(state: TableState) -> dict[str, str]:
    return {"operator": state.operator_id, "state": state.name, "kind": state.kind}


def _view(table: Table) -> str:
    """Spark's views of a session have no schemas: theirs is a part of the name."""
    return ".".join(filter(None, table))


def _analyzed(session: SparkSession, sql: str, tables: Iterable[Table]) -> DataFrame:
    """The query, with the names of tables spelled as Spark's views are: wherever it says that it knows no such name."""
    known = {(schema.lower(), name.lower()): (schema, name) for schema, name in tables}
    # Anything but a query is refused here, before it is run: Spark would have it change the table.
    session.sql(f"explain with query as (\n{sql}\n) select * from query")
    while True:
        try:
            return session.sql(sql)
        except AnalysisException as error:
            renamed = _renamed(sql, error, known)
            if renamed is None:
                raise
            sql = renamed


def _renamed(sql: str, error: AnalysisException, known: Mapping[Table, Table]) -> str | None:
    """The query with an unknown name as it is to be; None if that is not one of a table, or of its column."""
    condition, contexts = error.getCondition() or "", error.getQueryContext()
    if condition not in _UNKNOWN or not contexts:
        return None
    said = (error.getMessageParameters() or {})[_UNKNOWN[condition]]
    parts = [part.replace("``", "`") for part in _PART.findall(said)]
    schema, name = [*map(str.lower, parts[:2]), ""][:2]
    table, columns = known.get((schema, name)), parts[2:]
    if table is None and condition != _RELATION:
        # "sum".value, where one table has that name
        named = [each for each in known if each[1] == schema]
        table, columns = known[named[0]] if len(named) == 1 else None, parts[1:]
    if table is None or (condition != _RELATION and condition != _STAR and not columns):
        return None
    star = ".*" if condition == _STAR else ""
    return sql[: contexts[0].startIndex()] + quoted(_view(table), *columns) + star + sql[contexts[0].stopIndex() + 1 :]


def _batches(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows, of which one partition at a time is in this process. Raises SparkFailed."""
    unambiguous = frame.toDF(*(f"c{number}" for number in range(len(schema))))
    try:
        for packed in unambiguous.mapInArrow(_packed, _PACKED).toLocalIterator():
            for batch in pa.ipc.open_stream(packed.batch):
                yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    except Exception as error:
        raise SparkFailed(f"Spark did not answer the query: {reason_of(error)}") from error


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as bytes, which Spark hands on as they are."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"batch": [sink.getvalue().to_pybytes()]})

"""SQL over state, by DuckDB: a table for each state, in a schema for each operator."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from compat.tables.columns import layout_of
from compat.tables.reading import open_snapshot
from compat.tables.snapshots import StateSnapshot, TableState

Table = tuple[str, str]
"""A table's schema and its own name."""
ALL = "entries"
"""The table of all states, with texts where their types differ."""


class QueryError(Exception):
    """A query that is not SQL, or names a missing table or column. The message lists the tables."""


def query(path: str, sql: str, *, checkpoint: int | None = None) -> pa.Table:
    """The result of a query over the state at a path.

    ``"count"."sum"`` is the state *sum* of the operator with the uid (or, without one, the name or the id) *count*; ``entries``
    are all states. Raises QueryError and the errors of :func:`compat.tables.read`; ModuleNotFoundError without duckdb.
    """
    import duckdb

    snapshot = open_snapshot(path, checkpoint)
    tables = table_names(snapshot.states)
    connection = duckdb.connect()
    try:
        for (schema, name), states in mentioned(sql, tables).items():
            _load(connection, snapshot, schema, name, states)
        relation = connection.sql(sql)
        return pa.table({}) if relation is None else relation.to_arrow_table()
    except duckdb.Error as error:
        raise QueryError(with_tables(str(error), [*tables, ("", ALL)])) from error
    finally:
        connection.close()


def with_tables(said: str, tables: Iterable[Table]) -> str:
    """What is said of a query, and which tables it may ask."""
    known = "\n".join(f"  {quoted(*table)}" for table in tables)
    return f"{said}\nThe tables are:\n{known}"


def table_names(states: Sequence[TableState]) -> Mapping[Table, TableState]:
    """The states by schema and table: an operator's uid, else its name, or its id if others have that; and the state's name.

    Where an operator has two states of one name, such as timers of both kinds, the kind follows.
    """
    named = Counter(name for name, _ in {(each.uid or each.operator, each.operator_id) for each in states})
    schemas = {
        each.operator_id: each.operator_id if named[each.uid or each.operator] > 1 else each.uid or each.operator
        for each in states
    }
    several = Counter((each.operator_id, each.name) for each in states)
    return {
        (
            schemas[each.operator_id],
            f"{each.name} ({each.kind})" if several[each.operator_id, each.name] > 1 else each.name,
        ): each
        for each in states
    }


def quoted(*names: str) -> str:
    """The name of a table, quoted for SQL."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names if name)


def mentioned(sql: str, tables: Mapping[Table, TableState]) -> Mapping[Table, Sequence[TableState]]:
    """The tables whose names occur in a query, and their states: only these are read."""
    asked = sql.lower()
    found: dict[Table, Sequence[TableState]] = {
        address: [state]
        for address, state in tables.items()
        if all(part.lower().replace('"', '""') in asked for part in address)
    }
    return found | ({("", ALL): list(tables.values())} if re.search(rf"\b{ALL}\b", asked) else {})


def _load(connection: Any, snapshot: StateSnapshot, schema: str, name: str, states: Sequence[TableState]) -> None:
    layout = layout_of(states)
    reader = pa.RecordBatchReader.from_batches(layout.schema, layout.batches(snapshot.entries(states)))
    if schema:
        connection.execute(f"create schema if not exists {quoted(schema)}").fetchall()
    connection.register("read", reader)
    connection.execute(f"create table {quoted(schema, name)} as select * from read").fetchall()
    connection.unregister("read")

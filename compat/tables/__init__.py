"""State as tables: of a job, a checkpoint or a savepoint on Spark, and of a savepoint of Flink.

    read("…/savepoint-1a2b3c", operator="count").read_all()   # an Arrow table: pandas, DuckDB and Polars take it
    register(spark)                                           # then spark.read.format("compat").option("path", …).load()

A row is an entry: there is one for each key, namespace and map key. Keys and values have the types that the state declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compat.compiler.spark.driver.delta_jars import delta_session
    from compat.tables.difference import Difference, compare
    from compat.tables.reading import read, read_table
    from compat.tables.source import StateSource, register
    from compat.tables.spark_sql import query_on_spark
    from compat.tables.sql import query

__all__ = [
    "Difference",
    "StateSource",
    "compare",
    "delta_session",
    "query",
    "query_on_spark",
    "read",
    "read_table",
    "register",
]

_HOMES = {
    "Difference": ".difference",
    "StateSource": ".source",
    "compare": ".difference",
    "delta_session": "compat.compiler.spark.driver.delta_jars",
    "query": ".sql",
    "query_on_spark": ".spark_sql",
    "read": ".reading",
    "read_table": ".reading",
    "register": ".source",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name], __name__), name)

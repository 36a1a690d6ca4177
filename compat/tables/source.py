"""State as a data source of PySpark: ``spark.read.format("compat").option("path", …).load()``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, EqualTo, Filter, In, InputPartition

from compat.tables.columns import layout_of
from compat.tables.reading import choose, open_snapshot
from compat.tables.snapshots import StateSnapshot, TableState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
_COLUMNS = {"operator": "operator", "uid": "uid", "operator_id": "operator_id", "state": "name", "kind": "kind"}


def register(spark: SparkSession) -> None:
    """Let a session read state as ``format("compat")``, with filters on operators and states pushed down."""
    spark.conf.set(_PUSHDOWN, "true")
    spark.dataSource.register(StateSource)


class StateSource(DataSource):
    """The state of a job on Spark, of a savepoint of one, or of a savepoint of Flink.

    Options: ``path``; ``operator`` (uid, name or id), ``state`` and ``kind``, to read some of it; ``checkpoint``, the number of
    the one to read. If keys or values of the chosen states differ in type, they are texts.
    """

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "compat"

    def schema(self) -> StructType:
        """The columns; see :func:`compat.tables.read`."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(layout_of(self._chosen(self._snapshot())).schema)

    def reader(self, schema: StructType) -> StateReader:
        """The reader of the chosen states."""
        snapshot = self._snapshot()
        return StateReader(snapshot, self._chosen(snapshot))

    def _snapshot(self) -> StateSnapshot:
        return open_snapshot(self._path(), self._checkpoint())

    def _chosen(self, snapshot: StateSnapshot) -> list[TableState]:
        chosen = choose(snapshot.states, self.options.get("operator"), self.options.get("state"))
        return [each for each in chosen if self.options.get("kind") in (None, each.kind)]

    def _path(self) -> str:
        if "path" not in self.options:
            raise ValueError("The option 'path' is missing: a savepoint, or a job's folder in its store.")
        return str(self.options["path"])

    def _checkpoint(self) -> int | None:
        given = self.options.get("checkpoint")
        if given is not None and not given.isdigit():
            raise ValueError(f"The option 'checkpoint' is the number of a checkpoint, not {given!r}.")
        return None if given is None else int(given)


class Part(InputPartition):
    """A range of key groups; None is all."""

    def __init__(self, key_groups: range | None) -> None:
        super().__init__(key_groups)
        self.key_groups = key_groups


class StateReader(DataSourceReader):
    """Reads states, a range of key groups a task, all of one version. Columns are those of the states chosen by options."""

    def __init__(self, snapshot: StateSnapshot, states: list[TableState]) -> None:
        self._snapshot = snapshot
        self._laid_out, self._states = states, states

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - PySpark's name
        """Take over the filters that compare operators, states or kinds with texts; the others stay Spark's."""
        for each in filters:
            column = ".".join(getattr(each, "attribute", ()))
            if isinstance(each, (EqualTo, In)) and column in _COLUMNS:
                values = {each.value} if isinstance(each, EqualTo) else set(each.value)
                name = _COLUMNS[column]
                self._states = [state for state in self._states if getattr(state, name) in values]
            else:
                yield each

    def partitions(self) -> list[InputPartition]:
        """Ranges of key groups, from the snapshot; none if no state is left."""
        if not self._states:
            return []
        return [Part(part) for part in self._snapshot.parts()]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """The entries of a range of key groups."""
        yield from layout_of(self._laid_out).batches(self._snapshot.entries(self._states, partition.key_groups))

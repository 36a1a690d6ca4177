"""A sink into a Delta table, exactly once: writers write Parquet files, the committer names them in one commit an epoch."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any

from compiler.datastream.connectors.base import Sink, committer, writer
from compiler.spark.sinks import WriterContext
from compiler.transformations.model import SinkTopology


class DeltaSink(Sink):
    """Appends records to the Delta table at ``path``; a record is a dict, a named Row, or a tuple of the ``columns``."""

    connector = "delta"

    def __init__(self, path: str, columns: list[str] | None = None) -> None:
        super().__init__(settings={"path": str(path), "columns": columns})

    def topology(self) -> SinkTopology:
        return SinkTopology(writer=writer(self), committer=committer(self))

    def create_writer(self, context: WriterContext) -> DeltaWriter:
        """The writer of a subtask."""
        return DeltaWriter(self.settings["path"], self.settings["columns"])

    def create_committer(self) -> DeltaCommitter:
        """The committer."""
        return DeltaCommitter(self.settings["path"])


class DeltaWriter:
    """Writes the records of an epoch into a Parquet file that no commit names yet."""

    def __init__(self, path: str, columns: list[str] | None) -> None:
        self._path, self._columns = path, columns
        self._rows: list[dict[str, Any]] = []

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        if hasattr(value, "as_dict"):
            value = value.as_dict()
        elif not isinstance(value, dict):
            fields = value if isinstance(value, (tuple, list)) else (value,)
            value = dict(zip(self._columns or [f"f{n}" for n in range(len(fields))], fields, strict=True))
        self._rows.append(value)

    def prepare_commit(self) -> list[Any]:
        """Write the file; gives its name, its size, its number of rows and its schema."""
        if not self._rows:
            return []
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(self._rows)
        os.makedirs(self._path, exist_ok=True)
        name = f"part-{uuid.uuid4().hex}.parquet"
        pq.write_table(table, os.path.join(self._path, name))
        size = os.path.getsize(os.path.join(self._path, name))
        return [(name, size, table.num_rows, table.schema.serialize().to_pybytes())]


class DeltaCommitter:
    """Commits the files of an epoch, unless Delta's transaction id says that it was done before."""

    def __init__(self, path: str) -> None:
        self._path = path

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """One commit for all files of the epoch."""
        import json

        import pyarrow as pa
        from deltalake import CommitProperties, DeltaTable, Transaction
        from deltalake.transaction import AddAction

        job, epoch = transaction
        schema = pa.ipc.read_schema(pa.py_buffer(committables[0][3]))
        if DeltaTable.is_deltatable(self._path):
            table = DeltaTable(self._path)
        else:
            table = DeltaTable.create(self._path, schema, mode="ignore")
        if (table.transaction_version(job) or 0) >= epoch:
            return
        actions = [
            AddAction(name, size, {}, int(time.time() * 1000), True, json.dumps({"numRecords": rows}))
            for name, size, rows, _ in committables
        ]
        properties = CommitProperties(app_transactions=[Transaction(job, epoch)])
        table.create_write_transaction(actions, "append", schema, commit_properties=properties)

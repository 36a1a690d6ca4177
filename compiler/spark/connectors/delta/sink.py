"""A sink into a Delta table, exactly once: writers write Parquet files, the committer names them in one commit an epoch."""

from __future__ import annotations

import io
import json
import os
import time
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from compat.compiler.spark.connectors.arrow import as_dict, schema_of
from compat.compiler.spark.runtime_api.sinks import ProvingCommitter, WriterContext, unwritable_sink
from compat.state.delta.errors import StoreError
from compat.state.delta.files import named_files, sync_commit
from compat.state.stores.local import make_folder, sync
from compat.state.stores.options import table_options
from compat.state.stores.paths import Place, place_of
from compat.state.stores.schemes import why_no_place

Settings = Mapping[str, Any]
_NULL = "__HIVE_DEFAULT_PARTITION__"


def _place(settings: Settings) -> Place:
    return place_of(str(settings["path"]), "The sink's folder")


def _found(place: Place) -> Any:
    """The table that is there, or None."""
    from deltalake import DeltaTable

    options = table_options(place.path)
    if not DeltaTable.is_deltatable(place.path, storage_options=options):
        return None
    return DeltaTable(place.path, storage_options=options)


def unsupported(settings: Settings) -> str | None:
    """Why a Delta sink cannot be run; None for one that can."""
    if settings.get("merge_schema"):
        return "the Delta sink adds no columns to a table: take with_merge_schema out"
    return why_no_place(str(settings["path"]))


def _table_schema(settings: Settings) -> Any:
    """The columns that the sink's type declares, or those of the table that is there; None if neither is known."""
    import pyarrow as pa

    if settings.get("row_type") is not None:
        return schema_of(settings["row_type"])
    table = _found(_place(settings))
    return None if table is None else pa.schema(table.schema().to_arrow())


class DeltaWriter:
    """Writes the records of an epoch into Parquet files that no commit names yet, one a partition of the table.

    A record is a row, a dict, or a tuple in the order of the sink's row type.
    """

    def __init__(self, settings: Settings, context: WriterContext) -> None:
        self._settings = settings
        self._mark = context.mark
        self._partitioned: tuple[str, ...] = settings.get("partition_columns", ())
        self._schema = _table_schema(settings)
        self._rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        """A record."""
        row = as_dict(value, None if self._schema is None else self._schema.names)
        self._rows.setdefault(tuple(row[name] for name in self._partitioned), []).append(row)

    def prepare_commit(self) -> list[Any]:
        """Write the files; gives of each its name, its size, its number of rows, its partition and the table's schema."""
        import pyarrow as pa

        made = []
        for values, rows in self._rows.items():
            schema = self._schema
            if schema is None:
                schema = pa.Table.from_pylist(rows).schema
                unknown = [field.name for field in schema if pa.types.is_null(field.type)]
                if unknown:
                    raise ValueError(
                        f"The columns {unknown} of a new Delta table have no value that tells their type: give the sink its "
                        "row type, as in DeltaSink.for_row_data(path, Types.ROW_NAMED(…))."
                    )
            made.append(self._write(dict(zip(self._partitioned, values, strict=True)), rows, schema))
        self._rows.clear()
        return made

    def _write(self, partition: dict[str, Any], rows: list[dict[str, Any]], schema: Any) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist(rows, schema=schema).drop_columns(list(partition))
        texts = {name: None if value is None else str(value) for name, value in partition.items()}
        folders = [f"{name}={_NULL if text is None else quote(text, safe='')}" for name, text in texts.items()]
        name = "/".join([*folders, f"part-{uuid.uuid4().hex}-{self._mark}.parquet"])
        folder = _place(self._settings)
        place = folder / name
        try:
            if place.local:
                make_folder(os.path.dirname(place))
                pq.write_table(table, place.path)
                sync(place.path)
                size = os.path.getsize(place)
            else:
                written = io.BytesIO()
                pq.write_table(table, written)
                size = written.tell()
                place.upload(written)
        except OSError as error:
            raise unwritable_sink(folder, error) from error
        return name, size, table.num_rows, texts, schema.serialize().to_pybytes()


def _files_of(folder: Place) -> list[str]:
    """The data files of a table as it is now, if there is one: a checkpoint may have those whose commits are gone."""
    from deltalake import DeltaTable

    options = table_options(folder.path)
    if not DeltaTable.is_deltatable(folder.path, storage_options=options):
        return []
    actions = DeltaTable(folder.path, storage_options=options).get_add_actions()
    return [unquote(str(name)) for name in actions.column(actions.schema.names.index("path")).to_pylist()]


class DeltaCommitter(ProvingCommitter):
    """Commits the files of an epoch, unless Delta's transaction id says that it was done before."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def sweep(self, job_id: str, epoch: int, pending: Collection[str]) -> None:
        from deltalake.exceptions import DeltaError

        folder = _place(self._settings)
        own = [
            file
            for file in folder.walk()
            if file.name.endswith(".parquet") and f"-{job_id}-" in file.name and str(file) not in pending
        ]
        if not own:
            return
        try:  # after that look, so that committed files are not removed
            named = {str(folder / name) for name in (*named_files(folder), *_files_of(folder))}
        except (DeltaError, StoreError):
            return  # a table that cannot be read
        for file in own:
            if str(file) not in named:
                file.delete()

    def files(self, committables: list[Any]) -> Iterable[tuple[str, int]]:
        folder = _place(self._settings)
        return ((str(folder / name), size) for name, size, *_ in committables)

    def commit(self, committables: list[Any], transaction: tuple[str, int]) -> None:
        """One commit for all files of the epoch."""
        import pyarrow as pa
        from deltalake import CommitProperties, DeltaTable, Transaction
        from deltalake.transaction import AddAction

        job, epoch = transaction
        columns = list(self._settings.get("partition_columns", ()))
        schema = pa.ipc.read_schema(pa.py_buffer(committables[0][4]))
        place = _place(self._settings)
        table = _found(place)
        if table is None:
            table = DeltaTable.create(
                place.path,
                schema,
                mode="ignore",
                partition_by=columns or None,
                storage_options=table_options(place.path),
            )
        if (table.transaction_version(job) or 0) >= epoch:
            return
        now = int(time.time() * 1000)
        actions: list[Any] = [
            AddAction(name, size, partition, now, True, json.dumps({"numRecords": rows}))
            for name, size, rows, partition, _ in committables
        ]
        properties = CommitProperties(app_transactions=[Transaction(job, epoch)])
        table.create_write_transaction(actions, "append", schema, columns or None, commit_properties=properties)
        table.update_incremental()
        sync_commit(place, table.version())

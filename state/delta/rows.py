"""The rows of a snapshot table, and their way into and out of Parquet files."""

from __future__ import annotations

import io
import json
import os
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from compat.state.delta.digests import DigestingFile
from compat.state.delta.errors import unwritable
from compat.state.stores.local import sync
from compat.state.stores.paths import place_of

NO_KEY_GROUP = -1
"""The key group of rows that belong to an operator rather than to a key."""

BYTES = pa.large_binary()
"""Binary with offsets of 64 bits: a column may hold more than 2 GB."""

SCHEMA = pa.schema(
    [
        pa.field("operator_id", pa.string(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("key_group", pa.int32(), nullable=False),
        pa.field("state", pa.string(), nullable=False),
        pa.field("key", BYTES, nullable=False),
        pa.field("namespace", BYTES, nullable=False),
        pa.field("map_key", BYTES, nullable=False),
        pa.field("value", BYTES),
        pa.field("timestamp", pa.int64()),
        pa.field("epoch", pa.int64(), nullable=False),
        pa.field("tombstone", pa.bool_(), nullable=False),
    ]
)
_ONCE = {
    field.name: pa.dictionary(pa.int32(), pa.string() if field.type == pa.string() else pa.binary())
    for field in SCHEMA
    if field.name in ("operator_id", "kind", "state", "namespace", "map_key")
}
SCHEMA_OF_MANY = pa.schema([field.with_type(_ONCE.get(field.name, field.type)) for field in SCHEMA])
"""The schema with dictionaries for columns of mostly one value: half of the memory, and of the time to sort and write it."""
_COMMENTS = {
    "operator_id": "The operator: Flink's id of it, in hexadecimal digits",
    "kind": "What the row belongs to: value, list, map, event-timer, processing-timer, broadcast, operator, task or job",
    "key_group": "Flink's key group; -1 where there is no key",
    "state": "The name of the state",
    "key": "The key, in the encoding of its declared type",
    "namespace": "The window; empty for none",
    "map_key": "The key in a map, or the number of a part of a list",
    "value": "The value, in the encoding of its declared type",
    "timestamp": "When a timer is due, or a value was last used: milliseconds since 1970",
    "epoch": "The checkpoint that the row came with: of rows that agree in all before, the highest counts",
    "tombstone": "Whether the entry was removed",
}
EMPTY = SCHEMA.empty_table()
"""No rows: to make such a table takes as long as to read a small file."""
COMMENTED = pa.schema([field.with_metadata({"comment": _COMMENTS[field.name]}) for field in SCHEMA])
"""The schema of a new table: each column has a comment."""

_STATISTICS = ("operator_id", "key_group", "epoch")
CLUSTERED_BYTES = 64 * 1024 * 1024
"""The bytes from which tables are sorted by key group, which takes as long as to write them."""
_GROUP_BYTES, _GROUP_ROWS = 4 * 1024 * 1024, 1024 * 1024
"""The approximate bytes and rows of a row group in such tables."""


class Row(NamedTuple):
    """One change: ``value`` is None for a tombstone. ``kind`` is one of :class:`Kind`; the rest is encoded bytes."""

    operator_id: str
    kind: str
    key_group: int
    state: str
    key: bytes
    namespace: bytes
    map_key: bytes
    value: bytes | None
    timestamp: int | None = None


class Kind:
    """The kind of thing that a row belongs to."""

    VALUE = "value"
    LIST = "list"
    MAP = "map"
    EVENT_TIMER = "event-timer"
    PROCESSING_TIMER = "processing-timer"
    BROADCAST = "broadcast"
    OPERATOR = "operator"
    TASK = "task"
    JOB = "job"


class DataFile(Struct, frozen=True):
    """A Parquet file of rows that a task wrote and no commit names yet. ``path`` is relative to the table."""

    path: str
    size: int
    stats: str


def table_of(rows: Sequence[Row], epoch: int) -> pa.Table:
    """Rows as an Arrow table."""
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(Row._fields)
    arrays = [pa.array(column, SCHEMA.field(name).type) for name, column in zip(Row._fields, columns, strict=True)]
    arrays.append(pa.array([epoch] * len(rows), pa.int64()))
    arrays.append(pa.array([value is None for value in columns[7]], pa.bool_()))
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def one_value(name: str, value: Any, count: int) -> pa.DictionaryArray:
    """A column of :data:`SCHEMA_OF_MANY` in which all rows have the same value."""
    indices = pa.array(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value], _ONCE[name].value_type))


def together(tables: Sequence[pa.Table]) -> pa.Table:
    """The rows of some tables, one after the other."""
    return tables[0] if len(tables) == 1 else pa.concat_tables([EMPTY, *tables])


FEW = 500
"""The number of rows up to which they are handled one by one: that is done before Arrow has begun."""


def counted(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The distinct rows of a table, with the number of times each occurs."""
    if table.num_rows <= FEW:
        return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))
    groups = table.group_by(table.column_names, use_threads=False).aggregate([([], "count_all")])
    *columns, numbers = (column.to_pylist() for column in groups.columns)
    return Counter(dict(zip(zip(*columns, strict=True), numbers, strict=True)))


def write_table(directory: str, table: pa.Table) -> DataFile:
    """Write a Parquet file into a table's directory; gives the facts that a commit needs. Raises StoreError.

    A large table is written by key group: readers of some key groups read no others.
    """
    if table.nbytes < CLUSTERED_BYTES:
        return _write(directory, table, table.num_rows)
    return write_clustered(directory, table, _GROUP_BYTES)


def write_clustered(directory: str, table: pa.Table, group_bytes: int) -> DataFile:
    """The same by key group in any case, in row groups of about so many bytes, the least that is read of a file."""
    return _write(directory, by_group(table), table.num_rows * group_bytes // max(table.nbytes, 1))


def by_group(table: pa.Table) -> pa.Table:
    """The rows by key group; within a key group, in their order."""
    groups = table["key_group"].to_numpy()
    if bool((groups[1:] >= groups[:-1]).all()):
        return table
    return table.take(
        pa.array(np.argsort(groups.astype(np.int16), kind="stable"))
    )  # so short numbers are sorted at once


def _write(directory: str, table: pa.Table, group_rows: int) -> DataFile:
    folder = place_of(directory)
    try:
        if folder.local:
            begun = folder / f"part-{uuid.uuid4().hex}.parquet"
            with open(begun, "xb") as file:
                digesting = DigestingFile(file)
                _encode(table, digesting, group_rows)
            sync(begun.path)
            os.rename(begun, folder / digesting.name)
        else:
            written = io.BytesIO()
            digesting = DigestingFile(written)
            _encode(table, digesting, group_rows)
            (folder / digesting.name).upload(written)
    except OSError as error:
        raise unwritable("The store", directory, error, "go on from a copy of it elsewhere with -s") from error
    return DataFile(digesting.name, digesting.tell(), _statistics(table))


def _encode(table: pa.Table, target: DigestingFile, group_rows: int) -> None:
    """Write a table as Parquet."""
    pq.write_table(
        table,
        target,
        row_group_size=max(1, min(_GROUP_ROWS, group_rows)),
        compression="zstd",
        compression_level=1,
        use_dictionary=["operator_id", "kind", "state", "key_group", "namespace", "epoch", "map_key"],
        write_statistics=list(_STATISTICS),
        write_page_checksum=True,
        store_schema=table.schema.equals(SCHEMA),  # who reads it as Arrow must not find our dictionaries there
    )


def write_rows(directory: str, rows: Sequence[Row], epoch: int) -> DataFile:
    """Write rows of an epoch into a table's directory."""
    return write_table(directory, table_of(rows, epoch))


def _statistics(table: pa.Table) -> str:
    stats: dict[str, Any] = {"numRecords": table.num_rows, "minValues": {}, "maxValues": {}, "nullCount": {}}
    if table.num_rows:
        for name in _STATISTICS:
            stats["minValues"][name], stats["maxValues"][name] = limits(table[name])
            stats["nullCount"][name] = 0
    return json.dumps(stats)


def limits(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """The minimum of some values, and the maximum."""
    if len(column) <= FEW:
        values = column.to_pylist()
        return min(values), max(values)
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.unique().cast(column.type.value_type)
    least, greatest = pc.min_max(column).as_py().values()
    return least, greatest


def read_rows(table: pa.Table) -> Iterator[Row]:
    """The rows of an Arrow table; those of tombstones have no value."""
    for batch in table.select(Row._fields).to_batches(max_chunksize=65536):
        yield from map(Row._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))


def now_millis() -> int:
    """The time in milliseconds, as in Delta's files."""
    return int(time.time() * 1000)

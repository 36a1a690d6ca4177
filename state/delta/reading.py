"""The data files of a snapshot table, and their rows: all at once, or in batches that fit into memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from compat.state.delta.digests import prove_bytes
from compat.state.delta.errors import StoreError, in_one_line
from compat.state.delta.rows import SCHEMA, DataFile
from compat.state.stores.ahead import fetched_ahead
from compat.state.stores.paths import Place

BATCH_BYTES = 16 * 1024 * 1024
"""The approximate bytes of a batch of rows."""
_MOST_ROWS = 65_536
_ROW_BYTES = 128
"""The memory of a row besides its values: Arrow has names in each row, which Parquet writes once."""
_WHOLE_BYTES = 4 * 1024 * 1024
"""A file of up to this many bytes is read at once: elsewhere that is one request, and its digest is proven."""
_BUFFER_BYTES = 1024 * 1024


class LogFile(Struct, frozen=True):
    """A data file of a version of the table, with the ranges its statistics give."""

    path: str
    rows: int
    size: int
    operators: tuple[str, str]
    key_groups: tuple[int, int]
    epochs: tuple[int, int]

    def has_groups(self, groups: range) -> bool:
        """True if rows of some of these key groups may be in it."""
        low, high = self.key_groups
        return low < groups.stop and high >= groups.start


def log_file(file: DataFile) -> LogFile:
    """The same for a file that no commit names yet."""
    stats = json.loads(file.stats)
    return ranged(file.path, stats["numRecords"], file.size, stats["minValues"], stats["maxValues"])


def ranged(path: str, rows: int, size: int, low: Mapping[str, Any], high: Mapping[str, Any]) -> LogFile:
    """A data file with the lowest and highest values of its columns, if known: otherwise it may contain any."""

    def limits(name: str, lowest: Any, highest: Any) -> tuple[Any, Any]:
        least, most = low.get(name), high.get(name)
        return lowest if least is None else least, highest if most is None else most

    return LogFile(
        path=path,
        rows=rows,
        size=size,
        operators=limits("operator_id", "", "\uffff"),  # in JSON one escape: Delta misreads those of two
        key_groups=limits("key_group", -1, 1 << 30),
        epochs=limits("epoch", 0, 1 << 62),
    )


Fetched = Callable[[], bytes]
"""Gives the bytes of a small file. Raises OSError."""


def ahead(table: Place, files: Iterable[LogFile]) -> Iterator[tuple[LogFile, Fetched]]:
    """Data files of a table, in order, each with its bytes where it is small: elsewhere these are fetched side by side."""

    def get(file: LogFile) -> bytes:
        return (table / file.path).read() if file.size <= _WHOLE_BYTES else b""

    return fetched_ahead(get, files, local=table.local)


@contextmanager
def opened(table: Place, file: LogFile, fetched: Fetched | None = None) -> Iterator[pq.ParquetFile]:
    """A data file of a table, opened. Raises StoreError if it is missing or damaged, even if that is found while reading."""
    place = table / file.path
    try:
        with (
            _whole(place, fetched or place.read) if file.size <= _WHOLE_BYTES else _large(place) as source,
            pq.ParquetFile(source, buffer_size=_BUFFER_BYTES, page_checksum_verification=True) as parquet,
        ):
            yield parquet
    except FileNotFoundError as error:
        raise StoreError(
            f"{table} lacks the file {file.path}: the checkpoint is not retained any more, or someone removed it."
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"The file {file.path} of {table} cannot be read: {in_one_line(error)}. compat fsck {table} tells what else is "
            f"damaged. Put the file back from a copy, or go on from a savepoint with -s."
        ) from error


def _whole(place: Place, fetched: Fetched) -> AbstractContextManager[Any]:
    """What pyarrow reads a small Parquet file from: its bytes, which are those that were written."""
    data = fetched()
    prove_bytes(place.path, data)
    return nullcontext(pa.BufferReader(data))


def _large(place: Place) -> AbstractContextManager[Any]:
    """The same for a large one; of one elsewhere only what is wanted of it. Its pages have checksums."""
    return nullcontext(place.path) if place.local else place.open()


class RowGroup(NamedTuple):
    """A row group of a data file: its lowest and highest key group, None if nothing says them, its bytes in memory, and
    its rows."""

    number: int
    groups: tuple[int, int] | None
    size: int
    rows: int


def row_groups(parquet: pq.ParquetFile) -> list[RowGroup]:
    """The row groups of a file, as its footer has them."""
    count = parquet.num_row_groups
    if count == 1:  # it has what the file has
        only = parquet.metadata.row_group(0)
        return [RowGroup(0, None, _unpacked(only), only.num_rows)]
    at = parquet.schema_arrow.names.index("key_group")
    found = []
    for number in range(count):
        group = parquet.metadata.row_group(number)
        told = group.column(at).statistics
        limits = (told.min, told.max) if told is not None and told.has_min_max else None
        found.append(RowGroup(number, limits, _unpacked(group), group.num_rows))
    return found


def _unpacked(group: Any) -> int:
    return int(group.total_byte_size) + _ROW_BYTES * int(group.num_rows)


def batches(
    table: Place,
    file: LogFile,
    columns: Sequence[str] | None = None,
    wanted: Callable[[RowGroup], bool] = lambda _: True,
    fetched: Fetched | None = None,
) -> Iterator[pa.Table]:
    """The rows of a data file, or some of their columns, or those of the wanted row groups, in order. Raises StoreError."""
    schema = schema_of(columns)
    with opened(table, file, fetched) as parquet:
        for number, _, size, rows in filter(wanted, row_groups(parquet)):
            most = max(1, min(_MOST_ROWS, rows * BATCH_BYTES // max(size, 1)))
            for batch in parquet.iter_batches(most, row_groups=[number], columns=schema.names):
                yield as_of(schema, pa.Table.from_batches([batch]))


def schema_of(columns: Sequence[str] | None) -> pa.Schema:
    """The schema of all columns, or of some."""
    return SCHEMA if columns is None else _schema_of(tuple(columns))


@cache
def _schema_of(columns: tuple[str, ...]) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in columns])


def as_of(schema: pa.Schema, table: pa.Table) -> pa.Table:
    """A table cast to the schema: other writers may have used narrower types."""
    return table if table.schema.equals(schema) else table.cast(schema)

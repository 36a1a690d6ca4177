"""Writes rows into files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pyarrow as pa

from compat.tables.columns import text

_Write = Callable[[pa.RecordBatch], object]


def write(reader: pa.RecordBatchReader, form: str, path: str) -> int:
    """Write all rows as ``parquet``, ``csv`` or ``jsonl``; gives how many. Raises OSError.

    The file appears under its name when it is whole. In CSV, values other than numbers and texts are JSON.
    """
    fresh = f"{path}.{os.getpid()}.new"
    try:
        with open(fresh, "wb") as file:
            count = _FORMS[form](reader, file)
        os.replace(fresh, path)
    finally:
        if os.path.exists(fresh):
            os.unlink(fresh)
    return count


def _parquet(reader: pa.RecordBatchReader, file: object) -> int:
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, reader.schema, compression="zstd") as writer:
        return _each(reader, writer.write_batch)


def _csv(reader: pa.RecordBatchReader, file: object) -> int:
    import pyarrow.csv as pc

    flat = [pa.types.is_nested(field.type) or pa.types.is_binary(field.type) for field in reader.schema]
    fields = [
        field.with_type(pa.string()) if nested else field for field, nested in zip(reader.schema, flat, strict=True)
    ]
    schema = pa.schema(fields)

    def rows(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [
            pa.array(map(text, column.to_pylist()), pa.string()) if nested else column
            for column, nested in zip(batch.columns, flat, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    with pc.CSVWriter(file, schema) as writer:
        return _each(reader, lambda batch: writer.write_batch(rows(batch)))


def _json_lines(reader: pa.RecordBatchReader, file: object) -> int:
    def lines(batch: pa.RecordBatch) -> None:
        for row in batch.to_pylist(maps_as_pydicts="lossy"):
            file.write(json.dumps(row, default=text, ensure_ascii=False).encode() + b"\n")  # type: ignore[attr-defined]

    return _each(reader, lines)


def _each(reader: pa.RecordBatchReader, write: _Write) -> int:
    count = 0
    for batch in reader:
        write(batch)
        count += batch.num_rows
    return count


_FORMS = {"parquet": _parquet, "csv": _csv, "jsonl": _json_lines}

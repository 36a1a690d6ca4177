"""Doubles of the libraries below the execution: the log of a Delta table, files of columns, LMDB.

Each answers as the library does, which laws show, and takes microseconds where that takes milliseconds. They stand at the
libraries' own interfaces, so that nothing of ours is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import deltalake
import lmdb
import pyarrow.parquet as pq

from compat.compiler.spark.connectors.delta import sink as delta_sink
from compat.compiler.spark.connectors.files import sink as file_sink
from compat.state.delta import files, log, rows, table
from compat.state.stores import local
from tests.simulation.doubles.columns import ColumnFiles
from tests.simulation.doubles.delta import Tables
from tests.simulation.doubles.replicas import Environments


def _stays(path: Any) -> None:
    """In the place of ``sync``: no power is cut here."""


@contextmanager
def doubled() -> Iterator[None]:
    """While this is entered, the libraries are doubles that know nothing yet."""
    tables, columns = Tables(), ColumnFiles()
    patches = [
        patch.object(deltalake, "DeltaTable", tables.table),
        *(patch.object(module, "DeltaTable", tables.table) for module in (log, table)),
        patch.object(pq, "write_table", columns.write_table),
        patch.object(pq, "ParquetFile", columns.opened),
        patch.object(lmdb, "open", Environments().open),
        *(patch.object(module, "sync", _stays) for module in (local, files, rows, file_sink, delta_sink)),
    ]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()

"""Doubles of the libraries below the execution: the log of a Delta table, files of columns, LMDB.

Each answers as the library does, which laws show, and takes microseconds where that takes milliseconds. They stand at the
libraries' own interfaces, so that nothing of ours is replaced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import deltalake
import lmdb
import pyarrow.parquet as pq

from compat.state.delta import log
from tests.simulation.doubles.columns import ColumnFiles
from tests.simulation.doubles.delta import Tables
from tests.simulation.doubles.replicas import Environments


@contextmanager
def doubled() -> Iterator[None]:
    """While this is entered, the libraries are doubles that know nothing yet."""
    tables, columns = Tables(), ColumnFiles()
    patches = [
        patch.object(deltalake, "DeltaTable", tables.table),
        patch.object(log, "DeltaTable", tables.table),
        patch.object(pq, "write_table", columns.write_table),
        patch.object(pq, "ParquetFile", columns.opened),
        patch.object(lmdb, "open", Environments().open),
    ]
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in reversed(patches):
            one.stop()

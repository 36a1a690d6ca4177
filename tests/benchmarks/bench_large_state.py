"""Work on a large log alone, without the job that fills it: compaction, savepoint and restore by tasks of Spark.

    python tests/benchmarks/bench_large_state.py --keys 20000000 --bytes 500 --folder /big/disk     # 10 GB of values

A log of ten epochs is made of random values. Prints the seconds of each step by the clock, and the highest memory of the driver
and of a worker: their own, without pages of files. Nothing of it may grow with the number of keys.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from compat.compiler.spark.driver.restored import tally, total
from compat.compiler.spark.driver.session import Spark
from compat.compiler.spark.driver.workers import SparkWorkers
from compat.state.delta.compaction import decide
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import BYTES, SCHEMA, Kind, write_table
from compat.state.delta.savepoint import LogState, import_snapshot, write_savepoint

sys.path.insert(0, str(Path(__file__).parent))
from bench_large import _sizes

EPOCHS = 10
GROUPS = 128
FILE_ROWS = 200_000
OLD, NEW = "a" * 32, "b" * 32


def _rows(epoch: int, keys: Any, size: int) -> pa.Table:
    count = len(keys)

    def column(data: Any, width: int) -> pa.Array:
        offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int64) * width)
        return pa.Array.from_buffers(BYTES, count, [None, offsets, pa.py_buffer(np.ascontiguousarray(data))])

    def same(value: Any, name: str) -> pa.Array:
        return pa.repeat(pa.scalar(value, SCHEMA.field(name).type), count)

    columns = {
        "operator_id": same(OLD, "operator_id"),
        "kind": same(Kind.VALUE, "kind"),
        "key_group": pa.array((keys * 2654435761 % 2**32 >> 20) % GROUPS, pa.int32()),
        "state": same("value", "state"),
        "key": column(keys.astype(">i8"), 8),
        "namespace": same(b"", "namespace"),
        "map_key": same(b"", "map_key"),
        "value": column(np.random.default_rng(int(keys[0])).integers(48, 112, count * size, dtype=np.uint8), size),
        "timestamp": same(None, "timestamp"),
        "epoch": same(epoch, "epoch"),
        "tombstone": same(False, "tombstone"),
    }
    return pa.table(columns, SCHEMA)


@contextmanager
def _step(name: str) -> Iterator[None]:
    """Measure a step."""
    highest: defaultdict[str, int] = defaultdict(int)
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.25):
            for kind, size in _sizes(os.getpid()):
                highest[kind] = max(highest[kind], size)

    looking = threading.Thread(target=look)
    looking.start()
    began = time.perf_counter()
    try:
        yield
    finally:
        over.set()
        looking.join()
    told = ", ".join(f"{kind} {size / 1e6:,.0f}" for kind, size in sorted(highest.items()))
    print(f"{name}: {time.perf_counter() - began:.0f} s; MB at most: {told}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=500, help="of each value")
    parser.add_argument("--folder", help="where the state goes (default: a folder for temporary files)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-large-", dir=given.folder) as name:
        folder = Path(name)
        spark = Spark("local[2]", None, (), str(folder / "spark.log"))
        workers = SparkWorkers(lambda: spark, "job")
        log = SnapshotLog.create(folder / "state")
        with _step(f"{given.keys:,} keys of {given.bytes:,} bytes are made"):
            for epoch, keys in enumerate(np.array_split(np.arange(given.keys), EPOCHS), start=1):
                parts = np.array_split(keys, -(-len(keys) // FILE_ROWS))
                files = [write_table(log.path, _rows(epoch, part, given.bytes)) for part in parts]
                log.commit(epoch, files, {"token": f"t{epoch}"})
        print(f"   {len(log.files())} files, {sum(file.size for file in log.files()) / 1e6:,.0f} MB", flush=True)
        with _step("compaction"):
            compaction = decide(log)
            assert compaction.commit(log, compaction.done(workers=workers), {"token": f"t{EPOCHS}"})
            log.clean(1)
        with _step("savepoint"):
            path = write_savepoint(LogState.of(log), folder / "savepoint", {}, None, workers)
        target = SnapshotLog.create(folder / "target")
        with _step("restore"):
            saved = SnapshotLog.open(path)
            tallied = total(import_snapshot(saved, target, {OLD: NEW}, frozenset({Kind.TASK}), {}, tally, workers))
        assert tallied[OLD].keys == given.keys
        with _step("a subtask of two reads its half"):
            read = sum(table.num_rows for table in target.changes(-1, range(GROUPS // 2), frozenset({NEW})))
        print(f"   {read:,} rows", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()

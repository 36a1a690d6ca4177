"""Rewriting a snapshot log so that each entry is in it once, without holding up the job for long.

Rows are merged from the youngest file back, as far as the older files are not much larger than what was merged: files then
grow geometrically, and a row is rewritten a logarithmic number of times. All of it is done on Arrow's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.log import LogFile, SnapshotLog, by_epoch
from compat.state.delta.rows import BYTES, SCHEMA, DataFile, write_table
from compat.state.serializers import identity_of

COMPACT_AFTER = 64
"""Data files after which the log is rewritten."""
_ENTRY = ("operator_id", "kind", "key_group", "state", "key", "namespace", "map_key", "timer")
_SLICE_ROWS = 2_000_000
_SLICE_BYTES = 512 * 1024 * 1024
_FILE_ROWS = 1_000_000
_FILE_BYTES = 256 * 1024 * 1024
Mask = Callable[[pa.Table], pa.ChunkedArray]
"""Tells of each row of a table whether it is chosen."""


def compact(log: SnapshotLog, metadata: Mapping[str, Any], pickled: frozenset[str] = frozenset()) -> int:
    """Merge the younger files of a log, or all; gives how many files were merged.

    Versions before this one keep what they had. ``metadata`` is that of the log's last epoch, ``pickled`` are the operators
    whose keys are pickled. Tombstones go once nothing older can hold what they remove; a replica that is further behind than
    that starts anew.
    """
    files = log.files()
    merged = _tail(files)
    whole = len(merged) == len(files)
    fresh = [file for table in _merged(log, merged, pickled) for file in _write(log, table, drop_tombstones=whole)]
    log.replace(merged, fresh, {**metadata, "floor": log.epoch if whole else log.floor})
    return len(merged)


def contents(
    log: SnapshotLog, wanted: Mask | None = None, pickled: frozenset[str] = frozenset(), part: range | None = None
) -> Iterator[pa.Table]:
    """All entries of a log, without tombstones; in tables of some key groups each, in their order.

    Only those of the ``wanted`` rows, which are wholes of entries, and only those of ``part``, a range of key groups, if given.
    """
    for table in _merged(log, log.files(), pickled, wanted, part):
        yield table.filter(pc.invert(table["tombstone"]))


def _merged(
    log: SnapshotLog,
    files: Sequence[LogFile],
    pickled: frozenset[str],
    wanted: Mask | None = None,
    part: range | None = None,
) -> Iterator[pa.Table]:
    """The last row of each entry in the files: in slices that memory holds, whatever the size of the log."""
    for each in slices(log, files):
        one = each if part is None else range(max(each.start, part.start), min(each.stop, part.stop))
        if one:
            yield latest(_tables(log, files, one, wanted), pickled)


def latest(tables: Iterable[pa.Table], pickled: frozenset[str] = frozenset()) -> pa.Table:
    """The last row of each entry, sorted by key group, then by epoch.

    The same key may have been pickled to different bytes: the keys of the operators ``pickled`` are cut to what counts.
    """
    table = by_epoch(pa.concat_tables([SCHEMA.empty_table(), *tables]))
    if not table.num_rows:
        return table
    timer = pc.if_else(pc.ends_with(table["kind"], "timer"), table["timestamp"], pa.scalar(None, pa.int64()))
    keyed = table.select(_ENTRY[:-1]).append_column("timer", timer)
    if pickled:
        keyed = keyed.set_column(_ENTRY.index("key"), "key", _identities(table, pickled))
    keyed = keyed.append_column("place", pa.array(np.arange(table.num_rows)))
    last = keyed.group_by(_telling(keyed), use_threads=False).aggregate([("place", "max")])["place_max"]
    return table.take(last).sort_by([("key_group", "ascending"), ("epoch", "ascending")])


def _telling(keyed: pa.Table) -> list[str]:
    """The columns by which entries differ: most have one value in all rows, and grouping by a column takes long."""
    telling = []
    for name in _ENTRY:
        least, most = pc.min_max(keyed[name]).as_py().values()
        if least != most or 0 < keyed[name].null_count < keyed.num_rows:
            telling.append(name)
    return telling or ["key"]


def _identities(table: pa.Table, pickled: frozenset[str]) -> pa.Array:
    names, keys = table["operator_id"].to_pylist(), table["key"].to_pylist()
    cut = (identity_of(key) if name in pickled else key for name, key in zip(names, keys, strict=True))
    return pa.array(cut, BYTES)


def _tail(files: Sequence[LogFile]) -> list[LogFile]:
    """The youngest files down to the first that is much larger than all of them; whole epochs only."""
    start, rows = len(files), 0
    while start > 0:
        epoch = files[start - 1].epochs[0]
        first = start - 1
        while first > 0 and files[first - 1].epochs[1] >= epoch:
            first -= 1
            epoch = min(epoch, files[first].epochs[0])
        older = sum(file.rows for file in files[first:start])
        if start < len(files) and older > 2 * rows + 10_000:
            break
        start, rows = first, rows + older
    return list(files[start:])


def slices(log: SnapshotLog, files: Sequence[LogFile]) -> list[range]:
    """Ranges of key groups that are small enough to be merged in memory; the first begins with what has no key group."""
    size = sum(map(log.unpacked_size, files))
    count = max(1, sum(file.rows for file in files) // _SLICE_ROWS, -(-size // _SLICE_BYTES))
    highest = max((file.key_groups[1] for file in files), default=0)
    width = -(-(highest + 1) // count) or 1
    cuts = [-1, *range(width, highest + 1, width), max(highest, 0) + 1]
    return [range(low, high) for low, high in pairwise(cuts)]


def _tables(log: SnapshotLog, files: Sequence[LogFile], part: range, wanted: Mask | None) -> Iterator[pa.Table]:
    for file in files:
        low, high = file.key_groups
        if low < part.stop and high >= part.start:
            table = log.read_file(file)
            if wanted is not None:
                table = table.filter(wanted(table))
            if low < part.start or high >= part.stop:
                group = table["key_group"]
                table = table.filter(pc.and_(pc.greater_equal(group, part.start), pc.less(group, part.stop)))
            yield table


def _write(log: SnapshotLog, table: pa.Table, *, drop_tombstones: bool) -> Iterator[DataFile]:
    """Write rows into files whose borders are borders of key groups, so that an entry's rows stay in one file."""
    if drop_tombstones:
        table = table.filter(pc.invert(table["tombstone"]))
    start, most = 0, max(1, min(_FILE_ROWS, table.num_rows * _FILE_BYTES // max(table.nbytes, 1)))
    while start < table.num_rows:
        end = min(start + most, table.num_rows)
        if end < table.num_rows:
            group = table["key_group"][end].as_py()
            rest = table["key_group"].slice(start, end - start)
            inside = pc.sum(pc.less(rest, group)).as_py()
            end = (
                start + inside
                if inside
                else start + pc.sum(pc.less_equal(table["key_group"].slice(start), group)).as_py()
            )
        yield write_table(log.path, table.slice(start, end - start))
        start = end

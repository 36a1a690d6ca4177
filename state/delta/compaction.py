"""Rewrites a snapshot log so that each entry is in it once, without holding up the job for long.

Files are merged from the youngest back, until the next older file is much larger than the merged ones. So files grow
geometrically, and a row is rewritten a logarithmic number of times. The work is done on Arrow's columns, slice by slice.
Between its decision and its commit a compaction changes nothing visible, so it may run in tasks while epochs are committed. If
it is given up, its files belong to no commit, and are swept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.state.delta.files import remove
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import LogFile, batches, log_file
from compat.state.delta.rows import BYTES, FEW, DataFile, write_clustered, write_table
from compat.state.delta.slices import Slice, Source, cut, read_slice
from compat.state.delta.work import HERE, Workers
from compat.state.serializers import identity_of
from compat.state.stores.paths import place_of

COMPACT_AFTER = 64
"""The number of data files after which the log is rewritten."""
_ENTRY = ("operator_id", "kind", "key_group", "state", "key", "namespace", "map_key", "timer")
_FILE_ROWS = 1_000_000
_FILE_BYTES = 256 * 1024 * 1024
_ORDERED_BYTES, _LEAST_GROUP = 128 * 1024 * 1024, 256 * 1024
"""The bytes of a file that are sorted at once; the row groups of the result are as small as slices need, but no smaller."""
Mask = Callable[[pa.Table], pa.ChunkedArray]
"""Chooses rows of a table."""


class Compaction(Struct, frozen=True):
    """A compaction that was decided on: the ``files`` that it merges, and their epoch.

    With ``whole`` they are all that there are, and nothing older holds what tombstones remove.
    """

    table: str
    epoch: int
    files: tuple[LogFile, ...]
    whole: bool
    floor: int

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(file.size for file in self.files)

    def done(self, pickled: frozenset[str] = frozenset(), workers: Workers = HERE) -> list[DataFile]:
        """Write files with the contents of these, each entry once; ``pickled`` are the operators whose keys are pickled.

        Nobody sees anything of it yet. Raises StoreError.
        """
        slices, temporary = slices_of([Source(self.table, file) for file in self.files], self.table, workers)
        made = workers.each(partial(_merged_into, self.table, pickled, self.whole), slices)
        remove(place_of(self.table), temporary)
        return [file for files in made for file in files]

    def commit(self, log: SnapshotLog, made: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Replace the merged files in the log with those ``made``, and keep later ones; ``metadata`` is that of its last epoch.

        False if somebody else rewrote files that were merged: then all stays as it is. Raises StoreError.
        """
        return log.replace(self.files, made, {**metadata, "floor": self.floor})


def decide(log: SnapshotLog) -> Compaction:
    """The compaction of the younger files of a log, or of all."""
    files = log.files()
    merged = _tail(files)
    whole = len(merged) == len(files)
    return Compaction(log.path, log.epoch, tuple(merged), whole, log.epoch if whole else log.floor)


def compact(log: SnapshotLog, metadata: Mapping[str, Any], pickled: frozenset[str] = frozenset()) -> int:
    """Merge the younger files of a log, or all, in this process; gives how many files were merged.

    Versions before this one keep their files. ``metadata`` is that of the log's last epoch, ``pickled`` are the operators with
    pickled keys. A tombstone is removed once no older file can have its entry; a replica that is further behind starts anew.
    """
    compaction = decide(log)
    return len(compaction.files) if compaction.commit(log, compaction.done(pickled), metadata) else 0


def contents(
    log: SnapshotLog, wanted: Mask | None = None, pickled: frozenset[str] = frozenset(), part: range | None = None
) -> Iterator[pa.Table]:
    """All entries of a log, without tombstones; in tables of some key groups each, in their order.

    Only those of the ``wanted`` rows, which are wholes of entries, and only those of ``part``, a range of key groups, if given.
    """
    for one in cut(log.sources(), part).slices:
        table = latest(read_slice(one, wanted), pickled)
        yield table.filter(pc.invert(table["tombstone"]))


def latest(table: pa.Table, pickled: frozenset[str] = frozenset()) -> pa.Table:
    """The last row of each entry, sorted by key group, then by epoch.

    The same key may have been pickled to different bytes: the keys of the operators ``pickled`` are cut to what counts.
    """
    if not table.num_rows:
        return table
    by_age = np.argsort(table["epoch"].to_numpy(), kind="stable")
    timer = pc.if_else(pc.ends_with(table["kind"], "timer"), table["timestamp"], pa.scalar(None, pa.int64()))
    keyed = table.select(_ENTRY[:-1]).append_column("timer", timer)
    if pickled:
        keyed = keyed.set_column(_ENTRY.index("key"), "key", _identities(table, pickled))
    youngest = (_youngest_of_few if table.num_rows <= FEW else _youngest)(keyed, by_age)
    last = by_age[youngest]
    return table.take(pa.array(last[np.lexsort((youngest, table["key_group"].to_numpy()[last]))]))


def _youngest(keyed: pa.Table, by_age: np.ndarray) -> np.ndarray:
    """The places of the last rows of all entries in ``by_age``, which has the rows as they came."""
    age = np.empty_like(by_age)
    age[by_age] = np.arange(keyed.num_rows)
    aged = keyed.append_column("age", pa.array(age))
    found: np.ndarray = (
        aged.group_by(_telling(keyed), use_threads=False).aggregate([("age", "max")])["age_max"].to_numpy()
    )
    return found


def _youngest_of_few(keyed: pa.Table, by_age: np.ndarray) -> np.ndarray:
    """The same, sooner than Arrow has begun to group."""
    rows = list(zip(*(column.to_pylist() for column in keyed.columns), strict=True))
    found = {rows[row]: place for place, row in enumerate(by_age.tolist())}
    return np.fromiter(found.values(), np.int64, len(found))


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
    cut_keys = (identity_of(key) if name in pickled else key for name, key in zip(names, keys, strict=True))
    return pa.array(cut_keys, BYTES)


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


def slices_of(sources: Sequence[Source], folder: str, workers: Workers) -> tuple[tuple[Slice, ...], list[str]]:
    """The slices of some files, none of which has to be read as a whole for many of them. Raises StoreError.

    Unsorted files are written by key group first, into ``folder``. Their names there are given too: they are to be removed.
    """
    found = cut(sources)
    if not found.scattered:
        return found.slices, []
    in_order = partial(_in_order, folder, max(_LEAST_GROUP, _ORDERED_BYTES // len(found.slices)))
    ordered = [file for files in workers.each(in_order, found.scattered) for file in files]
    rest = [source for source in sources if source not in found.scattered]
    again = cut([*rest, *(Source(folder, file) for file in ordered)])
    return again.slices, [file.path for file in ordered]


def _in_order(folder: str, group_bytes: int, source: Source) -> list[LogFile]:
    """Write a file by key group, as files of a bounded size."""
    made: list[LogFile] = []
    rows: list[pa.Table] = []
    for batch in batches(place_of(source.table), source.file):
        rows.append(batch)
        if sum(table.nbytes for table in rows) >= _ORDERED_BYTES:
            made.append(log_file(write_clustered(folder, pa.concat_tables(rows), group_bytes)))
            rows = []
    if rows:
        made.append(log_file(write_clustered(folder, pa.concat_tables(rows), group_bytes)))
    return made


def _merged_into(folder: str, pickled: frozenset[str], drop_tombstones: bool, one: Slice) -> list[DataFile]:
    """Write the last row of each entry of a slice."""
    table = latest(read_slice(one), pickled)
    if drop_tombstones:
        table = table.filter(pc.invert(table["tombstone"]))
    return write_by_group(folder, table)


def write_by_group(folder: str, table: pa.Table) -> list[DataFile]:
    """Write rows in the order of their key groups into files that end where a key group ends: an entry is in one file."""
    made: list[DataFile] = []
    groups = table["key_group"].to_numpy()
    start, most = 0, max(1, min(_FILE_ROWS, table.num_rows * _FILE_BYTES // max(table.nbytes, 1)))
    while start < table.num_rows:
        end = start + most
        if end < table.num_rows:
            first = int(np.searchsorted(groups, groups[end], "left"))
            end = first if first > start else int(np.searchsorted(groups, groups[end], "right"))
        made.append(write_table(folder, table.slice(start, end - start)))
        start = end
    return made

"""Slices: the rows of some key groups, read without the others, small enough to be merged in memory.

The slice is the unit of all work on large state: compactions, restores, queries. Each entry is in one key group, so slices are
independent: each can be done by itself, on any machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, takewhile, tee
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.state.delta.reading import Fetched, LogFile, RowGroup, ahead, batches, opened, row_groups
from compat.state.delta.rows import NO_KEY_GROUP, limits, together
from compat.state.stores.paths import Place, place_of

SLICE_BYTES = 128 * 1024 * 1024
"""The approximate bytes of a slice in memory, if it has several key groups; merging and writing it takes five times as much."""
_SMALL_BYTES, _SMALL_ROWS = 4 * 1024 * 1024, 100_000
"""The bytes and rows up to which a file is one slice, whatever its footer says."""
_HIGHEST = (1 << 15) - 1
"""Flink's highest key group."""
_LONE = range(NO_KEY_GROUP, 0)
_SCATTERED = 4
"""A file is scattered that is read more often than so: to write it once more in another order takes as long."""


class Source(Struct, frozen=True):
    """A data file, and the path of its table."""

    table: str
    file: LogFile


class Piece(Struct, frozen=True):
    """The row groups of a data file that contain rows of a slice; None for all of them."""

    table: str
    file: LogFile
    row_groups: frozenset[int] | None

    def has(self, group: RowGroup) -> bool:
        """True for a row group that is one of them."""
        return self.row_groups is None or group.number in self.row_groups


F = TypeVar("F", Source, Piece)


class Slice(Struct, frozen=True):
    """Some key groups, and the places of their rows. -1 is the key group of rows without a key."""

    groups: range
    pieces: tuple[Piece, ...]


class Cut(Struct, frozen=True):
    """The slices of some files; ``scattered`` are the files that would be read many times for them, almost whole each time."""

    slices: tuple[Slice, ...]
    scattered: tuple[Source, ...]


class _Found(NamedTuple):
    """A row group of a file, or all of it, with its key groups and its bytes in memory."""

    source: Source
    number: int | None
    low: int
    high: int
    size: int


def cut(sources: Sequence[Source], part: range | None = None) -> Cut:
    """Cut files, or a range of their key groups, into slices. Raises StoreError.

    Rows without a key are in a slice of their own. A slice has at least one key group, however large that is.
    """
    if part is not None:
        sources = [each for each in sources if each.file.has_groups(part)]
    files = [source.file for source in sources]
    small = sum(file.size for file in files) <= _SMALL_BYTES and sum(file.rows for file in files) <= _SMALL_ROWS
    found = [_whole(source) for source in sources] if small else list(_row_groups(sources))
    ranges = [groups for groups in _ranges(found, small) if part is None or _both(groups, part)]
    slices = tuple(_slice(groups if part is None else _both(groups, part), found) for groups in ranges)
    reads = Counter(piece.file.path for one in slices for piece in one.pieces for _ in piece.row_groups or (None,))
    parts = Counter(each.source.file.path for each in found)
    scattered = (source for source in sources if reads[source.file.path] > _SCATTERED * parts[source.file.path])
    return Cut(slices, tuple(scattered))


def _both(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _slice(groups: range, found: Sequence[_Found]) -> Slice:
    pieces: dict[Source, list[int] | None] = {}
    for source, number, low, high, _ in found:
        if low < groups.stop and high >= groups.start:
            if number is None:
                pieces[source] = None
            elif (numbers := pieces.setdefault(source, [])) is not None:
                numbers.append(number)
    return Slice(
        groups,
        tuple(
            Piece(source.table, source.file, None if numbers is None else frozenset(numbers))
            for source, numbers in pieces.items()
        ),
    )


def _whole(source: Source) -> _Found:
    low, high = source.file.key_groups
    return _Found(source, None, low, min(high, _HIGHEST), source.file.size)


def _row_groups(sources: Sequence[Source]) -> Iterator[_Found]:
    """The row groups of files. What their statistics do not say, those of the file do."""
    for source, fetched in _ahead(sources):
        with opened(place_of(source.table), source.file, fetched) as parquet:
            found = row_groups(parquet)
        low, high = source.file.key_groups
        for number, groups, size, _ in found:
            first, last = groups or (low, high)
            yield _Found(source, number, first, min(last, _HIGHEST), size)


def _ahead(found: Iterable[F]) -> Iterator[tuple[F, Fetched]]:
    """What is of files, with their bytes; see :func:`~compat.state.delta.reading.ahead`."""
    for table, of_table in groupby(found, lambda each: each.table):
        each_of, files = tee(of_table)
        for each, (_, fetched) in zip(each_of, ahead(place_of(table), (each.file for each in files)), strict=True):
            yield each, fetched


def _ranges(found: Sequence[_Found], small: bool) -> Iterator[range]:
    if any(each.low < 0 for each in found):
        yield _LONE
    highest = max((each.high for each in found), default=-1)
    if highest < 0:
        return
    if small or sum(each.size for each in found) <= SLICE_BYTES:
        yield range(highest + 1)
        return
    sizes = np.zeros(highest + 1)
    for each in found:
        if each.high >= 0:
            sizes[max(each.low, 0) : each.high + 1] += each.size / (each.high - each.low + 1)
    start, filled = 0, 0.0
    for group, size in enumerate(sizes.tolist()):
        if filled and filled + size > SLICE_BYTES:
            yield range(start, group)
            start, filled = group, 0.0
        filled += size
    yield range(start, highest + 1)


def read_slice(one: Slice, wanted: Callable[[pa.Table], pa.ChunkedArray] | None = None) -> pa.Table:
    """The rows of a slice, or the wanted ones, unsorted. Raises StoreError."""
    found: list[pa.Table] = []
    for piece, fetched in _ahead(one.pieces):
        for batch in batches(place_of(piece.table), piece.file, wanted=piece.has, fetched=fetched):
            rows = inside(batch, one.groups)
            if wanted is not None:
                rows = rows.filter(wanted(rows))
            if rows.num_rows:
                found.append(rows)
    return together(found)


def inside(table: pa.Table, groups: range) -> pa.Table:
    """The rows of some key groups."""
    group = table["key_group"]
    if not table.num_rows:
        return table
    lowest, highest = limits(group)
    if lowest >= groups.start and highest < groups.stop:
        return table
    return table.filter(pc.and_(pc.greater_equal(group, groups.start), pc.less(group, groups.stop)))


def in_order(table: Place, files: Sequence[LogFile]) -> bool:
    """True if the rows of each entry come oldest first, where the files, oldest epoch first, are read one after the other.

    So it is as long as only we write the table: what rewrites it by Delta's own means puts rows anywhere.
    """
    for place, file in enumerate(files):
        for later in takewhile(lambda each: each.epochs[0] < file.epochs[1], files[place + 1 :]):  # noqa: B023
            if file.has_groups(range(later.key_groups[0], later.key_groups[1] + 1)):
                return False  # an entry has one row an epoch: that two are of one does not matter
    of_many = [file for file in files if file.epochs[0] != file.epochs[1]]
    return all(_is_in_order(table, file, fetched) for file, fetched in ahead(table, of_many))


def _is_in_order(table: Place, file: LogFile, fetched: Fetched) -> bool:
    last = np.full(_HIGHEST + 2, -1, np.int64)
    for batch in batches(table, file, ("key_group", "epoch"), fetched=fetched):
        groups, epochs = batch["key_group"].to_numpy(), batch["epoch"].to_numpy()
        order = np.argsort(groups, kind="stable")
        groups, epochs = groups[order], epochs[order]
        same = groups[1:] == groups[:-1]
        first = np.concatenate(([True], ~same))
        if (epochs[1:] < epochs[:-1])[same].any() or (epochs[first] < last[groups[first]]).any():
            return False
        ends = np.concatenate((~same, [True]))
        last[groups[ends]] = epochs[ends]
    return True

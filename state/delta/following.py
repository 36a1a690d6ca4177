"""Keeps a replica in step with the snapshot log: it is brought forward from its position, or made again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.entries import entries_of
from compat.state.delta.replica import Identity, Position, Replica
from compat.state.delta.rows import Kind

_OF_DRIVER = (Kind.OPERATOR, Kind.TASK, Kind.JOB)
_BATCH, _BATCH_BYTES = 200_000, 64 * 1024 * 1024
"""The maximum number of entries, or bytes of rows, that are taken over at once."""
_PART, _PART_BYTES = 65_536, 16 * 1024 * 1024
"""The maximum number of rows, or bytes of them, that become entries at once."""
_MOVING = Position(-1, "moving")
"""Where a replica stands that is between two epochs: if it is found so, it is made again."""


def follow(
    replica: Replica,
    wanted: Position,
    changes: Callable[[int], Iterator[pa.Table]],
    identities: Callable[[str], Identity],
    known: Callable[[int], str | None],
) -> str:
    """Bring a replica to the position of the log: ``current``, ``behind`` (caught up) or ``rebuilt``, as it was found.

    ``changes`` gives the log's rows after an epoch, ``identities`` the key identity of an operator, and ``known`` the token of
    a committed epoch. A replica with another token for its epoch was ahead of the log, and starts anew.
    """
    position = replica.position
    if position == wanted:
        return "current"
    found = "behind"
    if position is None or position.epoch >= wanted.epoch or known(position.epoch) != position.token:
        replica.clear()
        position, found = None, "rebuilt"
    pending: dict[bytes, bytes | None] = {}
    size = 0
    for rows in _parts(changes(position.epoch if position is not None else -1)):
        for keys, values in entries_of(rows, identities):
            pending.update(zip(keys, values, strict=True))
        size += rows.nbytes
        if len(pending) >= _BATCH or size >= _BATCH_BYTES:
            replica.apply(pending, position, _MOVING)
            pending, position, size = {}, _MOVING, 0
    replica.apply(pending, position, wanted)
    return found


def _parts(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The rows of operators, not more at once than memory holds as entries, too."""
    for table in tables:
        rows = table
        if any(kind in _OF_DRIVER for kind in table["kind"].unique().to_pylist()):
            rows = table.filter(pc.invert(pc.is_in(table["kind"], pa.array(_OF_DRIVER))))
        most = max(1, min(_PART, rows.num_rows * _PART_BYTES // max(rows.nbytes, 1)))
        for first in range(0, rows.num_rows, most):
            yield rows.slice(first, most)

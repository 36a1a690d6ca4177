"""How much a snapshot holds of each state."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.compaction import latest
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind


@dataclass(frozen=True, slots=True)
class StateSize:
    """The keys that have a value in a state, and the bytes of all its entries, keys included."""

    keys: int
    bytes: int


def state_sizes(log: SnapshotLog) -> dict[tuple[str, str], StateSize]:
    """The size of each state by operator id and name; timers of both clocks are one state, ``names.TIMERS``."""
    table = latest(log.read())
    kept = pc.invert(pc.or_(table["tombstone"], pc.is_in(table["kind"], pa.array([Kind.TASK, Kind.JOB]))))
    table = table.filter(kept)
    parts = [pc.fill_null(pc.binary_length(table[name]), 0) for name in ("key", "namespace", "map_key", "value")]
    sized = table.select(["operator_id", "state", "key"]).append_column("size", functools.reduce(pc.add, parts))
    totals = sized.group_by(["operator_id", "state"]).aggregate([("key", "count_distinct"), ("size", "sum")])
    return {
        (row["operator_id"], row["state"]): StateSize(row["key_count_distinct"], row["size_sum"])
        for row in totals.to_pylist()
    }

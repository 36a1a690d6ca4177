"""The amount of each state in a snapshot."""

from __future__ import annotations

import functools
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind


class StateSize(Struct, frozen=True):
    """The keys that have a value in a state, and the bytes of all its entries, keys included."""

    keys: int
    bytes: int


def state_sizes(log: SnapshotLog) -> dict[tuple[str, str], StateSize]:
    """The size of each state by operator id and name; timers of both clocks are one state, :data:`TIMERS`."""
    found: dict[tuple[str, str], StateSize] = {}
    for table in contents(log):
        table = table.filter(pc.invert(pc.is_in(table["kind"], pa.array([Kind.TASK, Kind.JOB]))))
        sized = table.select(["operator_id", "state", "key"]).append_column("size", entry_sizes(table))
        totals = sized.group_by(["operator_id", "state"]).aggregate([("key", "count_distinct"), ("size", "sum")])
        for row in totals.to_pylist():
            before = found.get((row["operator_id"], row["state"]), StateSize(0, 0))
            found[row["operator_id"], row["state"]] = StateSize(
                before.keys + row["key_count_distinct"],  # a key is in one key group, and so in one table
                before.bytes + row["size_sum"],
            )
    return found


def entry_sizes(table: pa.Table) -> Any:
    """The bytes of key, namespace, map key and value of each row."""
    parts = [pc.fill_null(pc.binary_length(table[name]), 0) for name in ("key", "namespace", "map_key", "value")]
    return functools.reduce(pc.add, parts)

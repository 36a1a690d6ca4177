"""Reads state as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from compat.compiler.spark.driver.inspection import UnknownOperator
from compat.compiler.spark.driver.restore import is_of_flink
from compat.tables.columns import layout_of
from compat.tables.delta import SparkSnapshot
from compat.tables.snapshots import StateSnapshot, TableState


class UnknownState(Exception):
    """No state of the snapshot, or of the operator, has that name. The message lists those there are."""


def open_snapshot(path: str, checkpoint: int | None = None) -> StateSnapshot:
    """The snapshot at a path: a savepoint, a job of a store, its state as of a ``checkpoint``; or a savepoint of Flink.

    Raises StoreError, or SavepointError for one of Flink's.
    """
    if is_of_flink(path):
        from compat.tables.flink import FlinkSnapshot

        return FlinkSnapshot(path)
    return SparkSnapshot(path if checkpoint is None else f"{path}@{checkpoint}")


def choose(states: Sequence[TableState], operator: str | None = None, state: str | None = None) -> Sequence[TableState]:
    """The states of an operator (by uid, name or id), or those that have a name, or all.

    Raises UnknownOperator and UnknownState if none are left.
    """
    of_operator = [
        each for each in states if operator is None or operator in (each.uid, each.operator, each.operator_id)
    ]
    if operator is not None and len({each.operator_id for each in of_operator}) != 1:
        known = ", ".join(sorted({f"{each.uid or each.operator} ({each.operator_id})" for each in states}))
        several = {each.operator_id for each in of_operator}
        count = f"{len(several)} operators" if several else "no operator with state"
        raise UnknownOperator(f"The snapshot has {count} {operator!r}. It has: {known or 'none'}.")
    chosen = [each for each in of_operator if state is None or each.name == state]
    if state is not None and not chosen:
        known = ", ".join(sorted({each.name for each in of_operator}))
        raise UnknownState(f"There is no state {state!r}. There are: {known or 'none'}.")
    return chosen


def read(
    path: str, *, operator: str | None = None, state: str | None = None, checkpoint: int | None = None
) -> pa.RecordBatchReader:
    """State as Arrow batches of some thousand rows: one an entry.

    Columns are operator, uid, operator_id, state, kind, key_group, key, namespace, map_key, value and timestamp. Keys, map keys
    and values are typed if the chosen states declare the same type; otherwise they are texts. Raises StoreError,
    UnknownOperator,
    UnknownState; or SavepointError for a savepoint of Flink.
    """
    snapshot = open_snapshot(path, checkpoint)
    chosen = choose(snapshot.states, operator, state)
    layout = layout_of(chosen)
    return pa.RecordBatchReader.from_batches(layout.schema, layout.batches(snapshot.entries(chosen)))


def read_table(
    path: str, *, operator: str | None = None, state: str | None = None, checkpoint: int | None = None
) -> pa.Table:
    """The state as one table in memory."""
    return read(path, operator=operator, state=state, checkpoint=checkpoint).read_all()

"""Reads state back, by its declared types."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from compat.compiler.spark.driver.entries import INTERNAL, entries, stored_states
from compat.compiler.spark.driver.restore import find_snapshot, open_snapshot, saved_operators
from compat.compiler.spark.driver.saved import SavedOperator
from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.delta.savepoint import read_description
from compat.state.delta.sizes import entry_sizes

_STATE = ["operator_id", "state", "kind"]
"""The columns that name a state."""


class UnknownOperator(Exception):
    """No operator of the snapshot has that uid, name or id. The message lists those there are."""


def state_rows(path: str, operator: str) -> Iterator[dict[str, Any]]:
    """The entries of an operator's state: state, kind, key, key_group, namespace, map_key, value, timestamp.

    ``operator`` is a uid, a name or an id. A window is its start and end in milliseconds. Raises StoreError, UnknownOperator.
    """
    log = open_snapshot(path)
    saved = saved_operators(log)
    one = find_operator(saved.values(), operator)
    return (
        {
            "state": entry.state.name,
            "kind": entry.state.kind,
            "key": entry.key,
            "key_group": entry.key_group,
            "namespace": list(entry.namespace) if isinstance(entry.namespace, tuple) else entry.namespace,
            "map_key": entry.map_key,
            "value": entry.value,
            "timestamp": entry.timestamp,
        }
        for entry in entries(log, stored_states(log, {one.id: one}))
    )


def describe_snapshot(path: str) -> dict[str, Any]:
    """A snapshot as ``compat inspect`` shows it: its operators with uids, ids, states, key groups and sizes in bytes."""
    snapshot = find_snapshot(path)
    log = snapshot.open()
    files = log.files()
    measured = _measure(log)
    operators = []
    for each in saved_operators(log).values():
        states: list[dict[str, Any]] = [
            {"name": name, "type": kind, "entries": count, "bytes": size, "key_groups": groups}
            for (id, name, kind), (count, size, groups) in sorted(measured.items())
            if id == each.id and name not in INTERNAL
        ]
        operators.append(
            {
                "id": each.id,
                "name": each.name,
                "uid": each.uid,
                "parallelism": each.parallelism,
                "max_parallelism": each.max_parallelism,
                "has_state": each.stateful,
                "totals": {"bytes": sum(state["bytes"] for state in states), "states": states},
            }
        )
    return {
        "path": path,
        "format_version": "delta",
        "checkpoint_id": log.epoch,
        "job_id": read_description(snapshot.directory)["job_id"] if snapshot.is_savepoint else snapshot.directory.name,
        "operators": operators,
        "total_bytes": sum(file.size for file in files),
        "properties": {"is_savepoint": snapshot.is_savepoint},
        "files": [
            {
                "name": file.path,
                "status": "local",
                "path": os.path.join(log.path, file.path),
                "size": file.size,
                "operators": sorted({*file.operators}),
            }
            for file in files
        ],
        "missing_files": [],
    }


def _measure(log: SnapshotLog) -> dict[tuple[str, str, str], tuple[int, int, list[int] | None]]:
    """Entries, bytes of keys and values, and the range of key groups of each state, by operator, name and kind."""
    parts = [
        table.select([*_STATE, "key_group"])
        .append_column("size", entry_sizes(table))
        .group_by(_STATE)
        .aggregate([("size", "count"), ("size", "sum"), ("key_group", "min"), ("key_group", "max")])
        for table in contents(log)
    ]
    if not parts:
        return {}
    given = [*_STATE, "size_count", "size_sum", "key_group_min", "key_group_max"]
    measured = pa.concat_tables(parts).select(given).rename_columns([*_STATE, "count", "size", "lowest", "highest"])
    totals = measured.group_by(_STATE).aggregate(
        [("count", "sum"), ("size", "sum"), ("lowest", "min"), ("highest", "max")]
    )
    return {
        (row["operator_id"], row["state"], row["kind"]): (
            row["count_sum"],
            row["size_sum"],
            None if row["lowest_min"] < 0 else [row["lowest_min"], row["highest_max"]],
        )
        for row in totals.to_pylist()
    }


def find_operator(saved: Collection[SavedOperator], operator: str) -> SavedOperator:
    """The operator with a uid, name or id. Raises UnknownOperator unless there is exactly one."""
    found = [each for each in saved if operator in (each.uid, each.name, each.id)]
    if len(found) != 1:
        known = ", ".join(sorted(f"{each.uid or each.name} ({each.id})" for each in saved))
        count = "no operator" if not found else f"{len(found)} operators"
        raise UnknownOperator(f"The snapshot has {count} {operator!r}. It has: {known}.")
    return found[0]

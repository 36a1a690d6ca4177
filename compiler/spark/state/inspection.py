"""Reading state back, by its declared types."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from compat.compiler.spark.driver.checkpoints import COMMITTABLES, FEEDBACK, STATES, WATERMARK
from compat.compiler.spark.driver.restore import SavedOperator, find_snapshot, open_snapshot, saved_operators
from compat.state.delta.compaction import contents
from compat.state.delta.log import SnapshotLog
from compat.state.delta.rows import Kind
from compat.state.delta.savepoint import current_rows, read_description
from compat.state.delta.sizes import entry_sizes
from compat.state.serializers import codec_of, key_codec_of
from compat.state.types import ListTypeInfo, MapTypeInfo, from_json

_DRIVER = (Kind.OPERATOR, Kind.TASK, Kind.JOB)
_INTERNAL = frozenset({STATES, COMMITTABLES, FEEDBACK, WATERMARK, Kind.TASK})


class UnknownOperator(Exception):
    """No operator of the snapshot has that uid, name or id. The message lists those there are."""


def state_rows(path: str, operator: str) -> Iterator[dict[str, Any]]:
    """The entries of an operator's state: state, kind, key, key_group, namespace, map_key, value, timestamp.

    ``operator`` is a uid, a name or an id. A window is its start and end in milliseconds. Raises StoreError, UnknownOperator.
    """
    log = open_snapshot(path)
    return _rows(log, _one_operator(saved_operators(log), operator))


def state_table(path: str, operator: str) -> pa.Table:
    """The same as an Arrow table, which Spark takes too: ``spark.createDataFrame(state_table(…))``.

    Keys, map keys and values have the types that their states declare; where states differ, all are text.
    """
    rows = list(state_rows(path, operator))
    columns: dict[str, Any] = {}
    for name in ("state", "kind", "key", "key_group", "namespace", "map_key", "value", "timestamp"):
        values = [row[name] for row in rows]
        try:
            columns[name] = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            columns[name] = pa.array([None if value is None else repr(value) for value in values])
    return pa.table(columns)


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
            if id == each.id and name not in _INTERNAL
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
        table.select(["operator_id", "state", "kind", "key_group"]).append_column("size", entry_sizes(table))
        for table in contents(log)
    ]
    if not parts:
        return {}
    totals = (
        pa.concat_tables(parts)
        .group_by(["operator_id", "state", "kind"])
        .aggregate([("size", "count"), ("size", "sum"), ("key_group", "min"), ("key_group", "max")])
    )
    return {
        (row["operator_id"], row["state"], row["kind"]): (
            row["size_count"],
            row["size_sum"],
            None if row["key_group_min"] < 0 else [row["key_group_min"], row["key_group_max"]],
        )
        for row in totals.to_pylist()
    }


def _one_operator(saved: dict[str, SavedOperator], operator: str) -> SavedOperator:
    found = [each for each in saved.values() if operator in (each.uid, each.name, each.id)]
    if len(found) != 1:
        known = ", ".join(sorted(f"{each.uid or each.name} ({each.id})" for each in saved.values()))
        count = "no operator" if not found else f"{len(found)} operators"
        raise UnknownOperator(f"The snapshot has {count} {operator!r}. It has: {known}.")
    return found[0]


def _rows(log: SnapshotLog, operator: SavedOperator) -> Iterator[dict[str, Any]]:
    states = {each["name"]: each for each in operator.states}
    key_type = next((each["key_type"] for each in operator.states if "key_type" in each), None)
    keys = key_codec_of(None if key_type is None else from_json(key_type))
    for row in current_rows(log, operator.id, key_type):
        if row.state in _INTERNAL or row.kind == Kind.TASK:
            continue
        described = states.get(row.state)
        yield {
            "state": row.state,
            "kind": row.kind,
            "key": keys.decode(row.key) if row.key else None,
            "key_group": row.key_group,
            "namespace": _window(row.namespace),
            "map_key": _map_key(row.kind, described, row.map_key),
            "value": _value(row.kind, described, row.value),
            "timestamp": row.timestamp,
        }


def _window(namespace: bytes) -> Any:
    if not namespace:
        return None
    if len(namespace) == 16:
        return list(struct.unpack(">qq", namespace))
    return int.from_bytes(namespace, "big")


def _map_key(kind: str, described: Any, data: bytes) -> Any:
    if kind in (Kind.MAP, Kind.BROADCAST) and described is not None:
        type_info = from_json(described["type"])
        return key_codec_of(type_info.key_type).decode(data) if isinstance(type_info, MapTypeInfo) else data
    return data.decode("utf-8", "replace") if kind in _DRIVER and data else None


def _value(kind: str, described: Any, data: bytes | None) -> Any:
    if data is None or described is None:
        return None if not data else data.decode("utf-8", "replace")[:200]
    type_info: Any = from_json(described["type"])
    if kind == Kind.MAP:
        return None if data == b"\0" else codec_of(type_info.value_type).decode(data[1:])
    if kind == Kind.BROADCAST:
        return codec_of(type_info.value_type).decode(data)
    if kind == Kind.LIST and not isinstance(type_info, ListTypeInfo):
        type_info = ListTypeInfo(type_info)
    return codec_of(type_info).decode(data)

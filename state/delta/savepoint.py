"""Savepoints: a snapshot table of its own, in a directory that can be moved, with the plan of the program that wrote it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from state.delta.log import SnapshotLog, StoreError
from state.delta.rows import DataFile, Row, identity, read_rows, table_of, write_table
from state.serializers import key_codec_of
from state.types import from_json

METADATA = "_savepoint.json"


def write_savepoint(log: SnapshotLog, path: str | Path, description: Mapping[str, Any]) -> str:
    """Copy a log's present state to ``path``, and ``description`` (plan, states, epoch) with it; gives the absolute path.

    The metadata file comes last: a directory without it is no savepoint.
    """
    target = Path(path).absolute()
    if (target / METADATA).exists():
        raise StoreError(f"There is a savepoint at {target} already. Give another path.")
    copy = SnapshotLog.create(target)
    files = []
    for file in log.files():
        name = os.path.basename(file.path)
        shutil.copyfile(os.path.join(log.path, file.path), target / name)
        stats = {
            "numRecords": file.rows,
            "minValues": _stats(file, 0),
            "maxValues": _stats(file, 1),
            "nullCount": {"operator_id": 0, "key_group": 0, "epoch": 0},
        }
        files.append(DataFile(name, file.size, json.dumps(stats)))
    copy.commit(log.epoch, files, {"token": "savepoint"})
    fresh = target / f"{METADATA}.new"
    fresh.write_text(json.dumps({"format": 1, **description}, indent=1))
    os.replace(fresh, target / METADATA)
    return str(target)


def _stats(file: Any, place: int) -> dict[str, Any]:
    return {
        "operator_id": file.operators[place],
        "key_group": file.key_groups[place],
        "epoch": file.epochs[place],
    }


def read_description(path: str | Path) -> dict[str, Any]:
    """What a savepoint says about itself. Raises StoreError for a directory that holds none."""
    file = Path(path) / METADATA
    try:
        found: dict[str, Any] = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} holds no savepoint: {error}. Check the path.") from None
    return found


def import_snapshot(
    source: SnapshotLog, target: SnapshotLog, operators: Mapping[str, str], keep: Callable[[str], bool]
) -> int:
    """Make ``source``'s state the first epoch of an empty table, under the operator ids that ``operators`` gives.

    ``keep`` chooses among the kinds of rows. Gives the epoch that the new table stands at: epochs go on counting.
    """
    files = []
    old = pa.array(list(operators), pa.string())
    for table in source.read():
        kinds = {kind for kind in pc.unique(table["kind"]).to_pylist() if keep(kind)}
        chosen = table.filter(
            pc.and_(pc.is_in(table["operator_id"], old), pc.is_in(table["kind"], pa.array(sorted(kinds), pa.string())))
        )
        if not chosen.num_rows:
            continue
        renamed = pa.array([operators[name] for name in chosen["operator_id"].to_pylist()], pa.string())
        files.append(write_table(target.path, chosen.set_column(0, chosen.schema.field(0), renamed)))
    epoch = max(source.epoch, 1)
    target.commit(epoch, files, {"token": "restored"})
    return epoch


def compact(log: SnapshotLog, identities: Callable[[str], Callable[[bytes], bytes]]) -> None:
    """Rewrite a log so that each entry is in it once; older versions of the table keep what they had."""
    latest: dict[Any, tuple[int, Row]] = {}
    for table in log.read():
        for epoch, row in zip(table["epoch"].to_pylist(), read_rows(table), strict=True):
            key = identity(row, identities(row.operator_id))
            key = (*key, row.timestamp) if row.kind.endswith("timer") else key
            if key not in latest or latest[key][0] <= epoch:
                latest[key] = (epoch, row)
    by_epoch: dict[int, list[Row]] = {}
    for epoch, row in latest.values():
        # Tombstones stay: a replica that is behind must still learn of them.
        by_epoch.setdefault(epoch, []).append(row)
    tables = [table_of(rows, epoch) for epoch, rows in sorted(by_epoch.items())]
    if tables:
        merged = pa.concat_tables(tables)
        size = 500_000
        files = [write_table(log.path, merged.slice(start, size)) for start in range(0, merged.num_rows, size)]
        log.replace(files, {"token": "compaction"})


def current_rows(log: SnapshotLog, operator_id: str, key_type: Any) -> list[Row]:
    """The entries of an operator as they are now."""
    cut = key_codec_of(None if key_type is None else from_json(key_type)).identity
    latest: dict[Any, Row] = {}
    for table in log.read():
        chosen = table.filter(pc.equal(table["operator_id"], operator_id))
        for row in read_rows(chosen):
            key = identity(row, cut if row.key else lambda data: data)
            latest[(*key, row.timestamp) if row.kind.endswith("timer") else key] = row
    return [row for row in latest.values() if row.value is not None]

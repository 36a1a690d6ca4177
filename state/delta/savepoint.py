"""Savepoints: a snapshot table of its own, in a directory that can be moved, with the plan of the program that wrote it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.log import LogFile, SnapshotLog
from compat.state.delta.rows import DataFile, write_table
from compat.state.stores.places import Place, place_of

METADATA = "_savepoint.json"
PLAN = "plan.json"


def write_savepoint(
    log: SnapshotLog, path: str | Path | Place, description: Mapping[str, Any], plan: Mapping[str, Any] | None = None
) -> str:
    """Copy a log's present state to ``path``, with a description and the program's plan; gives the absolute path.

    The metadata file comes last: a directory without it is no savepoint.
    """
    target = place_of(path, "The savepoint").absolute()
    _expect_nothing(target)
    try:
        copy = SnapshotLog.create(target)
        copy.commit(log.epoch, [_copied(file, log.place, target) for file in log.files()], {"token": "savepoint"})
        if plan is not None:
            (target / PLAN).write(json.dumps(plan).encode())
        (target / METADATA).write(json.dumps({"format": 1, **description}, indent=1).encode())
    except (OSError, StoreError) as error:
        target.remove()
        raise unwritable("The savepoint", target, error, "give another path") from error
    return str(target)


def _expect_nothing(target: Place) -> None:
    try:
        if (target / METADATA).exists():
            raise StoreError(f"There is a savepoint at {target} already. Give another path.")
        if target.list():
            raise StoreError(f"{target} is not empty. Give another path.")
    except OSError as error:
        raise unwritable("The savepoint", target, error, "give another path") from error


def _copied(file: LogFile, source: Place, target: Place) -> DataFile:
    found, copy = source / file.path, target / Path(file.path).name
    if found.system == copy.system:
        found.system.copy(found.path, copy.path)
    else:
        with found.open() as opened:
            copy.upload(opened)
    name = copy.name
    stats = {
        "numRecords": file.rows,
        "minValues": _stats(file, 0),
        "maxValues": _stats(file, 1),
        "nullCount": {"operator_id": 0, "key_group": 0, "epoch": 0},
    }
    return DataFile(name, file.size, json.dumps(stats))


def _stats(file: LogFile, place: int) -> dict[str, Any]:
    return {
        "operator_id": file.operators[place],
        "key_group": file.key_groups[place],
        "epoch": file.epochs[place],
    }


def read_description(path: str | Path | Place) -> dict[str, Any]:
    """The description of a savepoint. Raises StoreError for a directory that holds none."""
    try:
        found: dict[str, Any] = json.loads((place_of(path) / METADATA).read())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} holds no savepoint: {error}. Check the path.") from None
    return found


Migrations = Mapping[tuple[str, str, str], Callable[[bytes], bytes]]
"""Functions from old values to new ones, by operator, kind of the rows, and name of the state."""


def import_snapshot(
    source: SnapshotLog,
    target: SnapshotLog,
    operators: Mapping[str, str],
    keep: Callable[[str], bool],
    migrations: Migrations | None = None,
) -> int:
    """Make ``source``'s state the first epoch of an empty table, under the operator ids that ``operators`` gives.

    ``keep`` chooses among the kinds of rows; values of the states in ``migrations`` (by OLD's ids) are converted. Gives the
    epoch that the new table stands at: epochs go on counting.
    """
    files = []
    old = pa.array(list(operators), pa.string())
    for table in source.parts():
        kinds = pa.array([kind for kind in pc.unique(table["kind"]).to_pylist() if keep(kind)], pa.string())
        chosen = table.filter(pc.and_(pc.is_in(table["operator_id"], old), pc.is_in(table["kind"], kinds)))
        if not chosen.num_rows:
            continue
        chosen = _migrated(chosen, migrations or {})
        names = pc.dictionary_encode(chosen["operator_id"].combine_chunks())
        renamed = pa.array([operators[name] for name in names.dictionary.to_pylist()], pa.string()).take(names.indices)
        files.append(write_table(target.path, chosen.set_column(0, chosen.schema.field(0), renamed)))
    epoch = max(source.epoch, 1)
    if not target.commit(epoch, files, {"token": "restored"}):
        raise StoreError(f"{target.path} holds state already.")
    return epoch


def _migrated(table: pa.Table, migrations: Migrations) -> pa.Table:
    """The rows of a table, with the values of some states converted."""
    for address, migrate in migrations.items():
        masks = [
            pc.equal(table[column], part)
            for column, part in zip(("operator_id", "kind", "state"), address, strict=True)
        ]
        concerned = pc.and_(pc.and_(masks[0], masks[1]), masks[2])
        old = table["value"].filter(concerned).to_pylist()
        if old:
            new = pa.array(
                [None if value is None else migrate(value) for value in old], table.schema.field("value").type
            )
            values = pc.replace_with_mask(table["value"].combine_chunks(), concerned.combine_chunks(), new)
            table = table.set_column(table.schema.get_field_index("value"), table.schema.field("value"), values)
    return table

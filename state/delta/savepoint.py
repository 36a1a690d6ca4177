"""Savepoints: each is a snapshot table of its own, in a directory that can be moved, with the plan of its program."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from compat.state.delta.compaction import latest, slices_of, write_by_group
from compat.state.delta.digests import prove_file
from compat.state.delta.errors import StoreError, unwritable
from compat.state.delta.files import remove
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import LogFile, log_file
from compat.state.delta.rekeying import Rekey, Rekeying, merged, of_keys
from compat.state.delta.rows import DataFile, Kind, Row, write_rows
from compat.state.delta.slices import Slice, Source, read_slice
from compat.state.delta.state_changes import StateChange, changed
from compat.state.delta.work import HERE, Workers
from compat.state.stores.paths import Place, place_of

METADATA = "_savepoint.json"
PLAN = "plan.json"
_FILES = "files"
"""The key under which the description lists the files of the savepoint."""


T = TypeVar("T")


class LogState(Struct, frozen=True):
    """The state of a log at one moment: its files, which do not change, and their epoch."""

    table: Place
    epoch: int
    files: tuple[LogFile, ...]

    @classmethod
    def of(cls, log: SnapshotLog) -> LogState:
        """The present state of a log."""
        return cls(log.place, log.epoch, tuple(log.files()))

    @property
    def size(self) -> int:
        """The bytes of the files."""
        return sum(file.size for file in self.files)


def write_savepoint(
    state: LogState,
    path: str | Path | Place,
    description: Mapping[str, Any],
    plan: Mapping[str, Any] | None = None,
    workers: Workers = HERE,
) -> str:
    """Copy a state to ``path``, with a description and the program's plan; gives the absolute path.

    The metadata file comes last: a directory without it is no savepoint. Raises StoreError.
    """
    target = place_of(path, "The savepoint").absolute()
    _expect_nothing(target)
    try:
        copy = SnapshotLog.create(target)
        files = workers.each(partial(_copied, str(state.table), str(target)), state.files)
        copy.commit(state.epoch, files, {"token": "savepoint"})
        if plan is not None:
            (target / PLAN).write(json.dumps(plan).encode())
        (target / METADATA).write(json.dumps({"format": 2, **description, _FILES: _written(target)}, indent=1).encode())
    except (OSError, StoreError) as error:
        target.remove()
        raise unwritable("The savepoint", target, error, "give another path") from error
    return str(target)


def _written(target: Place) -> list[str]:
    """The files of a savepoint, but for the one that lists them, by their paths in it."""
    return [file.path.removeprefix(target.path).lstrip("/") for file in target.walk()]


def remove_savepoint(path: Place) -> None:
    """Remove the files that a savepoint lists, and its folders where nothing else is in them. Raises StoreError, OSError.

    The one that makes it a savepoint goes first: what is left of it is none.
    """
    told = read_description(path).get(_FILES)
    names = told if isinstance(told, list) else _of_first_format(path)
    for name in names:
        _prove_inside(path, name)
    for name in (METADATA, *names):
        (path / name).delete()
    if path.local:
        for folder in (path / "_delta_log", path):
            with suppress(OSError):  # somebody else's files are in it
                os.rmdir(folder)


def _of_first_format(path: Place) -> list[str]:
    """The files of a savepoint that lists none: what its table names."""
    log = [f"_delta_log/{entry.name}" for entry in (path / "_delta_log").list() if entry.size is not None]
    return [*(file.path for file in SnapshotLog.open(path).files()), *log, PLAN]


def _prove_inside(path: Place, name: object) -> None:
    """Raise a StoreError unless a name that a savepoint lists is that of a file in it: anybody may have written it."""
    parts = name.split("/") if isinstance(name, str) else []
    inside = bool(parts) and not any(part in ("", ".", "..") or "\\" in part for part in parts)
    if inside and path.local:
        above = os.path.realpath(os.path.dirname(path / str(name)))
        inside = f"{above}/".startswith(f"{os.path.realpath(path)}/")
    if not inside:
        raise StoreError(f"{path / METADATA} lists {name!r}, which is no file of the savepoint. Nothing was removed.")


def _expect_nothing(target: Place) -> None:
    try:
        if (target / METADATA).exists():
            raise StoreError(f"There is a savepoint at {target} already. Give another path.")
        if target.list():
            raise StoreError(f"{target} is not empty. Give another path.")
    except OSError as error:
        raise unwritable("The savepoint", target, error, "give another path") from error


def _copied(source: str, target: str, file: LogFile) -> DataFile:
    found, copy = place_of(source) / file.path, place_of(target) / Path(file.path).name
    if found.system == copy.system:
        found.system.copy(found.path, copy.path)
        if copy.local:
            prove_file(copy)
    else:
        prove_file(found)
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
    """The description of a savepoint. Raises StoreError for a directory without one."""
    try:
        found: dict[str, Any] = json.loads((place_of(path) / METADATA).read())
        if not isinstance(found, dict):
            raise ValueError(f"{METADATA} is no description of one")
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} holds no savepoint: {error}. Check the path.") from None
    return found


Migrations = Mapping[tuple[str, str, str], Callable[[bytes], bytes]]
"""Functions from old values to new ones, by operator, kind of the rows, and name of the state."""


class Moved(Struct, frozen=True):
    """States that move to another operator or another name: operator and name by those in the snapshot.

    None marks a dropped state. ``added`` are additional rows. ``changes`` are states with other values, and ``keys`` operators
    with other keys, by their ids in the snapshot.
    """

    states: Mapping[tuple[str, str], tuple[str, str] | None] = {}
    added: tuple[Row, ...] = ()
    changes: Mapping[tuple[str, str], StateChange] = {}
    keys: Mapping[str, Rekeying] = {}


_OF_STATES = (Kind.VALUE, Kind.LIST, Kind.MAP, Kind.BROADCAST)


class _TakeOver(Struct, Generic[T], frozen=True):
    """Takes slices of a snapshot over into the folder of another table."""

    folder: str
    operators: Mapping[str, str]
    left: frozenset[str]
    left_states: frozenset[tuple[str, str]]
    migrations: Migrations
    tally: Callable[[pa.Table], T]
    moved: Moved

    def __call__(self, one: Slice) -> tuple[list[DataFile], T]:
        table = latest(read_slice(one))
        tallied = self.tally(table.filter(pc.invert(table["tombstone"])))
        if self.moved.keys:
            table = table.filter(pc.invert(of_keys(table, self.moved.keys)))
        return self._written(table), tallied

    def rekeyed(self, one: Slice) -> list[DataFile]:
        """The same of what has other keys, as `Rekey` wrote it."""
        return self._written(merged(read_slice(one), self.moved.keys))

    def _written(self, table: pa.Table) -> list[DataFile]:
        chosen = self._chosen(table)
        if not chosen.num_rows:
            return []
        chosen = self._placed(changed(_migrated(chosen, self.migrations), self.moved.changes))
        return write_by_group(self.folder, chosen) if chosen.num_rows else []

    def _placed(self, table: pa.Table) -> pa.Table:
        """The rows with the operators that have them from now on, and the names of their states."""
        names = pc.dictionary_encode(table["operator_id"].combine_chunks())
        renamed = pa.array([self.operators.get(name) for name in names.dictionary.to_pylist()], pa.string())
        operators, states = renamed.take(names.indices), table["state"].combine_chunks()
        of_states = pc.is_in(table["kind"], pa.array(_OF_STATES))
        for (operator, state), target in self.moved.states.items():
            of_state = pc.and_(pc.equal(table["operator_id"], operator), pc.equal(table["state"], state))
            concerned = pc.and_(of_states, of_state).combine_chunks()
            owner, name = target or (None, state)
            operators = pc.if_else(concerned, pa.scalar(owner, pa.string()), operators)
            states = pc.if_else(concerned, pa.scalar(name, pa.string()), states)
        for column, values in (("operator_id", operators), ("state", states)):
            place = table.schema.get_field_index(column)
            table = table.set_column(place, table.schema.field(place), values)
        return table.filter(pc.is_valid(operators))

    def _chosen(self, table: pa.Table) -> pa.Table:
        """The rows that do not stay behind."""
        elsewhere = (operator for (operator, _), target in self.moved.states.items() if target is not None)
        wanted = pa.array(list(dict.fromkeys([*self.operators, *elsewhere])), pa.string())
        kinds = pa.array(sorted(self.left), pa.string())
        chosen = table.filter(
            pc.and_(pc.is_in(table["operator_id"], wanted), pc.invert(pc.is_in(table["kind"], kinds)))
        )
        for kind, state in sorted(self.left_states):
            left = pc.and_(pc.equal(chosen["kind"], kind), pc.equal(chosen["state"], state))
            chosen = chosen.filter(pc.invert(left))
        return chosen


def import_snapshot(
    source: SnapshotLog,
    target: SnapshotLog,
    operators: Mapping[str, str],
    left: frozenset[str],
    migrations: Migrations,
    tally: Callable[[pa.Table], T],
    workers: Workers = HERE,
    left_states: frozenset[tuple[str, str]] = frozenset(),
    moved: Moved = Moved(),  # noqa: B008 - frozen
    on_dropped: Callable[[int], None] = lambda number: None,
) -> list[T]:
    """Make ``source``'s state the first epoch of an empty table, under the operator ids that ``operators`` gives.

    Rows of the kinds ``left`` are left out, and rows of ``left_states``, by kind and name. Values of the states in
    ``migrations`` (by OLD's ids) are converted; states in ``moved`` go to other places. The new table has the epoch of the old
    one, and counts on from there. Gives the results of ``tally`` for the entries of each slice of ``source``, including the
    left-out ones; ``on_dropped`` gets the number of entries that were dropped with their keys. Raises StoreError.
    """
    slices, temporary = slices_of(source.sources(), target.path, workers)
    take_over = _TakeOver(target.path, dict(operators), left, left_states, migrations, tally, moved)
    made = workers.each(take_over, slices)
    files = [file for written, _ in made for file in written]
    if moved.keys:
        found = workers.each(Rekey(target.path, moved.keys), slices)
        on_dropped(sum(each.dropped for each in found))
        rekeyed = [log_file(file) for each in found for file in each.files]
        again, scattered = slices_of([Source(target.path, file) for file in rekeyed], target.path, workers)
        files += [file for written in workers.each(take_over.rekeyed, again) for file in written]
        temporary = [*temporary, *scattered, *(file.path for file in rekeyed)]
    remove(target.place, temporary)
    epoch = max(source.epoch, 1)
    files += [write_rows(target.path, moved.added, epoch)] if moved.added else []
    if not target.commit(epoch, files, {"token": "restored"}):
        raise StoreError(f"{target.path} holds state already.")
    return [tallied for _, tallied in made]


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

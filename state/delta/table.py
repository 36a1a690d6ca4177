"""A snapshot table at one version: its commits, its files and their rows.

Delta's own commands may rewrite the table. OPTIMIZE puts rows of many epochs into one file, in any order, so rows are always
read by their epochs, never by their place.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from compat.state.delta.errors import StoreError, in_one_line
from compat.state.delta.reading import LogFile, RowGroup, ahead, as_of, batches, opened, ranged, schema_of
from compat.state.delta.rows import FEW, NO_KEY_GROUP
from compat.state.delta.slices import Source, cut, in_order, read_slice
from compat.state.stores.ahead import fetched_ahead
from compat.state.stores.options import table_options
from compat.state.stores.paths import Place, place_of

EPOCH_TRANSACTION = "epoch"
LEADER_TRANSACTION = "leader"
_DELETION_VECTORS = "deletionVectors"
_RANGED = ("operator_id", "key_group", "epoch")
_TOLD = (*("path", "num_records", "size_bytes"), *(f"{limit}.{name}" for name in _RANGED for limit in ("min", "max")))
"""The fields that are read of Delta's entry for a file."""


class Seen(NamedTuple):
    """The transactions that a version of the table has seen: the highest epoch, and the greatest fencing token."""

    highest: int
    leader: int


class SnapshotTable:
    """One snapshot table, at the version that this object sees."""

    def __init__(self, place: Place, table: DeltaTable) -> None:
        self.place = place
        self._table = table
        self._transactions: tuple[int, Seen] | None = None
        self._files: tuple[int, list[LogFile]] | None = None

    @classmethod
    def open(cls, path: str | Path | Place, version: int | None = None) -> Self:
        """The table at a path, at its present version or another one. Raises StoreError if there is none."""
        place = place_of(path)
        try:
            return cls(place, DeltaTable(place.path, version=version, storage_options=table_options(place.path)))
        except TableNotFoundError as error:
            raise StoreError(f"{path} holds no snapshot table. Check the path.") from error
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {path} cannot be read: {in_one_line(error)}.") from error

    @property
    def path(self) -> str:
        """The path of the table."""
        return self.place.path

    @property
    def version(self) -> int:
        """The version of the table that this object sees."""
        return int(self._table.version())

    def refresh(self) -> None:
        """Move to the newest version."""
        with self._reading():
            self._table.update_incremental()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {self.path} cannot be read: {in_one_line(error)}.") from error

    def _commits(self, versions: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What the commits of some versions tell of themselves, up to the first that is not there.

        One that tells nothing is damaged: :meth:`_find_epoch` finds out what else it lacks.
        """
        log = self.place / "_delta_log"
        for version, fetched in fetched_ahead(
            lambda each: (log / f"{each:020d}.json").read(), versions, local=log.local
        ):
            with self._reading():
                try:
                    data = fetched()
                except FileNotFoundError:
                    return
            yield {**_info(data), "version": version}

    @property
    def _seen(self) -> Seen:
        """The transactions that the version has seen; read once for each version that another made: that takes a while."""
        if self._transactions is None or self._transactions[0] != self.version:
            with self._reading():
                highest, leader = map(self._table.transaction_version, (EPOCH_TRANSACTION, LEADER_TRANSACTION))
            self._transactions = (self.version, Seen(highest or 0, leader or 0))
        return self._transactions[1]

    def files(self) -> list[LogFile]:
        """The data files of the version, oldest epoch first; read once for each version. Raises StoreError."""
        if self._files is None or self._files[0] != self.version:
            self._prove_no_row_is_hidden()
            with self._reading():
                told = pa.table(self._table.get_add_actions(flatten=True))
            columns = {name: told[name].to_pylist() for name in _TOLD if name in told.column_names}
            found = [_log_file(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
            self._files = (self.version, sorted(found, key=lambda file: (file.epochs, file.path)))
        return list(self._files[1])

    def _prove_no_row_is_hidden(self) -> None:
        """Raise StoreError if files have rows that count as deleted: we would read them."""
        with self._reading():
            may = _DELETION_VECTORS in (self._table.protocol().reader_features or ())
            hidden = may and pa.table(self._table.deletion_vectors()).num_rows > 0
        if hidden:
            raise StoreError(
                f"Somebody deleted rows of the state {self.path} by deletion vectors, which jobs do not read. Have Spark write "
                f"the files without these rows, with REORG TABLE delta.`{self.path}` APPLY (PURGE), or RESTORE the table to "
                "the version before. Nothing committed is lost."
            )

    def sources(self, files: Sequence[LogFile] | None = None) -> list[Source]:
        """Some files, or all, with the table's path."""
        return [Source(self.path, file) for file in (self.files() if files is None else files)]

    def parts(self, columns: Sequence[str] | None = None, files: Sequence[LogFile] | None = None) -> Iterator[pa.Table]:
        """The tables of some files, or all, in their order, or some columns of theirs.

        Raises StoreError if one is gone or damaged.
        """
        schema = schema_of(columns)
        for file, fetched in ahead(self.place, self.files() if files is None else files):
            with opened(self.place, file, fetched) as parquet:
                table = as_of(schema, parquet.read(schema.names))
            yield table

    def read(
        self,
        wanted: Callable[[LogFile], bool] = lambda _: True,
        chosen: Callable[[pa.Table], pa.Table] = lambda table: table,
    ) -> Iterator[pa.Table]:
        """The chosen rows of the wanted files, oldest epoch first: in a table, and from one table to the next."""
        found = [file for file in self.files() if wanted(file)]
        tables = map(chosen, self.parts(files=found))
        for files in _apart(found):
            near = list(itertools.islice(tables, len(files)))
            yield by_epoch(pa.concat_tables(near) if len(near) > 1 else near[0])

    def changes(self, after: int, key_groups: range, operators: frozenset[str]) -> Iterator[pa.Table]:
        """The rows of some operators and key groups (and of no key group) changed after an epoch, the oldest of an entry first.

        In memory is a batch of them, or a slice of the key groups where somebody put the rows in another order.
        """
        files = [
            file
            for file in self.files()
            if file.epochs[1] > after and (file.key_groups[0] < 0 or file.has_groups(key_groups))
        ]
        names = pa.array(sorted(operators), pa.string())

        def chosen(table: pa.Table) -> pa.Table:
            if table.num_rows <= FEW:
                found = zip(*(table[name].to_pylist() for name in ("epoch", "operator_id", "key_group")), strict=True)
                few = [is_wanted(*each) for each in found]
                return table if all(few) else table.filter(pa.array(few, pa.bool_()))
            group = table["key_group"]
            inside = pc.or_(
                pc.less(group, 0),
                pc.and_(pc.greater_equal(group, key_groups.start), pc.less(group, key_groups.stop)),
            )
            keep = pc.and_(pc.and_(inside, pc.greater(table["epoch"], after)), pc.is_in(table["operator_id"], names))
            return table.filter(keep)

        def is_wanted(epoch: int, operator_id: str, key_group: int) -> bool:
            return epoch > after and operator_id in operators and (key_group < 0 or key_group in key_groups)

        def concerned(group: RowGroup) -> bool:
            if group.groups is None:
                return True
            low, high = group.groups
            return low < 0 or (low < key_groups.stop and high >= key_groups.start)

        if in_order(self.place, files):
            for file, fetched in ahead(self.place, files):
                yield from map(chosen, batches(self.place, file, wanted=concerned, fetched=fetched))
        else:
            parts = (range(NO_KEY_GROUP, 0), key_groups)
            slices = [each for part in parts for each in cut(self.sources(files), part).slices]
            yield from (by_epoch(chosen(read_slice(each))) for each in slices)


def by_epoch(table: pa.Table) -> pa.Table:
    """The rows, the oldest epoch first; those of one epoch stay as they are."""
    epochs = table["epoch"].to_numpy()
    return table if bool((epochs[1:] >= epochs[:-1]).all()) else table.sort_by("epoch")


def _apart(files: Sequence[LogFile]) -> Iterator[list[LogFile]]:
    """The files, oldest epoch first, together where their epochs overlap."""
    together: list[LogFile] = []
    end = -1
    for file in files:
        if together and file.epochs[0] >= end:  # an entry has one row an epoch
            yield together
            together = []
        together.append(file)
        end = max(end, file.epochs[1])
    if together:
        yield together


def _info(commit: bytes) -> dict[str, Any]:
    """What a commit tells of itself; nothing if it is damaged."""
    for line in commit.splitlines():
        if b'"commitInfo"' in line:
            try:
                found: dict[str, Any] = json.loads(line)["commitInfo"]
                return dict(found)
            except (ValueError, KeyError, TypeError):
                continue
    return {}


def _log_file(action: Mapping[str, Any]) -> LogFile:
    low, high = ({name: action.get(f"{limit}.{name}") for name in _RANGED} for limit in ("min", "max"))
    return ranged(action["path"], action.get("num_records") or 0, action["size_bytes"], low, high)

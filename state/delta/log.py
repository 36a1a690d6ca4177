"""The snapshot log: a Delta table whose every commit is a checkpoint.

Tasks write data files; the job's driver names them in one commit, which carries Delta's transaction id (job, epoch), so
that committing an epoch again changes nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction

from state.delta.rows import SCHEMA, DataFile, Row, now_millis, read_rows

EPOCH_TRANSACTION = "epoch"


class StoreError(Exception):
    """A store that cannot be read or written: a directory that is missing, full, or not a snapshot table.

    Nothing is lost by it: what was committed stays, what was not is done again after a restart.
    """


@dataclass(frozen=True, slots=True)
class LogFile:
    """A data file of a version of the table, with the ranges its statistics give."""

    path: str
    rows: int
    size: int
    operators: tuple[str, str]
    key_groups: tuple[int, int]
    epochs: tuple[int, int]


class SnapshotLog:
    """One snapshot table."""

    def __init__(self, path: str | Path, table: DeltaTable) -> None:
        self.path = str(path)
        self._table = table

    @classmethod
    def create(cls, path: str | Path) -> SnapshotLog:
        """A new, empty table, or the one that is there."""
        Path(path).mkdir(parents=True, exist_ok=True)
        if DeltaTable.is_deltatable(str(path)):
            return cls.open(path)
        configuration = {"delta.appendOnly": "false", "delta.checkpointInterval": "50"}
        try:
            return cls(path, DeltaTable.create(str(path), SCHEMA, mode="ignore", configuration=configuration))
        except OSError as error:
            raise StoreError(f"The store {path} cannot be written: {error}. Give another directory.") from error

    @classmethod
    def open(cls, path: str | Path, version: int | None = None) -> SnapshotLog:
        """The table at a path, as it is now or was at a version. Raises StoreError if there is none."""
        try:
            return cls(path, DeltaTable(str(path), version=version))
        except TableNotFoundError as error:
            raise StoreError(f"{path} holds no snapshot table. Check the path.") from error

    @property
    def version(self) -> int:
        """The version of the table that this object sees."""
        return int(self._table.version())

    @property
    def epoch(self) -> int:
        """The last epoch that was committed; 0 before the first."""
        return self._table.transaction_version(EPOCH_TRANSACTION) or 0

    def refresh(self) -> None:
        """See the newest version."""
        self._table.update_incremental()

    def commit(self, epoch: int, files: Sequence[DataFile], metadata: Mapping[str, Any]) -> bool:
        """Make ``files`` the changes of ``epoch``; False if that epoch was committed before.

        ``metadata`` is kept in the commit (and in Delta's history).
        """
        if self.epoch >= epoch:
            return False
        self._write(files, "append", EPOCH_TRANSACTION, epoch, metadata)
        return True

    def replace(self, files: Sequence[DataFile], metadata: Mapping[str, Any]) -> None:
        """Put ``files`` in the place of all there are, with the same contents: older versions stay readable."""
        self._write(files, "overwrite", None, self.epoch, metadata)

    def _write(
        self, files: Sequence[DataFile], mode: str, transaction: str | None, epoch: int, metadata: Mapping[str, Any]
    ) -> None:
        time = now_millis()
        actions = [AddAction(file.path, file.size, {}, time, mode == "append", file.stats) for file in files]
        transactions = [Transaction(transaction, epoch)] if transaction else [Transaction(EPOCH_TRANSACTION, epoch)]
        properties = CommitProperties(
            custom_metadata={"epoch": str(epoch), **{key: json.dumps(value) for key, value in metadata.items()}},
            app_transactions=transactions,
        )
        try:
            self._table.create_write_transaction(actions, mode, SCHEMA, commit_properties=properties)
            self.refresh()
        except OSError as error:
            raise StoreError(f"The store {self.path} cannot be written: {error}. Nothing committed is lost.") from error

    def version_of_epoch(self, epoch: int) -> int:
        """The version of the table that is a checkpoint: the last that carries its epoch. StoreError if none does."""
        for entry in self._table.history():
            if int(entry.get("epoch", -1)) == epoch:
                return int(entry["version"])
        raise StoreError(f"The store {self.path} has no checkpoint {epoch}.")

    def checkpoints(self) -> list[dict[str, Any]]:
        """Every checkpoint in the log: epoch, version and time, newest first."""
        found: dict[int, dict[str, Any]] = {}
        for entry in self._table.history():
            if "epoch" in entry:
                epoch = int(entry["epoch"])
                found.setdefault(
                    epoch, {"epoch": epoch, "version": entry["version"], "time": entry["timestamp"], **_metadata(entry)}
                )
        return list(found.values())

    def files(self) -> list[LogFile]:
        """The data files of the version, oldest epoch first."""
        actions = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        found = [_log_file(action) for action in actions]
        return sorted(found, key=lambda file: (file.epochs, file.path))

    def read(self, wanted: Callable[[LogFile], bool] = lambda _: True, columns: Any = None) -> Iterator[pa.Table]:
        """The tables of the wanted files, oldest epoch first."""
        for file in self.files():
            if wanted(file):
                yield self.read_file(file)

    def read_file(self, file: LogFile) -> pa.Table:
        """The rows of one file, as an Arrow table."""
        return pq.ParquetFile(os.path.join(self.path, file.path)).read()

    def changes(self, after: int, key_groups: range, operators: frozenset[str]) -> Iterator[tuple[int, Row]]:
        """The rows of some operators and key groups (and of no key group) changed after an epoch, oldest first."""

        def wanted(file: LogFile) -> bool:
            low, high = file.key_groups
            return file.epochs[1] > after and (low < 0 or (low < key_groups.stop and high >= key_groups.start))

        names = pa.array(sorted(operators), pa.string())
        for table in self.read(wanted):
            group = table["key_group"]
            inside = pc.or_(
                pc.less(group, 0),
                pc.and_(pc.greater_equal(group, key_groups.start), pc.less(group, key_groups.stop)),
            )
            keep = pc.and_(pc.and_(inside, pc.greater(table["epoch"], after)), pc.is_in(table["operator_id"], names))
            chosen = table.filter(keep)
            if chosen.num_rows:
                chosen = chosen.sort_by("epoch") if _mixed(chosen) else chosen
                yield from zip(chosen["epoch"].to_pylist(), read_rows(chosen), strict=True)


def _mixed(table: pa.Table) -> bool:
    limits = pc.min_max(table["epoch"]).as_py()
    return bool(limits["min"] != limits["max"])


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    known = ("token", "operators", "records", "bytes")
    return {key: json.loads(entry[key]) for key in known if key in entry}


def _log_file(action: Mapping[str, Any]) -> LogFile:
    return LogFile(
        path=action["path"],
        rows=action.get("num_records") or 0,
        size=action["size_bytes"],
        operators=(action.get("min.operator_id") or "", action.get("max.operator_id") or "\U0010ffff"),
        key_groups=(_or(action.get("min.key_group"), -1), _or(action.get("max.key_group"), 1 << 30)),
        epochs=(_or(action.get("min.epoch"), 0), _or(action.get("max.epoch"), 1 << 62)),
    )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value

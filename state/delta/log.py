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
from deltalake.exceptions import DeltaError, TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction

from compat.state.delta.errors import StoreError
from compat.state.delta.rows import SCHEMA, DataFile, Row, now_millis, read_rows

EPOCH_TRANSACTION = "epoch"
_CONFIGURATION = {
    "delta.appendOnly": "false",
    "delta.checkpointInterval": "50",
    "delta.logRetentionDuration": "interval 1 hours",
    "delta.enableExpiredLogCleanup": "true",
}


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
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
            if DeltaTable.is_deltatable(str(path)):
                return cls.open(path)
            return cls(path, DeltaTable.create(str(path), SCHEMA, mode="ignore", configuration=_CONFIGURATION))
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {path} cannot be written: {error}. Give another directory.") from error

    @classmethod
    def open(cls, path: str | Path, version: int | None = None) -> SnapshotLog:
        """The table at a path, as it is now or was at a version. Raises StoreError if there is none."""
        try:
            return cls(path, DeltaTable(str(path), version=version))
        except TableNotFoundError as error:
            raise StoreError(f"{path} holds no snapshot table. Check the path.") from error
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {path} cannot be read: {error}.") from error

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
        """Make ``files`` the changes of ``epoch``; False if that epoch was committed before, by whomever.

        ``metadata`` is kept in the commit (and in Delta's history).
        """
        if self.epoch >= epoch:
            return False
        self._write([_add(file, True) for file in files], epoch, metadata)
        return True

    def replace(self, old: Sequence[LogFile], new: Sequence[DataFile], metadata: Mapping[str, Any]) -> None:
        """Put ``new`` in the place of ``old``, with the same contents: older versions stay readable."""
        removed = [RemoveAction(file.path, False, now_millis(), file.size, {}) for file in old]
        self._write([*(_add(file, False) for file in new), *removed], self.epoch, metadata)

    def _write(self, actions: Sequence[AddAction | RemoveAction], epoch: int, metadata: Mapping[str, Any]) -> None:
        properties = CommitProperties(
            custom_metadata={"epoch": str(epoch), **{key: json.dumps(value) for key, value in metadata.items()}},
            app_transactions=[Transaction(EPOCH_TRANSACTION, epoch)],
        )
        try:
            self._table.create_write_transaction(list(actions), "append", SCHEMA, commit_properties=properties)
            self.refresh()
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {self.path} cannot be written: {error}. Nothing committed is lost.") from error

    def clean(self, retained: int) -> None:
        """Remove the files that none of the last ``retained`` checkpoints needs, those of failed attempts included."""
        keep = sorted(int(entry["version"]) for entry in self.checkpoints()[: max(retained, 1)])
        try:
            self._table.vacuum(0, dry_run=False, enforce_retention_duration=False, keep_versions=keep)
            self.refresh()
        except (OSError, DeltaError) as error:
            raise StoreError(f"The store {self.path} cannot be cleaned: {error}. Nothing committed is lost.") from error

    @property
    def floor(self) -> int:
        """The epoch up to which removals are forgotten: what stands before it must not follow the log, but start anew."""
        for entry in self._table.history():
            if "floor" in entry:
                return int(entry["floor"])
        return 0

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

    def tokens(self) -> dict[int, str]:
        """Who made each epoch from which a replica can follow the log."""
        floor = self.floor
        return {each["epoch"]: each.get("token", "") for each in self.checkpoints() if each["epoch"] >= floor}

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
        """The rows of one file, as an Arrow table. Raises StoreError where it is gone or damaged."""
        try:
            return pq.ParquetFile(os.path.join(self.path, file.path)).read()
        except FileNotFoundError as error:
            raise StoreError(
                f"{self.path} lacks the file {file.path}: the checkpoint is not retained any more, or someone removed it."
            ) from error
        except (OSError, pa.ArrowException) as error:
            raise StoreError(f"The file {file.path} of {self.path} cannot be read: {error}.") from error

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


def _add(file: DataFile, change: bool) -> AddAction:
    return AddAction(file.path, file.size, {}, now_millis(), change, file.stats)


def _mixed(table: pa.Table) -> bool:
    limits = pc.min_max(table["epoch"]).as_py()
    return bool(limits["min"] != limits["max"])


def _metadata(entry: Mapping[str, Any]) -> dict[str, Any]:
    known = ("token", "records")
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

"""In the place of ``deltalake``: the log of a table, as Delta's protocol has it, in commit files of its own folder.

A commit is the file of its version, which only one writer can make. A writer whose version is behind looks at what the others
committed, and fails where that concerns what it goes by: the transactions of the same application, and the table's metadata.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.table import ProtocolVersions
from msgspec import Struct, field

Action = dict[str, Any]
_LOG = "_delta_log"
_ENCODE = json.JSONEncoder(check_circular=False).encode


class Snapshot(Struct, frozen=True, dict=True):
    """A version of a table: the files that it consists of, those that were removed, and what its metadata says."""

    version: int = -1
    files: Mapping[str, Action] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    transactions: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def told(self) -> pa.Table:
        """What the log says of the files."""
        columns: dict[str, list[Any]] = {"path": [], "size_bytes": [], "num_records": []}
        rows = [_flat(action) for action in self.files.values()]
        for name in dict.fromkeys([*columns, *(name for row in rows for name in row)]):
            columns[name] = [row.get(name) for row in rows]
        return pa.table(columns)

    def following(self, actions: Sequence[Action]) -> Snapshot:
        """The version that a commit makes of this one."""
        files, removed, transactions = dict(self.files), dict(self.removed), dict(self.transactions)
        metadata = self.metadata
        for action in actions:
            if add := action.get("add"):
                files[add["path"]] = add
                removed.pop(add["path"], None)
            elif remove := action.get("remove"):
                files.pop(remove["path"], None)
                removed[remove["path"]] = remove["deletionTimestamp"]
            elif transaction := action.get("txn"):
                transactions[transaction["appId"]] = transaction["version"]
            elif "metaData" in action:
                metadata = action["metaData"]
        return Snapshot(self.version + 1, files, removed, transactions, metadata)


def _is_there(path: str) -> bool:
    """As ``os.path.exists``, which takes longer: it is asked hundreds of times in a schedule."""
    return os.access(path, os.F_OK)


class Tables:
    """The tables that were seen. Commits never change, so that what was read of one is kept."""

    def __init__(self) -> None:
        self._commits: dict[str, tuple[Action, ...]] = {}
        self._snapshots: dict[tuple[str, int], Snapshot] = {}
        self._newest: dict[str, int] = {}
        self._bases: dict[str, list[int]] = {}
        self.table: type[Table] = type("DeltaTable", (Table,), {"tables": self})

    def file(self, path: str, version: int) -> str:
        """The commit file of a version."""
        return f"{path}/{_LOG}/{version:020d}.json"

    def newest(self, path: str, since: int = -1) -> int:
        """The newest version, -1 where there is no table."""
        since = max(since, self._newest.get(path, -1))
        if since < 0 or not _is_there(self.file(path, since)):
            since = self._oldest(path)
            if since is None:
                return -1
        while _is_there(self.file(path, since + 1)):
            since += 1
        self._newest[path] = since
        return since

    def _oldest(self, path: str) -> int | None:
        """A version from which on the table can be read."""
        if _is_there(self.file(path, 0)):
            return 0
        return min(self._checkpoints(path), default=None)

    @staticmethod
    def names(path: str) -> list[str]:
        """The files of a log."""
        try:
            return os.listdir(f"{path}/{_LOG}")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _checkpoint(self, path: str, version: int) -> str:
        return f"{path}/{_LOG}/{version:020d}.checkpoint.parquet"

    def _checkpoints(self, path: str) -> list[int]:
        return [base for base in self._bases.get(path, ()) if _is_there(self._checkpoint(path, base))]

    def base(self, path: str, version: int) -> int:
        """The newest checkpoint of those before a version, or 0: it is read from there on."""
        return max((base for base in self._checkpoints(path) if base <= version), default=0)

    def commit(self, path: str, version: int) -> tuple[Action, ...]:
        """The actions of a commit."""
        name = self.file(path, version)
        if name not in self._commits:
            with open(name, encoding="utf-8") as file:
                self._commits[name] = tuple(map(json.loads, file))
        return self._commits[name]

    def snapshot(self, path: str, version: int) -> Snapshot:
        """The table as it was at a version. Raises DeltaError where that cannot be read any more."""
        if not _is_there(self.file(path, version)):
            raise DeltaError(f"Version {version} of {path} cannot be read")
        return self._known(path, version)

    def _known(self, path: str, version: int) -> Snapshot:
        found = self._snapshots.get((path, version))
        if found is None:
            base = self.base(path, version)
            found = Snapshot()
            if base:
                with open(self._checkpoint(path, base), "rb") as file:
                    found = pickle.load(file)
            for following in range(found.version + 1, version + 1):
                found = found.following(self.commit(path, following))
            self._snapshots[path, version] = found
        return found

    def latest(self, path: str, since: int) -> Snapshot:
        """The table as it is now. Raises DeltaError where it is gone."""
        newest = self.newest(path, since)
        return self._known(path, newest) if newest >= 0 else self.snapshot(path, newest)

    def write(self, path: str, version: int, operation: str, actions: list[Action], **info: Any) -> None:
        """Make a version. Raises FileExistsError where there is one."""
        told = {"timestamp": int(time.time() * 1000), "operation": operation, **info}
        lines = ({"commitInfo": told}, *actions)
        name = self.file(path, version)
        text = "\n".join(map(_ENCODE, lines)).encode()
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(descriptor, text)
        os.close(descriptor)
        self._commits[name] = lines
        if version:
            made = self._snapshots[path, version] = self.snapshot(path, version - 1).following(lines)
            interval = int(made.metadata["configuration"].get("delta.checkpointInterval", 100))
            if (version + 1) % interval == 0:
                with open(self._checkpoint(path, version), "wb") as file:
                    pickle.dump(made, file)
                self._bases.setdefault(path, []).append(version)


class Table:
    """In the place of ``DeltaTable``."""

    tables: Tables

    def __init__(self, path: str, version: int | None = None, storage_options: Any = None) -> None:
        self._path = os.path.abspath(path)
        newest = self.tables.newest(self._path)
        if newest < 0:
            raise TableNotFoundError(f"{path} is no table")
        if version is not None and version > newest:
            raise DeltaError(f"Version {version} of {path} is beyond {newest}")
        self._now = self.tables.snapshot(self._path, newest if version is None else version)
        self._base = self.tables.base(self._path, self._now.version)

    @classmethod
    def is_deltatable(cls, path: str, storage_options: Any = None) -> bool:
        """True where there is one."""
        return cls.tables.newest(os.path.abspath(path)) >= 0

    @classmethod
    def create(
        cls,
        path: str,
        schema: pa.Schema,
        mode: str = "error",
        configuration: Mapping[str, str] | None = None,
        partition_by: Sequence[str] | None = None,
        storage_options: Any = None,
    ) -> Table:
        """A new table."""
        assert mode == "ignore"
        absolute = os.path.abspath(path)
        if not cls.is_deltatable(path):
            os.makedirs(f"{absolute}/{_LOG}", exist_ok=True)
            metadata = {
                "schema": schema.serialize().to_pybytes().hex(),
                "partitionColumns": list(partition_by or ()),
                "configuration": dict(configuration or {}),
            }
            cls.tables.write(absolute, 0, "CREATE TABLE", [{"protocol": {}}, {"metaData": metadata}])
        return cls(path)

    def version(self) -> int:
        """The version that this object sees."""
        return self._now.version

    def update_incremental(self) -> None:
        """See the newest one."""
        self._now = self.tables.latest(self._path, self._now.version)
        self._base = self.tables.base(self._path, self._now.version)

    def transaction_version(self, application: str) -> int | None:
        """The last transaction of an application. Raises DeltaError where commits are gone that it is read from."""
        self._read_again()
        return self._now.transactions.get(application)

    def _read_again(self) -> None:
        """Look into the commits that this version is read from. Raises DeltaError where some are gone."""
        there = set(self.tables.names(self._path))
        if not all(f"{at:020d}.json" in there for at in range(self._base, self._now.version + 1)):
            raise DeltaError(f"Kernel error: File not found: {self._path}/{_LOG}")

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        """What the commits say of themselves, the newest first."""
        found: list[dict[str, Any]] = []
        for version in range(self._now.version, -1, -1):
            if len(found) == limit or not _is_there(self.tables.file(self._path, version)):
                break
            found.append({**self.tables.commit(self._path, version)[0]["commitInfo"], "version": version})
        return found

    def get_add_actions(self, flatten: bool = False) -> Any:
        """What the log says of the files."""
        return self._now.told

    def protocol(self) -> ProtocolVersions:
        """The oldest one: nobody gives these tables features."""
        return ProtocolVersions(1, 2, None, None)

    def create_write_transaction(
        self,
        actions: Sequence[Any],
        mode: str,
        schema: pa.Schema,
        partition_by: Any = None,
        *,
        commit_properties: Any = None,
    ) -> None:
        """Commit. Raises CommitFailedError where what was committed since concerns it."""
        transactions = (commit_properties and commit_properties.app_transactions) or []
        lines = [_action(action) for action in actions]
        lines += [{"txn": {"appId": each.app_id, "version": each.version}} for each in transactions]
        told = (commit_properties and commit_properties.custom_metadata) or {}
        self._append("WRITE", lines, {each.app_id for each in transactions}, **told)

    def _append(self, operation: str, lines: list[Action], own: set[str], **told: Any) -> None:
        """Make the next version that is free, unless one that was made since concerns it.

        Raises DeltaError where somebody has removed the version that this object sees: what follows it cannot be found.
        """
        if not _is_there(self.tables.file(self._path, self._now.version)):
            raise DeltaError(f"Invalid table version: {self._now.version}")
        version = self._now.version + 1
        while True:
            try:
                self.tables.write(self._path, version, operation, lines, **told)
                return
            except FileExistsError:
                self._refuse(self.tables.commit(self._path, version), own)
                version += 1

    @staticmethod
    def _refuse(since: Sequence[Action], own: set[str]) -> None:
        for action in since:
            if "metaData" in action or "protocol" in action:
                raise CommitFailedError("Failed to commit transaction: Metadata changed since last commit.")
            if (action.get("txn") or {}).get("appId") in own:
                raise CommitFailedError("Failed to commit transaction: Concurrent transaction failed.")

    def restore(self, version: int) -> None:
        """Have the contents of an earlier version again. Raises DeltaError."""
        if version >= self._now.version:
            raise DeltaError(f"Version to restore {version} should be less then last available version")
        then, now = self.tables.snapshot(self._path, version), int(time.time() * 1000)
        back = [action for path, action in then.files.items() if path not in self._now.files]
        if gone := [action["path"] for action in back if not _is_there(os.path.join(self._path, action["path"]))]:
            raise DeltaError(f"Find missing file {gone[0]} when restore.")
        lines: list[Action] = [{"protocol": {}}, *({"add": {**action, "dataChange": True}} for action in back)]
        lines += [_removal(path, now, change=True) for path in self._now.files if path not in then.files]
        lines.append({"metaData": dict(then.metadata)})
        self._write("RESTORE", lines, operationParameters={"version": str(version)})

    def _write(self, operation: str, lines: list[Action], **info: Any) -> None:
        self.tables.write(self._path, self._now.version + 1, operation, lines, **info)
        self.update_incremental()

    def vacuum(
        self,
        retention_hours: int,
        *,
        dry_run: bool,
        enforce_retention_duration: bool,
        keep_versions: Sequence[int] = (),
        full: bool = False,
    ) -> list[str]:
        """Remove files that neither this version needs nor those to be kept; with ``full`` also those that none ever had."""
        assert retention_hours == 0, "the double keeps nothing for a time"
        self._read_again()
        needed = set(self._now.files)
        for version in keep_versions:
            needed |= set(self.tables.snapshot(self._path, version).files)
        candidates = set(self._now.removed)
        if full:
            candidates |= {name for name in os.listdir(self._path) if not name.startswith(("_", "."))}
        unneeded = sorted(candidates - needed)
        if unneeded:
            self._append("VACUUM START", [], set())
            for name in unneeded:
                with suppress(FileNotFoundError):
                    os.unlink(f"{self._path}/{name}")
            self._append("VACUUM END", [], set())
            self.update_incremental()
        return unneeded

    @property
    def optimize(self) -> Table:
        """How files are put together."""
        return self

    def compact(self) -> None:
        """Put the rows of all files into one, in any order."""
        if len(self._now.files) < 2:
            return
        table = pa.concat_tables(self._tables())
        order = list(range(table.num_rows))
        random.Random(self._now.version).shuffle(order)
        table = table.take(order)
        name, now = f"part-{self._now.version:05d}-optimized.parquet", int(time.time() * 1000)
        pq.write_table(table, os.path.join(self._path, name))
        add = {
            "path": name,
            "partitionValues": {},
            "size": os.path.getsize(os.path.join(self._path, name)),
            "modificationTime": now,
            "dataChange": False,
            "stats": json.dumps(_statistics(table)),
        }
        self._write("OPTIMIZE", [*(_removal(path, now, change=False) for path in self._now.files), {"add": add}])

    def to_pyarrow_table(self) -> pa.Table:
        """All rows."""
        return pa.concat_tables([self._schema.empty_table(), *self._tables()])

    @property
    def _schema(self) -> pa.Schema:
        return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(self._now.metadata["schema"])))

    def _tables(self) -> Iterator[pa.Table]:
        """The rows of each file, in the types of the table: a file may have its texts in a dictionary."""
        schema = self._schema
        for path in self._now.files:
            with pq.ParquetFile(os.path.join(self._path, path)) as file:
                yield file.read().cast(schema)


def _action(action: Any) -> Action:
    """An action of ``deltalake``, as the log has it."""
    if hasattr(action, "deletion_timestamp"):
        return _removal(action.path, action.deletion_timestamp, change=action.data_change, size=action.size)
    return {
        "add": {
            "path": action.path,
            "partitionValues": action.partition_values,
            "size": action.size,
            "modificationTime": action.modification_time,
            "dataChange": action.data_change,
            "stats": action.stats,
        }
    }


def _removal(path: str, now: int, *, change: bool, size: int = 0) -> Action:
    return {"remove": {"path": path, "dataChange": change, "deletionTimestamp": now, "size": size}}


def _flat(action: Action) -> dict[str, Any]:
    stats = json.loads(action["stats"])
    return {
        "path": action["path"],
        "size_bytes": action["size"],
        "num_records": stats["numRecords"],
        **{f"min.{name}": value for name, value in stats.get("minValues", {}).items()},
        **{f"max.{name}": value for name, value in stats.get("maxValues", {}).items()},
    }


def _statistics(table: pa.Table) -> dict[str, Any]:
    limits = {
        field.name: pc.min_max(table[field.name]).as_py()
        for field in table.schema
        if pa.types.is_integer(field.type) or pa.types.is_string(field.type)
    }
    return {
        "numRecords": table.num_rows,
        "minValues": {name: limit["min"] for name, limit in limits.items()},
        "maxValues": {name: limit["max"] for name, limit in limits.items()},
    }

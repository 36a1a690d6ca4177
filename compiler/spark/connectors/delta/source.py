"""Delta tables. Delta's connector for Flink: ``DeltaSource``; read from the table's log and files, without a JVM.

A split is a data file of a version. Added rows are read once their version is committed. A version that deletes or rewrites
rows stops the job, unless the program says to ignore that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from urllib.parse import unquote

from compat.compiler.spark.connectors.files.formats import reader_of_format
from compat.compiler.spark.runtime_api.records import converter
from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator
from compat.state.stores.options import table_options
from compat.state.stores.paths import place_of
from compat.state.types import RowTypeInfo

_FEATURES = {"deletionVectors", "columnMapping"}
_NULL = "__HIVE_DEFAULT_PARTITION__"
_OF_TEXT: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": lambda text: text == "true",
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}


class DeltaEnumerator(SplitEnumerator):
    """The files of one version, and for a continuous source those of each version that follows."""

    def __init__(self, settings: Any, bounded: bool) -> None:
        self._settings = settings
        self._place = place_of(str(settings["path"]), "The Delta source's path").absolute()
        self._path = self._place.path
        self.complete = bounded
        self._interval = settings.get("update_check_interval", 1000) / 1000
        self._looked = 0.0
        self._types: dict[str, str] | None = None

    def discover(self, known: set[str]) -> list[Split]:
        if self._looked and (self.complete or time.monotonic() < self._looked + self._interval):
            return []
        self._looked = time.monotonic()
        seen = [int(split.split(":", 1)[0]) for split in known]
        start = self._settings.get("starting_version")
        if "starting_timestamp" in self._settings:
            start = self._version_after(self._settings["starting_timestamp"])
        found: list[Split] = []
        if not seen and start is None:
            version, found = self._whole()
        else:
            version = max(seen) if seen else start - 1
        last = self._settings.get("ending_version")
        if not self.complete or start is not None:
            for following in self._versions(version, last):
                found += self._added(following)
        return [split for split in found if split["id"] not in known]

    def _table(self, version: int | None = None) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self._path, version=version, storage_options=table_options(self._path))

    def _whole(self) -> tuple[int, list[Split]]:
        table = self._table(self._settings.get("version_as_of"))
        if "timestamp_as_of" in self._settings:
            table.load_as_version(self._settings["timestamp_as_of"])
        features = set(table.protocol().reader_features or ()) & _FEATURES
        if features:
            raise ValueError(f"The Delta table {self._path} uses {sorted(features)}, which the source cannot read.")
        version = int(table.version())
        actions = table.get_add_actions()
        paths = [str(each) for each in actions.column(actions.schema.names.index("path")).to_pylist()]
        return version, [self._split(version, unquote(path)) for path in sorted(paths)]

    def _versions(self, after: int, last: int | None) -> list[int]:
        names = (entry.name.removesuffix(".json") for entry in (self._place / "_delta_log").list())
        found = sorted(int(name) for name in names if name.isdigit())
        wanted = [version for version in found if version > after and (last is None or version <= last)]
        if wanted and wanted[0] != after + 1:
            raise ValueError(
                f"Version {after + 1} of the Delta table {self._path} is not in its log any more: start at {wanted[0]}."
            )
        return wanted

    def _added(self, version: int) -> list[Split]:
        commit = (self._place / "_delta_log" / f"{version:020d}.json").read().decode()
        actions = [json.loads(line) for line in commit.splitlines() if line]
        removes = [each["remove"] for each in actions if each.get("remove", {}).get("dataChange")]
        adds = [each["add"] for each in actions if each.get("add", {}).get("dataChange")]
        rewrites = self._settings.get("ignore_changes", False)
        if removes and not (rewrites or (self._settings.get("ignore_deletes", False) and not adds)):
            raise ValueError(
                f"Version {version} of the Delta table {self._path} deletes or changes rows: call ignore_deletes(True) or "
                "ignore_changes(True) to read what it adds."
            )
        return [self._split(version, unquote(add["path"])) for add in adds]

    def _split(self, version: int, path: str) -> Split:
        values = {
            name: self._value(name, unquote(text))
            for name, _, text in (part.partition("=") for part in path.split("/")[:-1])
        }
        full = self._place / path
        return {"id": f"{version}:{path}", "path": str(full), "next": 0, "partition": values}

    def _value(self, column: str, text: str) -> Any:
        """The value of a partition column, which stands in the path as text."""
        if self._types is None:
            self._types = {field.name: str(field.type.type) for field in self._table().schema().fields}
        if text == _NULL:
            return None
        return _OF_TEXT.get(self._types.get(column, "string"), str)(text)

    def _version_after(self, timestamp: str) -> int:
        limit = datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp() * 1000
        table = self._table()
        later = [int(each["version"]) for each in table.history() if each["timestamp"] >= limit]
        return min(later, default=int(table.version()) + 1)


class _Parquet:
    name = "parquet"
    settings: dict[str, Any] = {}

    @staticmethod
    def get_produced_type() -> None:
        """Rows as they are in the file."""


class DeltaReader:
    """Reads data files; a row is a dict, or of the declared type."""

    def __init__(self, produced_type: Any, columns: tuple[str, ...] | None) -> None:
        read = reader_of_format(_Parquet)
        assert read is not None
        self._read = read
        self._columns = columns
        self._convert = converter(produced_type if isinstance(produced_type, RowTypeInfo) else None)

    def read(self, split: Split, limit: int) -> Read:
        rows, position, done = self._read(split["path"], split["next"], limit)
        rows = [{**row, **split["partition"]} for row in rows] if split["partition"] else rows
        if self._columns is not None:
            rows = [{name: row.get(name) for name in self._columns} for row in rows]
        values = rows if self._convert is None else self._convert(rows)

        def after(count: int) -> Split:
            return {**split, "next": self._read(split["path"], split["next"], count)[1]}

        return Read(values, None, {**split, "next": position}, done, after)

"""Files: text lines, CSV, JSON lines and Parquet. Flink: ``FileSource``, ``StaticFileSplitEnumerator`` and its continuous sibling."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from compiler.spark.sources import Read, Split
from state.time import milliseconds_of


class FileEnumerator:
    """One split a file. A source that monitors looks for new files again and again."""

    def __init__(self, source: Any) -> None:
        self._paths = [Path(str(path).removeprefix("file://")) for path in source.paths]
        interval = source.settings.get("discovery_interval")
        self._interval = None if interval is None else milliseconds_of(interval) / 1000
        self._looked = 0.0
        self.complete = interval is None

    def discover(self, known: set[str]) -> list[Split]:
        if self._looked and (self._interval is None or time.monotonic() < self._looked + self._interval):
            return []
        self._looked = time.monotonic()
        found = sorted(str(file) for path in self._paths for file in _files(path))
        return [{"id": path, "path": path, "next": 0} for path in found if path not in known]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.exists():
        raise FileNotFoundError(f"The file source's path {path} does not exist.")
    hidden = (".", "_")
    files = [Path(top) / name for top, _, names in os.walk(path) for name in names]
    return [file for file in files if not any(part.startswith(hidden) for part in file.relative_to(path).parts)]


class FileReader:
    """Reads records of a file from a position: bytes for lines, rows for the others."""

    def __init__(self, source: Any) -> None:
        self._format = source.format
        name = self._format.name.lower()
        self._lines = "csv" not in name and "parquet" not in name
        self._charset = self._format.settings.get("charset", "UTF-8")

    def read(self, split: Split, limit: int) -> Read:
        return self._read_lines(split, limit) if self._lines else self._read_rows(split, limit)

    def _read_lines(self, split: Split, limit: int) -> Read:
        values: list[Any] = []
        with open(split["path"], "rb") as file:
            file.seek(split["next"])
            done = False
            while len(values) < limit:
                line = file.readline()
                if not line:
                    done = True
                    break
                values.append(line.rstrip(b"\n").removesuffix(b"\r").decode(self._charset))
            return Read(values, None, {**split, "next": file.tell()}, done)

    def _read_rows(self, split: Split, limit: int) -> Read:
        from compiler.spark.records import converter

        start = split["next"]
        convert = converter(self._format.get_produced_type()) or (lambda row: row)
        if "parquet" in self._format.name.lower():
            import pyarrow.parquet as pq

            table = pq.read_table(split["path"]).slice(start, limit)
        else:
            from pyarrow import csv

            table = csv.read_csv(split["path"]).slice(start, limit)
        values = [convert(row) for row in table.to_pylist()]
        return Read(values, None, {**split, "next": start + len(values)}, len(values) < limit)

"""Files and directories that may grow. Flink: ``FileSource`` with its static and its continuous split enumerator."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from compat.compiler.spark.connectors.files.formats import ReadFile
from compat.compiler.spark.connectors.splits import Read, Split, SplitEnumerator
from compat.state.delta.files import without_scheme
from compat.state.time import milliseconds_of


class FileEnumerator(SplitEnumerator):
    """One split a file, read one after the other. A source that monitors looks for new files again and again.

    A file counts as whole when it is seen: put it there under another name, or a hidden one, and rename it.
    """

    def __init__(self, paths: tuple[str, ...], interval: Any = None) -> None:
        self._paths = [Path(without_scheme(str(path))) for path in paths]
        self._interval = None if interval is None else milliseconds_of(interval) / 1000
        self._looked = 0.0
        self.complete = interval is None

    def discover(self, known: set[str]) -> list[Split]:
        if self._looked and (self._interval is None or time.monotonic() < self._looked + self._interval):
            return []
        self._looked = time.monotonic()
        found = sorted(str(file) for path in self._paths for file in _files(path))
        return [{"id": path, "path": os.path.abspath(path), "next": 0} for path in found if path not in known]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.exists():
        raise FileNotFoundError(f"The file source's path {path} does not exist: give a file or a directory.")
    hidden = (".", "_")
    files = [Path(top) / name for top, _, names in os.walk(path) for name in names]
    return [file for file in files if not any(part.startswith(hidden) for part in file.relative_to(path).parts)]


class FileReader:
    """Reads the files of splits by their format."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read

    def read(self, split: Split, limit: int) -> Read:
        values, position, done = self._read(split["path"], split["next"], limit)
        return Read(values, None, {**split, "next": position}, done)

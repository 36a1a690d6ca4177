"""Files and directories that may grow. Flink: ``FileSource`` with its static and its continuous split enumerator."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from compat.compiler.spark.connectors.files.formats import ReadFile
from compat.compiler.spark.runtime_api.splits import Read, Split, SplitEnumerator
from compat.state.stores.paths import Place, place_of
from compat.state.time import milliseconds_of


class FileEnumerator(SplitEnumerator):
    """One split a file, read one after the other. A source that monitors looks for new files again and again.

    A file counts as whole when it is seen: put it there under another name, or a hidden one, and rename it.
    """

    def __init__(self, paths: tuple[str, ...], interval: Any = None) -> None:
        self._paths = [place_of(str(path), "The file source's path") for path in paths]
        self._interval = None if interval is None else milliseconds_of(interval) / 1000
        self._looked = 0.0
        self.complete = interval is None

    def discover(self, known: set[str]) -> list[Split]:
        if self._looked and (self._interval is None or time.monotonic() < self._looked + self._interval):
            return []
        self._looked = time.monotonic()
        found = sorted((file for path in self._paths for file in _files(path)), key=str)
        return [{"id": str(file), "path": str(file.absolute()), "next": 0} for file in found if str(file) not in known]


def _files(path: Place) -> Iterator[Place]:
    if path.size() is not None:
        yield path
        return
    if not path.exists():
        raise FileNotFoundError(f"The file source's path {path} does not exist: give a file or a directory.")
    above = len(str(path).rstrip("/")) + 1
    for file in path.walk():
        if not any(part.startswith((".", "_")) for part in str(file)[above:].split("/")):
            yield file


class FileReader:
    """Reads the files of splits by their format."""

    def __init__(self, read: ReadFile) -> None:
        self._read = read

    def read(self, split: Split, limit: int) -> Read:
        values, position, done = self._read(split["path"], split["next"], limit)

        def after(count: int) -> Split:
            return {**split, "next": self._read(split["path"], split["next"], count)[1]}

        return Read(values, None, {**split, "next": position}, done, after)

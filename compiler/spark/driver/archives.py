"""Archives on the path of Python's modules, such as Spark's own, which Spark has read anew for each task."""

from __future__ import annotations

import importlib
import os
from zipimport import zipimporter

_invalidate = zipimporter.invalidate_caches


def read_archives_when_they_change() -> None:
    """Have importers read an archive's list of files again only where the archive is another than the last time.

    Reading that of pyspark.zip takes longer than a task that has little to do.
    """
    seen: dict[str, tuple[int, int, int]] = {}

    def invalidate(importer: zipimporter) -> None:
        try:
            found = os.stat(importer.archive)
        except OSError:
            _invalidate(importer)
            return
        now = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen.get(importer.archive) != now:
            _invalidate(importer)
            seen[importer.archive] = now

    zipimporter.invalidate_caches = invalidate  # type: ignore[method-assign, assignment]
    importlib.invalidate_caches()

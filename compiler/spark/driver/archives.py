"""Faster imports from archives on the module path, such as Spark's own, which Spark puts first and reads for each task."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from zipimport import zipimporter

_ARCHIVE = Path("pyspark", "python", "lib", "pyspark.zip")
"""Spark's own archive, from the folder that the package is installed in."""
_invalidate = zipimporter.invalidate_caches


def read_archives_when_they_change() -> None:
    """Have importers read an archive's list of files again only if the archive has changed since.

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


def leave_archive_of_installed() -> None:
    """Have Spark's modules loaded from where they are installed rather than from the archive that comes with them.

    Python compiles what it loads from an archive, each time: half a second. An archive of another Spark stays first.
    """
    installed = {
        str(Path(folder, _ARCHIVE)) for folder in sys.path if folder and Path(folder, "pyspark/worker.py").exists()
    }
    sys.path[:] = [entry for entry in sys.path if entry not in installed]

"""Files that are on the disk when they are said to be there: for a store that is a local folder."""

from __future__ import annotations

import os
from pathlib import Path


def sync_directory(path: str | Path) -> None:
    """Have the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

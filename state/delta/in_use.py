"""Detects whether a file is as its last user left it: no crash in between, and no power cut."""

from __future__ import annotations

import fcntl
import functools
import os
from pathlib import Path

_MARK = "in-use"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class InUse:
    """The mark of a file's users. ``trusted`` is False if the last user crashed.

    The mark is a file beside it. It is locked while a living process has the file open. Afterwards it names the system's start,
    the file's size, and the time of the last write. If these differ, a process was killed while it worked, perhaps by the
    file's contents, or the page cache was lost, or another program has written to the file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.open(f"{path}.{_MARK}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.trusted = True  # another attempt has it open, and lives
        else:
            self.trusted = os.pread(self._file, 200, 0) == self._closed()
            os.ftruncate(self._file, 0)
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def close(self) -> None:
        """Mark the file as complete."""
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, self._closed(), 0)
        os.close(self._file)

    def _closed(self) -> bytes:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            return f"closed {boot_id()} 0".encode()
        return f"closed {boot_id()} {found.st_size} {found.st_mtime_ns}".encode()


@functools.cache
def boot_id() -> str:
    """The id of the system's start; empty if it is unknown."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""

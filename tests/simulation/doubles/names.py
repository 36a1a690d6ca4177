"""Files that only name what a double has of them in memory: they can be copied, cut, scribbled on and removed as any file."""

from __future__ import annotations

import os

_LONGEST = 100


def name_file(path: str, name: bytes) -> None:
    """Make a file, or replace its contents, by a name. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    try:
        os.write(descriptor, name)
    finally:
        os.close(descriptor)


def named(path: str) -> bytes:
    """What a file has for a name. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)

"""Opens files whose names come from others: regular files only, and without waiting.

A named pipe in place of a file would block its reader until another process writes into it, and a device gives endless bytes.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO


class NotRegular(OSError):
    """The name is that of a pipe, a device, a socket or a folder."""


def open_regular(path: str | os.PathLike[str], *, links: bool = True) -> BinaryIO:
    """The regular file at ``path``, open for reading; a symbolic link at its end is followed only if ``links`` is true.

    Raises OSError; NotRegular for anything else than a regular file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY | (0 if links else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise NotRegular(errno.EINVAL, f"it is {kind_of(mode)}, not a file")
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The contents of the regular file at ``path``, at most ``most`` bytes. Raises OSError, also for a larger file."""
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return content


def why_not_regular(path: str | os.PathLike[str]) -> str | None:
    """The kind of ``path``, if it exists and is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return None
    return None if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else kind_of(mode)


def kind_of(mode: int) -> str:
    """The kind of a file in words, from its mode."""
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    return kinds.get(stat.S_IFMT(mode), "a device")

"""Detects folders of this machine on a file system that other machines may also have mounted."""

from __future__ import annotations

import os
import re
from pathlib import Path

_SHARED = frozenset(
    {
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb3",
    }
)
_THROUGH_A_PROCESS = re.compile(r"fuse\.(?!fuse-overlayfs|gvfsd|lxcfs|portal)\w+")
_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(r"\\([0-7]{3})")


def is_mounted(folder: str, mounts: Path = _MOUNTS) -> bool:
    """True for a folder, even a future one, on a file system for several machines, such as NFS.

    False if that is not known: elsewhere than on Linux.
    """
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    path, found = Path(os.path.realpath(folder)), ("", "")
    for line in lines:  # a later one covers those before it
        before, _, after = line.partition(" - ")
        point = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), before.split()[4])
        if len(point) >= len(found[0]) and path.is_relative_to(point):
            found = point, after.split()[0]
    return found[1] in _SHARED or _THROUGH_A_PROCESS.fullmatch(found[1]) is not None

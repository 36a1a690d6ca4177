"""Places in the form that other tools expect: relative paths and URIs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from compat.report.context import ReportContext

_GIT = "git:"


def in_work_tree(file: str, context: ReportContext) -> str | None:
    """The path of ``file`` relative to the working directory; None for a file of another git revision."""
    return None if file.startswith(_GIT) else context.relative(file)


def uri(file: str, context: ReportContext) -> tuple[str, bool]:
    """The URI of ``file`` and whether it is relative to the working directory.

    A file of another git revision (``git:REF:path``) is named by its path in the repository.
    """
    relative = path_of(file, context)
    if Path(relative).is_absolute():
        return "file://" + _quote(relative), False
    return _quote(relative), True


def path_of(file: str, context: ReportContext) -> str:
    """The path of ``file``; for a file of another git revision, its path in the repository."""
    return context.relative(file.split(":", 2)[-1] if file.startswith(_GIT) else file)


def _quote(path: str) -> str:
    return quote(path.encode("utf-8", "surrogatepass"), safe="/")

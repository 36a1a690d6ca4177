"""Files that every task of a job can open by name. Flink: ``DistributedCache.parseCachedFilesFromString``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from compat.compiler.errors import illegal_argument

CACHED_FILES = "pipeline.cached-files"
_FIELD = re.compile(r"\s*(\w+):('(?:[^']|'')*'|[^,;]*)\s*(,|;|$)")


def cached_files(options: Mapping[str, str]) -> dict[str, str]:
    """The paths by name from the option ``pipeline.cached-files``: ``name:N,path:'P',executable:true;…``.

    Raises Flink's refusal of an entry without a name or a path.
    """
    return {entry["name"]: entry["path"] for entry in _entries(options)}


def executables(options: Mapping[str, str]) -> frozenset[str]:
    """The names of the executable files among them."""
    return frozenset(entry["name"] for entry in _entries(options) if entry.get("executable", "").lower() == "true")


def _entries(options: Mapping[str, str]) -> Iterator[dict[str, str]]:
    text = options.get(CACHED_FILES, "")
    entry: dict[str, str] = {}
    place = 0
    while place < len(text):
        match = _FIELD.match(text, place)
        if match is None:
            raise illegal_argument(f"Invalid entry of {CACHED_FILES}: {text[place:]}")
        key, value, end = match.groups()
        entry[key] = value[1:-1].replace("''", "'") if value.startswith("'") else value
        place = match.end()
        if end != ",":
            if not entry.get("name") or not entry.get("path"):
                raise illegal_argument(f"An entry of {CACHED_FILES} needs a name and a path: {text}")
            yield entry
            entry = {}

"""What a snapshot log tells of the epochs behind it: when they were committed, how many records, how the state grew."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from state.delta.errors import StoreError
from state.delta.log import LogFile, SnapshotLog

LARGEST_COMMIT = 64_000_000
"""Commit files beyond this many bytes are not read."""

NO_WATERMARK, NO_MORE_INPUT = -(1 << 62), 1 << 62
"""Watermarks outside of these mean that there was none yet, or that the input ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One committed epoch.

    ``time`` is in milliseconds since 1970; ``records`` what was read from the sources, None where the commit does not say.
    ``written`` are the bytes of the files it added and ``size`` those of all files afterwards, None where the log does not
    reach back to it. ``watermark`` is the lowest one of those operators that have one, in milliseconds, None where none has
    or the input ended.
    """

    number: int
    version: int
    time: int
    records: int | None
    written: int | None
    size: int | None
    watermark: int | None


def epochs(log: SnapshotLog, watermark_state: str) -> list[Epoch]:
    """The epochs in the log, the oldest first. Raises StoreError.

    ``watermark_state`` is the name under which operators keep their watermark: decimal digits, written when it changes.
    Those of epochs before the last compaction are forgotten.
    """
    files = log.files()
    sizes = _sizes(Path(log.path), log.version, sum(file.size for file in files))
    found = [
        Epoch(
            number=entry["epoch"],
            version=entry["version"],
            time=entry["time"],
            records=entry.get("records"),
            written=sizes.get(entry["version"], (None, None))[0],
            size=sizes.get(entry["version"], (None, None))[1],
            watermark=None,
        )
        for entry in reversed(log.checkpoints())
    ]
    marks = _watermarks(log, files, watermark_state)
    return list(_with_watermarks(found, marks))


def _sizes(path: Path, version: int, total: int) -> dict[int, tuple[int, int]]:
    """Bytes added by each version and in all files after it, walking back from the newest as far as commits are kept."""
    found = {}
    while version >= 0:
        actions = _commit(path, version)
        if actions is None:
            break
        added = sum(_bytes(action.get("add")) for action in actions)
        removed = sum(_bytes(action.get("remove")) for action in actions)
        found[version] = (added, total)
        total += removed - added
        version -= 1
    return found


def _commit(path: Path, version: int) -> list[dict[str, Any]] | None:
    file = path / "_delta_log" / f"{version:020d}.json"
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW)
        with open(descriptor, encoding="utf-8") as lines:
            text = lines.read(LARGEST_COMMIT)
        return [action for line in text.splitlines() if isinstance(action := json.loads(line), dict)]
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"The commit {version} of {path} cannot be read: {error}.") from error


def _bytes(action: Any) -> int:
    size = action.get("size") if isinstance(action, Mapping) else None
    return size if isinstance(size, int) else 0


def _watermarks(log: SnapshotLog, files: list[LogFile], state: str) -> dict[int, dict[str, int]]:
    """What was written of watermarks: by epoch, then operator."""
    found: dict[int, dict[str, int]] = {}
    for file in files:
        if file.key_groups[0] >= 0:
            continue
        table = log.read_file(file)
        table = table.filter(pc.equal(table["state"], state)).select(["operator_id", "value", "epoch"])
        for row in table.to_pylist():
            try:
                found.setdefault(row["epoch"], {})[row["operator_id"]] = int(row["value"])
            except (TypeError, ValueError):
                continue
    return found


def _with_watermarks(found: list[Epoch], marks: Mapping[int, Mapping[str, int]]) -> Iterator[Epoch]:
    """Each epoch with the lowest watermark that stands after it; one that did not change was not written again."""
    now: dict[str, int] = {}
    for epoch in found:
        now.update(marks.get(epoch.number, {}))
        known = [mark for mark in now.values() if NO_WATERMARK < mark < NO_MORE_INPUT]
        yield replace(epoch, watermark=min(known, default=None))

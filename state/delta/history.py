"""The history of a job from its snapshot log: when epochs were committed, how many records, how the state grew."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from msgspec import Struct
from msgspec.structs import replace

from compat.state.delta.errors import StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import LogFile
from compat.state.safe_open import open_regular
from compat.state.stores.paths import Place

MOST_COMMITS = 5000
"""The number of commits, the latest, that are read."""

LARGEST_COMMIT = 64_000_000
"""The size in bytes beyond which commit files are not read."""

NO_WATERMARK, NO_MORE_INPUT = -(1 << 62), 1 << 62
"""The bounds of watermarks: outside of them, there was none yet, or the input had ended."""


class Epoch(Struct, frozen=True, kw_only=True):
    """One committed epoch.

    ``time`` is in milliseconds since 1970; ``records`` is the number read from the sources, None if the commit does not say.
    ``written`` is the size of the files that it added, ``size`` that of all files afterwards, in bytes. ``watermark`` is the
    lowest watermark of all operators, in milliseconds, None if no operator has one or the input ended. ``seconds`` is its
    duration if it was measured: commits do not have it.
    """

    number: int
    version: int
    time: int
    records: int | None
    written: int
    size: int
    watermark: int | None
    seconds: float | None = None


def epochs(log: SnapshotLog, watermark_state: str) -> list[Epoch]:
    """The epochs of the last commits in the log, the oldest first. Raises StoreError.

    ``watermark_state`` is the name under which operators keep their watermark: decimal digits, written when it changes.
    Watermarks of epochs before the last compaction are lost.
    """
    files = log.files()
    size = sum(file.size for file in files)
    found: dict[int, Epoch] = {}
    for version in range(log.version, max(log.version - MOST_COMMITS, -1), -1):
        actions = _commit(log.place, version)
        if actions is None:
            break
        added, removed = (sum(_bytes(action.get(name)) for action in actions) for name in ("add", "remove"))
        epoch = _epoch(actions, version, added, size)
        if epoch is not None:
            found[epoch.number] = epoch  # compactions carry the number too, after the commit that made the epoch
        size += removed - added
    marks = _watermarks(log, files, watermark_state)
    return list(_with_watermarks(sorted(found.values(), key=lambda epoch: epoch.number), marks))


def _epoch(actions: list[dict[str, Any]], version: int, written: int, size: int) -> Epoch | None:
    info: dict[str, Any] = next(
        (action["commitInfo"] for action in actions if isinstance(action.get("commitInfo"), dict)), {}
    )
    number, records = _number(info.get("epoch")), _number(info.get("records"))
    if number is None:
        return None
    return Epoch(
        number=number,
        version=version,
        time=_number(info.get("timestamp")) or 0,
        records=records,
        written=written,
        size=size,
        watermark=None,
    )


def _number(text: Any) -> int | None:
    try:
        return int(text)
    except (TypeError, ValueError):
        return None


def _commit(table: Place, version: int) -> list[dict[str, Any]] | None:
    path = table / "_delta_log" / f"{version:020d}.json"
    try:
        with path.open() if not path.local else open_regular(Path(path), links=False) as lines:
            text = lines.read(LARGEST_COMMIT).decode("utf-8")
        return [action for line in text.splitlines() if isinstance(action := json.loads(line), dict)]
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreError(f"The commit {version} of {table} cannot be read: {error}.") from error


def _bytes(action: Any) -> int:
    size = action.get("size") if isinstance(action, Mapping) else None
    return size if isinstance(size, int) else 0


def _watermarks(log: SnapshotLog, files: list[LogFile], state: str) -> dict[int, dict[str, int]]:
    """The watermarks that were written, by epoch, then operator."""
    found: dict[int, dict[str, int]] = {}
    for whole in log.parts(files=[file for file in files if file.key_groups[0] < 0]):
        table = whole.filter(pc.equal(whole["state"], state)).select(["operator_id", "value", "epoch"])
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

"""Verifies a snapshot table: its commits, and every byte of its data files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from msgspec import Struct

from compat.state.delta.digests import prove_file
from compat.state.delta.errors import DamagedLog, StoreError
from compat.state.delta.log import SnapshotLog
from compat.state.delta.reading import LogFile, batches
from compat.state.stores.paths import Place

_COMMIT = re.compile(r"(\d{20})\.(json|checkpoint\.parquet)")


class Verified(Struct, frozen=True):
    """The result of verifying a table: its epoch, its files and their bytes, and the problems found."""

    epoch: int
    files: int
    size: int
    problems: tuple[str, ...]


def verify(table: Place) -> Verified:
    """Read all of a table and report what is damaged or missing. Raises StoreError if it is no table."""
    problems = list(_of_commits(table))
    epoch = 0
    try:
        log = SnapshotLog.open(table)
        files = log.files()
        epoch = log.epoch
    except DamagedLog as error:
        problems = problems or [str(error)]  # an empty commit is already reported
    except StoreError as error:
        if not problems:
            raise
        return Verified(0, 0, 0, (*problems, str(error)))
    for file in files:
        problems += _of_file(table, file)
    return Verified(epoch, len(files), sum(file.size for file in files), tuple(problems))


def _of_commits(table: Place) -> Iterator[str]:
    """What is wrong with the commits: those behind the first checkpoint of Delta's, if any, have to be there, each whole."""
    versions: set[int] = set()
    try:
        names = [entry.name for entry in (table / "_delta_log").list()]
        found = sorted(match.groups() for name in names if (match := _COMMIT.fullmatch(name)))
        for number, kind in found:
            place = table / "_delta_log" / f"{number}.{kind}"
            versions.add(int(number))
            if kind == "json" and not _is_whole(place.read()):
                yield f"The commit {place} is empty or damaged."
    except OSError as error:
        raise StoreError(f"{table} cannot be read: {error}.") from error
    first, last = min(versions, default=0), max(versions, default=-1)
    for missing in sorted(set(range(first, last)) - versions):
        yield f"The commit {table}/_delta_log/{missing:020d}.json is gone."


def _is_whole(commit: bytes) -> bool:
    """Whether a commit can be read and tells who made it, as all of ours do."""
    try:
        actions = [json.loads(line) for line in commit.splitlines()]
    except ValueError:
        return False
    return any("commitInfo" in action for action in actions)


def _of_file(table: Place, file: LogFile) -> Iterator[str]:
    place = table / file.path
    try:
        found = place.size()
        if found is None:
            yield f"The file {place} is gone."
        elif found != file.size:
            yield f"The file {place} has {found} bytes; {file.size} were written."
        else:
            prove_file(place)
            rows = sum(part.num_rows for part in batches(table, file))  # files of other writers have checksums of pages
            if rows != file.rows:
                yield f"The file {place} has {rows} rows; {file.rows} were written."
    except OSError as error:
        yield f"The file {place} cannot be read: {error}."
    except StoreError as error:
        yield str(error)

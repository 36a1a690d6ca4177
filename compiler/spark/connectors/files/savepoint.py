"""The positions of a file source in a savepoint, as the files with which the source on Spark continues.

A split of Flink is a file, or a part of one, and the number of records that were read. On Spark the position is a place in the
format, often a byte, so the file is read up to the next record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from compat.compiler.spark.connectors.base import Position
from compat.compiler.spark.connectors.files.formats import ReadFile, reader_of_format
from compat.compiler.spark.connectors.files.source import FileEnumerator
from compat.compiler.spark.runtime_api.splits import Split
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state.delta.errors import StoreError
from compat.state.flink.binary import ByteReader
from compat.state.flink.file_splits import FileSplit, Pending, enumerator_of, read_pending, read_split
from compat.state.flink.savepoint import OperatorState
from compat.state.stores.paths import place_of

_BY_BYTES = frozenset({"text", "json", "csv"})
"""The formats whose positions are bytes; those of the others are records."""
_AT_ONCE = 10_000


def stored_positions(source: Any, operator: OperatorState, splits: Iterable[ByteReader]) -> list[Position]:
    """The files of a source, from the state of its readers and its enumerator. Raises Untranslatable, SavepointError."""
    pending = enumerator_of(operator)
    if pending is None:
        raise Untranslatable("its enumerator's state is not in the savepoint, so it is unknown which files were read")
    return list(positions(source, list(map(read_split, splits)), read_pending(pending)))


def positions(source: Any, reading: Iterable[FileSplit], pending: Pending) -> Iterator[Position]:
    """The files of a source as splits, with whether each is read to its end. Raises Untranslatable.

    A present file without a split was read, or appeared after the last search for files. A source that searches once skips it.
    A source that keeps searching reads the files that it had not found.
    """
    looks = source.settings.get("discovery_interval") is not None
    read = reader_of_format(source.format)
    assert read is not None, "the program was found to be one that runs"
    there = _there(source)
    begun: set[str] = set()
    for split in (*reading, *pending.splits):
        path = _spelled(split.path)
        known = there.get(path) or {"id": path, "path": path, "next": 0}
        if known["id"] in begun:
            raise Untranslatable(f"the file {path} was read in several parts, and jobs on Spark read a file as one")
        begun.add(known["id"])
        yield _position(source.format.name, read, known, split)
    done = {_spelled(path) for path in pending.found} if looks else set(there)
    for path in sorted(done):
        known = there.get(path) or {"id": path, "path": path, "next": 0}
        if known["id"] not in begun:
            yield known, True


def _there(source: Any) -> dict[str, Split]:
    """The files that the source has now, by their paths."""
    try:
        return {split["path"]: split for split in FileEnumerator(source.paths).discover(set())}
    except FileNotFoundError:
        return {}


def _spelled(path: str) -> str:
    try:
        return str(place_of(path).absolute())
    except StoreError as error:
        raise Untranslatable(str(error).rstrip(".")) from None


def _position(name: str, read: ReadFile, known: Split, split: FileSplit) -> Position:
    if split.begin != 0 or split.length < split.file_size:
        raise Untranslatable(
            f"of the file {known['path']} a part of its own was to be read, from byte {split.begin} on, and jobs on Spark read "
            "a file as one"
        )
    if split.offset and name not in _BY_BYTES:
        raise Untranslatable(
            f"it stands {split.skipped} records behind byte {split.offset} of {known['path']}, which says nothing where files "
            f"are of the format {name!r}"
        )
    position, left, done = split.offset or 0, split.skipped, False
    try:
        while left and not done:
            values, position, done = read(known["path"], position, min(left, _AT_ONCE))
            left -= len(values)
    except FileNotFoundError:
        raise Untranslatable(f"the file {known['path']}, which was not read to its end, is gone") from None
    except (OSError, ValueError, StoreError) as error:
        raise Untranslatable(f"{known['path']} cannot be read up to where the source was: {error}") from None
    if left:
        raise Untranslatable(
            f"the source had read {split.skipped} records of {known['path']}, which has {left} fewer now: it is another file"
        )
    return {**known, "next": position}, done

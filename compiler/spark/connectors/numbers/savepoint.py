"""The positions of a number sequence or data generator in a savepoint: ranges. Flink: ``NumberSequenceSplitSerializer``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from compat.compiler.spark.connectors.base import Position
from compat.compiler.spark.runtime_api.splits import NOTHING_LEFT, Split
from compat.state.flink.binary import ByteReader
from compat.state.flink.file_splits import enumerator_of
from compat.state.flink.savepoint import OperatorState


def positions(operator: OperatorState, splits: Iterable[ByteReader]) -> list[Position]:
    """The ranges of the readers, and those that are not assigned yet. Raises SavepointError."""
    ranges = [*map(_range, splits), *_unassigned(operator)]
    found = [(split, split["next"] > split["end"]) for split in ranges]
    return found or [(NOTHING_LEFT, True)]


def _range(reader: ByteReader) -> Split:
    split = {"id": reader.utf(), "next": reader.long(), "end": reader.long()}
    if reader.remaining:
        reader.damaged("bytes behind a range of numbers")
    return split


def _unassigned(operator: OperatorState) -> Iterator[Split]:
    """The ranges that no reader has yet (`SourceCoordinator`, `IteratorSourceEnumerator`)."""
    body = enumerator_of(operator)
    if body is None:
        return
    for _ in range(body.count("ranges", 18)):
        yield {"id": body.utf(), "next": body.long(), "end": body.long()}

"""Where the sources of a savepoint stand, as the splits that sources on Spark go on from.

Flink keeps the splits that readers have in ``SourceReaderState`` and what is still to be given out in the coordinator's bytes:
``NumberSequenceSource`` and the data generator write ranges of numbers (``NumberSequenceSplitSerializer``), Kafka's source
partitions and offsets (``KafkaPartitionSplitSerializer``), the file source files
(:mod:`compat.compiler.spark.flink.file_positions`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from compat.compiler.spark.connectors.kafka.source import split_id
from compat.compiler.spark.flink.errors import Untranslatable
from compat.compiler.spark.flink.file_positions import positions
from compat.compiler.spark.runtime_api.splits import NOTHING_LEFT, Split
from compat.state.flink.binary import ByteReader
from compat.state.flink.errors import SavepointError
from compat.state.flink.file_splits import enumerator_of, read_pending, read_split
from compat.state.flink.savepoint import OperatorState

_VERSION = 1
_NUMBERS = frozenset({"number-sequence", "data-generator"})
_EARLIEST = -2
_OFFSETS = {-1: "the end", -2: "the beginning", -3: "the group's offset"}
_NO_END = -(1 << 63)


def splits_of(source: Any, operator: OperatorState, elements: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The splits as rows of a snapshot: id, and the split with whether it is read to its end.

    ``elements`` are those of the reader's state. Raises Untranslatable.
    """
    connector = getattr(source, "connector", None) or type(source).__name__
    try:
        if operator.fully_finished:
            found = [(NOTHING_LEFT, True)]
        elif connector in _NUMBERS:
            found = _numbers(operator, list(elements))
        elif connector == "kafka":
            found = _partitions(source, list(elements))
        elif connector == "filesystem":
            found = _files(source, operator, elements)
        else:
            raise Untranslatable(f"where a source of the kind {connector!r} stands cannot be read from a savepoint")
    except SavepointError as error:
        raise Untranslatable(f"its splits are not those of a source of the kind {connector!r}: {error.what}") from None
    for split, done in found:
        yield split["id"].encode(), json.dumps((split, done)).encode()


def _body(element: bytes) -> ByteReader:
    """A split behind the version and the length that `SimpleVersionedSerialization` writes."""
    reader = ByteReader(element, "a split")
    version = reader.integer()
    body = reader.window(reader.integer(), "a split")
    if reader.remaining or version not in (0, _VERSION):
        reader.damaged(f"a split of version {version}")
    return body


def _numbers(operator: OperatorState, elements: Sequence[bytes]) -> list[tuple[Split, bool]]:
    ranges = [_range(_body(element)) for element in elements] + list(_unassigned(operator))
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


def _files(source: Any, operator: OperatorState, elements: Iterable[bytes]) -> list[tuple[Split, bool]]:
    pending = enumerator_of(operator)
    if pending is None:
        raise Untranslatable(
            "what its enumerator knew is not in the savepoint, so that nothing tells which files were read"
        )
    reading = [read_split(_body(element)) for element in elements]
    return list(positions(source, reading, read_pending(pending)))


def _partitions(source: Any, elements: Sequence[bytes]) -> list[tuple[Split, bool]]:
    """The partitions at their offsets.

    One that stands at its beginning, as an empty one does for good, is left out: it is found anew, and what is found beside
    partitions that are known is read from its beginning.
    """
    found: list[tuple[Split, bool]] = []
    unread = []
    for element in elements:
        reader = _body(element)
        partition = (reader.utf(), reader.integer())
        start, end = reader.long(), reader.long()
        if reader.remaining:
            reader.damaged("bytes behind a partition")
        if start == _EARLIEST and end == _NO_END:
            unread.append(split_id(partition))
            continue
        if start < 0:
            raise Untranslatable(
                f"partition {split_id(partition)} stands at {_OFFSETS.get(start, start)}, as nothing of it was read yet: take "
                "a savepoint once it was"
            )
        split: Split = {"id": split_id(partition), "topic": partition[0], "partition": partition[1], "next": start}
        if end >= 0:
            split["end"] = end
        elif end != _NO_END:
            raise Untranslatable(
                f"partition {split_id(partition)} ends at {_OFFSETS.get(end, end)}, which is no offset"
            )
        found.append((split, end >= 0 and start >= end))
    if not elements:
        raise Untranslatable("it has no partitions, so that nothing tells which were read")
    if not found and source.settings["starting_offsets"].name != "earliest":
        raise Untranslatable(
            f"it has read nothing yet, and stands at the beginning of {', '.join(sorted(unread))}, where the program does not "
            "start: start it without its state, under another uid, or take a savepoint once it has read something"
        )
    return found

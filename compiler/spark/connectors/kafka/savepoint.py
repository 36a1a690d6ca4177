"""The positions of a Kafka source in a savepoint: partitions and offsets. Flink: ``KafkaPartitionSplitSerializer``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compat.compiler.spark.connectors.base import Position
from compat.compiler.spark.connectors.kafka.source import split_id
from compat.compiler.spark.runtime_api.splits import Split
from compat.compiler.spark.runtime_api.untranslatable import Untranslatable
from compat.state.flink.binary import ByteReader

_EARLIEST = -2
_OFFSETS = {-1: "the end", -2: "the beginning", -3: "the group's offset"}
_NO_END = -(1 << 63)


def positions(source: Any, splits: Iterable[ByteReader]) -> list[Position]:
    """The partitions at their offsets.

    Partitions at their beginning, such as empty ones, are left out. They are discovered again, and partitions that are
    discovered beside known ones are read from their beginning. Raises Untranslatable, SavepointError.
    """
    found: list[Position] = []
    unread = []
    for reader in splits:
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
    if not found and not unread:
        raise Untranslatable("it has no partitions, so it is unknown which were read")
    if not found and source.settings["starting_offsets"].name != "earliest":
        raise Untranslatable(
            f"it has read nothing yet, and stands at the beginning of {', '.join(sorted(unread))}, where the program does not "
            "start: start it without its state, under another uid, or take a savepoint once it has read something"
        )
    return found

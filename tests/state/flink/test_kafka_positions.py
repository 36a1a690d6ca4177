"""Where Kafka's source goes on, written anew: as the connector's own serializers write it, which recorded it."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from compat.state.flink import SavepointError
from compat.state.flink.forms import Unconvertible
from compat.state.flink.handles import InlineBytes
from compat.state.flink.kafka_positions import PartitionMoves, known_to, read_by
from compat.state.flink.lists import Versioned
from compat.state.flink.savepoint import OperatorState

GOLDEN = Path(__file__).parents[2] / "golden" / "flink_positions"
ENUMERATORS: dict[tuple[str, str], tuple[int, bytes]] = {
    (connector, name): (version, bytes.fromhex(data))
    for connector, name, version, data in map(json.loads, (GOLDEN / "enumerators.jsonl").read_text().splitlines())
}
CONNECTORS = list(dict.fromkeys(connector for connector, _ in ENUMERATORS))
SPLITS = {
    (topic, number, start, end): bytes.fromhex(data)
    for topic, number, start, end, data in map(json.loads, (GOLDEN / "kafka.jsonl").read_text().splitlines())
}
MOVES = PartitionMoves({"orders": "purchases"}, {("a-b_c.d", 3): ("a-b_c.d", 4)}, {("a-b_c.d", 3): 77})
WITHOUT_OFFSETS = PartitionMoves(MOVES.topics, MOVES.partitions)


def source(version: int, data: bytes) -> OperatorState:
    """A source whose coordinator keeps what its enumerator wrote."""
    kept = struct.pack(">iii", 1, version, len(data)) + data
    return OperatorState("ab" * 16, "orders", None, 1, 128, InlineBytes("coordinator", kept), ())


def element(data: bytes) -> bytes:
    """An element of the readers' state, of what `SimpleVersionedSerialization` wrote."""
    return struct.pack(">i", len(data)) + data


def converted(moves: PartitionMoves, *splits: bytes) -> list[bytes]:
    convert: Any = moves.converter(None, b"")  # type: ignore[arg-type]
    return [data[4:] for data in convert([element(split) for split in splits])]


@pytest.mark.parametrize("connector", CONNECTORS)
def test_an_enumerator_knows_what_its_serializer_would_have_written(connector: str) -> None:
    version, before = ENUMERATORS[connector, "before"]
    _, after = ENUMERATORS[connector, "moved"]
    moves = MOVES if version == 3 else WITHOUT_OFFSETS
    made = moves.coordinator(source(version, before))
    assert made == struct.pack(">iii", 1, version, len(after)) + after
    assert known_to(source(version, before)) == [("orders", 0), ("orders", 41), ("a-b_c.d", 3)]
    assert known_to(source(version, after)) == [("purchases", 0), ("purchases", 41), ("a-b_c.d", 4)]


@pytest.mark.parametrize("connector", CONNECTORS)
def test_what_is_not_named_stays_byte_for_byte(connector: str) -> None:
    for name in ("before", "nothing", "moved"):
        version, data = ENUMERATORS[connector, name]
        assert PartitionMoves().coordinator(source(version, data)) == struct.pack(">iii", 1, version, len(data)) + data
    assert converted(PartitionMoves(), *SPLITS.values()) == list(SPLITS.values())


def test_an_offset_that_the_enumerator_has_no_place_for_is_refused() -> None:
    version, data = ENUMERATORS["4.0.1-2.0", "before"]
    with pytest.raises(Unconvertible, match=r"nothing was read of a-b_c\.d-3 yet"):
        MOVES.coordinator(source(version, data))
    read = PartitionMoves(offsets={("orders", 0): 5})
    assert read.coordinator(source(version, data)) == PartitionMoves().coordinator(source(version, data))


def test_splits_are_those_of_other_partitions_at_other_offsets() -> None:
    old = SPLITS["a-b_c.d", 3, 9_000_000_000, 9_000_000_001]
    (made,) = converted(
        PartitionMoves({"a-b_c.d": "orders"}, {("a-b_c.d", 3): ("orders", 1)}, {("a-b_c.d", 3): 12}), old
    )
    assert made == SPLITS["orders", 1, 12, 12][:-8] + old[-8:]  # where it ends stays
    (made,) = converted(
        PartitionMoves(offsets={("orders", 0): -2}, partitions={("orders", 0): ("orders", 2)}),
        SPLITS["orders", 0, 0, None],
    )
    assert made == SPLITS["orders", 2, -2, None]


def test_partitions_of_readers_are_read() -> None:
    splits = [Versioned(0, data[8:]) for data in SPLITS.values()]
    assert read_by(splits) == [(topic, number) for topic, number, _, _ in SPLITS]


@pytest.mark.parametrize("version", [0, 4, -1])
def test_an_enumerator_of_another_version_is_refused(version: int) -> None:
    with pytest.raises(Unconvertible, match=f"is of version {version}, which is not known here"):
        PartitionMoves().coordinator(source(version, b""))


@pytest.mark.parametrize("connector", CONNECTORS)
def test_damaged_bytes_are_never_taken_for_others(connector: str) -> None:
    version, data = ENUMERATORS[connector, "before"]
    for cut in range(len(data)):
        with pytest.raises((Unconvertible, SavepointError)):
            PartitionMoves().coordinator(source(version, data[:cut]))
    with pytest.raises((Unconvertible, SavepointError)):
        PartitionMoves().coordinator(source(version, data + b"\0"))


@pytest.mark.parametrize("data", [b"", b"\0\0\0\1" * 3, struct.pack(">ii", 1, 0), struct.pack(">iii", 0, 1, 0)])
def test_what_is_no_split_is_refused(data: bytes) -> None:
    with pytest.raises((Unconvertible, SavepointError)):
        converted(PartitionMoves(), data)
    with pytest.raises((Unconvertible, SavepointError)):
        read_by([Versioned(1, SPLITS["orders", 0, 0, None][8:])])


def test_a_source_that_keeps_nothing_has_nothing_to_be_written() -> None:
    assert MOVES.coordinator(OperatorState("ab" * 16, None, None, 1, 128, None, ())) is None

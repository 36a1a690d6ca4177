"""What a record writer sends: which records go where, in what order, and between which watermarks."""

from __future__ import annotations

from typing import Any, cast

import pytest

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.jobgraph.graph import DistributionPattern
from compat.compiler.spark.plan import OutputSpec
from compat.compiler.spark.runtime_api.elements import (
    BUFFER_RECORDS,
    Buffer,
    Element,
    KeyedRecords,
    LatencyMarker,
    Records,
    Watermark,
    decode_elements,
)
from compat.compiler.spark.task.channels import SPREAD_RECORDS, RecordWriter
from compat.compiler.transformations.partitioners import Partitioner, Ship
from compat.state.key_groups import subtask_of_key


def writer(subtasks: int, sent: list[Buffer]) -> RecordWriter:
    """One of records by key."""
    output = OutputSpec(
        edge=0,
        target=1,
        input=0,
        side_output=None,
        partitioner=Partitioner(Ship.HASH),
        vertex=1,
        group=EdgeGroup(DistributionPattern.ALL_TO_ALL, 1, subtasks),
        parallelism=subtasks,
        max_parallelism=128,
    )
    return RecordWriter(output, 1, 0, 1, sent.append)


def received(sent: list[Buffer], subtask: int) -> list[Element]:
    """The elements that a subtask is given, in order."""
    own = sorted((each for each in sent if each.subtask == subtask), key=lambda each: each.number)
    return [element for each in own if isinstance(each.payload, bytes) for element in decode_elements(each.payload)]


def keyed(elements: list[Element]) -> list[tuple[Any, Any, int | None]]:
    """The records with keys among elements."""
    found: list[tuple[Any, Any, int | None]] = []
    for each in elements:
        if isinstance(each, KeyedRecords):
            found += zip(each.keys, each.values, each.timestamps or [None] * len(each.keys), strict=True)
    return found


@pytest.mark.parametrize("subtasks", [2, 3, 100])
@pytest.mark.parametrize("batch", [1, 7, BUFFER_RECORDS, SPREAD_RECORDS, 3 * SPREAD_RECORDS])
def test_records_go_to_the_subtask_of_their_key_in_order(subtasks: int, batch: int) -> None:
    sent: list[Buffer] = []
    channels, records = writer(subtasks, sent), [(f"key-{number % 500}", number, 10 * number) for number in range(9000)]
    for start in range(0, len(records), batch):
        keys, values, times = map(list, zip(*records[start : start + batch], strict=True))
        channels.keyed(keys, values, cast("list[int | None]", times))
    channels.flush()

    assert channels.sent == 9000
    for subtask in range(subtasks):
        own = [each for each in records if subtask_of_key(each[0], 128, subtasks) == subtask]
        assert keyed(received(sent, subtask)) == own


def test_no_more_are_handed_over_at_once_than_a_processors_cache_has_room_for() -> None:
    sent: list[Buffer] = []
    channels = writer(2, sent)
    channels.keyed(["one"] * 5000, list(range(5000)), None)
    channels.keyed(list(range(5000)), list(range(5000)), None)
    channels.flush()
    lengths = [
        len(each.values) for subtask in range(2) for each in received(sent, subtask) if isinstance(each, KeyedRecords)
    ]
    assert sum(lengths) == 10_000
    assert max(lengths) < 2 * BUFFER_RECORDS


def test_a_watermark_a_marker_and_records_without_keys_come_behind_the_records_before_them() -> None:
    """Although those wait for more of their kind."""
    sent: list[Buffer] = []
    channels, subtask = writer(2, sent), subtask_of_key("a", 128, 2)
    marker = LatencyMarker(subtask, "source", 0)
    channels.keyed(["a"], [1], None)
    channels.watermark(5)
    channels.keyed(["a"], [2], [7])
    channels.latency(marker)
    channels.keyed(["a", "a"], [3, 4], None)
    channels.records([("a", 5)], None)
    channels.keyed(["a"], [6], None)
    channels.flush()

    assert received(sent, subtask) == [
        KeyedRecords(["a"], [1], None),
        Watermark(5),
        KeyedRecords(["a"], [2], [7]),
        marker,
        KeyedRecords(["a", "a"], [3, 4], None),
        Records([("a", 5)], None),
        KeyedRecords(["a"], [6], None),
    ]
    assert received(sent, 1 - subtask) == [Watermark(5)]

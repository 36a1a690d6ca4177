"""Which subtask reads which partition: Flink's own cases of the pointwise pattern, and the laws that hold for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.compiler.executiongraph.edges import EdgeGroup
from compat.compiler.jobgraph.graph import DistributionPattern

ALL, POINTWISE = DistributionPattern.ALL_TO_ALL, DistributionPattern.POINTWISE


@pytest.mark.parametrize(
    ("producers", "consumers", "reads"),
    [
        (1, 1, [[0]]),
        (3, 3, [[0], [1], [2]]),
        (4, 2, [[0, 1], [2, 3]]),
        (5, 2, [[0, 1], [2, 3, 4]]),
        (16, 3, [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14, 15]]),
        (3, 1, [[0, 1, 2]]),
        (1, 3, [[0], [0], [0]]),
        (2, 4, [[0], [0], [1], [1]]),
        (2, 5, [[0], [0], [0], [1], [1]]),
        (3, 5, [[0], [0], [1], [1], [2]]),
        (3, 16, [[0]] * 6 + [[1]] * 5 + [[2]] * 5),
    ],
)
def test_a_subtask_of_a_pointwise_exchange_reads(producers: int, consumers: int, reads: list[list[int]]) -> None:
    group = EdgeGroup(POINTWISE, producers, consumers)

    assert [list(group.partitions_of(consumer)) for consumer in range(consumers)] == reads


@pytest.mark.parametrize(
    ("low", "high"), [(17, 34), (17, 51), (41, 82), (11, 77), (3, 16), (19, 21), (15, 20), (11, 31)]
)
def test_the_load_of_a_pointwise_exchange_is_even(low: int, high: int) -> None:
    spread, gathered = EdgeGroup(POINTWISE, low, high), EdgeGroup(POINTWISE, high, low)
    even = {high // low, -(-high // low)}

    assert {len(spread.consumers_of(partition)) for partition in range(low)} <= even
    assert {len(gathered.partitions_of(consumer)) for consumer in range(low)} <= even
    assert [len(spread.partitions_of(consumer)) for consumer in range(high)] == [1] * high


def test_an_exchange_of_all_to_all_has_every_connection() -> None:
    group = EdgeGroup(ALL, 3, 2)

    assert [list(group.partitions_of(consumer)) for consumer in range(2)] == [[0, 1, 2]] * 2
    assert [list(group.consumers_of(partition)) for partition in range(3)] == [[0, 1]] * 3
    assert group.connections == 6


@given(st.sampled_from([ALL, POINTWISE]), st.integers(1, 60), st.integers(1, 60))
def test_both_ends_know_the_same_connections(pattern: DistributionPattern, producers: int, consumers: int) -> None:
    group = EdgeGroup(pattern, producers, consumers)
    read = {(partition, consumer) for consumer in range(consumers) for partition in group.partitions_of(consumer)}
    written = {(partition, consumer) for partition in range(producers) for consumer in group.consumers_of(partition)}
    in_runs = [(p, c) for readers, partitions in group.runs() for c in readers for p in partitions]

    assert read == written == set(in_runs)
    assert len(read) == len(in_runs) == group.connections
    assert len(list(group.runs())) == group.run_count
    assert {partition for partition, _ in read} == set(range(producers))
    assert {consumer for _, consumer in read} == set(range(consumers))


def test_the_widest_exchange_is_not_expanded() -> None:
    group = EdgeGroup(POINTWISE, 2, 32768)

    assert group.consumers_of(1) == range(16384, 32768)
    assert list(group.runs()) == [(range(16384), range(1)), (range(16384, 32768), range(1, 2))]


@pytest.mark.parametrize("number", [-1, 2])
def test_a_subtask_that_is_not_there_is_refused(number: int) -> None:
    group = EdgeGroup(POINTWISE, 2, 2)

    with pytest.raises(IndexError, match="the exchange has 2"):
        group.partitions_of(number)
    with pytest.raises(IndexError, match="the exchange has 2"):
        group.consumers_of(number)

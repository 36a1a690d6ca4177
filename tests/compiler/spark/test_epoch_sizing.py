"""How large epochs are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from compat.compiler.spark.driver.epoch_sizing import FIRST, Pace


def lived(pace: Pace, epochs: int, each: float, record: float, share: float = 1.0) -> list[float]:
    """The lengths of epochs that cost so many seconds each, and so many a record."""
    lengths = []
    for _ in range(epochs):
        records = pace.give(None, 1, share)
        pace.report(records)
        lengths.append(each + records * record)
        pace.done(lengths[-1], records * record, share)
    return lengths


@pytest.mark.parametrize(
    ("target", "each", "record"),
    [(0.5, 0.04, 0.02), (0.5, 0.3, 0.001), (1.0, 0.1, 1e-6), (60.0, 0.5, 0.01), (10.0, 2.0, 1e-4), (0.2, 0.05, 0.005)],
)
def test_the_interval_is_kept_from_the_first_epoch_on(target: float, each: float, record: float) -> None:
    lengths = lived(Pace(target, FIRST), 12, each, record)
    assert max(lengths) <= max(1.2 * target, each + FIRST * record)
    assert all(0.75 * target < length < 1.2 * target for length in lengths[8:])


def test_cheap_records_come_to_full_speed_within_few_epochs() -> None:
    pace = Pace(1.0, FIRST)
    lengths = lived(pace, 3, 0.05, 1e-6)
    assert pace.limit > 400_000
    assert sum(lengths) < 0.5


@pytest.mark.parametrize("record", [1e-8, 1e-6, 1e-4, 1e-2])
def test_records_that_cost_the_more_the_more_there_are_make_no_epoch_far_too_long(record: float) -> None:
    pace = Pace(2.0, FIRST)
    for _ in range(20):
        records = pace.give(None, 1)
        busy = record * records**2
        assert busy < 8 * 2.0 + record * FIRST**2
        pace.report(records)
        pace.done(0.05 + busy, busy)


def test_what_costs_a_hundred_times_as_much_makes_one_epoch_long_and_the_next_one_right() -> None:
    pace = Pace(1.0, FIRST)
    lived(pace, 10, 0.05, 1e-4)
    lengths = lived(pace, 4, 0.05, 1e-2)
    assert lengths[0] > 50
    assert all(length < 1.3 for length in lengths[1:])


def test_an_epoch_that_costs_more_than_the_interval_leaves_time_for_records() -> None:
    lengths = lived(Pace(0.1, FIRST), 20, 0.4, 1e-4)
    assert 0.43 < lengths[-1] < 0.5


def test_levels_that_share_cores_do_not_swing() -> None:
    """Tasks tell half of what their level takes, where there are half as many cores."""
    pace = Pace(1.0, FIRST)
    lengths = []
    for _ in range(30):
        records = pace.give(None, 1)
        pace.report(records)
        lengths.append(0.05 + records * 2e-3)
        pace.done(lengths[-1], records * 1e-3)
    assert all(abs(left - right) < 0.1 for left, right in pairwise(lengths[-5:]))
    assert 0.8 < lengths[-1] < 1.1


def test_an_epoch_without_more_to_read_changes_nothing_unless_it_took_too_long() -> None:
    pace = Pace(1.0, 10_000)
    pace.give(None, 2)
    pace.report(100)
    pace.done(0.3, 0.2)
    assert pace.limit == 10_000
    pace.give(None, 2)
    pace.report(100)  # the source looked at the clock, and left the rest
    pace.done(1.3, 1.25)
    assert pace.limit < 100


def test_a_source_reads_a_little_longer_than_the_interval_at_most() -> None:
    assert Pace(2.0).seconds(0.5) == pytest.approx(1.25)


def test_an_epoch_that_could_not_be_done_bounds_those_that_follow() -> None:
    pace = Pace()
    assert pace.give(None, 2) == 20_000
    pace.lost()
    assert pace.give(None, 2) == 5_000
    pace.report(2_500)
    pace.done(0.1, 0.05)
    assert pace.give(None, 2) == 5_000


def test_it_goes_down_to_one_record() -> None:
    pace = Pace()
    for _ in range(20):
        pace.give(100, 3)
        pace.lost()
    assert pace.give(100, 3) == 3


def test_what_could_not_be_done_once_is_tried_again_later() -> None:
    pace = Pace()
    pace.give(None, 1)
    pace.lost()
    given = []
    for _ in range(60):
        given.append(pace.give(None, 1))
        pace.done(1, 1)
    assert (given[0], given[20], given[40]) == (2_500, 5_000, 10_000)
    assert pace.ceiling is None


def test_an_epoch_that_is_to_be_short_reads_its_share() -> None:
    pace = Pace(60, limit=600_000)
    assert pace.give(None, 2, 1 / 60) == 20_000
    lengths = lived(pace, 10, 0.1, 1e-4, 1 / 60)
    assert all(length < 1.2 for length in lengths[1:])
    assert 500_000 < pace.limit < 600_000

"""How large epochs are."""

from __future__ import annotations

from compat.compiler.spark.driver.pace import Pace


def test_epochs_grow_while_they_are_quick_and_full_and_shrink_when_they_take_long() -> None:
    pace = Pace()
    for seconds, records, limit in (
        (0.1, 10_000, 40_000),
        (0.1, 100, 40_000),
        (5, 40_000, 20_000),
        (1, 20_000, 20_000),
    ):
        pace.give(None, 2)
        pace.report(records)
        pace.done(seconds, 1)
        assert pace.limit == limit


def test_epochs_grow_back_on_a_machine_that_is_slow_for_small_ones_too() -> None:
    pace = Pace()
    for _ in range(3):
        pace.give(None, 1)
        pace.done(5, 2)
    assert pace.limit < 2_000
    for _ in range(5):
        pace.report(pace.give(None, 1))
        pace.done(1.5, 2)
    assert pace.limit > 30_000


def test_an_epoch_that_could_not_be_done_bounds_those_that_follow() -> None:
    pace = Pace()
    assert pace.give(None, 2) == 20_000
    pace.lost()
    assert pace.give(None, 2) == 5_000
    pace.report(2_500)
    pace.done(0.1, 1)
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


def test_an_epoch_that_is_to_be_short_reads_its_share_and_shrinks_for_nothing_that_each_one_costs() -> None:
    pace = Pace(limit=600_000)
    assert pace.give(None, 2, 1 / 60) == 20_000
    pace.report(10_000)
    pace.done(0.8, 60, 1 / 60)
    assert pace.limit == 1_200_000
    for _ in range(20):
        pace.give(None, 1, 0.5 / 60)
        pace.done(1.9, 60, 0.5 / 60)
    assert pace.limit == 1_200_000
    pace.done(2.1, 60, 0.5 / 60)
    assert pace.limit == 600_000
    assert Pace(limit=5_000).give(None, 1, 1 / 60) == 1_000

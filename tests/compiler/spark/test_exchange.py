"""The accounts of an epoch's tasks: anything that was lost, doubled or mixed on the way is seen in them."""

from __future__ import annotations

from copy import deepcopy
from types import SimpleNamespace
from typing import cast

import pytest

from compat.compiler.spark.task.epochs import EpochLost, Outcome, PackedPlan, TaskFailure, reports_of
from compat.compiler.spark.task.exchange import Account, why_not_whole

TASKS = [(level, partition) for level in range(2) for partition in range(3)]


def sending(run: str) -> list[Account]:
    """The accounts of a first level of which each task has sent to each of the next, whose runs are named."""
    return [Account(0, number, f"{run}{number}") for number in range(3)]


def whole() -> tuple[list[Account], list[Account]]:
    """The accounts of both levels, where all went well."""
    first, second = sending("a"), [Account(1, number, f"b{number}") for number in range(3)]
    for each in first:
        for reader in second:
            reader.takes(each.ships(1, reader.partition, []))
    return first, second


def test_what_arrived_as_it_was_sent_is_whole() -> None:
    first, second = whole()
    assert why_not_whole([*second, *first], TASKS) is None
    assert why_not_whole([], ()) is None


def test_a_reader_of_another_run_is_seen() -> None:
    """Two runs of a task sent as much; one reader has what the one sent, the others what the other did."""
    first, (one, other, _) = sending("a"), [Account(1, number, f"b{number}") for number in range(3)]
    again = sending("c")[0]
    one.takes(first[0].ships(1, 0, []))
    first[0].ships(1, 1, [])
    again.ships(1, 0, [])
    other.takes(again.ships(1, 1, []))
    accounts = [*first, one, other, Account(1, 2, "b2")]

    assert sum(each.sent for each in accounts) == sum(each.taken for each in accounts)
    assert "computed a part of the epoch twice" in str(why_not_whole(accounts, TASKS))
    assert "computed a part of the epoch twice" in str(why_not_whole([again, *accounts[1:]], TASKS))


def test_one_that_is_lost_and_another_that_comes_twice_are_seen() -> None:
    first, second = sending("a"), [Account(1, number, f"b{number}") for number in range(3)]
    first[0].ships(1, 0, [])
    doubled = first[0].ships(1, 1, [])
    second[1].takes(doubled)
    second[1].takes(doubled)

    assert "twice" in str(why_not_whole([*first, *second], TASKS))


@pytest.mark.parametrize("change", [-1, 1])
def test_a_shipment_more_or_less_is_seen(change: int) -> None:
    first, second = whole()
    lone = first[0].ships(1, 0, [])
    if change > 0:
        second[0].takes(lone)
        second[0].takes(lone)

    assert f"Of 10 shipments between tasks, {10 + change} arrived" in str(why_not_whole([*first, *second], TASKS))


def test_a_task_that_told_nothing_or_told_twice_is_seen() -> None:
    first, second = whole()
    assert "lost what 1 of 6 tasks" in str(why_not_whole([*first, *second[1:]], TASKS))
    assert "twice" in str(why_not_whole([*first, *second, deepcopy(first[0])], TASKS))


@pytest.mark.parametrize("failed", [True, False])
def test_a_part_that_was_told_to_stop_is_missed_unless_its_failure_is_told(failed: bool) -> None:
    """Spark ran the task again that failed, and a part of the next level had heard of the first run only."""
    plan = cast(PackedPlan, SimpleNamespace(places=lambda: [(0, 0), (1, 0), (1, 1)]))
    failure = TaskFailure("Source (1/1)", None, None, "the disk was full", 0, 0)
    accounts = [Account(level, partition, f"{level}{partition}") for level, partition in plan.places()]
    outcomes = [
        Outcome(accounts[0], [failure] if failed else [], failed),
        Outcome(accounts[1], [], True),
        Outcome(accounts[2], [], failed),
    ]
    if failed:
        assert reports_of(plan, outcomes) == [failure]
    else:
        with pytest.raises(EpochLost, match="did not run"):
            reports_of(plan, outcomes)

"""The states that a function in Python has, by where they are, and digests of the code that uses them."""

from __future__ import annotations

from typing import Any

import pytest

from compat.compiler.datastream.common.typeinfo import Types
from compat.plan.held import holding_of
from compat.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from compat.state.model.behaviour import Holding

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
UNUSED = MapStateDescriptor("unused", Types.STRING(), Types.LONG())
NAMES = "x", "y"


class Stand:
    """Stands for a state."""


class Bag:
    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def both(self) -> tuple[Any, Any]:
        return self.first, self.second


class Asks:
    DESCRIBED = ValueStateDescriptor("described", Types.LONG())

    def process(self, ctx: Any) -> Any:
        return ctx.get_broadcast_state(RULES)


class Keeps:
    def __init__(self, held: Any) -> None:
        self.held = held

    def process(self) -> Any:
        return self.held


def held(make: Any, swapped: bool = False) -> Holding | None:
    """What is held of two states, or of them exchanged."""
    stands = Stand(), Stand()
    names = {id(one): name for one, name in zip(stands, NAMES, strict=True)}
    return holding_of(Keeps(make(*(stands[::-1] if swapped else stands))), names)


PLACES = [
    (lambda x, y: {"count": x, "last": y}, ("held['count']", "held['last']")),
    (lambda x, y: (x, y), ("held[0]", "held[1]")),
    (lambda x, y: [[x], {1: y}], ("held[0][0]", "held[1][1]")),
    (Bag, ("held.first", "held.second")),
    (lambda x, y: [Bag(x, y)], ("held[0].first", "held[0].second")),
]


@pytest.mark.parametrize(("make", "places"), PLACES)
def test_states_are_found_in_collections_and_in_objects_that_help(make: Any, places: tuple[str, str]) -> None:
    found = held(make)
    assert found is not None
    assert found.fields == dict(zip(places, NAMES, strict=True))


@pytest.mark.parametrize(("make", "places"), PLACES)
def test_exchanged_ones_leave_the_code_as_it_was_and_not_what_it_does(make: Any, places: tuple[str, str]) -> None:
    before, after = held(make), held(make, swapped=True)
    assert before is not None
    assert after is not None
    assert before.code == after.code
    assert before.code_by_state != after.code_by_state
    assert held(make) == before


@pytest.mark.parametrize("value", [None, 1, [1, "x"], {"a": Types.LONG()}, Bag(1, 2), RULES.__class__])
def test_other_values_hold_none(value: Any) -> None:
    assert holding_of(Keeps(value), {}) is None


def test_descriptors_around_the_code_count_where_it_names_them() -> None:
    found = holding_of(Asks(), {})
    assert found is not None
    assert found.fields == {"RULES": "rules", "DESCRIBED": "described"}


def test_an_object_that_holds_itself_comes_to_an_end() -> None:
    bag = Bag(1, 2)
    bag.first = bag
    assert holding_of(Keeps(bag), {}) is None
    assert holding_of(None, {}) is None

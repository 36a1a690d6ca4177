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


class Lazy:
    """Asks for states while it processes."""

    @property
    def count(self) -> Any:
        return self.ctx.get_state(ValueStateDescriptor("x", Types.LONG()))

    @property
    def last(self) -> Any:
        return self.ctx.get_state(ValueStateDescriptor("y", Types.LONG()))

    def process(self) -> Any:
        return self.count, self.last


class LazyExchanged(Lazy):
    @property
    def count(self) -> Any:
        return self.ctx.get_state(ValueStateDescriptor("y", Types.LONG()))

    @property
    def last(self) -> Any:
        return self.ctx.get_state(ValueStateDescriptor("x", Types.LONG()))


class Opens:
    """Fills its attributes from names in a tuple."""

    def open(self, give: Any) -> None:
        self.count, self.last = (give(name) for name in ("x", "y"))

    def process(self) -> Any:
        return self.count.value(), -self.last.value()


class OpensExchanged(Opens):
    def open(self, give: Any) -> None:
        self.count, self.last = (give(name) for name in ("y", "x"))


class UsesExchanged(Opens):
    def process(self) -> Any:
        return self.last.value(), -self.count.value()


class Renames(Opens):
    def open(self, give: Any) -> None:
        self.last, self.count = (give(name) for name in ("x", "y"))

    def process(self) -> Any:
        return self.last.value(), -self.count.value()


class Uses:
    """Helps a function."""

    def __init__(self, count: Any, last: Any) -> None:
        self.count, self.last = count, last

    def both(self) -> Any:
        return self.count.value(), -self.last.value()


class UsesOtherwise(Uses):
    def both(self) -> Any:
        return self.last.value(), -self.count.value()


def alone(function: type) -> Any:
    """A class with its methods and those of the classes above it, without these."""
    methods = {name: one for owner in function.__mro__[-2::-1] for name, one in vars(owner).items()}
    return type("Alone", (), {name: one for name, one in methods.items() if not name.startswith("__")})()


def opened(function: type) -> Holding:
    """What a function holds when it was opened."""
    stands = {name: Stand() for name in NAMES}
    made = alone(function)
    made.open(stands.__getitem__)
    found = holding_of(made, {id(one): name for name, one in stands.items()})
    assert found is not None
    return found


def lazy(function: type) -> Holding:
    """What a function holds that asks for states while it processes."""
    found = holding_of(alone(function), {}, asked=frozenset(NAMES))
    assert found is not None
    return found


def test_states_that_are_asked_for_later_have_the_places_where_code_names_them() -> None:
    before, after = lazy(Lazy), lazy(LazyExchanged)
    assert sorted(before.fields.values()) == ["x", "y"]
    assert set(before.fields.values()) == set(after.fields.values())
    assert before.code == after.code
    assert before.code_by_state != after.code_by_state


def test_names_in_a_tuple_leave_the_code_as_it_was() -> None:
    before, after = opened(Opens), opened(OpensExchanged)
    assert (
        before.fields
        == {"count": "x", "last": "y"}
        == dict(zip(after.fields, reversed(after.fields.values()), strict=True))
    )
    assert before.code == after.code


def test_the_role_of_a_state_is_what_the_code_does_with_it() -> None:
    before = opened(Opens).roles
    assert before["x"] != before["y"]
    for exchanged in (opened(OpensExchanged).roles, opened(UsesExchanged).roles):
        assert exchanged == {"x": before["y"], "y": before["x"]}
    assert opened(Renames).roles == before


def test_the_role_of_a_state_is_told_by_the_object_that_helps() -> None:
    stands = {name: Stand() for name in NAMES}
    names = {id(one): name for name, one in stands.items()}
    before, after = (holding_of(Keeps(kind(stands["x"], stands["y"])), names) for kind in (Uses, UsesOtherwise))
    assert before is not None
    assert after is not None
    assert set(before.roles) == {"x", "y"}
    assert before.roles["x"] != before.roles["y"]


KEPT: dict[str, Any] = {}


class Global:
    def process(self) -> Any:
        return KEPT["count"], KEPT["last"]


def test_states_are_found_in_a_global_collection() -> None:
    KEPT["count"] = Stand()
    found = holding_of(Global(), {id(KEPT["count"]): "x"})
    assert found is not None
    assert found.fields == {"KEPT['count']": "x"}


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

"""Pickled states whose objects are of classes that NEW does not have."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.state.model.states import State, StateKind, StateScope
from compat.state.types import Types
from tests.compat.builders import operator, program

STATE = State(name="s", kind=StateKind.VALUE, scope=StateScope.KEYED, type=str(Types.PICKLED_BYTE_ARRAY()))


@pytest.mark.parametrize(
    ("old", "known", "level"),
    [
        ({"classes_made": ["__main__:Account"]}, ["__main__:Account"], None),
        ({"classes_made": ["__main__:Account"]}, ["__main__:Customer"], Level.UNKNOWN),
        ({"classes_made": ["__main__:Account"]}, None, None),
        # A module that NEW does not load may be there, with the class or without.
        ({"classes_made": ["models:Account"]}, ["things:Account"], Level.UNKNOWN),
        ({"classes_made": ["models:Account"], "classes_put": {"s": ["models:Account"]}}, ["models:X"], Level.ERROR),
        ({"classes_made": ["models:Account"], "classes_put": {"s": ["models:Account"]}}, [], Level.UNKNOWN),
        ({"classes_pickled": {"s": ["__main__:Account"]}}, ["__main__:Customer"], Level.ERROR),
        ({"classes_pickled": {"s": ["__main__:Account"]}}, [], Level.ERROR),
        ({"classes_pickled": {"s": ["decimal:Decimal"]}}, [], None),
        ({"classes_pickled": {"other": ["__main__:Account"]}}, [], None),
        ({"classes_made": ["__main__:Helper"], "classes_pickled": {"s": ["decimal:Decimal"]}}, [], None),
    ],
)
def test_a_class_that_pickles_name_has_to_be_there(old, known, level):
    new = {} if known is None else {"classes_known": known}
    sides = (
        program(name, operator("count", uid="c", states=(STATE,), detail={"python": "keyed process", **detail}))
        for name, detail in (("old", old), ("new", new))
    )
    levels = [one.level for one in check(*sides).findings if one.rule == "CMP430"]
    assert levels == ([] if level is None else [level])

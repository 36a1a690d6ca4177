"""Whether what was pickled is loaded by the class that NEW has."""

from __future__ import annotations

import pytest

from compat.check.decision import check
from compat.check.findings import Level
from compat.state.model.states import State, StateKind, StateScope
from compat.state.types import Types
from tests.compat.builders import operator, program

TYPE = str(Types.PICKLED_BYTE_ARRAY())
STATE = State(name="s", kind=StateKind.VALUE, scope=StateScope.KEYED, type=TYPE, key_type="Long")
COLOURS = ["enum", "value 1 RED", "value 2 BLUE"]
POINT = ["named tuple", "field x", "field y"]
TOTAL = ["dataclass", "field n"]
OBJECT = ["object", "field m", "field n"]


def findings(old, new, put=("m:C",)):
    """What is said of the state."""
    sides = (
        program(name, operator("count", uid="c", states=(STATE,), detail=detail(shape, put)))
        for name, shape in (("old", old), ("new", new))
    )
    return [one for one in check(*sides).findings if one.level in (Level.ERROR, Level.UNKNOWN)]


def found(old, new, put=("m:C",)):
    """The rules that speak of the state, and their levels."""
    return [(one.rule, one.level) for one in findings(old, new, put)]


def detail(shape, put):
    """What the plan tells of the class C."""
    return {
        "python": "keyed process",
        "classes_made": ["m:C"],
        "classes_known": ["m:C"],
        "classes_written": {"m:C": repr(shape)},
        "classes_shaped": {} if shape is None else {"m:C": shape},
        "classes_put": {"s": list(put)} if put else {},
    }


FAILS, UNKNOWN = [("CMP430", Level.ERROR)], [("CMP431", Level.UNKNOWN)]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (COLOURS, ["enum", "value 1 RED", "value 3 GREEN"], FAILS),
        (COLOURS, [*COLOURS, "value 3 GREEN"], []),
        (COLOURS, ["enum", "value 1 CRIMSON", "value 2 BLUE"], []),
        (COLOURS, ["enum", "value 2 RED", "value 1 BLUE"], FAILS),  # old objects are read as others
        (POINT, [*POINT, "field z"], FAILS),
        (POINT, [*POINT, "field z", "default z"], []),
        (POINT, POINT[:2], FAILS),
        (POINT, ["named tuple", "field y", "field x"], FAILS),
        (POINT, ["named tuple", "field x", "field z"], UNKNOWN),
        (OBJECT, ["object", "field m", "field total"], FAILS),
        (OBJECT, ["object", "field m", "field n", "field new", "default new"], []),
        (OBJECT, ["object", "field n"], []),
        (TOTAL, ["dataclass", "field total"], FAILS),
        (TOTAL, [*TOTAL, "field m"], FAILS),
        (TOTAL, [*TOTAL, "field m", "default m"], []),
        (TOTAL, ["dataclass", "field total", "default total"], UNKNOWN),
        ([*TOTAL, "field m"], TOTAL, []),
        (TOTAL, POINT, UNKNOWN),
        (TOTAL, None, UNKNOWN),
        (TOTAL, TOTAL, []),
    ],
)
def test_how_a_class_may_change(old, new, said):
    assert found(old, new) == said


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (COLOURS, ["enum", "value 1 RED", "value 3 GREEN"], "BLUE = 2"),
        (COLOURS, ["enum", "value 2 RED", "value 1 BLUE"], "RED = 1; BLUE = 2"),
        (POINT, ["named tuple", "field y", "field x"], 'C = namedtuple("C", "x y")'),
        (POINT, POINT[:2], 'C = namedtuple("C", "x y")'),
        (OBJECT, ["object", "field m", "field total"], "total = DEFAULT"),
    ],
)
def test_the_code_that_loads_old_objects(old, new, code):
    assert [fix.code for one in findings(old, new) for fix in one.fixes] == [code]


def test_what_code_only_mentions_may_not_be_in_the_state():
    assert found(TOTAL, ["dataclass", "field total"], put=()) == UNKNOWN

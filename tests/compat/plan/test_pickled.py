"""What a function puts into its pickled states, and what objects of its classes are made of."""

from __future__ import annotations

import collections
import dataclasses
import enum

import pytest

from compat.plan.pickled import classes_put, shape

FIELDS = {"s": "the state", "other": "another"}


@dataclasses.dataclass
class Total:
    n: int
    m: int = 0
    rest: list[int] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int


@dataclasses.dataclass(slots=True)
class Slotted:
    n: int


@dataclasses.dataclass
class Derived:
    n: int

    def __post_init__(self):
        self.twice = 2 * self.n


@dataclasses.dataclass
class OfItsOwn:
    n: int

    def __getstate__(self):
        return {"n": str(self.n)}


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Forgiving(enum.Enum):
    RED = 1

    @classmethod
    def _missing_(cls, value):
        return cls.RED


class Bits(enum.Flag):
    A = 1


class Plain:
    pass


class Held:
    n = 0

    def __init__(self, n, m):
        self.n, self.m = n, m


class HeldByAnother:
    def __init__(self, n):
        super().__init__()
        self.n = n


class HeldPerhaps:
    def __init__(self, n):
        if n:
            self.n = n


Point = collections.namedtuple("Point", "x y", defaults=[0])


class Subclass(Point):
    pass


@pytest.mark.parametrize(
    ("kept", "parts"),
    [
        (Total, ["dataclass", "field n", "field m", "field rest", "default m"]),
        (Frozen, ["dataclass", "field n"]),
        (Colour, ["enum", "value 1 RED", "value 'b' BLUE"]),
        (Point, ["named tuple", "field x", "field y", "default y"]),
        (Slotted, None),
        (Derived, None),
        (OfItsOwn, None),
        (Forgiving, None),
        (Bits, None),
        (Plain, None),
        (Held, ["object", "field m", "field n", "default n"]),
        (HeldByAnother, None),
        (HeldPerhaps, None),
        (Subclass, None),
    ],
)
def test_what_objects_are_made_of(kept, parts):
    assert shape(kept) == parts


class Function:
    def __init__(self):
        self.s = self.other = self.plain = None


class Updates(Function):
    def process_element(self, value):
        self.s.update(Total(value))


class ByAVariable(Function):
    def process_element(self, value):
        after = Total(value, Colour.RED)
        self.s.put(value, after)


class ByOneOfSeveral(Function):
    def process_element(self, value):
        before, after = self.s.value(), Total(value)
        self.s.update(after)
        self.other.update(before)


class InAList(Function):
    def process_element(self, value):
        self.s.add_all([Frozen(1), Colour["RED"]])


class AMemberOfAll(Function):
    def process_element(self, value):
        self.other.add(list(Colour)[value])


class OnlyAPart(Function):
    def process_element(self, value):
        self.s.update(Total(value).n + len(str(Colour.RED)))


class NotIntoAState(Function):
    def process_element(self, value):
        self.plain.update(Total(value))


@pytest.mark.parametrize(
    ("function", "put"),
    [
        (Updates, {"the state": ["Total"]}),
        (ByAVariable, {"the state": ["Colour", "Total"]}),
        (ByOneOfSeveral, {"the state": ["Total"]}),
        (InAList, {"the state": ["Colour", "Frozen"]}),
        (AMemberOfAll, {"another": ["Colour"]}),
        (OnlyAPart, {}),
        (NotIntoAState, {}),
    ],
)
def test_what_code_puts_into_states(function, put):
    assert classes_put(function(), FIELDS) == {
        state: [f"{__name__}:{one}" for one in names] for state, names in put.items()
    }


def test_code_without_a_source_puts_nothing_that_is_seen():
    made = {}
    exec("class Made:\n    def f(self, v):\n        self.s.update(v)\n", made)
    assert classes_put(made["Made"](), FIELDS) == {}

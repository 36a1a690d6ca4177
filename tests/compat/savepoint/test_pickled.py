"""The structure of stored values, walked through and not unpickled."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.check.findings import Report, Verdict
from compat.comparison import Comparison, compare
from compat.savepoint.pickled import attributes_of, shape_of, shape_of_text
from compat.state.model.contents import Shape

NUMBER, TEXT, BYTES = ((Shape(kind=kind),) for kind in ("number", "text", "bytes"))


class Colour(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    a: int
    b: str


@dataclasses.dataclass
class Total:
    n: int


def of(kind: str, *parts: tuple[Shape, ...], **more: Any) -> tuple[Shape, ...]:
    return (Shape(kind=kind, parts=parts, **more),)


def named(value: type) -> tuple[Shape, ...]:
    return of("object", name=f"{value.__module__}:{value.__qualname__}")


VALUES: list[tuple[Any, tuple[Shape, ...]]] = [
    *((one, NUMBER) for one in (0, 1, 300, 70_000, -1, 2**70, 1.5, True)),
    ("a", TEXT),
    ("a" * 300, TEXT),
    (b"a", BYTES),
    (None, ()),
    ((), of("tuple")),
    ((1, "a"), of("tuple", NUMBER, TEXT)),
    ((1, 2, 3, "a"), of("tuple", NUMBER, NUMBER, NUMBER, TEXT)),
    ((1, None), of("tuple", NUMBER, ())),
    ([], of("list")),
    ([1], of("list", NUMBER)),
    ([1, "a"], of("list", NUMBER + TEXT)),
    ([1, None], of("list")),
    ({1, 2}, of("set", NUMBER)),
    (frozenset(["a"]), of("set", TEXT)),
    ({}, of("dict")),
    ({"b": 1, "a": "x"}, of("dict", TEXT, NUMBER, keys=("a", "b"))),
    ({"a": {"b": 1}}, of("dict", of("dict", NUMBER, keys=("b",)), keys=("a",))),
    ({"a": 1, 2: 3}, of("dict", NUMBER, keys=("a",), whole=False)),
    (collections.deque([1]), of("list", NUMBER, name="collections:deque")),
    (collections.Counter("a"), of("dict", NUMBER, keys=("a",), name="collections:Counter")),
    (collections.OrderedDict(a=1), of("dict", NUMBER, keys=("a",), name="collections:OrderedDict")),
    (collections.defaultdict(int, a=1), of("dict", NUMBER, keys=("a",), name="collections:defaultdict")),
    (datetime.datetime(2024, 1, 1), named(datetime.datetime)),
    (decimal.Decimal(1), named(decimal.Decimal)),
    (Colour.RED, named(Colour)),
    (Pair(1, "a"), named(Pair)),
    (Total(1), named(Total)),
    ([Total(1)], of("list", named(Total))),
]


@pytest.mark.parametrize(
    ("value", "told", "protocol"),
    [
        (value, told, protocol)
        for value, told in VALUES
        for protocol in (2, 4, 5)
        # Protocol 2 makes these by calls of functions.
        if protocol != 2 or not isinstance(value, bytes | set | frozenset)
    ],
)
def test_what_a_pickle_has(value: Any, told: tuple[Shape, ...], protocol: int) -> None:
    assert shape_of(pickle.dumps(value, protocol)) == told


def test_rows_of_pyflink() -> None:
    """As PyFlink writes them: names or None, the values, and the kind of row."""
    head = b"\x80\x04\x8c\x14pyflink.common.types\x94\x8c\x0b_create_row\x94\x93\x94"
    kind = b"h\x00\x8c\x07RowKind\x93K\x00\x85R\x87R."
    assert shape_of(head + b"]\x94(\x8c\x01n\x8c\x01ke" + b"K\x01\x8c\x01a\x86" + kind) == of(
        "row", NUMBER, TEXT, keys=("n", "k")
    )
    assert shape_of(head + b"N" + b"K\x01\x8c\x01a\x86" + kind) == of("row", NUMBER, TEXT)


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = self.b = 1


class Both(Slots):
    def __init__(self) -> None:
        super().__init__()
        self.c = 1


class Own:
    def __reduce__(self) -> Any:
        return Own, (1,)


class Listed:
    def __init__(self) -> None:
        self.n = 1

    def __getstate__(self) -> Any:
        return [self.n]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([Total(1)], {Total: {"n"}}),
        ([Total(1), (Total(2), {"a": Total(3)})], {Total: {"n"}}),
        ([Slots()], {Slots: {"a", "b"}}),
        ([Both()], {Both: {"a", "b", "c"}}),
        ([Own()], {}),
        ([Listed()], {}),
        ([Colour.RED], {}),
        ([Pair(1, "a")], {}),
        ([datetime.date(2024, 1, 1)], {}),
        ([1, "a"], {}),
    ],
)
def test_the_attributes_of_objects(values: list[Any], told: dict[type, set[str]]) -> None:
    found = attributes_of(pickle.dumps(one) for one in values)
    assert found == {f"{kept.__module__}:{kept.__qualname__}": names for kept, names in told.items()}


def test_attributes_that_not_all_objects_have() -> None:
    more = Total(1)
    more.__dict__["late"] = 1
    assert attributes_of(map(pickle.dumps, (Total(1), more))) == {f"{__name__}:Total": {"n"}}
    assert attributes_of([b"", b"\x80\x04.", b"no pickle"]) == {}


def test_one_object_twice_and_one_that_has_itself() -> None:
    shared = [1]
    assert shape_of(pickle.dumps((shared, shared))) == of("tuple", of("list", NUMBER), of("list", NUMBER))
    shared.append(shared)  # type: ignore[arg-type]
    (found,) = shape_of(pickle.dumps(shared))
    assert found.kind == "list"


def test_values_that_grow_when_they_are_looked_at_cost_little() -> None:
    value: list[Any] = [1]
    for _ in range(40):
        value = [value] * 40
    assert shape_of(pickle.dumps(value))[0].kind == "list"
    assert shape_of(pickle.dumps(list(range(50_000)))) == ()


@given(st.binary(max_size=60))
def test_any_bytes_are_something_or_unknown(data: bytes) -> None:
    assert isinstance(shape_of(b"\x80\x04" + data), tuple)
    assert isinstance(shape_of_text(data), tuple)
    assert shape_of(data) == () or data[:1] == b"\x80"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(st.lists(VALUES, min_size=1) | st.dictionaries(st.text(), VALUES, min_size=1))
def test_json_says_what_a_pickle_of_it_has(value: Any) -> None:
    (said,) = shape_of_text(json.dumps(value).encode())
    assert said.kind == "text"
    assert said.parts == (shape_of(pickle.dumps(value)),)


@pytest.mark.parametrize("data", [b"", b"1", b'"a"', b"{", b"[1", b"{a}", b"[" * 5000, b"[1]" + b" " * 30_000])
def test_texts_that_say_no_structure(data: bytes) -> None:
    assert shape_of_text(data) == ()


PAIR = Path(__file__).parents[2] / "golden" / "migrations" / "pyflink" / "pickled_dict"


@pytest.mark.parametrize(
    ("program", "why"),
    [("old", None), ("new", "OLD puts a dict with 'n' into the state 's', and NEW reads value['count']")],
)
def test_code_is_held_against_what_is_stored(program: str, why: str | None) -> None:
    """The key of the dict in a savepoint has another name in the new program."""
    (report,) = compare(Comparison(str(PAIR / "savepoint"), str(PAIR / f"{program}.py"))).outcomes
    assert isinstance(report, Report)
    assert report.verdict is (Verdict.COMPATIBLE if why is None else Verdict.UNKNOWN)
    told = [one.reason or "" for one in report.findings if one.rule == "CMP431"]
    assert [why in one for one in told if why] == [True] * len(told)

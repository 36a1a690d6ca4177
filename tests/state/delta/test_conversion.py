"""Values of a snapshot as another type has them: nothing is rounded, cut or guessed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from compat.state.delta.conversion import CODING
from compat.state.flink.forms import Unconvertible
from compat.state.flink.transcoding import Fields
from compat.state.rows import Row
from compat.state.serializers import codec_of
from compat.state.serializers.codecs import join, split
from compat.state.types import TypeInformation, Types

L, N, S, D, B = Types.LONG(), Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()
AB = Types.ROW_NAMED(["a", "b"], [L, S])
TUPLE = Types.TUPLE([L, S])


def converted(old: TypeInformation, new: TypeInformation, value: Any, **fields: Any) -> Any:
    data, number = CODING.array(old, new, Fields(**fields))(join([codec_of(old).encode(value)]))
    (found,) = split(data)
    assert number == 1
    return codec_of(new).decode(found or b"")


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        (L, S, 3, "3"),
        (S, L, "3", 3),
        (L, N, -(2**31), -(2**31)),
        (N, D, 3, 3.0),
        (Types.BIG_INT(), L, 2**40, 2**40),
        (Types.LIST(L), Types.LIST(S), [1, None, 2], ["1", None, "2"]),
        (Types.MAP(L, L), Types.MAP(S, S), {1: 2, 3: None}, {"1": "2", "3": None}),
        (TUPLE, Types.TUPLE([S, S]), (1, "b"), ("1", "b")),
        (TUPLE, Types.ROW_NAMED(["f0", "f1"], [S, S]), (1, "b"), Row(f0="1", f1="b")),
        (AB, Types.ROW_NAMED(["b", "a"], [S, N]), Row(a=None, b="x"), Row(b="x", a=None)),
        (Types.LIST(AB), Types.LIST(Types.ROW_NAMED(["a", "b"], [S, S])), [Row(a=1, b="")], [Row(a="1", b="")]),
    ],
)
def test_values_become_one_another(old: TypeInformation, new: TypeInformation, value: Any, expected: Any) -> None:
    assert converted(old, new, value) == expected


def test_fields_are_named_dropped_and_made_up() -> None:
    new = Types.ROW_NAMED(["n", "on", "c"], [S, B, S])
    fields = {"sources": {"n": "a"}, "constants": {"on": True, "c": None}, "dropped": frozenset({"b"})}
    assert converted(AB, new, Row(a=1, b="x"), **fields) == Row(n="1", on=True, c=None)


def test_a_record_of_which_one_field_stays_and_the_way_back() -> None:
    assert converted(TUPLE, S, (1, "x"), single="f0", dropped=frozenset({"f1"})) == "1"
    assert converted(L, AB, 1, single="a", constants={"b": "new"}) == Row(a=1, b="new")


def test_elements_stand_behind_one_another_and_none_stays() -> None:
    data, number = CODING.array(L, S, Fields())(join([codec_of(L).encode(3), None]))
    assert (split(data), number) == ([b"3", None], 2)


def test_a_key_in_a_map_is_of_its_type() -> None:
    assert split(CODING.map_key(L, 3)) == [codec_of(L).encode(3)]
    with pytest.raises(Unconvertible):
        CODING.map_key(L, "three")


def test_a_moment_keeps_its_microseconds() -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, 678_901)
    old, new = (Types.ROW_NAMED(["at", name], [Types.SQL_TIMESTAMP(), L]) for name in ("n", "m"))
    assert converted(old, new, Row(at=at, n=1), sources={"m": "n"}) == Row(at=at, m=1)


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        (L, Types.LIST(L), {}),
        (L, Types.PICKLED_BYTE_ARRAY(), {}),
        (Types.PICKLED_BYTE_ARRAY(), L, {}),
        (AB, L, {}),
        (AB, Types.ROW_NAMED(["a"], [L]), {}),
        (AB, Types.ROW_NAMED(["a", "b", "c"], [L, S, L]), {}),
        (AB, AB, {"sources": {"c": "a"}}),
        (AB, AB, {"dropped": frozenset({"c"})}),
        (AB, AB, {"sources": {"a": "a"}, "constants": {"a": 0}}),
        (L, S, {"sources": {"a": "b"}}),
    ],
)
def test_what_no_rule_joins_is_refused(old: TypeInformation, new: TypeInformation, fields: dict[str, Any]) -> None:
    with pytest.raises(Unconvertible):
        CODING.array(old, new, Fields(**fields))


@pytest.mark.parametrize(("old", "new", "value"), [(L, N, 2**31), (S, L, "x"), (D, L, 0.5), (S, B, "true")])
def test_a_value_that_does_not_fit_is_an_error(old: TypeInformation, new: TypeInformation, value: Any) -> None:
    with pytest.raises(Unconvertible):
        converted(old, new, value)

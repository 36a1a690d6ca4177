"""Values that come under one key: as they are stored, with times of last use and in maps."""

from __future__ import annotations

import pytest

from compat.state.flink.forms import Unconvertible
from compat.state.flink.headers import StateMeta, read_keyed_header
from compat.state.flink.merging import MergeByFunction, MergeByRule, Rule
from compat.state.flink.python_states import Array, Item
from tests.state.flink import writer as w
from tests.state.flink.test_python_states import BYTES, LIST, MAP, TIMED

L = w.simple("Long")
TTL = w.composite(
    "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot", w.simple("Long"), L, outer_version=2
)
A, B, T1, T2 = w.long(5), w.long(-2), w.long(1), w.long(2)


def meta(kind: str, serializer: bytes) -> StateMeta:
    (found,) = read_keyed_header(
        w.keyed_header(w.state_meta("s", 0, {"KEYED_STATE_TYPE": kind}, VALUE_SERIALIZER=serializer)), ""
    ).states
    return found


@pytest.mark.parametrize(
    ("kind", "serializer", "group", "sum"),
    [
        ("VALUE", L, [A, B, A], w.long(8)),
        ("REDUCING", L, [A, B, A], w.long(8)),
        ("VALUE", TTL, [T2 + A, T1 + B, T1 + A], T2 + w.long(8)),
        ("MAP", w.composite(MAP, L, L), [b"\0" + A, b"\0" + B, b"\0" + A], b"\0" + w.long(8)),
        ("MAP", w.composite(MAP, L, TTL), [b"\0" + T1 + A, b"\0" + T2 + B, b"\0" + T1 + A], b"\0" + T2 + w.long(8)),
    ],
)
def test_numbers_are_added_or_one_of_them_stays(kind: str, serializer: bytes, group: list[bytes], sum: bytes) -> None:
    found = meta(kind, serializer)
    assert MergeByRule(Rule.SUM).merger(found)([group, group]) == [sum, sum]
    (least,) = MergeByRule(Rule.LEAST).merger(found)([group])
    (greatest,) = MergeByRule(Rule.GREATEST).merger(found)([group])
    assert (least, greatest) == (sum[:-8] + B, sum[:-8] + A)


def test_elements_of_lists_stay_side_by_side() -> None:
    all_of = MergeByRule(Rule.ALL)
    assert all_of.merger(meta("LIST", w.composite(LIST, L)))([[A + b"," + B, A]]) == [A + b"," + B + b"," + A]
    assert all_of.merger(meta("LIST", w.composite(LIST, TTL)))([[T1 + A, T2 + B]]) == [T1 + A + b"," + T2 + B]


@pytest.mark.parametrize(
    ("rule", "kind", "serializer", "told"),
    [
        (Rule.ALL, "VALUE", L, "only the elements of lists stay side by side"),
        (Rule.SUM, "LIST", w.composite(LIST, L), "`sum` is of numbers"),
        (Rule.SUM, "VALUE", w.simple("String"), "`sum` is of numbers"),
        (Rule.LEAST, "LIST", w.composite(LIST, BYTES), "`least` is of numbers"),
    ],
)
def test_what_no_rule_merges_is_refused(rule: Rule, kind: str, serializer: bytes, told: str) -> None:
    with pytest.raises(Unconvertible, match=told):
        MergeByRule(rule).merger(meta(kind, serializer))


def test_a_sum_that_is_too_large_is_refused() -> None:
    most = w.long((1 << 63) - 1)
    with pytest.raises(Unconvertible, match="is not between"):
        MergeByRule(Rule.SUM).merger(meta("VALUE", L))([[most, most]])


def test_a_function_is_given_the_arrays_of_all() -> None:
    asked: list[Item] = []

    def last(items: list[Item]) -> list[list[Item]]:
        asked.extend(items)
        return [[Item(None, item.arrays[-1:])] for item in items]

    merge = MergeByFunction(last)  # type: ignore[arg-type]
    timed = meta("LIST", w.composite(LIST, TIMED))
    group = [T1 + w.sized(b"a") + b"," + T2 + w.sized(b"b"), T1 + w.sized(b"c")]
    assert merge.merger(timed)([group]) == [T1 + w.sized(b"c")]
    assert asked == [Item(None, (Array(b"a", T1), Array(b"b", T2), Array(b"c", T1)))]
    maps = meta("MAP", w.composite(MAP, BYTES, BYTES))
    assert merge.merger(maps)([[b"\0" + w.sized(b"a"), b"\0" + w.sized(b"b")]]) == [b"\0" + w.sized(b"b")]
    with pytest.raises(Unconvertible, match="no state of PyFlink's process mode"):
        merge.merger(meta("VALUE", L))

"""What an expression computes, whatever its variables are called."""

from __future__ import annotations

import json
from typing import Any

import pytest

from compat.plan.put import source_of, sources_in
from compat.state.model.contents import Shape

RECORDS = (Shape(kind="tuple", parts=((), ()), sources=("aaaa", "bbbb")),)
EXCHANGED = (Shape(kind="tuple", parts=((), ()), sources=("bbbb", "aaaa")),)
FIELDS = (Shape(kind="row", parts=((), ()), keys=("user", "shop"), sources=("aaaa", "bbbb")),)
USER, LIMIT = "user", 3


def first(pair: Any) -> Any:
    user, _ = pair
    return user


def read(text: Any) -> Any:
    return json.loads(text)


def user_of(text: Any) -> Any:
    found = read(text)
    return found[USER]


def counted(n: Any) -> Any:
    n += LIMIT
    return n


def deciding(n: Any) -> Any:
    if n:
        return 1
    return 2


class By:
    def get_key(self, record: Any) -> Any:
        return record[0]


def endless(n: Any) -> Any:
    n = (n, n)
    m = (n, n, n, n, n, n, n, n)
    return (m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m, m)


@pytest.mark.parametrize(
    ("one", "other", "records"),
    [
        (lambda r: r[0], lambda given: given[0], ()),
        (lambda r: r[0], first, RECORDS),
        (lambda r: r[0], By().get_key, RECORDS),
        (lambda r: r["user"], lambda r: r.user, FIELDS),
        (lambda r: json.loads(r)["user"], user_of, ()),
        (lambda r: json.loads(r).get("user"), user_of, ()),
        (lambda n: n + 3, counted, ()),
    ],
)
def test_the_same_in_other_words(one: Any, other: Any, records: Any) -> None:
    assert source_of(one, records) == source_of(other, records) != ""


@pytest.mark.parametrize(
    ("one", "other", "records"),
    [
        (lambda r: r[0], lambda r: r[1], ()),
        (lambda r: r[0], lambda r: r[0], RECORDS),
        (lambda r: str(r), lambda r: repr(r), ()),
        (lambda r: read(r)[0], lambda r: first(r)[0], ()),
    ],
)
def test_other_expressions(one: Any, other: Any, records: Any) -> None:
    assert source_of(one, records) != source_of(other, EXCHANGED)


def test_what_is_at_another_place_now() -> None:
    assert source_of(lambda r: r[0], RECORDS) == source_of(lambda r: r[1], EXCHANGED)


@pytest.mark.parametrize("function", [len, deciding, lambda r: [n + 1 for n in r], lambda r: (lambda s: s)(r), endless])
def test_what_the_text_does_not_show(function: Any) -> None:
    assert source_of(function, ()) == ""


def test_constants_have_no_source() -> None:
    assert source_of(lambda _: 1, ()) == ""


def test_the_parts_of_records_by_the_functions_that_take_them() -> None:
    assert sources_in(RECORDS) == (source_of(lambda r: r[0], RECORDS), source_of(lambda r: r[1], RECORDS))
    assert sources_in(RECORDS + FIELDS) == sources_in(()) == ()

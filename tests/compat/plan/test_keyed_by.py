"""Whether two key selectors in Python give the same keys."""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable
from typing import Any

import pytest

from compat.check.findings import Level
from compat.check.rules.types.cmp419_key_expression_changed import level_of
from compat.compiler.datastream.common.typeinfo import Types
from compat.plan.keyed_by import selector_of

TEXT, LONG = Types.STRING(), Types.LONG()
PAIR = Types.TUPLE([TEXT, TEXT])
ROW = Types.ROW_NAMED(["user", "shop"], [TEXT, TEXT])
PARTS, SALT, OTHER = 3, "v1", "v2"
Selector = Callable[[Any], Any]


class By:
    """A selector with a value, whose method calls another one."""

    def __init__(self, field: str) -> None:
        self.field = field

    def get_key(self, record: Any) -> Any:
        return self.part(record)

    def part(self, record: Any) -> Any:
        return record[self.field]


class ByShop(By):
    def part(self, record: Any) -> Any:
        return record["shop"]


class Record:
    def __init__(self, name: str) -> None:
        self.name = name

    def of(self, record: Any) -> Any:
        return record[self.name]


def shifted(by: int) -> Selector:
    return lambda n: (n + by) % 3


def shift(by: int, n: int) -> int:
    return (n + by) % 3


def part(n: int) -> int:
    """The part of a number."""
    parts = 3
    return n % parts


def inner(n: int) -> int:
    return n % 4


def user(text: str) -> Any:
    return json.loads(text)["user"]


def user_in_two_lines(text: str) -> Any:
    found = json.loads(text)
    return found["user"]


def shop(text: str) -> Any:
    return json.loads(text)["shop"]


SAME = [
    (lambda n: n % 3, lambda number: number % 3, LONG),
    (lambda n: n % 3, part, LONG),
    (lambda n: n % 3, lambda n: n % PARTS, LONG),
    (lambda n: (n + 1) % 3, shifted(1), LONG),
    (lambda n: (n + 1) % 3, functools.partial(shift, 1), LONG),
    (lambda r: r["user"], By("user"), None),
    (lambda r: r["user"], Record("user").of, None),
    (lambda r: r["user"], lambda r: r.get("user"), None),
    (lambda r: r["user"], operator.itemgetter("user"), None),
    (lambda r: r.user, operator.attrgetter("user"), None),
    (lambda r: r["user"], lambda r: r.user, ROW),
    (lambda r: r[0], lambda r: r.user, ROW),
    (lambda r: r[:2], lambda r: [*r], PAIR),
    (lambda n: f"{SALT}-{n}", lambda n: f"v1-{n}", LONG),
    (lambda text: hash(text) % 16, lambda n: hash(n) % 16, TEXT),
    (lambda r: r[0] or "none", lambda q: q[0] or "none", PAIR),
    (user, lambda text: json.loads(text)["user"], TEXT),
]
OTHERS = [
    (lambda n: n % 3, lambda n: n % 4, LONG, Level.ERROR),
    (lambda n: inner(n), lambda n: part(n), None, Level.ERROR),
    (lambda n: f"{SALT}-{n}", lambda n: f"{OTHER}-{n}", None, Level.ERROR),
    (shifted(1), shifted(2), None, Level.ERROR),
    (functools.partial(shift, 1), functools.partial(shift, 2), None, Level.ERROR),
    (lambda n, by=1: n + by, lambda n, by=2: n + by, None, Level.ERROR),
    (lambda r: r["user"], lambda r: r["shop"], None, Level.ERROR),
    (By("user"), By("shop"), None, Level.ERROR),
    (By("user"), ByShop("user"), None, Level.ERROR),
    (lambda r: r.user, lambda r: r.shop, None, Level.ERROR),
    (lambda r: (r[0], r[1]), lambda r: (r[1], r[0]), None, Level.ERROR),
    (lambda text: text, lambda text: text.lower(), TEXT, Level.ERROR),
    (lambda n: str(n), lambda n: str(n).encode(), None, Level.ERROR),
    (lambda text: int(text), lambda text: int(text) + 1, TEXT, Level.ERROR),
    (lambda r: r[0] if r[0] else "none", lambda r: r[1] if r[0] else "none", PAIR, Level.ERROR),
    # As far as the records show, the same.
    (lambda n: n % 3, lambda n: n - n // 3 * 3, LONG, Level.WARNING),
    (lambda text: text.strip().lower(), lambda text: text.lower().strip(), TEXT, Level.WARNING),
    # What the records do not show.
    (lambda text: text, lambda text: text.removeprefix("eu-"), TEXT, Level.UNKNOWN),
    (lambda r: r[0] if r[0] else "none", lambda r: r[0] or "none", PAIR, Level.UNKNOWN),
    (lambda r: r[0] if r[0] else "none", lambda r: r[1] if r[0] else "none", None, Level.UNKNOWN),
    (user, user_in_two_lines, TEXT, Level.UNKNOWN),
    (user, shop, TEXT, Level.UNKNOWN),
    (lambda text: hash(text) % 16, lambda text: hash(text) % 8, None, Level.UNKNOWN),
]


@pytest.mark.parametrize(("one", "other", "records"), SAME)
def test_the_same_key_in_other_words(one: Selector, other: Selector, records: Any) -> None:
    before, after = selector_of(one, records), selector_of(other, records)
    assert (before.digest, before.captured) == (after.digest, after.captured)


@pytest.mark.parametrize(("one", "other", "records", "level"), OTHERS)
def test_another_key(one: Selector, other: Selector, records: Any, level: Level) -> None:
    before, after = selector_of(one, records), selector_of(other, records)
    assert before.digest != after.digest
    assert level_of(before, after) is level


def test_a_selector_that_fails_or_never_ends_by_itself_is_not_waited_for() -> None:
    found = selector_of(lambda record: next(one for one in record if one > 3), None)
    assert found.samples is None
    assert found.branches
